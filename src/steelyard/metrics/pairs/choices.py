"""Choices between texts of which one is better: the share of calls that name it, and its limits.

Each call scores 1 for the better text, ½ for a tie, 0 for the worse one, and both slots weigh the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, numbered, widen
from steelyard.metrics.estimate import DECIDES, Estimate, EstimateContext, Interval, Reason, Sample, Why
from steelyard.metrics.pairs.columns import Pairs, excluded
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.stats.intervals import Span, joint_reach
from steelyard.metrics.stats.two_class import BalancedMean, youden_limits

CHANCE_OF_PAIRS = 0.5
SURER = 0.1
"""Share of the error that merit on natural pairs may take: no floor but chance parts a coin from a judge."""

ONE_SLOT = "the better text stood in one slot only"
LONGER_ONLY = Reason(
    "longer_only", "people prefer the longer text in every pair whose texts differ in length"
)
SHORTER_ONLY = Reason(
    "shorter_only", "people prefer the shorter text in every pair whose texts differ in length"
)
WEIGHED, LONGEST = "weighed_against", "longest"
"""Group key of merit whatever the length, and the rule that names the longer text; on pairs of equal length
it names neither."""
NO_VERDICT = "no call with a known answer ended in a verdict"


@dataclass(frozen=True, eq=False)
class Choices:
    """Calls on pairs that have a better text."""

    points: Floats
    """1 better, ½ neither, 0 worse, by call with a verdict."""
    better_first: Mask
    unit: Ints
    """What is independent: the cluster, or the pair where there is one cluster."""
    clusters: int
    pairs: int
    excluded: Mapping[str, int]
    alpha: float
    """Error of its limits, over both sides."""

    @classmethod
    def of(cls, pairs: Pairs, alpha: float) -> Choices:
        rows = pairs.where(pairs.better > 0)
        seen = rows.readable
        row, _ = np.nonzero(seen)
        clusters, units = (len(distinct(each[row])) for each in (rows.cluster, rows.pair))
        points, first = rows.points[seen], rows.better_first[seen]
        return cls(points, first, rows.unit[row], clusters, units, excluded(rows), alpha)

    @cached_property
    def mean(self) -> BalancedMean:
        return BalancedMean.of(self.unit, self.better_first, self.points)

    @property
    def defined(self) -> bool:
        return bool(np.any(self.better_first)) and not bool(np.all(self.better_first))

    @property
    def reason(self) -> Why:
        if not len(self.points):
            return NO_VERDICT if sum(self.excluded.values()) else "no pair has a better text"
        return ONE_SLOT

    @property
    def limits(self) -> Span:
        return self.mean.share_limits(1 - self.alpha / 2)

    @cached_property
    def by_chance(self) -> float:
        """How far the value moves where calls without a verdict count as chance."""
        return chance_shift(self.mean.value, CHANCE_OF_PAIRS, len(self.points), sum(self.excluded.values()))

    @property
    def without_losses(self) -> Choices:
        """The same, as if every call had ended in a verdict."""
        return replace(self, excluded={})

    def estimate(self, context: EstimateContext, tails: Span | None = None) -> Estimate:
        """`tails` are the errors of the lower and the upper limit that decide; alike where None."""
        below, above = tails or (self.alpha / 2, self.alpha / 2)
        decides = (self.mean.share_limits(1 - below)[0], self.mean.share_limits(1 - above)[1])
        intervals = deciding_intervals("wilson_cluster", self.limits, decides, self.by_chance, below + above)
        sample = Sample(len(self.points), self.pairs, self.clusters, self.excluded)
        value, chance = self.mean.value, CHANCE_OF_PAIRS
        return context.estimate(MERIT, sample, value=value, intervals=intervals, chance=chance)


def deciding_intervals(
    method: str, limits: Span, decides: Span, shift: float, error: float
) -> tuple[Interval, ...]:
    """The interval, and the one that decides where it is another; missing verdicts move it by `shift`."""
    moved = decides[0] + min(0.0, shift), decides[1] + max(0.0, shift)
    other = [Interval(DECIDES, *moved, round(1 - error, 6))] if moved != limits else []
    return (Interval(method, *limits), *other)


@dataclass(frozen=True, eq=False)
class BesideLength:
    """Calls on natural pairs, those that the longer text wins weighed like those that the shorter wins.

    A call counts 1, ½ or 0, as in `Choices`. Pairs of equal length are a part of their own, whose weight is
    their share. They count alone where the longer text wins all others, or the shorter. Pairs whose lengths
    nobody knows tell nothing here.
    """

    table: Floats
    """(units, shorter or longer preferred, shorter or longer chosen)."""
    neither: Choices
    alpha: float
    pairs: Pairs
    """Those of known lengths."""

    @classmethod
    def of(cls, pairs: Pairs, longer: Mapping[str, int], alpha: float) -> BesideLength | None:
        """`longer` as `longer_by_name`; None where no two texts of known length differ."""
        long = np.array([longer.get(pairs.names[number], -1) for number in pairs.pair], dtype=np.int64)
        known = (long >= 0) & (pairs.better > 0)
        decided = known & (long > 0)
        if not decided.any():
            return None
        rows, tied = pairs.where(decided), pairs.where(known & ~decided)
        seen = rows.readable
        row, _ = np.nonzero(seen)
        single = pairs.n_clusters < 2
        names, unit = numbered((rows.pair if single else rows.cluster)[row])
        points, side = rows.points[seen], (rows.better == long[decided])[row].astype(np.int64)
        # On pairs that the longer text wins the better text is the second class, else the first.
        better, worse = (4 * unit + 2 * side + each for each in (side, 1 - side))
        table = np.zeros(4 * len(names))
        np.add.at(table, better, points)
        np.add.at(table, worse, 1 - points)
        return cls(table.reshape(-1, 2, 2), Choices.of(tied, alpha), alpha, pairs.where(known))

    @property
    def defined(self) -> bool:
        return self._has_both_parts or self.neither.defined

    @property
    def _has_both_parts(self) -> bool:
        return bool(self.table.sum(axis=(0, 2)).all())

    @property
    def reason(self) -> Reason:
        return LONGER_ONLY if self.table[:, 1].any() else SHORTER_ONLY

    def limits(self, error: float) -> tuple[float, float, float]:
        """Value and limits: the mean of both parts, (1 + J) / 2, joined with pairs of equal length."""
        found = youden_limits(self.table, 1 - error)
        assert found is not None, "both parts have a verdict"
        value, low, high = ((1 + each) / 2 for each in found)
        if not self.neither.defined:
            return value, low, high
        weight = len(self.neither.points) / (len(self.neither.points) + float(self.table.sum()))
        other, (other_low, other_high) = self.neither.mean.value, self.neither.mean.share_limits(1 - error)
        joined = weight * other + (1 - weight) * value
        down = joint_reach(weight * (other - other_low), (1 - weight) * (value - low))
        up = joint_reach(weight * (other_high - other), (1 - weight) * (high - value))
        return joined, joined - down, joined + up

    def estimate(self, context: EstimateContext, excluded: Mapping[str, int]) -> Estimate:
        here = context.for_subgroup(**{WEIGHED: LONGEST})
        below, above = self.alpha / 2 * SURER, self.alpha / 2
        if not self._has_both_parts:
            return replace(self.neither, excluded=excluded).estimate(here, (below, above))
        value, *limits = self.limits(self.alpha / 2)
        decides = self.limits(below)[1], limits[1]
        tied = len(self.neither.points) if self.neither.defined else 0
        calls = round(float(self.table.sum())) + tied
        shift = chance_shift(value, CHANCE_OF_PAIRS, calls, sum(excluded.values()))
        intervals = deciding_intervals("mover_cluster", (limits[0], limits[1]), decides, shift, below + above)
        units, clusters = (len(distinct(each)) for each in (self.pairs.pair, self.pairs.cluster))
        sample = Sample(calls, units, clusters, excluded)
        return here.estimate(MERIT, sample, value=value, intervals=intervals, chance=CHANCE_OF_PAIRS)


def gain_over(context: EstimateContext, name: str, pairs: Pairs, other: Pairs, alpha: float) -> Estimate:
    """The difference in points from a baseline, on the calls that both answered."""
    here = context.for_subgroup(over=name)
    mine, theirs = _shared_rows(pairs, other)
    both = pairs.readable[mine] & other.readable[theirs] & (pairs.better[mine] > 0)[:, None]
    row, _ = np.nonzero(both)
    first = pairs.better_first[mine][both]
    if np.all(first) or not np.any(first):
        return here.undefined(MERIT, ONE_SLOT if len(row) else NO_VERDICT, "call", excluded(pairs))
    points = [side.points[rows][both] for side, rows in ((pairs, mine), (other, theirs))]
    unit = pairs.cluster[mine] if len(distinct(pairs.cluster[mine])) > 1 else pairs.pair[mine]
    mean = BalancedMean.of(unit[row], first, points[0] - points[1])
    interval = Interval("t_cluster", *mean.difference_limits(1 - alpha / 2))
    units, clusters = (len(distinct(each[mine][row])) for each in (pairs.pair, pairs.cluster))
    sample = Sample(len(row), units, clusters, excluded(pairs))
    return here.estimate(MERIT, sample, value=mean.value, intervals=(interval,), chance=0.0)


def _shared_rows(pairs: Pairs, other: Pairs) -> tuple[Ints, Ints]:
    """Rows of the same pair and repeat in both; of several in the other, the last."""
    numbers = {name: number for number, name in enumerate(other.names)}
    known = np.array([numbers.get(name, -1) for name in pairs.names], dtype=np.int64)[pairs.pair]
    repeats = 1 + int(max(pairs.replicate.max(initial=0), other.replicate.max(initial=0)))
    # An unknown pair has the number -1: the last places are its own, and stay without a row.
    place = np.full((len(other.names) + 1) * repeats, -1, dtype=np.int64)
    place[widen(other.pair) * repeats + other.replicate] = np.arange(len(other))
    theirs = place[known * repeats + pairs.replicate]
    mine = np.flatnonzero(theirs >= 0)
    return mine, theirs[mine]


def chance_shift(value: float, chance: float, calls: int, missing: int) -> float:
    return (chance - value) * missing / (calls + missing)
