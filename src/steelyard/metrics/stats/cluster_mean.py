"""A mean over independent units that differ in size, and the jackknife over clusters.

The variance of the mean is that of a ratio of totals, from what each unit's sum lies above or below the mean
times its size. Every figure that takes clusters as independent rests on it: shares, differences, means of
scores.

The jackknife serves other functions of sums over clusters: the values without one cluster give the standard
error, Student's t the reach. Near an end of its range a figure is skewed: there the reach is taken on a scale
on which the end is infinitely far away, Fisher's z between two ends, the logarithm above one. Percentiles of
a bootstrap cover less: 4 clusters have 35 different draws, and the spread of draws shrinks towards the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import atanh, exp, isfinite, sqrt, tanh

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.distributions import t_probability, t_quantile
from steelyard.metrics.stats.intervals import DIFFERENCE, UNBOUNDED, Ends, Span, clipped, score
from steelyard.metrics.stats.sample_size import POWER, detectable_errors

ASSUMED_CORRELATION = 0.1
"""Correlation within units that is assumed where the data show no spread between them."""
_ROUNDING = 1e-9
"""What a sum may lie off the mean by rounding alone; integers lie off by nothing, or by far more."""


@dataclass(frozen=True, eq=False)
class ClusterMean:
    """Sums and sizes of each independent unit; the mean is all sums over all sizes."""

    sums: Ints | Floats
    sizes: Ints
    """How many values each sum holds; all positive."""

    @classmethod
    def of(cls, units: Ints, values: Ints | Floats) -> ClusterMean:
        sizes = np.bincount(units)
        sums = np.bincount(units, weights=values)
        return cls(sums[sizes > 0], sizes[sizes > 0].astype(np.int64))

    @cached_property
    def total(self) -> int:
        return int(self.sizes.sum())

    @property
    def units(self) -> int:
        return len(self.sizes)

    @cached_property
    def mean(self) -> float:
        return float(self.sums.sum() / self.total)

    @cached_property
    def residuals(self) -> Floats:
        """What each unit's sum lies above the mean times its size."""
        if np.issubdtype(self.sums.dtype, np.integer):
            # Exact until the division: units that do not differ have residuals of 0.
            return np.asarray((self.total * self.sums - self.sums.sum() * self.sizes) / self.total)
        return np.asarray(self.sums - self.mean * self.sizes)

    @cached_property
    def even(self) -> bool:
        """Units do not differ, or there is one alone: their spread is not known."""
        return self.units < 2 or float(np.abs(self.residuals).max()) <= _ROUNDING

    @cached_property
    def variance(self) -> float:
        """Variance of the mean over units; 0 where they do not differ."""
        if self.even:
            return 0.0
        spread = float(self.residuals @ self.residuals)
        return spread / self.total**2 * self.units / (self.units - 1)

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where units do not differ."""
        return sqrt(self.variance)

    @property
    def assumed_size(self) -> float:
        """Effective values where the assumed correlation has to stand in for the missing estimate."""
        return self.total / (1 + (self.total / self.units - 1) * ASSUMED_CORRELATION)

    def effective_size(self, variance: float) -> float:
        """Independent values that would carry as much information, if each had this variance."""
        if self.units < 2:
            return float(self.total)
        return self.assumed_size if self.even else min(float(self.total), variance / self.variance)

    def limits(self, probability: float, ends: Ends = UNBOUNDED, *, units: int | None = None) -> Span | None:
        """Two-sided limits at this one-sided probability by t; None where units do not differ.

        With `units`: as if there were so many units like these.
        """
        if self.even:
            return None
        count = units or self.units
        reach = t_quantile(probability, count - 1) * self.error * sqrt(self.units / count)
        return clipped((self.mean - reach, self.mean + reach), ends)

    def difference_limits(self, probability: float) -> Span:
        """Limits of a mean between −1 and 1.

        Where units do not differ, as many values as the data allow might have been anything.
        """
        spread = self.limits(probability, DIFFERENCE)
        if spread is not None:
            return spread
        reach = score(0.0, self.assumed_size, t_quantile(probability, max(1, self.units - 1)))[1]
        return clipped((self.mean - reach, self.mean + reach), DIFFERENCE)

    def planned(self, probability: float, units: int) -> Span:
        """How far such limits reach in four runs of five, if the mean is the true one."""
        # The mean may fall to either side: a tenth of the runs is given away on each.
        reach = t_quantile(probability, units - 1) + t_quantile((1 + POWER) / 2, units - 1)
        error = self.error * sqrt(self.units / units)
        return self.mean - reach * error, self.mean + reach * error

    def p(self) -> float:
        """Two-sided p of a mean of zero: by t, or by flipping signs where units do not differ."""
        if self.even:
            return _sign_flip_p(self.mean, self.units)
        return 2 * t_probability(-abs(self.mean) / self.error, self.units - 1)

    @property
    def detectable(self) -> float | None:
        """Smallest mean that a two-sided 5 % test on these data shows with 80 % power; None if even."""
        return None if self.even else detectable_errors(self.units - 1) * self.error


def clustered_t_p(value: float, error: float, units: int) -> float:
    """Two-sided p of no effect: by t, or by flipping signs where all units show the same effect."""
    if error <= _ROUNDING:
        return _sign_flip_p(value, units)
    return 2 * t_probability(-abs(value) / error, units - 1)


def _sign_flip_p(value: float, units: int) -> float:
    return float(2.0 ** (1 - units)) if abs(value) > _ROUNDING else 1.0


Figure = Callable[[Floats], Floats]
"""From sums of shape (…, columns…) to values of shape (…)."""


def jackknife(table: Floats, figure: Figure, ends: Ends, probability: float = 0.975) -> Span | None:
    """Two-sided limits at this one-sided probability; None where no cluster moves the figure."""
    value = float(figure(table.sum(axis=0)))
    without = left_out(table, figure)
    without = without[np.isfinite(without)]
    count = len(without)
    if count < 2 or not isfinite(value):
        return None
    error = left_out_error(without)
    if error <= _ROUNDING * max(abs(value), 1.0e-300):
        return None
    return around(value, t_quantile(probability, count - 1) * error, ends)


def left_out(table: Floats, figure: Figure) -> Floats:
    return np.asarray(figure(table.sum(axis=0) - table), dtype=np.float64)


def left_out_error(without: Floats) -> float:
    apart = without - without.mean()
    return sqrt((len(without) - 1) / len(without) * float(apart @ apart))


def around(value: float, reach: float, ends: Ends) -> Span:
    """Span this far from the value to first order, and never beyond an end."""
    low, high = ends
    if not low < value < high:
        return clipped((value - reach, value + reach), ends)
    if isfinite(low) and isfinite(high):
        middle, half = (low + high) / 2, (high - low) / 2
        place = (value - middle) / half
        step = reach / half / (1 - place * place)
        return middle + half * tanh(atanh(place) - step), middle + half * tanh(atanh(place) + step)
    if isfinite(low):
        share = reach / (value - low)
        return low + (value - low) * exp(-share), low + (value - low) * exp(min(share, 700.0))
    return value - reach, value + reach
