"""A table of recorded calls: the lines and content hashes that are written of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.core.content_hash import ContentHasher
from steelyard.core.dictionary_encoding import (
    DictionaryWriter,
    Part,
    encode,
    encode_values,
    fixed,
    sorted_members,
)
from steelyard.importing.reader import Outcome, RecordedCalls, Subject

Members = tuple[dict[str, list[str]], Ints]
"""Keys to their values in JSON, empty where a line lacks the key, and which of the values each call has."""
Condition = tuple[str, str, slice]


@dataclass(frozen=True, eq=False)
class RecordedTable(RecordedCalls[Subject]):
    @classmethod
    def of(cls, calls: RecordedCalls[Subject]) -> Self:
        return cls(**{f.name: getattr(calls, f.name) for f in fields(RecordedCalls)})

    def __len__(self) -> int:
        return len(self.judge)

    @abstractmethod
    def members(self) -> Iterator[Members]:
        """What lines say between judge and protocol and the number of the repeat."""

    def of_outcomes(self, code: Callable[[Outcome], int]) -> Ints:
        codes: Ints = np.array(list(map(code, self.outcomes)), dtype=np.int64)[self.outcome]
        return codes

    def lines(self) -> Iterator[str]:
        """Text of `observations.jsonl`, in parts; what is not known is left out."""
        parts = [fixed("{", len(self))]
        for columns, codes in self._members:
            known = [_members(f'"{key}": ', values, ", ") for key, values in columns.items()]
            parts.append((list(map("".join, zip(*known, strict=True))), codes))
        parts += [fixed('"replicate": ', len(self)), encode(self.replicate), fixed("}\n", len(self))]
        return DictionaryWriter(parts).chunks()

    @cached_property
    def hashes(self) -> tuple[str, dict[tuple[str, str], str]]:
        """Content hash of the list of all calls, and of those of each judge and protocol."""
        replicates, replicate = encode(self.replicate)
        parts: dict[str, Part] = {"replicate": (_members('"replicate":', replicates), replicate)}
        for columns, codes in self._members:
            for key, values in columns.items():
                parts[key] = _members(f'"{key}":', values), codes
        rows = len(self)
        lines = DictionaryWriter([fixed(",{", rows), *sorted_members(parts, "judge"), fixed("}", rows)])
        whole, each = ContentHasher(), {}
        for judge, protocol, part in self.conditions():
            condition = ContentHasher()
            for text in lines.chunks(part.start, part.stop):
                items = text.encode("ascii")
                condition.update(items)
                whole.update(items)
            each[judge, protocol] = condition.digest()
        return whole.digest(), each

    @property
    def _members(self) -> list[Members]:
        return [
            ({"judge": encode_values(self.judges)}, self.judge),
            ({"protocol": encode_values(self.protocols)}, self.protocol),
            *self.members(),
        ]

    def conditions(self) -> list[Condition]:
        starts = np.flatnonzero(np.diff(self.judge * len(self.protocols) + self.protocol)) + 1
        ends = [0, *starts.tolist(), len(self)] if len(self) else []
        return [
            (self.judges[self.judge[start]], self.protocols[self.protocol[start]], slice(start, end))
            for start, end in pairwise(ends)
        ]


def _members(key: str, values: Iterable[str], end: str = "") -> list[str]:
    return [f"{key}{value}{end}" if value else "" for value in values]
