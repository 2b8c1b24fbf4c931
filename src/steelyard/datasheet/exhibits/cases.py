"""Which calls to show: those of one judge on one stimulus, chosen by how they ended, most telling first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.rng import rng_for, shuffled
from steelyard.datasheet.exhibits.groups import Groups
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.call_answers import NEITHER, CallAnswers
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Failed, Unreadable

WRONG, FLIP, POSITIONAL, UNREADABLE, FAILED = OUTCOMES = (
    "wrong",
    "flip",
    "positional",
    "unreadable",
    "failed",
)
"""How calls can end that one may ask to see."""
A_TIE = 0.5
"""How telling a tie is where one text is better, against the choice of the worse."""


@dataclass(frozen=True)
class Case:
    """The calls of one judge on one stimulus under one protocol, with those that they are compared with."""

    outcome: str
    """What it is a case of; empty where none was asked for."""
    calls: tuple[Observation, ...]
    """Every order and repeat."""
    unchanged: tuple[Observation, ...] = ()
    """The calls on the unchanged item, where the verdict on an edited one is held against them."""
    held: int = 0
    """Calls that are held against a reference."""
    right: int = 0
    """Those that meet it, on the range of the unchanged item where they were made on another."""
    wrong: int = 0
    """Those that give another answer."""

    @property
    def stimulus(self) -> Stimulus:
        """What was shown."""
        return self.calls[0].stimulus

    @property
    def paired(self) -> bool:
        """True where two texts were compared."""
        return len(self.stimulus.texts) == 2


@dataclass(frozen=True, eq=False)
class Cases:
    """The calls of one judge, by what was shown."""

    observations: Observations
    """Calls of one judge."""

    @cached_property
    def groups(self) -> Groups:
        """Calls on one stimulus under one protocol."""
        return Groups.of(self.observations)

    def weight(self, outcome: str | None) -> Floats:
        """How telling each group is; zero where it is no case of the outcome."""
        if outcome is None:
            return np.asarray(1.0 + sum(weigh(self) for weigh in _WEIGHTS.values()))
        return _WEIGHTS[outcome](self)

    def count(self, outcome: str | None, among: Mask | None = None) -> int:
        """How many cases there are, of all calls or among some."""
        return len(self._candidates(outcome, among)[0])

    def choose(
        self, outcome: str | None, limit: int, seed: int, among: Mask | None = None, unlike: str | None = None
    ) -> list[Case]:
        """At most so many cases, most telling first, of as many items as there are; chance decides the rest.

        `among` says which calls may be shown; the others are only compared with. Cases of the outcome
        `unlike` are left out.
        """
        numbers, weights = self._candidates(outcome, among)
        if unlike is not None:
            kept = self.weight(unlike)[numbers] == 0
            numbers, weights = numbers[kept], weights[kept]
        chance = rng_for(seed, "exhibits", *self.observations.judges, outcome)
        order = np.array(shuffled(chance, len(numbers)), dtype=np.int64)
        ranked = numbers[order[np.argsort(-weights[order], kind="stable")]]
        return [self._case(outcome, number) for number in _spread(ranked, self.groups.item, limit)]

    def _candidates(self, outcome: str | None, among: Mask | None) -> tuple[Ints, Floats]:
        weight = self.weight(outcome)
        if among is not None:
            weight = weight * (self.groups.sums(among) > 0)
        numbers = np.flatnonzero(weight > 0)
        return numbers, weight[numbers]

    def _case(self, outcome: str | None, number: int) -> Case:
        groups = self.groups
        rows = groups.rows(number)
        calls = tuple(self.observations[rows])
        plain = int(groups.unchanged[number])
        compared = outcome in (FLIP, None) and groups.comparable[number]
        unchanged = tuple(self.observations[groups.rows(plain)]) if compared else ()
        answers = self._answers
        counts = (int(each[rows].sum()) for each in (answers.held, answers.right, answers.wrong))
        return Case(outcome or "", calls, unchanged, *counts)

    @property
    def _paired(self) -> Mask:
        """Groups that compare two texts."""
        paired: Mask = self.observations.shown.paired[self.groups.stimulus]
        return paired

    @cached_property
    def _answers(self) -> CallAnswers:
        return CallAnswers.of(self.observations)

    def wrong(self) -> Floats:
        """Share of wrong calls, each by how far it is off."""
        answers, seen = self._answers, self.observations
        shown, row = seen.shown, seen.stimulus
        low, high = shown.ends[row].T
        off = np.abs(answers.answer - answers.wanted) / np.maximum(high - low, 1)
        missed = np.where((answers.answer == NEITHER) & (answers.wanted > NEITHER), A_TIE, 1.0)
        step = np.nan_to_num(shown.delta[row])
        size = np.where(shown.paired[row], missed * (1.0 + step), off)
        return self.groups.sums(np.where(answers.wrong, size, 0.0)) / self.groups.sizes

    def flipped(self) -> Floats:
        """How far the answers to one question lie apart, those to the unchanged item included."""
        groups, answer = self.groups, self._answers.answer
        low, high, mean = groups.least(answer), groups.most(answer), groups.mean(answer)
        plain = np.where(groups.comparable, groups.unchanged, np.arange(len(groups)))
        apart = np.fmax(high, high[plain]) - np.fmin(low, low[plain])
        both = ~np.isnan(mean) & ~np.isnan(mean[plain])
        turned = (groups.least(np.where(answer > NEITHER, answer, np.nan)) == 1) & (high == 2)
        size = np.where(self._paired, 1.0 + turned, apart + np.abs(mean - mean[plain]))
        return np.where(both & (apart > 0), size, 0.0)

    def positional(self) -> Floats:
        """Share of the repeats of a pair in which the same slot won in both orders."""
        seen, answer, group = self.observations, self._answers.answer, self.groups.number
        if len(seen) < 2:
            return np.zeros(len(self.groups))
        won = seen.shown.paired[seen.stimulus] & (answer > NEITHER)
        twins = (group[1:] == group[:-1]) & (seen.replicate[1:] == seen.replicate[:-1])
        same_slot = twins & won[1:] & won[:-1] & (answer[1:] != answer[:-1])
        return self.groups.sums(np.append(same_slot, False)) / self.groups.sizes

    def unreadable(self) -> Floats:
        """Share of calls whose reply held no answer."""
        return self.groups.sums(self.observations.ended(Unreadable)) / self.groups.sizes

    def failed(self) -> Floats:
        """Share of calls without a reply."""
        return self.groups.sums(self.observations.ended(Failed)) / self.groups.sizes


_WEIGHTS: dict[str, Callable[[Cases], Floats]] = {
    WRONG: Cases.wrong,
    FLIP: Cases.flipped,
    POSITIONAL: Cases.positional,
    UNREADABLE: Cases.unreadable,
    FAILED: Cases.failed,
}


def _spread(ranked: Iterable[int], item: Ints, limit: int) -> list[int]:
    """The first ones of different items, then the others."""
    first: list[int] = []
    others: list[int] = []
    seen: set[int] = set()
    for number in map(int, ranked):
        if len(first) == limit:
            break
        (others if item[number] in seen else first).append(number)
        seen.add(int(item[number]))
    return [*first, *others][:limit]
