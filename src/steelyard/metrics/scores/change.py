"""What an edit does to accuracy, on the same items: edited less unchanged.

A probe may edit some items only: hidden instructions are put into responses that should fail, and a judge
that passes everything is right on none of them, edited or not. Its accuracy on the edits says nothing of the
edits; the change from the same items unchanged does.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.arrays import Floats, Mask, distinct
from steelyard.metrics.basis import Basis, Items, labelled_items
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import HIGH, Metric
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.shares import unlabelled
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped, score

ACCURACY_CHANGE = Metric(
    "accuracy_change",
    "change of accuracy",
    "Accuracy on edited items less that on the same items unchanged, items counting once.",
    signed=True,
    direction=HIGH,
    detail=True,
    basis=Basis(items=Items.BOTH, only=labelled_items),
)
NOT_BOTH = "no labelled item has a verdict both unchanged and edited"


def accuracy_change(context: EstimateContext, scores: Scores) -> Estimate:
    """The mean over items of right edited calls less right unchanged ones."""
    rows = scores.where(scores.labelled & scores.readable)
    edited, plain = (_right(rows, mask) for mask in (~rows.original, rows.original))
    both = np.isfinite(edited) & np.isfinite(plain)
    if not both.any():
        reason = NOT_BOTH if np.any(scores.labelled) else unlabelled(scores)
        return context.undefined(ACCURACY_CHANGE, reason, "item", scores.lost())
    unit = np.zeros(len(scores.items), dtype=np.int64)
    unit[rows.item] = rows.unit
    mean = ClusterMean.of(unit[both], (edited - plain)[both])
    clusters = len(distinct(rows.cluster[both[rows.item]]))
    return context.estimate(
        ACCURACY_CHANGE,
        unit="item",
        value=mean.mean,
        intervals=(Interval("t_cluster" if not mean.even else "wilson_cluster_difference", *_limits(mean)),),
        n_calls=len(rows.where(both[rows.item])),
        n_units=int(both.sum()),
        n_clusters=clusters,
        excluded=scores.lost(),
        chance=0.0,
        note=join(
            [
                f"edited {float(edited[both].mean()):.2f}, unchanged {float(plain[both].mean()):.2f}",
                NO_SPREAD if mean.even else None,
                ONE_CLUSTER if clusters < 2 else None,
            ]
        ),
    )


def _right(rows: Scores, mask: Mask) -> Floats:
    """Share of right calls of each item, NaN for an item without one."""
    part = rows.where(mask)
    calls = np.bincount(part.item, minlength=len(rows.items)).astype(np.float64)
    right = np.bincount(part.item, weights=part.right, minlength=len(rows.items)).astype(np.float64)
    return ratio(right, calls)


def _limits(mean: ClusterMean) -> Span:
    spread = mean.limits(0.975, DIFFERENCE)
    if spread is not None:
        return spread
    reach = score(0.0, mean.assumed_size, t_quantile(0.975, max(1, mean.units - 1)))[1]
    return clipped((mean.mean - reach, mean.mean + reach), DIFFERENCE)
