"""Lines of text made of coded parts: each part of a line is one of the few spellings that are known of it.

A file of a million lines has few different parts. Neighbours that have few combinations are spelled together
once, so that most lines are put together from two or three texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import NoneType

import numpy as np

from steelyard.core.arrays import Ints, compact, numbered, widen

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
