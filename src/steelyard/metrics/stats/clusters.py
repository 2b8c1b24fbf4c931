"""Clusters are independent, calls are not: means, effective sizes, intervals, jackknife and bootstrap.

The variance of the mean is that of a ratio of totals, from what each unit's sum lies above or below the mean
times its size. Every figure that takes clusters as independent rests on it: shares, differences, means of
scores.

The jackknife serves other functions of sums over clusters: the values without one cluster give the standard
error, Student's t the reach. Near an end of its range a figure is skewed: there the reach is taken on a scale
on which the end is infinitely far away, Fisher's z between two ends, the logarithm above one. Percentiles of
a bootstrap cover less: 4 clusters have 35 different draws, and the spread of draws shrinks towards the end.

Simulated coverage of the 95 % interval of a share with 10 clusters of 12 calls: .98, .96, .96 at correlations
within clusters of .01, .1, .3 and a share of .5; .96 to .98 at shares .01 to .05. Where every cluster agrees
the correlation cannot be estimated and .1 is assumed; such runs were covered whenever the share was .05 or
less, and the strict interval that counts clusters alone stands beside. The one-sided limit errs in .10
instead of .05 of runs at shares of .05 to .1 with a correlation of .3, so words do not rest on it alone
(`distributions.chance_of_so_few`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import atanh, exp, isfinite, sqrt, tanh
from statistics import NormalDist

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.stats.distributions import cluster_quantile, t_probability, t_quantile
from steelyard.metrics.stats.intervals import ALPHA, DIFFERENCE, UNBOUNDED, Ends, Span, clipped, score
from steelyard.metrics.stats.sample_size import POWER, detectable_errors

ASSUMED_CORRELATION = 0.1
"""Correlation within units that is assumed where the data show no spread between them."""
_ROUNDING = 1e-9
"""What a sum may lie off the mean by rounding alone; integers lie off by nothing, or by far more."""


def assumed_size(total: float, units: int) -> float:
    """Effective values where the assumed correlation has to stand in for the missing estimate."""
    return total / (1 + (total / units - 1) * ASSUMED_CORRELATION)


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
        return assumed_size(self.total, self.units)

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

    def bootstrap(self, seed: int) -> Span | None:
        """Percentile limits with units drawn again."""
        sums = resample(np.stack([self.sums, self.sizes], axis=1).astype(np.float64), seed)
        return percentile_limits(ratio(sums[:, 0], sums[:, 1]), self.units)

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


def sum_rows(units: Ints, columns: Floats) -> Floats:
    """Columns summed within units, in the order of their numbers."""
    number = numbered(units)[1]
    table = np.zeros((int(number.max(initial=-1)) + 1, *columns.shape[1:]))
    np.add.at(table, number, columns)
    return table


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


@dataclass(frozen=True, eq=False)
class Tally:
    """Integer counts of one proportion, one entry per cluster that has trials."""

    events: Ints
    trials: Ints
    """Trials in each cluster; all positive."""
    n_calls: int
    n_units: int
    """Distinct pairs behind the trials; replicates of a pair count once."""
    unreadable: int = 0
    failed: int = 0
    abstained: int = 0
    copies: int = 1
    """Trials that are one by construction: they count, and make nothing surer."""
    clusters: int | None = None
    """Clusters behind the entries, where these are items that stand in for the one cluster there is."""

    @property
    def k(self) -> int:
        return int(self.events.sum())

    @property
    def n(self) -> int:
        return int(self.trials.sum())

    @cached_property
    def share(self) -> ClusterMean:
        return ClusterMean(self.events // self.copies, self.trials // self.copies)

    @property
    def n_clusters(self) -> int:
        return len(self.trials)

    @property
    def missing(self) -> int:
        return self.unreadable + self.failed


REPLICATES = 2000
_MANY = 64
"""Above so many clusters it pays to look for equal ones."""
_BLOCK = 4_000_000
_NEAR = 32_768
"""Numbers that a processor keeps at hand."""


def effective_size(tally: Tally) -> float:
    """Independent trials that would carry as much information; distinct units when there is one cluster."""
    if tally.n_clusters < 2:
        return float(min(tally.n, tally.n_units))
    share = tally.share.mean
    return tally.share.effective_size(share * (1 - share))


def design_effect(tally: Tally) -> float | None:
    share = tally.share.mean
    return None if tally.share.even else tally.share.variance * tally.n / (share * (1 - share))


def quantile(tally: Tally, probability: float) -> float:
    return cluster_quantile(probability, tally.n_clusters)


def wilson_cluster(tally: Tally, probability: float = 0.975) -> Span:
    """Wilson's interval on the effective size with the t quantile; on distinct units for one cluster."""
    return score(tally.k / tally.n, effective_size(tally), quantile(tally, probability))


def wilson_strict(tally: Tally) -> Span:
    """The strict interval: as if each cluster were a single trial."""
    return score(tally.k / tally.n, tally.n_clusters, quantile(tally, 0.975))


def goodman_cluster(tally: Tally, cells: int) -> Span:
    """Goodman's interval of one of so many cells on the effective size, with the t quantile.

    Replicates of a pair may all agree, so the size is never above the number of distinct pairs.
    """
    size = min(effective_size(tally), float(tally.n_units))
    return score(tally.k / tally.n, size, quantile(tally, 1 - ALPHA / (2 * cells)))


def resample(counts: Ints | Floats, seed: int, replicates: int = REPLICATES) -> Floats:
    """Cluster bootstrap: (replicates × columns) sums of (clusters × columns) counts, clusters drawn again.

    Clusters with equal counts need not be told apart: where there are many clusters and few different ones,
    as with pairs that are a cluster each, the numbers of each kind are drawn at once.
    """
    clusters = len(counts)
    generator = np.random.default_rng(seed)
    table = np.asarray(counts, dtype=np.float64)
    if clusters > _MANY and _few_kinds(table):
        kinds, sizes = np.unique(table, axis=0, return_counts=True)
        if len(kinds) <= clusters // 4:
            weights = generator.multinomial(clusters, sizes / clusters, replicates)
            return np.asarray(weights.astype(np.float64) @ kinds)
    block = max(1, _BLOCK // clusters)
    blocks = [min(block, replicates - start) for start in range(0, replicates, block)]
    return np.concatenate([_weights(generator, size, clusters) @ table for size in blocks])


def _few_kinds(table: Floats) -> bool:
    """At most one cluster in four differs from all before it; by their bytes, which is quick."""
    # 0.0 and -0.0 are equal, and become one by adding nothing.
    return len({row.tobytes() for row in table + 0.0}) <= len(table) // 4


def _weights(generator: np.random.Generator, replicates: int, clusters: int) -> Floats:
    """How often each cluster is drawn (replicates × clusters), a few replicates at a time, near at hand."""
    weights = np.empty((replicates, clusters), dtype=np.float64)
    step = max(1, _NEAR // clusters)
    for start in range(0, replicates, step):
        some = weights[start : start + step]
        drawn = generator.integers(0, clusters, some.shape)
        drawn += np.arange(len(some))[:, None] * clusters
        some[:] = np.bincount(drawn.ravel(), minlength=some.size).reshape(some.shape)
    return weights


def tail(clusters: int) -> float:
    """Share of replicates beyond each end: .025 for many clusters, less for few.

    Replicates of few clusters vary too little, by √((G−1)/G), and their tails are those of a normal law, not
    of t; both are made good by reading percentiles further out.
    """
    reach = t_quantile(0.975, clusters - 1) * sqrt(clusters / (clusters - 1))
    return 1 - NormalDist().cdf(reach)


def percentile_limits(values: Floats, clusters: int) -> Span | None:
    """The 95 % percentile interval of bootstrap values; None when it has no width or no values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    low, high = (float(end) for end in np.quantile(finite, (tail(clusters), 1 - tail(clusters))))
    return (low, high) if high > low else None


def ratio(above: Floats, below: Floats) -> Floats:
    """Elementwise quotient, NaN where the denominator is 0."""
    out: Floats = np.full(np.shape(above), np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) != 0)
    return out
