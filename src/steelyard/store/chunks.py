"""Rows of a run file as columns, some at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from steelyard.arrays import Ints

CHUNK = 8192
"""Rows that are read at a time."""
NO_NUMBERS: Ints = np.empty(0, dtype=np.int64)

Value = TypeVar("Value", bound=Hashable)


def chunks(cursor: sqlite3.Cursor) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """The columns of some rows at a time."""
    while rows := cursor.fetchmany(CHUNK):
        yield tuple(zip(*rows, strict=True))


def numbers_of(values: Iterable[Value], known: dict[Value, int]) -> Ints:
    """The number of each value; those that are met first are numbered on."""
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
