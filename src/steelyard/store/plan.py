"""The plan of a run: rows of its file, written before the first trial."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial of the plan, whether or not it was tried."""

    trial: str
    """Key of the trial."""
    judge: str
    """Name of the judge."""
    protocol: str
    """`base`, `strict`, …"""
    stimulus: str
    """Hash of the stimulus."""
    order: str
    """`uv` or `vu`."""
    replicate: int
    """0, 1, …"""
    probes: tuple[str, ...]
    """Probes that use it."""


def replace_plan(connection: sqlite3.Connection, plan: Iterable[PlannedTrial]) -> None:
    """Keep this plan in place of the one that is there."""
    rows = (
        (t.trial, t.judge, t.protocol, t.stimulus, t.order, t.replicate, json.dumps(t.probes)) for t in plan
    )
    connection.execute("DELETE FROM planned")
    connection.executemany("INSERT INTO planned VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", rows)


def has_plan(connection: sqlite3.Connection) -> bool:
    """False for a run file of a version that kept no plan."""
    table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone()
    return bool(table and connection.execute("SELECT 1 FROM planned LIMIT 1").fetchone())


def read_plan(connection: sqlite3.Connection) -> list[PlannedTrial]:
    """Every planned trial, in the order of the plan."""
    columns = "trial, judge, protocol, stimulus, presented, replicate, probes"
    known = cache(lambda text: tuple(json.loads(text)))
    return [
        PlannedTrial(key, judge, protocol, stimulus, order, replicate, known(probes))
        for key, judge, protocol, stimulus, order, replicate, probes in connection.execute(
            f"SELECT {columns} FROM planned ORDER BY position"
        )
    ]
