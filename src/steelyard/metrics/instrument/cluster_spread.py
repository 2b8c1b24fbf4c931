"""How clusters move the parameters of the instrument model, and what that leaves of a profile's limits.

The likelihood takes pairs as independent given the parameters. Where clusters differ (in position bias, say)
its limits are too narrow; where they do not, the spread between few clusters is itself badly known. So a
profile is read further out, never further in: it may lose what Student's t of the clusters allows, times the
variance between clusters over that of independent pairs where that is above one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.instrument.fit import HIGHEST, LOWEST
from steelyard.metrics.instrument.likelihood import NAMES, pattern_scores
from steelyard.metrics.instrument.patterns import Patterns
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile

SPREAD_FROM = 6
"""Clusters from which the spread between them is worth an interval."""


@dataclass(frozen=True, eq=False)
class ClusterSpread:
    """What a fit knows of its clusters; a parameter that stands at an end of the search is NaN."""

    covariance: Floats
    """Of the parameters, pairs taken as independent: the inverse of the information."""
    effects: Floats
    """How each cluster (rows) moves each parameter: its score times the covariance."""

    def inflation(self, slopes: Floats) -> float:
        """Variance between clusters over that of independent pairs, for these slopes; at least 1."""
        slopes = np.where(np.isnan(np.diag(self.covariance)), 0.0, slopes)
        alone = float(slopes @ np.nan_to_num(self.covariance) @ slopes)
        between = float(spread_of(np.nan_to_num(self.effects) @ slopes[:, None])[0] ** 2)
        return max(1.0, between / alone) if alone > 0 else 1.0


def cluster_spread(patterns: Patterns, theta: Floats) -> ClusterSpread | None:
    """The spread around a best fit; None where clusters are too few or the peak is flat."""
    clusters, size = len(patterns.by_cluster), len(NAMES)
    free = np.flatnonzero((theta > LOWEST + 1e-3) & (theta < HIGHEST - 1e-3))
    if clusters < SPREAD_FROM or not len(free):
        return None
    bread = _information(patterns, theta)[np.ix_(free, free)]
    if not np.isfinite(bread).all() or np.linalg.eigvalsh(bread)[0] <= 1e-6:
        return None
    scores = patterns.by_cluster @ pattern_scores(theta[None], patterns)[1][0][:, free]
    covariance: Floats = np.full((size, size), np.nan)
    covariance[np.ix_(free, free)] = np.linalg.inv(bread)
    effects: Floats = np.full((clusters, size), np.nan)
    effects[:, free] = scores @ covariance[np.ix_(free, free)]
    return ClusterSpread(covariance, effects)


def spread_of(effects: Floats) -> Floats:
    """Standard error of a sum of cluster effects (rows)."""
    clusters = len(effects)
    return np.asarray(np.sqrt((effects**2).sum(axis=0) * clusters / (clusters - 1)))


def allowance(clusters: int, inflation: float = 1.0, confidence: float = 0.95) -> float:
    """Root of twice the loss at a limit; with too few clusters pairs are taken as independent."""
    if clusters < SPREAD_FROM:
        return normal_quantile((1 + confidence) / 2)
    return t_quantile((1 + confidence) / 2, clusters - 1) * sqrt(inflation)


def _information(patterns: Patterns, theta: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood, by central differences of its gradient."""
    reach = 1e-5
    shifts = theta + reach * np.concatenate([np.eye(len(NAMES)), -np.eye(len(NAMES))])
    slopes = np.einsum("rkp,k->rp", pattern_scores(shifts, patterns)[1], patterns.weights)
    second = (slopes[: len(NAMES)] - slopes[len(NAMES) :]) / (2 * reach)
    return np.asarray(-(second + second.T) / 2)
