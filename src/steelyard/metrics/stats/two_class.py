"""Two classes of labels: limits of Youden J, balanced accuracy, Cohen κ and of a mean of two class means.

A table is clusters × labels × scores. Its figures rest on three shares: right verdicts on either label, and
how common the second label is. Each share has limits of its own, Wilson's on the effective size with
Student's t, or exact ones on clusters where clusters do not differ. Variance recovery joins them: the shares
move together as they do over clusters, and the figure takes its least and its largest value on the ellipsoid
whose half-axes are the distances to the limits. Few clusters and a rare label leave the rarer share wide; a
standard error over clusters would not know.

Where clusters do not vary, nothing tells how the two shares move together: clusters that hold both labels are
taken to be right or wrong on both. No lower limit lies above that of the same calls all right: an error would
be credited with rows where a judge without one is credited with clusters.

`BalancedMean`: both classes weigh the same however many values each has, so that a rule which gives every
call the same answer gets one half: balanced accuracy over labels, and over the slot in which the better
text stood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import isfinite, nan, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.metrics.stats import intervals
from steelyard.metrics.stats.clusters import (
    ClusterMean,
    Figure,
    assumed_size,
    jackknife,
    left_out,
    left_out_error,
)
from steelyard.metrics.stats.distributions import cluster_quantile, t_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, ALPHA, ENOUGH_CLUSTERS, Ends, Span, score

_STEPS = 36
"""Directions to the half circle on which a figure is looked up."""
_WITHIN = 1e-9
"""How far from 0 and 1 the share of a label stays, where a figure would be undefined."""


def youden_limits(table: Floats, probability: float = 0.975) -> tuple[float, float, float] | None:
    """Sensitivity + specificity − 1 of a table (clusters, 2 labels, 2 scores), with two-sided limits.

    `probability` is that of each limit. A call may count half to either score, as an abstention does. None
    where a label has no verdict.
    """
    shares = _rates(table, probability)
    if shares is None:
        return None
    (first, first_limits), (second, second_limits) = shares
    value, together = first + second - 1, _correlation(table)
    low = value - intervals.joint_reach(first - first_limits[0], second - second_limits[0], together)
    high = value + intervals.joint_reach(first_limits[1] - first, second_limits[1] - second, together)
    right = _all_right(table)
    if not np.array_equal(table, right):
        _, least, _ = youden_limits(right, probability) or (1.0, 1.0, 1.0)
        # J of the opposite answers is −J: all wrong has the upper limit −least.
        low, high = min(low, least), max(high, -least)
    return value, *intervals.clipped((low, high), AGREEMENT)


def table_limits(table: Floats, figure: Figure, probability: float = 0.975) -> Span | None:
    shares = _rates(table, probability)
    if shares is None:
        return None
    common = _share(table[:, 1].sum(axis=-1), table.sum(axis=(1, 2)), probability)
    middle = np.array([share for share, _ in (*shares, common)])
    ends = np.array([limits for _, limits in (*shares, common)])
    together = _correlation(table)
    # Lower root of the correlation of the two rates and the share of a label, which moves by itself.
    root = np.array([[1.0, 0.0, 0.0], [together, sqrt(1 - together * together), 0.0], [0.0, 0.0, 1.0]])
    away = _directions() @ root.T
    places = np.clip(
        middle + np.where(away < 0, away * (middle - ends[:, 0]), away * (ends[:, 1] - middle)), 0, 1
    )
    right_0, right_1, second = np.concatenate([middle[None], places]).T
    second = np.clip(second, _WITHIN, 1 - _WITHIN)
    cells = [(1 - second) * right_0, (1 - second) * (1 - right_0), second * (1 - right_1), second * right_1]
    values = figure(np.stack(cells, axis=-1).reshape(-1, 2, 2))
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, right = float(values.min()), _all_right(table)
    best = None if np.array_equal(table, right) else table_limits(right, figure, probability)
    return low if best is None else min(low, best[0]), float(values.max())


def _all_right(table: Floats) -> Floats:
    """The same calls with every verdict right."""
    return np.asarray(table.sum(axis=-1)[:, :, None] * np.eye(2))


def _rates(table: Floats, probability: float) -> list[tuple[float, Span]] | None:
    """Right verdicts on either label as shares with limits; None where a label has none."""
    trials = table.sum(axis=-1)
    if not len(table) or not trials.sum(axis=0).all():
        return None
    return [_share(table[:, label, label], trials[:, label], probability) for label in (0, 1)]


def _share(events: Floats, trials: Floats, probability: float) -> tuple[float, Span]:
    """A share of calls and its limits; exact ones on clusters where these do not differ."""
    shown = trials > 0
    mean = ClusterMean(events[shown], np.rint(trials[shown]).astype(np.int64))
    share, clusters = mean.mean, mean.units
    if mean.even:
        # At 0 and 1 there is one limit only, and the whole error is spent on it.
        tail = 1 - probability if 0 < share < 1 else max(1 - probability, ALPHA)
        return share, intervals.clopper_pearson(share * clusters, clusters, 1 - 2 * tail)
    size = mean.effective_size(share * (1 - share))
    return share, score(share, size, t_quantile(probability, clusters - 1))


def _correlation(table: Floats) -> float:
    right = np.diagonal(table, axis1=1, axis2=2)
    trials = table.sum(axis=-1)
    first, second = (right - trials * (right.sum(axis=0) / trials.sum(axis=0))).T
    held = trials > 0
    # That of two shares whose clusters are right or wrong on both labels: the share of such clusters.
    alike = np.count_nonzero(held.all(axis=1)) / sqrt(float(np.prod(held.sum(axis=0))))
    return min(1.0, max(-1.0, residual_correlation(first, second, unknown=alike)))


def residual_correlation(first: Floats, second: Floats, unknown: float) -> float:
    """Correlation of two shares over clusters, from their residuals; `unknown` where one does not move.

    Few clusters tell no correlation that could be relied on to narrow the limits.
    """
    spread = sqrt(float(first @ first) * float(second @ second))
    if spread < 1e-9:
        return unknown
    together = float(first @ second) / spread
    return together if len(first) >= ENOUGH_CLUSTERS else max(0.0, together)


@dataclass(frozen=True, eq=False)
class LimitTest:
    """A figure that is a function of sums over clusters, and its limits."""

    table: Floats
    figure: Figure
    ends: Ends
    """Ends of its range; the upper one is reached where every call agrees."""
    calls: int
    by_rates: bool = False
    """Whether the sums are tables of two labels, whose rates make the limits."""

    @cached_property
    def value(self) -> float:
        return float(self.figure(self.table.sum(axis=0)))

    def limits(self, probability: float) -> Span:
        """Two-sided limits at this one-sided probability.

        Where leaving out a cluster changes nothing, as many verdicts as the data allow might have been right,
        or random: agreement goes up or down in proportion. Below zero, where random ones would help, they
        might have been wrong.
        """
        limits = self._own_limits(probability)
        if limits is not None:
            return limits
        clusters = len(self.table)
        size = assumed_size(self.calls, max(1, clusters))
        other = score(0.0, size, cluster_quantile(probability, clusters))[1]
        worse = (1 - other) * self.value
        if self.value < 0:
            worse = self.value + other * (self.ends[0] - self.value)
        # A figure without an upper end may be as much larger as it may be smaller.
        room = self.ends[1] - self.value if isfinite(self.ends[1]) else self.value
        return worse, self.value + other * room

    def _own_limits(self, probability: float) -> Span | None:
        """Limits by the two rates, or by leaving out clusters; None where neither tells anything."""
        if self.by_rates:
            return table_limits(self.table, self.figure, probability)
        return jackknife(self.table, self.figure, self.ends, probability)

    @property
    def method(self) -> str:
        if self._own_limits(0.975) is None:
            return "random_mixture"
        return "mover_cluster" if self.by_rates else "jackknife_cluster"


@cache
def _directions() -> Floats:
    """Points all over the unit sphere, the circle of the two rates among them."""
    up = np.linspace(-np.pi / 2, np.pi / 2, _STEPS + 1)[:, None]
    round_ = np.arange(2 * _STEPS) * np.pi / _STEPS
    points = np.stack(
        np.broadcast_arrays(np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up))
    )
    return np.asarray(points.reshape(3, -1).T)


_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BalancedMean:
    table: Floats
    """(clusters, 4): sum and number of values of the first class, then of the second."""

    @classmethod
    def of(cls, units: Ints, first: Mask, values: Floats) -> BalancedMean:
        """Values that belong to numbered units; `first` says which are of the first class."""
        names, place = numbered(units)
        columns = [
            np.bincount(place, weights=weights, minlength=len(names))
            for member in (first, ~first)
            for weights in (values * member, member.astype(np.float64))
        ]
        return cls(np.stack(columns, axis=1))

    @cached_property
    def value(self) -> float:
        return float(_mean(self.table.sum(axis=0)))

    @property
    def size(self) -> int:
        return round(float(self.table[:, [1, 3]].sum()))

    @property
    def units(self) -> int:
        return len(self.table)

    @cached_property
    def error(self) -> float:
        """Standard error by leaving out each cluster in turn; 0 where none moves the value."""
        without = left_out(self.table, _mean)
        without = without[~np.isnan(without)]
        error = left_out_error(without) if len(without) > 1 else 0.0
        return error if error > _ROUNDING else 0.0

    def share_limits(self, probability: float = 0.975) -> Span:
        """Limits of values in [0, 1] at this one-sided probability: Wilson's on the effective size.

        Where every cluster has the same value between 0 and 1, as with a judge that names one slot in both
        orders of every pair, they are exact: so few clusters may differ, each as far as values can.
        """
        if self.error == 0 and 0 < self.value < 1:
            others = 1 - (1 - probability) ** (1 / self.units)
            return self.value * (1 - others), self.value + others * (1 - self.value)
        spread = self.value * (1 - self.value)
        size = min(float(self.size), spread / self.error**2) if self.error else self._assumed_size
        return score(self.value, size, cluster_quantile(probability, self.units))

    def difference_limits(self, probability: float = 0.975) -> Span:
        """Limits of differences in [−1, 1]; where no cluster moves the value, those of a share of none."""
        reach = cluster_quantile(probability, self.units)
        far = reach * self.error or score(0.0, self._assumed_size, reach)[1]
        return max(-1.0, self.value - far), min(1.0, self.value + far)

    @property
    def _assumed_size(self) -> float:
        return assumed_size(self.size, self.units)


def _mean(sums: Floats) -> Floats:
    """From (…, 4) sums to the mean of the class means."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.asarray((sums[..., 0] / sums[..., 1] + sums[..., 2] / sums[..., 3]) / 2)
    return np.where(np.isfinite(means), means, nan)
