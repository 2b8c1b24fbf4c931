"""At the border of the rubric no verdict is wrong: what counts is whether the judge stays with its own."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.probe import probe_scores, untold
from steelyard.metrics.scores.repeats import (
    FLEISS_KAPPA,
    FLIP_RATE,
    ICC,
    NO_REPEATS,
    SELF_AGREEMENT,
    equal_pairs,
    stability,
    verdict_counts,
)
from steelyard.metrics.scores.shares import lost_rates
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.intervals import DIFFERENCE
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observation

BORDER_NOISE = Metric(
    "border_noise",
    "border noise",
    "Repeats that differ at the border of the rubric beyond those that differ on unchanged items.",
    plain="wavers at the border",
    signed=True,
)

BORDER = "answer_ambiguity"
"""The probe whose texts lie at the border: no verdict on them is right, or to be kept."""
METRICS = (
    SELF_AGREEMENT,
    BORDER_NOISE,
    FLIP_RATE,
    ICC,
    FLEISS_KAPPA,
    UNREADABLE_RATE,
    FAILED_RATE,
)
"""Ids of the figures at the border, in reading order."""


def border_estimates(context: EstimateContext, observations: Iterable[Observation]) -> list[Estimate]:
    """Agreement of repeats at the border, on the unchanged items, and the difference."""
    scores = probe_scores(context.probe, context.protocol, observations)
    if not len(scores):
        return untold(context, SELF_AGREEMENT)
    border, plain = scores.where(~scores.original), scores.where(scores.original)
    agreement, *others = stability(context, border)
    compared = len(plain) and np.any(border.readable)
    unchanged = stability(context.for_subgroup(kind=ORIGINAL), plain)[:1] if compared else []
    return [agreement, *unchanged, border_noise(context, scores), *others, *lost_rates(context, border)]


def border_noise(context: EstimateContext, scores: Scores) -> Estimate:
    """Mean over items of (repeats that differ at the border − repeats of the unchanged item that differ)."""
    border, plain = (
        item_noise(scores, scores.where(~scores.original)),
        item_noise(scores, scores.where(scores.original)),
    )
    both = np.isfinite(border) & np.isfinite(plain)
    if not both.any():
        return context.undefined(BORDER_NOISE, NO_REPEATS, "comparison", scores.lost())
    units = np.zeros(len(scores.items), dtype=np.int64)
    units[scores.item] = scores.unit
    mean = ClusterMean.of(units[both], (border - plain)[both])
    limits = mean.limits(0.975, DIFFERENCE)
    used = scores.where(both[scores.item])
    return context.estimate(
        BORDER_NOISE,
        unit="comparison",
        value=mean.mean,
        intervals=(Interval("t_cluster", *limits),) if limits else (),
        n_calls=int(np.count_nonzero(used.readable)),
        n_units=int(both.sum()),
        n_clusters=used.n_clusters,
        excluded=scores.lost(),
        chance=0.0,
        minimum_detectable=mean.detectable,
        note=join(
            [
                f"repeats differ in {border[both].mean():.2f}, on the unchanged items in "
                f"{plain[both].mean():.2f}",
                None if limits else NO_SPREAD,
                ONE_CLUSTER if used.n_clusters < 2 else None,
            ]
        ),
    )


def item_noise(scores: Scores, rows: Scores) -> Floats:
    """Share of pairs of repeats that differ, by item; NaN where an item has no two verdicts."""
    equal, pairs = equal_pairs(verdict_counts(rows, rows.item, len(scores.items)))
    return ratio((pairs - equal).astype(np.float64), pairs.astype(np.float64))
