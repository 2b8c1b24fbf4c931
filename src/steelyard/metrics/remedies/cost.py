"""What a verdict costs that takes several calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.arrays import Floats, numbered
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_CALLS, EstimateContext
from steelyard.metrics.metric import Metric, ShownAs
from steelyard.metrics.run.cost import NO_PRICE, Dollars, unpriced
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.intervals import POSITIVE
from steelyard.verdicts.observations import Observations

COST_PER_VERDICT = Metric(
    "cost_per_verdict",
    "cost per verdict",
    "Dollars per verdict: those of a call times the calls that a verdict takes.",
    shown_as=ShownAs.DOLLARS,
    estimated=False,
)

Priced = tuple[Observations, Dollars | None]
"""Calls of one judge, and its price."""


def cost_per_verdict(context: EstimateContext, asked: Sequence[Priced], calls: int = 1) -> Estimate:
    """Dollars of one call to each of these judges, so many times; an interval where it is one judge."""
    for seen, price in asked:
        why = unpriced(seen, price) if len(seen) else NO_CALLS
        if price is None or why:
            return context.undefined(COST_PER_VERDICT, why or NO_PRICE, "verdict")
    means = [_mean(seen, price) for seen, price in asked if price is not None]
    limits = means[0].limits(0.975, POSITIVE) if len(means) == 1 else None
    return context.estimate(
        COST_PER_VERDICT,
        unit="verdict",
        value=calls * sum(mean.mean for mean in means),
        intervals=(Interval("t_cluster", calls * limits[0], calls * limits[1]),) if limits else (),
        n_calls=sum(len(seen) for seen, _ in asked),
        n_units=max(seen.units for seen, _ in asked),
        n_clusters=max(mean.units for mean in means),
    )


def _mean(seen: Observations, price: Dollars) -> ClusterMean:
    """Dollars per call, with clusters as the independent units."""
    used, number = numbered(seen.usage)
    each: Floats = np.array([price(seen.usages[place]) for place in used])[number]
    return ClusterMean.of(numbered(seen.shown.cluster[seen.stimulus])[1], each)
