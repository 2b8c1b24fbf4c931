"""Columns: the arrays that observations stand in and figures are computed on, and lines of coded text.

A file of a million lines has few different parts. Neighbours that have few combinations are spelled together
once, so that most lines are put together from two or three texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import accumulate
from types import NoneType
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


Part = tuple[Sequence[str], Ints]
"""Spellings, and which of them each line has."""

FEW = 4096
CHUNK = 20_000
"""Lines that are made at a time: a million are never texts at once."""


class DictionaryWriter:
    def __init__(self, parts: Iterable[Part]) -> None:
        every = list(parts)
        self._rows = len(every[0][1])
        together = joined(every, min(FEW, self._rows // 4))
        self._codes = [codes for _, codes in together]
        starts = accumulate((len(words) for words, _ in together), initial=0)
        self._starts = list(starts)[:-1]
        # An array of texts, since numpy takes many of them at once.
        self._words = np.array([word for words, _ in together for word in words], dtype=np.object_)

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[str]:
        last = self._rows if end is None else end
        for begin in range(start, last, CHUNK):
            rows = slice(begin, min(last, begin + CHUNK))
            places = [codes[rows] + first for codes, first in zip(self._codes, self._starts, strict=True)]
            yield "".join(self._words.take(np.stack(places, axis=1).ravel()).tolist())


def fixed(text: str, rows: int) -> Part:
    return [text], np.broadcast_to(np.int64(0), rows)


def encode(numbers: Ints) -> Part:
    known, codes = numbered(numbers)
    return [str(number) for number in known.tolist()], codes


def coded(words: Iterable[str], codes: Ints) -> Part:
    known = list(words)
    number = {word: place for place, word in enumerate(dict.fromkeys(known))}
    if len(number) == len(known):
        return known, codes
    return list(number), np.array([number[word] for word in known], dtype=np.int64)[codes]


def joined(parts: Iterable[Part], most: int) -> list[Part]:
    """Neighbours spelled together where one code tells both, or where at most so many combinations occur."""
    groups: list[tuple[list[Sequence[str]], Ints]] = []  # neighbours with one code
    for words, codes in parts:
        if groups and groups[-1][1] is codes:
            groups[-1][0].append(words)
        else:
            groups.append(([words], codes))
    done: list[Part] = []
    for group, codes in groups:
        part = coded(group[0] if len(group) == 1 else map("".join, zip(*group, strict=True)), codes)
        together = _merge_parts(done[-1], part, most) if done else None
        if together:
            done[-1] = together
        else:
            done.append(part)
    return done


def _merge_parts(first: Part, second: Part, most: int) -> Part | None:
    (before, code), (after, other) = first, second
    if len(after) == 1:
        return [f"{word}{after[0]}" for word in before], code
    if len(before) == 1:
        return [f"{before[0]}{word}" for word in after], other
    if max(len(before), len(after)) > most:
        return None
    both = widen(code) * len(after) + other
    if len(before) * len(after) <= most:
        return [f"{a}{b}" for a in before for b in after], compact(both)
    pairs, place = numbered(both)
    if len(pairs) > most:
        return None
    return [f"{before[n // len(after)]}{after[n % len(after)]}" for n in pairs.tolist()], compact(place)


def sorted_members(parts: Mapping[str, Part], everywhere: str) -> Iterator[Part]:
    """Members of an object in the order of their keys, with commas between them.

    A spelling is the whole member, or empty where a line lacks it; the key `everywhere` stands in each line.
    """
    for key in sorted(parts):
        words, codes = parts[key]
        if key < everywhere:
            words = [f"{word}," if word else "" for word in words]
        elif key > everywhere:
            words = [f",{word}" if word else "" for word in words]
        yield words, codes


def encode_values(values: Iterable[str | float | None]) -> list[str]:
    """Each value in JSON; empty for None, which is not known."""
    column = list(values)
    if set(map(type, column)) <= {str, NoneType}:
        texts = {value: "" if value is None else spell(value) for value in set(column)}
        return list(map(texts.__getitem__, column))
    # By their texts, since 0.0 and -0.0 are equal and spelled apart.
    each = {str(value): spell(value) for value in column if value is not None}
    return ["" if value is None else each[str(value)] for value in column]


spell = json.JSONEncoder().encode
