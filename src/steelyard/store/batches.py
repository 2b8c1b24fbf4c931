"""Batches of calls: rows of a run file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.store.rows import Row, has_table

INTENDED, SUBMITTED, SETTLED = "intended", "submitted", "settled"
"""State of a batch: about to be submitted; at the vendor; collected, or given up."""


@dataclass(frozen=True)
class StoredBatch:
    name: str
    judge: str
    keys: tuple[str, ...]
    dialect: Mapping[str, int]
    """Forms of fields that the calls were put in."""
    created: float
    state: str = INTENDED
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


def read_batches(connection: sqlite3.Connection, judge: str) -> list[StoredBatch]:
    rows = connection.execute(
        "SELECT name, judge, keys, dialect, created, state, remote FROM batches"
        " WHERE judge = ? ORDER BY created, name",
        (judge,),
    )
    return [
        StoredBatch(name, owner, tuple(json.loads(keys)), json.loads(dialect), created, state, remote)
        for name, owner, keys, dialect, created, state, remote in rows
    ]


def submitted_calls(connection: sqlite3.Connection) -> set[str]:
    """Ids of the calls in batches that were submitted and not collected; none in files without batches."""
    if not has_table(connection, "batches"):
        return set()
    rows = connection.execute("SELECT keys FROM batches WHERE state = ?", (SUBMITTED,))
    return {call for (keys,) in rows for call in json.loads(keys)}
