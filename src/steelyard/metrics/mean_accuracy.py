"""The interval of a mean accuracy over probes: tasks are drawn again with all their probes together."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.clusters import ratio
from steelyard.metrics.heading import Heading
from steelyard.metrics.intervals import Limits
from steelyard.metrics.pairs import Floats
from steelyard.metrics.resampled import interval


def mean_limits(heading: Heading, table: Floats) -> Limits | None:
    """Limits of the mean of a table's shares, each counted once; None without spread."""
    return interval(table, _mean, heading.bootstrap_seed("accuracy_mean"))[0]


def _mean(sums: Floats) -> Floats:
    """Mean over the shares that a draw has trials of."""
    shares = ratio(sums[..., 0], sums[..., 1])
    known = np.isfinite(shares)
    return ratio(np.where(known, shares, 0.0).sum(-1), known.sum(-1).astype(np.float64))
