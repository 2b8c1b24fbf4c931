"""Columns: the arrays that observations stand in and figures are computed on, with a weak cache for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TypeVar, cast
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Words = NDArray[np.str_]
"""Short texts that many rows share."""
Names = NDArray[np.object_]
"""Names that few rows share, each stored once."""
Digests = NDArray[np.bytes_]
"""Content hashes, 32 bytes each."""

Thing = TypeVar("Thing")
Value = TypeVar("Value")

_HALF = 1 << 31
_SPARSE = 4
"""So many times more numbers than rows are worth a table of their own."""


def compact(numbers: Ints) -> Ints:
    """The same numbers in 32 bits, which a million rows need: who multiplies them widens them first."""
    fits = not numbers.size or (int(numbers.min()) >= -_HALF and int(numbers.max()) < _HALF)
    return cast(Ints, numbers.astype(np.int32)) if fits else numbers


def widen(numbers: Ints) -> Ints:
    """The same numbers in 64 bits, so that products of them fit."""
    return numbers.astype(np.int64, copy=False)


def unwritable(columns: Iterable[object]) -> None:
    """Refuse changes to those of them that are arrays: many share them."""
    for column in columns:
        if isinstance(column, np.ndarray):
            column.flags.writeable = False


def chosen_rows(mask: Mask) -> slice | Ints:
    """Numbers of the rows; a slice where they lie together, since it takes them without a copy."""
    rows = np.flatnonzero(mask)
    together = len(rows) > 0 and int(rows[-1] - rows[0]) == len(rows) - 1
    return slice(int(rows[0]), int(rows[-1]) + 1) if together else rows


def distinct(numbers: Ints) -> Ints:
    seen = _presence_table(numbers)
    return np.unique(numbers) if seen is None else np.flatnonzero(seen)


def numbered(numbers: Ints) -> tuple[Ints, Ints]:
    """The numbers that occur, in order, and the place of each row among them."""
    seen = _presence_table(numbers)
    if seen is None:
        known, place = np.unique(numbers, return_inverse=True)
        return known, place.astype(np.int64)
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[numbers]


def in_order(columns: Sequence[Ints]) -> Ints:
    """Numbers of the rows, sorted by the columns in turn; rows that are equal in all stay as they stand.

    Numbers from 0 on that leave few gaps, and of which no row has those of another, need no sorting.
    """
    code = _one_code(columns)
    if code is None:
        return np.lexsort(columns[::-1])
    rows = np.full(int(code.max(initial=0)) + 1, -1, dtype=np.int64)
    rows[code] = np.arange(len(code))
    order = rows[rows >= 0]
    return order if len(order) == len(code) else np.argsort(code, kind="stable")


def _one_code(columns: Sequence[Ints]) -> Ints | None:
    """One number for each row, in the same order; None where there are too many, or negative ones."""
    code, most = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        most *= size
        if most > _SPARSE * len(code) + 1024 or int(column.min(initial=0)) < 0:
            return None
        code = code * size + column
    return code


def _presence_table(numbers: Ints) -> Mask | None:
    """Whether each number from 0 on occurs; None where there are too many for a table, or negative ones.

    Numbers of stimuli, clusters and units lie close together, and a table needs neither sorting nor hashing.
    """
    if not len(numbers) or int(numbers.min()) < 0:
        return None
    most = int(numbers.max()) + 1
    if most > _SPARSE * len(numbers) + 1024:
        return None
    seen = np.zeros(most, dtype=np.bool_)
    seen[numbers] = True
    return seen


def weak_cache(function: Callable[[Thing], Value]) -> Callable[[Thing], Value]:
    """Decorator: cache one result for each argument, by identity, as long as the argument lives.

    Neither the argument nor the result may change. The result may be the argument, but must not hold it.
    """
    known: WeakKeyDictionary[Thing, Value] = WeakKeyDictionary()
    itself: WeakSet[Thing] = WeakSet()

    @wraps(function)
    def value(thing: Thing) -> Value:
        if thing in itself:
            return cast(Value, thing)
        if thing not in known:
            result = function(thing)
            if cast(object, result) is thing:
                itself.add(thing)
                return result
            known[thing] = result
        return known[thing]

    return value
