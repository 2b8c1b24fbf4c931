"""Directional bias: how far answers between 0 and 1 err to one side of what was expected, or to longer texts.

Errors upward (of units where 0 was expected) against errors downward (where 1 was expected):

    bias = (mean answer where 0 was expected − mean shortfall where 1 was expected) / 2

the share of answers by which a judge would be too high if 0 and 1 were expected equally often. A coin has a
bias of 0 whatever is expected more often; the plain difference of the two means has not. Units where one half
was expected add their mean distance from it, each as much as one of the others.

`Halves` compares answers on the longer and the shorter texts of each label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, numbered
from steelyard.metrics.stats.clusters import (
    ClusterMean,
    clustered_t_p,
    left_out,
    left_out_error,
    ratio,
    sum_rows,
)
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import ALPHA, DIFFERENCE, Span, barnard, clipped, score
from steelyard.metrics.stats.sample_size import POWER, detectable_errors, smallest_sufficient, units_to_decide

HALF = (-0.5, 0.5)
_SHUFFLES = 1999
_FEW_UNITS = 80
"""Up to so many units Barnard's test looks at every possible count; its tables grow with the cube of it."""
_MANY_UNITS = 1000
"""Above so many units Student's t decides alone: it is then exact to the digits that are printed, and dealing
at random would take seconds."""
_ROUNDING = 1e-9


class LeftOutFigure(ABC):
    """A figure of rows, whose clusters are independent: its error is that from leaving out each in turn."""

    answer: Floats
    cluster: Ints

    @abstractmethod
    def _columns(self) -> Floats:
        """What each row adds to the sums that the figure is made of."""

    @staticmethod
    @abstractmethod
    def _figure(sums: Floats) -> Floats: ...

    @abstractmethod
    def _exact_p(self, seed: int) -> float:
        """Two-sided p of none, as if each row were independent."""

    @property
    def units(self) -> int:
        return len(self.answer)

    @cached_property
    def value(self) -> float:
        return float(self._figure(self._columns().sum(axis=0))) if self.units else float("nan")

    @cached_property
    def independent(self) -> Ints:
        """Clusters, or the rows themselves where there is one cluster."""
        return self.cluster if len(distinct(self.cluster)) > 1 else np.arange(self.units)

    @cached_property
    def clusters(self) -> int:
        return len(distinct(self.independent))

    @cached_property
    def error(self) -> float:
        """Standard error from leaving out each cluster; 0 where it can not be told."""
        without = left_out(sum_rows(self.independent, self._columns()), self._figure)
        without = without[np.isfinite(without)]
        return left_out_error(without) if len(without) > 2 else 0.0

    @property
    def even(self) -> bool:
        """Leaving out a cluster changes nothing."""
        return self.error <= _ROUNDING

    @property
    def detectable(self) -> float | None:
        """Smallest figure that a two-sided 5 % test shows with 80 % power; None without spread."""
        return None if self.even else detectable_errors(self.clusters - 1) * self.error

    def _p(self, seed: int) -> float:
        """Exact where each row is a cluster; where clusters hold several, Student's t has to agree."""
        if self.units > _MANY_UNITS:
            return self._t_p()
        exact = self._exact_p(seed)
        return max(exact, self._t_p()) if self.clusters < self.units else exact

    def _t_p(self) -> float:
        return clustered_t_p(self.value, self.error, self.clusters)

    def _dealt_p(self, drawn: Floats) -> float:
        """Share of deals at least as far off zero, the real one counted in."""
        hits = int(np.count_nonzero(np.abs(drawn) >= abs(self.value) - _ROUNDING))
        return (hits + 1) / (len(drawn) + 1)


def directional_bias(sums: Floats) -> Floats:
    """The figure, from sums (…, 6): distance and units where 0, 1 and one half were expected."""
    up, ups, down, downs, even, evens = np.moveaxis(sums, -1, 0)
    sided = (ratio(up, ups) + ratio(down, downs)) / 2
    # With one side missing errors to the other can not be seen: the bias is not known.
    sided = np.where(ups + downs > 0, sided, 0.0)
    return ratio((ups + downs) * sided + even, ups + downs + evens)


@dataclass(frozen=True, eq=False)
class DirectionalBias(LeftOutFigure):
    answer: Floats
    """Mean answer of the unit's calls, 0 to 1."""
    expected: Floats
    """What was expected: 0, 1 or one half."""
    cluster: Ints
    calls: Ints

    _figure = staticmethod(directional_bias)

    def limits(self, probability: float, clusters: int | None = None) -> Span:
        """Two-sided limits at this one-sided probability: the wider of two methods on either side.

        Clusters left out in turn see that errors of a cluster go together; limits of both shares stay honest
        where a side has few units, or units that do not differ. With `clusters`: as if there were so many.
        """
        count = clusters or self.clusters
        low, high = self._from_shares(probability, count)
        if not self.even:
            reach = t_quantile(probability, count - 1) * self.error * sqrt(self.clusters / count)
            low, high = min(low, self.value - reach), max(high, self.value + reach)
        return clipped((low, high), HALF)

    def p(self, seed: int) -> float:
        """Two-sided p of no bias: few answers that are all 0 or 1 by Barnard's test, others dealt at random.

        Exact where each unit is a cluster; where clusters hold several, Student's t has to agree.
        """
        return self._p(seed) if np.any(np.abs(self.distance) > _ROUNDING) else 1.0

    def _exact_p(self, seed: int) -> float:
        few = self.units <= _FEW_UNITS and bool(np.all((self.answer == 0) | (self.answer == 1)))
        return self._barnard() if few else self._dealt(seed)

    @property
    def distance(self) -> Floats:
        return self.answer - self.expected

    def units_total(self, margin: float, least: float = 0.0) -> int | None:
        """Units of the same kind in all that would show a bias above `least`, or keep it in the margin.

        In four runs of five if the bias stays; None where it lies on the margin, or nothing is known of it.
        """

        def planned(clusters: int) -> Span:
            low, high = self.limits(1 - ALPHA / 2, clusters)
            # The value may fall to either side: a tenth of the runs is given away on each.
            spread = t_quantile((1 + POWER) / 2, clusters - 1) * self.error * sqrt(self.clusters / clusters)
            return low - spread, high + spread

        enough = 0 if abs(self.value) > least else inf
        clusters = units_to_decide(planned, max(2, self.clusters), margin, enough)
        return None if clusters is None else ceil(self.units * clusters / self.clusters)

    def _columns(self) -> Floats:
        columns = [
            value
            for sort in (0.0, 1.0, 0.5)
            for at in [self.expected == sort]
            for value in (at * self.distance, at)
        ]
        return np.stack(columns, axis=-1).astype(np.float64)

    def _from_shares(self, probability: float, clusters: int) -> Span:
        """Variance recovery from the score limits of each part, weighed as in the figure."""
        below = above = 0.0
        evens = int(np.count_nonzero(self.expected == 0.5))
        for sort in (0.0, 1.0, 0.5):
            rows = self.expected == sort
            if not rows.any():
                continue
            if sort == 0.5:
                weight, (down, up) = evens / self.units, self._even_reach(rows, probability, clusters)
            else:
                share, (low, high) = self._share(self.answer, rows, probability, clusters)
                weight, down, up = (self.units - evens) / self.units / 2, share - low, high - share
            below += (weight * down) ** 2
            above += (weight * up) ** 2
        return self.value - sqrt(below), self.value + sqrt(above)

    def _even_reach(self, rows: Mask, probability: float, clusters: int) -> Span:
        """Where neither was expected, answers to either side are two shares that exclude each other.

        Their correlation is that of two cells of a multinomial law. Where neither is ever seen, as many of
        one may be hidden as the data allow.
        """
        (up, (up_low, up_high)), (down, (down_low, down_high)) = (
            self._share(2 * np.maximum(sign * self.distance, 0.0), rows, probability, clusters)
            for sign in (1, -1)
        )
        rest = (1 - up) * (1 - down)
        together = 2 * sqrt(up * down / rest) if rest > _ROUNDING else 0.0
        below, above = (
            sqrt(one * one + other * other + together * one * other) / 2
            for one, other in ((up - up_low, down_high - down), (up_high - up, down - down_low))
        )
        return below, above

    def _share(self, values: Floats, rows: Mask, probability: float, clusters: int) -> tuple[float, Span]:
        unit = numbered(self.independent[rows])[1]
        calls = np.bincount(unit, weights=self.calls[rows])
        sums = np.bincount(unit, weights=(values * self.calls)[rows])
        mean = ClusterMean(sums, np.rint(calls).astype(np.int64))
        share = min(1.0, max(0.0, mean.mean))
        size = mean.effective_size(share * (1 - share)) * clusters / self.clusters
        return share, score(share, size, t_quantile(probability, max(1, clusters - 1)))

    def _barnard(self) -> float:
        ups, downs, evens = (
            (int(np.count_nonzero(self.answer[at] != other)), int(np.count_nonzero(at)))
            for at, other in (
                (self.expected == 0, 0.0),
                (self.expected == 1, 1.0),
                (self.expected == 0.5, 0.0),
            )
        )
        return barnard(ups, downs, evens)

    def _dealt(self, seed: int) -> float:
        """Share of deals at least as far off zero: of sides among the decided, of signs among the others."""
        generator = np.random.default_rng(seed)
        sided, even = self.expected != 0.5, self.expected == 0.5
        # An error goes upward where 0 was expected and downward where 1 was: its size is what is dealt.
        sizes, ups = np.abs(self.distance[sided]), int(np.count_nonzero(self.expected == 0.0))
        drawn = np.zeros(_SHUFFLES)
        if len(sizes):
            dealt = generator.permuted(np.tile(sizes, (_SHUFFLES, 1)), axis=1)
            downs = len(sizes) - ups
            sides = dealt[:, :ups].sum(1) / max(1, ups) - dealt[:, ups:].sum(1) / max(1, downs)
            drawn += len(sizes) * sides / 2
        signs = generator.choice((-1.0, 1.0), (_SHUFFLES, int(even.sum())))
        return self._dealt_p((drawn + signs @ self.distance[even]) / self.units)


def halves_of(label: Floats, words: Ints) -> tuple[Ints, Ints]:
    """The number of each item's label, and its half: 1 longer, −1 shorter, 0 for those that are left out."""
    number = np.unique(label, return_inverse=True)[1].astype(np.int64)
    half = np.zeros(len(label), dtype=np.int64)
    for each in np.unique(number):
        here = number == each
        side = np.sign(words[here] - np.median(words[here])).astype(np.int64)
        half[here] = side if {-1, 1} <= set(side.tolist()) else 0
    return number, half


@dataclass(frozen=True, eq=False)
class Halves(LeftOutFigure):
    """Items with a label: what they were scored, and the half of their label that they belong to."""

    answer: Floats
    label: Ints
    longer: Ints
    """1 in the longer half, 0 in the shorter."""
    cluster: Ints

    @classmethod
    def of(cls, answer: Floats, label: Floats, words: Ints, cluster: Ints) -> Halves:
        """Halves of each label; items at the median, and labels without both halves, are left out."""
        number, half = halves_of(label, words)
        kept = half != 0
        return cls(answer[kept], number[kept], (half[kept] > 0).astype(np.int64), cluster[kept])

    def limits(self, probability: float, clusters: int | None = None) -> Span:
        """By t over units; without spread, what as many other scores as the data allow could make of it.

        With `clusters`: as if there were so many units.
        """
        more = (clusters or self.clusters) / self.clusters
        reach = t_quantile(probability, max(1, round(self.clusters * more) - 1))
        least = score(0.0, self.units * more / 2, reach)[1]
        width = reach * self.error / sqrt(more) if not self.even else least
        return clipped((self.value - width, self.value + width), DIFFERENCE)

    def p(self, seed: int) -> float:
        """Two-sided p: halves dealt at random within labels; with several items a cluster, t has to agree."""
        sums, sizes = np.bincount(self.label, weights=self.answer), np.bincount(self.label)
        means = ratio(sums.astype(np.float64), sizes.astype(np.float64))
        if float(np.ptp(self.answer - means[self.label])) < _ROUNDING:
            return 1.0
        return self._p(seed)

    def calls_total(self, calls: int, margin: float) -> int | None:
        """Calls that in four runs of five tell the gap from none, or keep it in the margin, if it stays."""
        apart = max(abs(self.value), margin - abs(self.value))

        def decided(clusters: int) -> bool:
            luck = t_quantile(POWER, clusters - 1) * self.error * sqrt(self.clusters / clusters)
            low, high = self.limits(1 - ALPHA / 2, clusters)
            return (high - low) / 2 + luck < apart

        clusters = smallest_sufficient(decided, max(2, self.clusters))
        return None if clusters is None else ceil(calls * clusters / self.clusters)

    def _columns(self) -> Floats:
        """Per item, in the columns of its label: score and one, of the longer and of the shorter half."""
        columns = np.zeros((self.units, int(self.label.max(initial=-1)) + 1, 4))
        row = np.arange(self.units)
        columns[row, self.label, 2 * self.longer] = self.answer
        columns[row, self.label, 2 * self.longer + 1] = 1.0
        return columns

    def _exact_p(self, seed: int) -> float:
        generator = np.random.default_rng(seed)
        drawn, weights = np.zeros(_SHUFFLES), 0.0
        for each in np.unique(self.label):
            here = self.label == each
            scores, longer = self.answer[here], int(self.longer[here].sum())
            shorter = len(scores) - longer
            weight = longer * shorter / len(scores)
            dealt = generator.permuted(np.tile(scores, (_SHUFFLES, 1)), axis=1)
            drawn += weight * (dealt[:, :longer].mean(1) - dealt[:, longer:].mean(1))
            weights += weight
        return self._dealt_p(drawn / weights)

    @staticmethod
    def _figure(sums: Floats) -> Floats:
        """From sums (…, labels, 4): score and items of the shorter half, then of the longer."""
        short, shorts, long, longs = np.moveaxis(sums, -1, 0)
        weight = ratio(longs * shorts, longs + shorts)
        apart = ratio(long, longs) - ratio(short, shorts)
        filled = np.isfinite(apart)
        return ratio(np.where(filled, weight * apart, 0.0).sum(-1), np.where(filled, weight, 0.0).sum(-1))
