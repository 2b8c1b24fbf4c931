"""Trials in columns, a million of them without a million objects, and the calls behind them, each once.

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
from steelyard.trials.trial import Trial, calls_behind

STEP = 65_536

Value = TypeVar("Value", bound=Hashable)
Ordered = tuple[str | int, ...]
Place = tuple[str, str, str, str]
"""Judge, protocol, name of the stimulus, order: what tells a question from every other of a study."""


@dataclass(frozen=True, eq=False)
class Trials(Sequence[Trial]):
    questions: tuple[Trial, ...]
    """What `question` is an index into."""
    question: Ints
    replicate: Ints
    key: Digests

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Trials:
        if isinstance(trials, Trials):
            return trials
        rows = list({trial.key: trial for trial in trials}.values())
        questions: dict[tuple[str, ...], Trial] = {}
        for trial in rows:
            questions.setdefault(_question_key(trial), trial.question or trial)
        numbers = {key: number for number, key in enumerate(questions)}
        question = [numbers[_question_key(trial)] for trial in rows]
        replicate = np.array([trial.replicate for trial in rows], dtype=np.int64)
        keys = digests_of([trial.key for trial in rows])
        return cls(
            tuple(questions.values()), compact(np.array(question, dtype=np.int64)), compact(replicate), keys
        )

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
        number, replicate, key = self.question.item(index), self.replicate.item(index), self.key.item(index)
        return self.questions[number].repeat(replicate, hash_of(key))

    def __iter__(self) -> Iterator[Trial]:
        rows = zip(self.question.tolist(), self.replicate.tolist(), self.key.tolist(), strict=True)
        return (self.questions[number].repeat(replicate, hash_of(key)) for number, replicate, key in rows)

    def take(self, rows: slice | Ints | Mask) -> Trials:
        return replace(self, question=self.question[rows], replicate=self.replicate[rows], key=self.key[rows])

    # Columns

    @cached_property
    def numbers(self) -> list[int]:
        row = np.full(len(self.questions), -1, dtype=np.int64)
        # What is written last stays: the first row.
        row[self.question[::-1]] = np.arange(len(self) - 1, -1, -1)
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


def _question_key(trial: Trial) -> tuple[str, ...]:
    """What repeats of a question have in common; a judge's name is in none of the hashes."""
    hashes = trial.judge.fingerprint(trial.protocol), trial.stimulus.hash, trial.unseeded_prompt_hash
    return trial.judge.name, trial.protocol, trial.order, *hashes


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
                _key_prefix(questions[number].repeat(repeat)) if number in seeded else prefixes[number],
            )
        ]
        parts.append(b"".join([sha256(text).digest() for text in texts]))
    return column(b"".join(parts))


def _key_prefix(asked: Trial) -> tuple[bytes, bytes]:
    before, after = asked.key_prefix
    return before.encode("ascii"), after.encode("ascii")


@dataclass(frozen=True, eq=False)
class Composed:
    judge: Judge
    rows: Ints
    calls: Ints

    @property
    def member_names(self) -> tuple[str, ...]:
        return tuple(one.name for one, _, _ in calls_behind(self.judge, "uv", 0))


@dataclass(frozen=True, eq=False)
class Calls:
    trials: Trials
    row: Ints
    """The call that a trial is; -1 where its judge is made of others."""
    composed: tuple[Composed, ...] = ()

    @classmethod
    def of(cls, trials: Trials) -> Calls:
        made = [judge for judge in trials.judges if judge.composition is not None]
        if not made:
            return cls(trials, compact(np.arange(len(trials))))
        own = np.flatnonzero(trials.where(lambda asked: asked.judge.composition is None))
        parts = [(own, trials.take(own))]
        for judge in made:
            parts += _parts(trials, judge)
        joined, number = _join(parts)
        row = np.full(len(trials), -1, dtype=np.int64)
        row[own] = number[0]
        composed, start = [], 1
        for judge in made:
            columns = number[start : start + judge.calls_per_verdict]
            composed.append(Composed(judge, parts[start][0], np.stack(columns, axis=1)))
            start += judge.calls_per_verdict
        return cls(joined, row, tuple(composed))

    def of_judge(self, judge: Judge, rows: Ints) -> Ints:
        for one in self.composed:
            if one.judge.name == judge.name:
                return np.unique(one.calls[np.isin(one.rows, rows)])
        return self.row[rows]


def repeats_behind(judge: Judge, replicate: Ints) -> Iterator[Ints]:
    """Repeats of the calls behind repeats of a judge's verdict, one call of each verdict after the other."""
    # The repeat of a call is a multiple of the verdict's, and a constant.
    firsts = [repeat for _, _, repeat in calls_behind(judge, "uv", 0)]
    seconds = [repeat for _, _, repeat in calls_behind(judge, "uv", 1)]
    for first, second in zip(firsts, seconds, strict=True):
        yield first + (second - first) * replicate


_Part = tuple[Ints, Trials]
"""Rows of some trials, and one call for each of them."""


def _parts(trials: Trials, judge: Judge) -> list[_Part]:
    rows = np.flatnonzero(trials.of_judge(judge.name))
    mine = trials.take(rows)
    parts = []
    for place, replicate in enumerate(repeats_behind(judge, mine.replicate)):
        questions = list[Trial]()
        number = np.full(len(mine.questions), -1, dtype=np.int64)
        for at in mine.numbers:
            trial = mine.questions[at]
            member, order, _ = list(calls_behind(judge, trial.order, 0))[place]
            number[at] = len(questions)
            questions.append(
                Trial(member, trial.protocol, trial.stimulus, trial.task, order, prompts=trial.prompts)
            )
        parts.append((rows, Trials.repeats(questions, number[mine.question], replicate)))
    return parts


def _join(parts: Sequence[_Part]) -> tuple[Trials, list[Ints]]:
    calls = [part for _, part in parts]
    sizes = [len(part) for part in calls]
    every = np.concatenate([part.key for part in calls])
    rows = np.concatenate([rows for rows, _ in parts])
    columns = np.repeat(np.arange(len(parts)), sizes)
    need = np.lexsort((columns, rows))
    _, first, number = np.unique(every[need], return_index=True, return_inverse=True)
    turn = np.empty(len(first), dtype=np.int64)
    turn[np.argsort(first)] = np.arange(len(first))
    place = np.empty(len(every), dtype=np.int64)
    place[need] = turn[number.reshape(-1)]
    chosen = need[np.sort(first)]
    starts = np.cumsum([0, *(len(part.questions) for part in calls)])
    question = np.concatenate([part.question + start for part, start in zip(calls, starts, strict=False)])
    replicate = np.concatenate([part.replicate for part in calls])
    questions = tuple(question for part in calls for question in part.questions)
    joined = Trials(questions, question[chosen], replicate[chosen], every[chosen])
    return joined, np.split(place, np.cumsum(sizes)[:-1])


CallKey = tuple[str, str, str]
"""Protocol, name of the stimulus, order."""


class CallCount:
    def __init__(self) -> None:
        self._known: dict[CallKey, int] = {}
        self._calls: Ints = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, judge: Judge, shown: Sequence[CallKey], number: Ints, replicate: Ints) -> None:
        parts = [self._calls]
        for place, repeat in enumerate(repeats_behind(judge, replicate)):
            behind = {order: list(calls_behind(judge, order, 0))[place] for _, _, order in shown}
            asked = [
                (behind[order][0].fingerprint(protocol), stimulus, behind[order][1])
                for protocol, stimulus, order in shown
            ]
            codes = [self._known.setdefault(each, len(self._known)) for each in asked]
            parts.append((np.array(codes, dtype=np.int64)[number] << 32) + repeat)
        self._calls = np.unique(np.concatenate(parts))
