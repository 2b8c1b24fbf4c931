"""Figures of judges that cannot do what is counted, by how they are made."""

from __future__ import annotations

import numpy as np

from steelyard.core.arrays import distinct
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import CLEAR
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.answer import readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_calls, distinct_pairs, excluded

BY_CONSTRUCTION = "by construction: both orders are asked, and neither slot can win"
_METHOD = "by_construction"


def by_construction(context: EstimateContext, metric: Metric, pairs: Pairs, unit: str = "call") -> Estimate:
    """Nothing, exactly: both orders of a pair have one verdict."""
    calls = int(count_calls(pairs, readable).sum())
    return context.estimate(
        metric,
        unit=unit,
        value=0.0,
        numerator=0,
        denominator=calls // 2 if unit == "pair" else calls,
        intervals=(Interval(_METHOD, 0.0, 0.0),),
        n_calls=calls,
        n_units=distinct_pairs(pairs, np.ones(len(pairs), dtype=np.bool_)),
        n_clusters=len(distinct(pairs.cluster)),
        excluded=excluded(pairs),
        chance=0.0,
        finding=CLEAR,
        note=BY_CONSTRUCTION,
    )


def holds_by_construction(estimate: Estimate) -> bool:
    """True for a figure of this module."""
    return estimate.interval is not None and estimate.interval.method == _METHOD
