"""The calls behind trials, in columns, or their count: what is really asked, each once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Ints, compact
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial, calls_behind
from steelyard.trials.trials import Trials


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
                Trial(member, trial.protocol, trial.stimulus, trial.task, order).without_prompt()
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
