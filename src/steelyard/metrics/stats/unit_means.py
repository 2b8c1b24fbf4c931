"""A mean over independent units that differ in size: its standard error, limits and reach."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.metrics.stats.arrays import Floats, Ints
from steelyard.metrics.stats.intervals import Limits, t_quantile
from steelyard.metrics.stats.power import ALPHA, POWER


@dataclass(frozen=True, eq=False)
class UnitMeans:
    """Sums and counts of each independent unit; the mean is a ratio of totals."""

    sums: Ints | Floats
    """What was added up in each unit."""
    counts: Ints
    """How many values each sum holds; all positive."""

    @property
    def mean(self) -> float:
        """Sum per value."""
        return float(self.sums.sum() / self.counts.sum())

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where units do not differ."""
        units, total = len(self.counts), int(self.counts.sum())
        residuals = total * self.sums - self.sums.sum() * self.counts
        if units < 2 or float(np.abs(residuals).max()) <= 1e-9 * total:
            return 0.0
        scaled = residuals / total
        return sqrt(float(scaled @ scaled) / total**2 * units / (units - 1))

    def limits(self, probability: float, units: int | None = None) -> Limits:
        """Two-sided limits at this one-sided probability by t, as if there were so many units like these."""
        count = units or len(self.counts)
        reach = t_quantile(probability, count - 1) * self.error * sqrt(len(self.counts) / count)
        return max(-1.0, self.mean - reach), min(1.0, self.mean + reach)

    def planned(self, probability: float, units: int) -> Limits:
        """How far such limits reach in four runs of five, if the mean is the true one."""
        # The mean may fall to either side: a tenth of the runs is given away on each.
        reach = t_quantile(probability, units - 1) + t_quantile((1 + POWER) / 2, units - 1)
        error = self.error * sqrt(len(self.counts) / units)
        return self.mean - reach * error, self.mean + reach * error

    @property
    def detectable(self) -> float:
        """Smallest mean that a two-sided 5 % test on these data shows with 80 % power."""
        return reach_of_test(len(self.counts)) * self.error


def reach_of_test(units: int) -> float:
    """Standard errors between nothing and what a two-sided 5 % test shows with 80 % power."""
    return t_quantile(1 - ALPHA / 2, units - 1) + t_quantile(POWER, units - 1)
