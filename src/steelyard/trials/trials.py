"""Trials in columns: a million of them without a million objects.

They are a sequence of `Trial`, and an object is made only for who asks for one. Repeats of a question share
its words; what is said of a question is said once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import TypeVar, overload

import numpy as np

from steelyard.core.arrays import Digests, Ints, Mask, compact, widen
from steelyard.core.content_hash import HashIndex, column, digests_of, hash_of
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial, replicate_of

STEP = 65_536

Value = TypeVar("Value", bound=Hashable)
Ordered = tuple[str | int, ...]
Place = tuple[str, str, str, str]
"""Judge, protocol, name of the stimulus, order: what tells a question from every other of a study."""


@dataclass(frozen=True, eq=False)
class Trials(Sequence[Trial]):
    questions: tuple[Trial, ...]
    """What `question` is an index into: trials without the words of their prompts."""
    question: Ints
    replicate: Ints
    key: Digests

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Trials:
        if isinstance(trials, Trials):
            return trials
        rows = list({trial.key: trial for trial in trials}.values())
        numbers: dict[tuple[object, ...], int] = {}
        questions: list[Trial] = []
        question = []
        for trial in rows:
            parts = (id(trial.judge), trial.protocol, id(trial.stimulus), id(trial.task), trial.order)
            number = numbers.setdefault(parts, len(questions))
            if number == len(questions):
                questions.append(trial.without_prompt())
            question.append(number)
        replicate = np.array([trial.replicate for trial in rows], dtype=np.int64)
        keys = digests_of([trial.key for trial in rows])
        return cls(tuple(questions), compact(np.array(question, dtype=np.int64)), compact(replicate), keys)

    @classmethod
    def repeats(cls, questions: Sequence[Trial], question: Ints, replicate: Ints) -> Trials:
        keys = _keys(questions, question, replicate)
        return cls(tuple(questions), compact(question), compact(replicate), keys)

    def __len__(self) -> int:
        return len(self.question)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> Trials: ...
    def __getitem__(self, index: int | slice) -> Trial | Trials:
        if isinstance(index, slice):
            return self.take(index)
        return self._trial(self.question.item(index), self.replicate.item(index), self.key.item(index))

    def __iter__(self) -> Iterator[Trial]:
        return map(self._trial, self.question.tolist(), self.replicate.tolist(), self.key.tolist())

    def take(self, rows: slice | Ints | Mask) -> Trials:
        return replace(self, question=self.question[rows], replicate=self.replicate[rows], key=self.key[rows])

    def _trial(self, number: int, replicate: int, key: bytes) -> Trial:
        return replicate_of(self.questions[number], replicate, hash_of(key))

    # Columns

    @cached_property
    def numbers(self) -> list[int]:
        row = np.full(len(self.questions), -1, dtype=np.int64)
        row[self.question[::-1]] = np.arange(
            len(self) - 1, -1, -1
        )  # what is written last stays: the first row
        asked = np.flatnonzero(row >= 0)
        return [int(number) for number in asked[np.argsort(row[asked])]]

    @property
    def distinct_trials(self) -> list[Trial]:
        return [self.questions[number] for number in self.numbers]

    @cached_property
    def judges(self) -> tuple[Judge, ...]:
        return tuple({asked.judge.name: asked.judge for asked in self.distinct_trials}.values())

    def coded(self, value: Callable[[Trial], Value]) -> tuple[tuple[Value, ...], Ints]:
        """What is said of the questions of these trials: distinct values, and an index for each question.

        Questions that have no trial here have the index -1.
        """
        known: dict[Value, int] = {}
        codes = np.full(len(self.questions), -1, dtype=np.int64)
        for number in self.numbers:
            codes[number] = known.setdefault(value(self.questions[number]), len(known))
        return tuple(known), codes

    def where(self, chosen: Callable[[Trial], bool]) -> Mask:
        keep = np.zeros(len(self.questions), dtype=np.bool_)
        keep[[number for number in self.numbers if chosen(self.questions[number])]] = True
        mask: Mask = keep[self.question]
        return mask

    def of_judge(self, name: str) -> Mask:
        names, codes = self._judge_codes
        number = names.index(name) if name in names else len(names)
        mask: Mask = codes[self.question] == number
        return mask

    @cached_property
    def _judge_codes(self) -> tuple[tuple[str, ...], Ints]:
        return self.coded(attrgetter("judge.name"))

    def ranks(self, value: Callable[[Trial], Ordered]) -> Ints:
        values, codes = self.coded(value)
        place = np.empty(len(values), dtype=np.int64)
        place[sorted(range(len(values)), key=values.__getitem__)] = np.arange(len(values))
        ranks: Ints = place[codes[self.question]]
        return ranks

    @property
    def by_prefix(self) -> Ints:
        return np.lexsort((self.key, self.ranks(attrgetter("opening"))))

    # Finding

    @cached_property
    def _index(self) -> HashIndex:
        return HashIndex(self.key)

    @property
    def by_key(self) -> Trials:
        return self.take(self._index.order)

    def lookup(self, keys: Digests) -> Ints:
        """Row of each key; -1 where it is of no trial here."""
        return self._index.lookup(keys)

    def find(self, place: Place, replicate: int) -> int | None:
        row = self.find_all(self.number(place), np.array([replicate]))[0]
        return None if row < 0 else int(row)

    def find_all(self, question: Ints | int, replicate: Ints) -> Ints:
        """Row of each repeat of a question; -1 where it is not here."""
        codes, rows, span = self._codes
        if not len(codes):
            return np.full(len(replicate), -1, dtype=np.int64)
        wanted = widen(np.asarray(question)) * span + replicate
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        there = (codes[at] == wanted) & (replicate < span) & (np.asarray(question) >= 0)
        return np.where(there, rows[at], -1)

    def number(self, place: Place) -> int:
        return self._numbers.get(place, -1)

    @cached_property
    def _numbers(self) -> dict[Place, int]:
        return {(q.judge.name, q.protocol, q.stimulus.id, q.order): n for n, q in enumerate(self.questions)}

    @cached_property
    def _codes(self) -> tuple[Ints, Ints, int]:
        span = int(self.replicate.max(initial=0)) + 1
        codes = widen(self.question) * span + self.replicate
        rows = np.argsort(codes)
        return codes[rows], rows, span


def _keys(questions: Sequence[Trial], question: Ints, replicate: Ints) -> Digests:
    prefixes = [_key_prefix(asked) for asked in questions]
    seeded = {number for number, asked in enumerate(questions) if asked.judge.decoding.seed is not None}
    parts = []
    for start in range(0, len(question), STEP):
        part = slice(start, start + STEP)
        texts = [
            before + b"%d" % repeat + after
            for number, repeat in zip(question[part].tolist(), replicate[part].tolist(), strict=True)
            for before, after in (
                _key_prefix(replicate_of(questions[number], repeat))
                if number in seeded
                else prefixes[number],
            )
        ]
        parts.append(b"".join([sha256(text).digest() for text in texts]))
    return column(b"".join(parts))


def _key_prefix(asked: Trial) -> tuple[bytes, bytes]:
    before, after = asked.key_prefix
    return before.encode("ascii"), after.encode("ascii")
