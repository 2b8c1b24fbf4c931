"""Clusters are independent, calls are not: counts per cluster, effective sample size, intervals, bootstrap.

Simulated coverage of the 95 % interval with 10 clusters of 12 calls: .98, .96, .96 at intra-cluster
correlations .01, .1, .3 and a share of .5; .96 to .98 at shares .01 to .05. Where every cluster agrees the
correlation cannot be estimated and .1 is assumed; such runs were covered whenever the share was .05 or
less, and the strict interval that counts clusters alone stands beside. The one-sided limit errs in .10
instead of .05 of runs at shares of .05 to .1 with a correlation of .3, so words do not rest on it alone
(`rare_event_tail`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import NormalDist

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import Span, score


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
    """Student's t with a degree of freedom per cluster less one; normal when there is one cluster."""
    if tally.n_clusters < 2:
        return normal_quantile(probability)
    return t_quantile(probability, tally.n_clusters - 1)


def wilson_cluster(tally: Tally, probability: float = 0.975) -> Span:
    """Wilson's interval on the effective size with the t quantile; on distinct units for one cluster."""
    return score(tally.k / tally.n, effective_size(tally), quantile(tally, probability))


def wilson_strict(tally: Tally) -> Span:
    """The strict interval: as if each cluster were a single trial."""
    return score(tally.k / tally.n, tally.n_clusters, quantile(tally, 0.975))


def goodman_cluster(tally: Tally, cells: int, confidence: float = 0.95) -> Span:
    """Goodman's interval of one of so many cells on the effective size, with the t quantile.

    Replicates of a pair may all agree, so the size is never above the number of distinct pairs.
    """
    size = min(effective_size(tally), float(tally.n_units))
    return score(tally.k / tally.n, size, quantile(tally, 1 - (1 - confidence) / (2 * cells)))


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


def bootstrap_share(tally: Tally, seed: int) -> Span | None:
    if tally.n_clusters < 2 or tally.k in (0, tally.n):  # every draw would give the share of all
        return None
    sums = resample(np.stack([tally.events, tally.trials], axis=1), seed)
    return percentile_limits(ratio(sums[:, 0], sums[:, 1]), tally.n_clusters)


def ratio(above: Floats, below: Floats) -> Floats:
    """Elementwise quotient, NaN where the denominator is 0."""
    out: Floats = np.full(np.shape(above), np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) != 0)
    return out
