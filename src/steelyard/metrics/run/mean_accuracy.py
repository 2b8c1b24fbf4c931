"""The intervals of a mean accuracy over probes: clusters are left out, or drawn again, probes together."""

from __future__ import annotations

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.basis import OVER_PROBES
from steelyard.metrics.estimate import Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.resampled import intervals
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.intervals import SHARE

ACCURACY_MEAN = Metric(
    "accuracy_mean",
    "mean accuracy",
    "Mean of the accuracies of all probes, each counted once.",
    basis=OVER_PROBES,
)


def mean_intervals(context: EstimateContext, table: Floats) -> tuple[Interval, ...]:
    """Intervals of the mean of a table's shares, each counted once; none without spread."""
    return intervals(table, _mean, context.bootstrap_seed(ACCURACY_MEAN.id), SHARE)[0]


def _mean(sums: Floats) -> Floats:
    """Mean over the shares that a draw has trials of."""
    shares = ratio(sums[..., 0], sums[..., 1])
    known = np.isfinite(shares)
    return ratio(np.where(known, shares, 0.0).sum(-1), known.sum(-1).astype(np.float64))
