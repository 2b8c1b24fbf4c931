"""Rows on their way into a run file; many of one table go in with one statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

PORTIONS = (64, 32, 16, 8, 4, 2, 1)
"""Rows of one statement: few lengths, so that SQLite keeps the statements it has read.

A thread gives way to all others at every statement, so a commit of many small ones waits for each of them.
"""


Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""One row that is to be kept: the statement up to its values, such as `INSERT INTO prompts VALUES`, and its
values, one for each column."""


def insert(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Put rows in, table by table, in the order in which each table is first met."""
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for into, values in rows:
        tables.setdefault(into, []).append(values)
    for into, every in tables.items():
        _insert(connection, into, every)


def _insert(connection: sqlite3.Connection, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    marks = f"({', '.join('?' * len(rows[0]))})"
    start = 0
    for portion in PORTIONS:
        while len(rows) - start >= portion:
            statement = f"{into} {', '.join([marks] * portion)}"
            connection.execute(statement, tuple(chain.from_iterable(rows[start : start + portion])))
            start += portion
