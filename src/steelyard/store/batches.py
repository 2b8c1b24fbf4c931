"""Batches of calls: rows of a run file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.store.rows import Row

INTENDED, SUBMITTED, SETTLED = "intended", "submitted", "settled"
"""State of a batch: about to be submitted; at the vendor; collected, or given up."""


@dataclass(frozen=True)
class StoredBatch:
    name: str
    judge: str
    keys: tuple[str, ...]
    """Keys of its calls."""
    dialect: Mapping[str, int]
    """Forms of fields that the calls were put in."""
    created: float
    """Epoch time before it was submitted."""
    state: str = INTENDED
    """How far it is."""
    remote: str | None = None


def batch_row(batch: StoredBatch) -> Row:
    values = (
        batch.name,
        batch.judge,
        json.dumps(batch.keys),
        json.dumps(dict(batch.dialect), sort_keys=True),
        batch.created,
        batch.state,
        batch.remote,
    )
    return "INSERT OR REPLACE INTO batches VALUES", values


def read(connection: sqlite3.Connection, judge: str) -> Iterator[StoredBatch]:
    columns = "name, judge, keys, dialect, created, state, remote"
    rows = connection.execute(
        f"SELECT {columns} FROM batches WHERE judge = ? ORDER BY created, name", (judge,)
    )
    for name, owner, keys, dialect, created, state, remote in rows:
        yield StoredBatch(name, owner, tuple(json.loads(keys)), json.loads(dialect), created, state, remote)


def submitted_calls(connection: sqlite3.Connection) -> Iterator[str]:
    """Ids of the calls in batches that were submitted and not collected; none in files without batches."""
    table = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'batches'")
    if table.fetchone() is not None:
        for (keys,) in connection.execute("SELECT keys FROM batches WHERE state = ?", (SUBMITTED,)):
            yield from json.loads(keys)
