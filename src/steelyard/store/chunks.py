"""Rows of a run file as columns, some at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from steelyard.core.arrays import Ints

CHUNK = 1024
"""Rows that are read at a time: what they hold is let go while it is still at hand."""
NO_NUMBERS: Ints = np.empty(0, dtype=np.int64)

Value = TypeVar("Value", bound=Hashable)


def chunks(cursor: sqlite3.Cursor) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """The columns of some rows at a time."""
    while rows := cursor.fetchmany(CHUNK):
        yield tuple(zip(*rows, strict=True))


class Numbers(dict[Value, int]):
    """Values, each with a number; those that are met first are numbered on."""

    def __missing__(self, value: Value) -> int:
        self[value] = number = len(self)
        return number

    def of(self, values: Iterable[Value]) -> Ints:
        """The number of each value."""
        return np.array(list(map(self.__getitem__, values)), dtype=np.int64)
