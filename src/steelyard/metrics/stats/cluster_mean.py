"""A mean over independent units, with limits by Student's t and a test against zero."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.metrics.stats.arrays import Floats, Ints
from steelyard.metrics.stats.intervals import Limits, t_quantile
from steelyard.metrics.stats.power import ALPHA, POWER


@dataclass(frozen=True, eq=False)
class ClusterMean:
    """Sums and sizes of each unit; the mean is all sums over all sizes."""

    sums: Floats
    """Sum of the values of each unit."""
    sizes: Floats
    """How many values each unit has; all positive."""

    @property
    def mean(self) -> float:
        """The pooled mean."""
        return float(self.sums.sum() / self.sizes.sum())

    @property
    def error(self) -> float:
        """Standard error of the mean over units; 0 where they do not differ, or where there is one."""
        units = len(self.sums)
        if units < 2:
            return 0.0
        residuals = self.sums - self.mean * self.sizes
        size = float(self.sizes.sum())
        spread = sqrt(float(residuals @ residuals) / size**2 * units / (units - 1))
        return spread if spread > 1e-12 else 0.0

    def limits(self, probability: float) -> Limits | None:
        """Two-sided limits at this one-sided probability; None where units do not differ."""
        if not self.error:
            return None
        reach = t_quantile(probability, len(self.sums) - 1) * self.error
        return self.mean - reach, self.mean + reach

    def p(self) -> float:
        """Two-sided p of a mean of zero: by t, or by flipping signs where units do not differ."""
        if not self.error:
            return float(2.0 ** (1 - len(self.sums))) if abs(self.mean) > 1e-12 else 1.0
        from scipy.special import stdtr

        return float(2 * stdtr(len(self.sums) - 1, -abs(self.mean) / self.error))

    def detectable(self) -> float | None:
        """Smallest mean that these data would have shown with 80 % power."""
        if not self.error:
            return None
        degrees = len(self.sums) - 1
        return (t_quantile(1 - ALPHA / 2, degrees) + t_quantile(POWER, degrees)) * self.error


def mean_by_unit(units: Ints, values: Floats) -> ClusterMean:
    """The mean of values that belong to numbered units."""
    sizes = np.bincount(units).astype(np.float64)
    sums: Floats = np.bincount(units, weights=values).astype(np.float64)
    return ClusterMean(sums[sizes > 0], sizes[sizes > 0])
