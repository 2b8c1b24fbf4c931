"""Rows of a run file: inserted many at a time with one statement, read back as columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np

from steelyard.core.arrays import Ints

PORTIONS = (64, 32, 16, 8, 4, 2, 1)
"""Rows of one statement: few lengths, so that SQLite keeps the statements it has read.

A thread gives way to all others at every statement, so a commit of many small ones waits for each of them.
"""


Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""One row that is to be kept: the statement up to its values, such as `INSERT INTO prompts VALUES`, and its
values, one for each column; or a whole statement that deletes, and its values."""


def insert(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for into, values in rows:
        tables.setdefault(into, []).append(values)
    for into, every in tables.items():
        if into.startswith("DELETE"):
            connection.executemany(into, every)
        else:
            _insert(connection, into, every)


def _insert(connection: sqlite3.Connection, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    marks = f"({', '.join('?' * len(rows[0]))})"
    start = 0
    for portion in PORTIONS:
        while len(rows) - start >= portion:
            statement = f"{into} {', '.join([marks] * portion)}"
            connection.execute(statement, tuple(chain.from_iterable(rows[start : start + portion])))
            start += portion


CHUNK = 1024
"""Rows that are read at a time: what they hold is let go while it is still at hand."""
NO_NUMBERS: Ints = np.empty(0, dtype=np.int64)

Value = TypeVar("Value", bound=Hashable)


def chunks(cursor: sqlite3.Cursor) -> Iterator[tuple[tuple[Any, ...], ...]]:
    while rows := cursor.fetchmany(CHUNK):
        yield tuple(zip(*rows, strict=True))


class Numbering(dict[Value, int]):
    def __missing__(self, value: Value) -> int:
        self[value] = number = len(self)
        return number

    def of(self, values: Iterable[Value]) -> Ints:
        return np.array(list(map(self.__getitem__, values)), dtype=np.int64)


def has_table(connection: sqlite3.Connection, table: str) -> bool:
    """A file of an earlier format that is only read has no such table."""
    rows = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return rows.fetchone() is not None
