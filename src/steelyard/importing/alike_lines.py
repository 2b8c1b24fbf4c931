"""Lines that begin and end in few ways: where each is cut is told by comparing all of them at once.

A file of a million lines names ten judges and a handful of answers. What its first line begins with is looked
for at the begin of all others, then what the first of the remaining lines begins with, and so on; the same at
their ends. Nothing is guessed: a line has a beginning that it has byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Ints, Mask

MOST_LOOKS = 12
"""Times that a line may be looked at; with more beginnings or ends than that it is quicker to cut each."""

Cut = tuple[bytes, bytes]
"""Where lines are cut: the text between two parts, and the sign at its end with which the second begins."""
Numbers = dict[bytes, int]
"""Texts of parts, numbered as they come."""


class ManyWaysError(Exception):
    """Lines begin or end in too many ways, or lack what they are cut at."""


@dataclass(frozen=True, eq=False)
class AlikeLines:
    """Whole lines, parted by line breaks."""

    text: bytes
    """All of them, without a break at the end."""

    def cut(self, cuts: Sequence[Cut], numbers: Sequence[Numbers]) -> tuple[Ints, Ints, Ints]:
        """Number of each line's head, middle and tail, which stand before, between and behind two cuts."""
        (first, opening), (second, sign) = cuts
        heads, middles, tails = numbers
        head, begins = self._told(heads, lambda row: self._head(row, first), slice(0, -len(first)))
        closing = slice(len(second) - len(sign), None)
        tail, length = self._told(tails, lambda row: self._tail(row, second), closing, at_end=True)
        starts, ends = self._starts + begins - len(opening), self._ends - length
        if np.any(starts + len(opening) > ends):
            raise ManyWaysError
        parts = map(self.text.__getitem__, map(slice, starts.tolist(), ends.tolist()))
        middle = np.fromiter(map(middles.__getitem__, parts), dtype=np.int64, count=len(head))
        return head, middle, tail

    @cached_property
    def _breaks(self) -> Ints:
        return np.flatnonzero(np.frombuffer(self.text, dtype=np.uint8) == ord("\n"))

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([np.zeros(1, dtype=np.int64), self._breaks + 1])

    @cached_property
    def _ends(self) -> Ints:
        return np.append(self._breaks, len(self.text))

    def _head(self, row: int, cut: bytes) -> bytes:
        """What a line begins with, up to and with the cut; nothing where it has none."""
        start = self._starts[row]
        place = self.text.find(cut, start, self._ends[row])
        return self.text[start : place + len(cut)] if place >= 0 else b""

    def _tail(self, row: int, cut: bytes) -> bytes:
        """What a line ends with, from the cut on; nothing where it has none."""
        end = self._ends[row]
        place = self.text.find(cut, self._starts[row], end)
        return self.text[place:end] if place >= 0 else b""

    def _told(
        self, known: Numbers, edge: Callable[[int], bytes], part: slice, *, at_end: bool = False
    ) -> tuple[Ints, Ints]:
        """Number and length of what each line begins or ends with; `part` of it is the text that counts."""
        count = len(self._ends)
        number, length = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        rest, looks = np.arange(count), MOST_LOOKS * count
        while len(rest):
            text, looks = edge(int(rest[0])), looks - len(rest)
            if not text or looks < 0:
                raise ManyWaysError
            places = self._ends[rest] - len(text) if at_end else self._starts[rest]
            same = self._stands(text, places)
            number[rest[same]], length[rest[same]] = known[text[part]], len(text)
            rest = rest[~same]
        return number, length

    def _stands(self, text: bytes, places: Ints) -> Mask:
        """Where this text stands at a place."""
        last = len(self.text) - len(text)
        windows = np.ndarray(last + 1, dtype=f"S{len(text)}", buffer=self.text, strides=(1,))
        if places[0] >= 0 and places[-1] <= last:  # places stand in order
            return np.asarray(windows[places] == np.bytes_(text))
        same = windows[np.clip(places, 0, last)] == np.bytes_(text)
        return np.asarray(same & (places >= 0) & (places <= last))
