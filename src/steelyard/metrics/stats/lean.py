"""How far answers between 0 and 1 lean to one side of what was wanted, whatever the mix of what was wanted.

Errors upward (of units where 0 was wanted) against errors downward (where 1 was wanted):

    lean = (mean answer where 0 was wanted − mean shortfall where 1 was wanted) / 2

the share of answers by which a judge would be too high if 0 and 1 were wanted equally often. A coin has a
lean of 0 whatever is wanted more often; the plain difference of the two means has not. Units where one half
was wanted add their mean distance from it, each as much as one of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, numbered
from steelyard.metrics.stats.cluster_mean import ClusterMean, without_spread
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.intervals import Span, clipped, score
from steelyard.metrics.stats.jackknife import left_out, left_out_error
from steelyard.metrics.stats.power import ALPHA, POWER, first_number
from steelyard.metrics.stats.student_law import t_probability, t_quantile
from steelyard.metrics.stats.unconditional import barnard

HALF = (-0.5, 0.5)
"""Ends of the range of a lean."""
_SHUFFLES = 1999
_FEW_UNITS = 80
"""Up to so many units every possible count is looked at."""
_MANY_UNITS = 1000
"""Above so many units Student's t speaks alone."""
_ROUNDING = 1e-9


def lean(sums: Floats) -> Floats:
    """The figure, from sums (…, 6): distance and units where 0, 1 and one half were wanted."""
    up, ups, down, downs, even, evens = np.moveaxis(sums, -1, 0)
    sided = (ratio(up, ups) + ratio(down, downs)) / 2
    # With one side missing errors to the other can not be seen: there is no lean.
    sided = np.where(ups + downs > 0, sided, 0.0)
    return ratio((ups + downs) * sided + even, ups + downs + evens)


@dataclass(frozen=True, eq=False)
class Lean:
    """Columns of equal length, one row per unit."""

    answer: Floats
    """Mean answer of the unit's calls, 0 to 1."""
    wanted: Floats
    """What was wanted: 0, 1 or one half."""
    cluster: Ints
    """Cluster of the unit."""
    calls: Ints
    """Calls of the unit."""

    @property
    def value(self) -> float:
        """The lean; NaN where one side was never wanted."""
        return float(lean(self._sums(self.wanted))) if len(self.answer) else float("nan")

    @property
    def units(self) -> int:
        """Units."""
        return len(self.answer)

    @property
    def clusters(self) -> int:
        """Independent units: clusters, or the rows themselves where there is one cluster."""
        return len(distinct(self._independent))

    def limits(self, probability: float, clusters: int | None = None) -> Span:
        """Two-sided limits at this one-sided probability: the wider of two methods on either side.

        Clusters left out in turn see that errors of a cluster go together; limits of both shares stay honest
        where a side has few units, or units that do not differ. With `clusters`: as if there were so many.
        """
        count = clusters or self.clusters
        low, high = self._from_shares(probability, count)
        if self.error > _ROUNDING:
            reach = t_quantile(probability, count - 1) * self.error * sqrt(self.clusters / count)
            low, high = min(low, self.value - reach), max(high, self.value + reach)
        return clipped((low, high), HALF)

    @cached_property
    def error(self) -> float:
        """Standard error from leaving out each cluster; 0 where it can not be told."""
        if self.clusters < 3:
            return 0.0
        table = np.zeros((self.clusters, 6))
        np.add.at(table, numbered(self._independent)[1], self._columns(self.wanted))
        without = left_out(table, lean)
        without = without[np.isfinite(without)]
        return left_out_error(without) if len(without) > 2 else 0.0

    def p(self, seed: int) -> float:
        """Two-sided p of no lean: few answers that are all 0 or 1 by Barnard's test, others dealt at random.

        Exact where each unit is a cluster; where clusters hold several, Student's t has to agree.
        """
        if not np.any(np.abs(self.distance) > _ROUNDING):
            return 1.0
        if self.units > _MANY_UNITS:
            return self._student()
        few = self.units <= _FEW_UNITS and bool(np.all((self.answer == 0) | (self.answer == 1)))
        exact = self._exact() if few else self._dealt(seed)
        return max(exact, self._student()) if self.clusters < self.units else exact

    @property
    def distance(self) -> Floats:
        """Answer less what was wanted."""
        return self.answer - self.wanted

    @property
    def detectable(self) -> float | None:
        """Smallest lean that a two-sided 5 % test shows with 80 % power; None without spread."""
        if self.error <= _ROUNDING:
            return None
        degrees = self.clusters - 1
        return (t_quantile(1 - ALPHA / 2, degrees) + t_quantile(POWER, degrees)) * self.error

    def units_to_decide(self, margin: float, least: float = 0.0) -> int | None:
        """Units of the same kind that would tell a lean above `least` from none, or keep it in the margin.

        In four runs of five if the lean stays; None where it lies on the margin, or nothing is known of it.
        """
        counts = abs(self.value) > least

        def decided(clusters: int) -> bool:
            low, high = self.limits(1 - ALPHA / 2, clusters)
            # The value may fall to either side: a tenth of the runs is given away on each.
            spread = t_quantile((1 + POWER) / 2, clusters - 1) * self.error * sqrt(self.clusters / clusters)
            low, high = low - spread, high + spread
            return (counts and (low > 0 or high < 0)) or (-margin < low and high < margin)

        clusters = first_number(decided, max(2, self.clusters))
        return None if clusters is None else ceil(self.units * clusters / self.clusters)

    @property
    def _independent(self) -> Ints:
        return self.cluster if len(distinct(self.cluster)) > 1 else np.arange(self.units)

    def _columns(self, wanted: Floats) -> Floats:
        """Distance and one for each unit, in the columns of what was wanted."""
        columns = [
            value for sort in (0.0, 1.0, 0.5) for at in [wanted == sort] for value in (at * self.distance, at)
        ]
        return np.stack(columns, axis=-1).astype(np.float64)

    def _sums(self, wanted: Floats) -> Floats:
        return np.asarray(self._columns(wanted).sum(axis=0))

    def _from_shares(self, probability: float, clusters: int) -> Span:
        """Variance recovery from the score limits of each part, weighed as in the figure."""
        below = above = 0.0
        for sort in (0.0, 1.0, 0.5):
            rows = self.wanted == sort
            if rows.any():
                reach = self._even_reach if sort == 0.5 else self._sided_reach
                down, up = reach(rows, probability, clusters)
                below += (self._weight(sort) * down) ** 2
                above += (self._weight(sort) * up) ** 2
        return self.value - sqrt(below), self.value + sqrt(above)

    def _sided_reach(self, rows: Mask, probability: float, clusters: int) -> Span:
        """How far the mean answer may lie below and above, where one answer was wanted."""
        share, (low, high) = self._share(self.answer, rows, probability, clusters)
        return share - low, high - share

    def _even_reach(self, rows: Mask, probability: float, clusters: int) -> Span:
        """The same where neither was wanted: answers to either side are two shares that exclude each other.

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

    def _weight(self, sort: float) -> float:
        """What a part counts in the figure."""
        evens = int(np.count_nonzero(self.wanted == 0.5))
        return evens / self.units if sort == 0.5 else (self.units - evens) / self.units / 2

    def _share(self, values: Floats, rows: Mask, probability: float, clusters: int) -> tuple[float, Span]:
        unit = numbered(self._independent[rows])[1]
        calls = np.bincount(unit, weights=self.calls[rows])
        sums = np.bincount(unit, weights=(values * self.calls)[rows])
        mean = ClusterMean(sums, np.rint(calls).astype(np.int64))
        share = min(1.0, max(0.0, mean.mean))
        size = mean.effective_size(share * (1 - share)) * clusters / self.clusters
        return share, score(share, size, t_quantile(probability, max(1, clusters - 1)))

    def _student(self) -> float:
        if self.error <= _ROUNDING:
            return without_spread(self.value, self.clusters)
        return 2 * t_probability(-abs(self.value) / self.error, self.clusters - 1)

    def _exact(self) -> float:
        ups, downs, evens = (
            (int(np.count_nonzero(self.answer[at] != other)), int(np.count_nonzero(at)))
            for at, other in ((self.wanted == 0, 0.0), (self.wanted == 1, 1.0), (self.wanted == 0.5, 0.0))
        )
        return barnard(ups, downs, evens)

    def _dealt(self, seed: int) -> float:
        """Share of deals at least as far off zero: of sides among the decided, of signs among the others."""
        generator = np.random.default_rng(seed)
        sided, even = self.wanted != 0.5, self.wanted == 0.5
        # An error goes upward where 0 was wanted and downward where 1 was: its size is what is dealt.
        sizes, ups = np.abs(self.distance[sided]), int(np.count_nonzero(self.wanted == 0.0))
        drawn = np.zeros(_SHUFFLES)
        if len(sizes):
            dealt = generator.permuted(np.tile(sizes, (_SHUFFLES, 1)), axis=1)
            downs = len(sizes) - ups
            sides = dealt[:, :ups].sum(1) / max(1, ups) - dealt[:, ups:].sum(1) / max(1, downs)
            drawn += len(sizes) * sides / 2
        signs = generator.choice((-1.0, 1.0), (_SHUFFLES, int(even.sum())))
        drawn = (drawn + signs @ self.distance[even]) / self.units
        hits = int(np.count_nonzero(np.abs(drawn) >= abs(self.value) - _ROUNDING))
        return (hits + 1) / (_SHUFFLES + 1)
