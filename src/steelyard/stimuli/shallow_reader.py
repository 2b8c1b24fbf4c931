"""The shallow reader: how often counts of marks and words name the better text, without any understanding.

What it can tell is no property of a judge but of the texts: a judge that counts commas would pass for one
that reads. It is a logistic regression with a ridge on all surface counts; subjects that it is asked about
are left out of its fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.stimuli.ladder import prefix_pair
from steelyard.stimuli.surface_counts import COUNTS, surface_counts
from steelyard.tasks.checklist import Checklist

OVERALL, FAR, CHOSEN, SINGLE = 0.60, 0.65, 0.60, 0.66
"""Largest shares that texts without a mark of quality may show: over all pairs, at three steps and more, by
the count that was best on other subjects, by any single count."""
FAR_STEP = 3
_PENALTY = 0.05
_ROUNDS = 25
_FOLDS = 20


@dataclass(frozen=True)
class Example:
    """Two texts of which the first is better, or one text that is good or not."""

    subject: str
    """What is left out together."""
    request: str
    text: str
    worse: str | None = None
    """The second text of a pair."""
    good: bool = True
    steps: float = 0.0
    """Quality steps between the two texts of a pair."""


@dataclass(frozen=True)
class ShallowReading:
    """Shares of right answers of the shallow reader; ties count as half, and half is chance.

    For single texts, good and bad ones have the same weight, whatever their numbers.
    """

    examples: int
    subjects: int
    overall: float
    one_step: float | None
    """Share at one step; None for single texts, as `far`."""
    far: float | None
    """Share at three steps and more."""
    chosen: float
    """Share of the single count that was best on the other subjects."""
    single: float
    """Largest share of a single count, upwards or downwards, on these very texts."""
    single_name: str
    error: float
    """Standard error of `overall`, by subjects."""

    @property
    def faults(self) -> tuple[str, ...]:
        """Which bounds are broken, in words; none where they hold."""
        shown = (
            ("all counts together", self.overall, OVERALL),
            ("all counts together at three steps and more", self.far, FAR),
            ("the count that is best on other subjects", self.chosen, CHOSEN),
            (f"the count of {self.single_name}", self.single, SINGLE),
        )
        return tuple(
            f"{name} {share:.2f}, at most {most:.2f}"
            for name, share, most in shown
            if share is not None and share > most
        )

    @property
    def beyond_chance(self) -> bool:
        """True where so large an overall share is no luck of few subjects: two standard errors above half."""
        return self.overall - 2 * self.error > 0.5

    @property
    def sentence(self) -> str:
        """What a person has to know, in one sentence."""
        named, shown = "names the better text", "pairs"
        if self.far is None:
            named, shown = "tells good from bad", "texts"
        start = f"Counting marks and words {named} in {100 * self.overall:.0f} of 100 {shown} (chance: 50)"
        if not self.faults:
            return f"{start}: quality does not show on the surface."
        if not self.beyond_chance:
            return f"{start}: {self.subjects} subjects are too few to tell this from luck."
        return f"{start}: a judge that does not read can pass for one that does ({'; '.join(self.faults)})."


def read_checklists(checklists: Iterable[Checklist], seeds: Sequence[int] = (0,)) -> ShallowReading:
    """The shallow reader on every whole step of the ladder of these checklists, composed with each seed."""
    known = tuple(checklists)
    return read_examples(example for seed in seeds for example in ladder_of(known, seed))


def ladder_of(checklists: Iterable[Checklist], seed: int) -> Iterable[Example]:
    """Every whole step of their ladders: 15 pairs of each."""
    for checklist in checklists:
        for low in range(checklist.depth):
            for high in range(low + 1, checklist.depth + 1):
                better, worse = prefix_pair(checklist, low, high, seed).texts
                yield Example(checklist.subject, checklist.request, better, worse, steps=high - low)


def read_examples(examples: Iterable[Example]) -> ShallowReading:
    """The shallow reader on pairs, or on single texts of which some are good and some are not.

    Two subjects are the least, since one is left out.
    """
    table = _CountTable(tuple(examples))
    if len(table.subjects) < 2:
        raise ValueError(f"the shallow reader got {len(table.subjects)} subjects, expected two and more")
    right, chosen = np.empty(len(table.rows)), np.empty(len(table.rows))
    for fold in range(table.folds):
        asked = table.fold == fold
        rows = table.signed(~asked)
        scale = np.sqrt(table.weight[~asked] @ rows[~asked] ** 2)
        scaled = rows / np.where(scale > 0, scale / np.sqrt(table.weight[~asked].sum()), 1.0)
        right[asked] = _rightness(scaled[asked] @ _fit(scaled[~asked], table.weight[~asked]))
        shares = table.weight[~asked] @ _rightness(rows[~asked]) / table.weight[~asked].sum()
        best = int(np.argmax(np.abs(shares - 0.5)))
        chosen[asked] = _rightness(rows[asked, best] * np.sign(shares[best] - 0.5))
    shares = table.mean(_rightness(table.signed(np.ones(len(right), bool))))
    best = int(np.argmax(np.abs(shares - 0.5)))
    return ShallowReading(
        examples=len(right),
        subjects=len(table.subjects),
        overall=float(table.mean(right)),
        one_step=table.mean_at(right, table.steps == 1),
        far=table.mean_at(right, table.steps >= FAR_STEP),
        chosen=float(table.mean(chosen)),
        single=float(0.5 + abs(shares[best] - 0.5)),
        single_name=tuple(COUNTS)[best],
        error=table.error(right),
    )


@dataclass(frozen=True)
class _CountTable:
    examples: tuple[Example, ...]

    @cached_property
    def rows(self) -> Floats:
        """Counts of the text; of a pair, those of the better less those of the worse."""
        return np.array([_counts(one) for one in self.examples], float).reshape(-1, len(COUNTS))

    @cached_property
    def good(self) -> Mask:
        return np.array([one.good for one in self.examples], bool)

    @cached_property
    def paired(self) -> Mask:
        return np.array([one.worse is not None for one in self.examples], bool)

    @cached_property
    def steps(self) -> Floats:
        return np.array([one.steps for one in self.examples], float)

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        return tuple(sorted({one.subject for one in self.examples}))

    @property
    def folds(self) -> int:
        return min(_FOLDS, len(self.subjects))

    @cached_property
    def subject(self) -> Ints:
        return np.searchsorted(np.array(self.subjects), [one.subject for one in self.examples])

    @property
    def fold(self) -> Ints:
        return self.subject % self.folds

    @cached_property
    def weight(self) -> Floats:
        """Good and bad single texts count as much together, whatever their numbers."""
        share = np.where(self.good, self.good.mean(), 1 - self.good.mean())
        return np.where(self.paired, 1.0, 0.5 / share)

    def signed(self, known: Mask) -> Floats:
        """Rows that are positive where a count speaks for the truth.

        A single text is set against the middle between the means of good and of bad ones that are `known`.
        """
        if self.paired.all():
            return self.rows
        sides = [known & self.good, known & ~self.good]
        middle = np.mean([self.rows[side].mean(axis=0) for side in sides if side.any()], axis=0)
        signed: Floats = np.where(self.good, 1.0, -1.0)[:, None] * (self.rows - middle)
        return signed

    def mean(self, right: Floats) -> Floats:
        return np.asarray(self.weight @ right / self.weight.sum())

    def mean_at(self, right: Floats, where: Mask) -> float | None:
        return float(right[where].mean()) if self.paired.all() and where.any() else None

    def error(self, right: Floats) -> float:
        """Standard error of the mean, by subjects."""
        totals = np.bincount(self.subject, self.weight * (right - self.mean(right)), len(self.subjects))
        count = len(totals)
        if count < 2:
            return float("inf")
        return float(np.sqrt(count / (count - 1) * (totals @ totals)) / self.weight.sum())


def _counts(example: Example) -> Sequence[float]:
    better = surface_counts(example.request, example.text)
    if example.worse is None:
        return better
    worse = surface_counts(example.request, example.worse)
    return [one - other for one, other in zip(better, worse, strict=True)]


def _rightness(evidence: Floats) -> Floats:
    return (1 + np.sign(evidence)) / 2


def _fit(rows: Floats, weight: Floats) -> Floats:
    """Coefficients of the regression on rows whose answer is always yes, by Newton's method."""
    weight = weight / weight.sum()
    found = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weight * (1 - chance)) - _PENALTY * found
        bend = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows + _PENALTY * np.eye(len(found))
        step = np.linalg.solve(bend, slope)
        found = found + step
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(found)
