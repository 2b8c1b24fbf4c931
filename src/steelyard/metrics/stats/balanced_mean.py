"""The mean of two class means, with clusters as the independent units.

Both classes weigh the same however many values each has, so that a rule which gives every call the same
answer gets one half: balanced accuracy over labels, and over the slot in which the better text stood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.metrics.stats.cluster_mean import ASSUMED_CORRELATION, left_out, left_out_error
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import Span, score

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BalancedMean:
    """Sums and sizes of both classes in each cluster."""

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
        """The mean of the two class means; NaN where a class has no value."""
        return float(_mean(self.table.sum(axis=0)))

    @property
    def size(self) -> int:
        """Values of both classes."""
        return round(float(self.table[:, [1, 3]].sum()))

    @property
    def units(self) -> int:
        """Clusters."""
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
        size = self._assumed_size if self.error == 0 else min(float(self.size), spread / self.error**2)
        return score(self.value, size, self._quantile(probability))

    def difference_limits(self, probability: float = 0.975) -> Span:
        """Limits of differences in [−1, 1]; where no cluster moves the value, those of a share of none."""
        reach = self._quantile(probability)
        far = reach * self.error or score(0.0, self._assumed_size, reach)[1]
        return max(-1.0, self.value - far), min(1.0, self.value + far)

    @property
    def _assumed_size(self) -> float:
        """Effective values where the assumed correlation has to stand in for the missing estimate."""
        return self.size / (1 + (self.size / self.units - 1) * ASSUMED_CORRELATION)

    def _quantile(self, probability: float) -> float:
        return t_quantile(probability, self.units - 1) if self.units > 1 else normal_quantile(probability)


def _mean(sums: Floats) -> Floats:
    """From (…, 4) sums to the mean of the class means."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.asarray((sums[..., 0] / sums[..., 1] + sums[..., 2] / sums[..., 3]) / 2)
    return np.where(np.isfinite(means), means, nan)
