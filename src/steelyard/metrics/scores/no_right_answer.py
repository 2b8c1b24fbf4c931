"""Texts without a right answer: scores of empty responses (dark current) and noise at the border."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.metrics.common import DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_CALLS, NO_VERDICTS, EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import join, sampling_notes
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.probe import probe_scores, undefined_without_texts
from steelyard.metrics.scores.repeats import (
    FLEISS_KAPPA,
    FLIP_RATE,
    ICC,
    NO_REPEATS,
    SELF_AGREEMENT,
    item_noise,
    stability,
)
from steelyard.metrics.scores.shares import abstentions, by_ordinal_scale, lost_rates, score_tally, share
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import wilson_cluster
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observation, Observations

MEAN_SCORE = Metric("mean_score", "mean score", "Mean of the scores given to responses without content.")

LIMITS_OF_OTHER_SCORES = "no spread between clusters: limits from the largest share of other scores that fits"


def score_vacuum_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    parts = [(context, collect_scores(observations))]
    for kind in sorted({shown.kind for shown in observations.stimuli_seen}):
        parts.append((context.for_subgroup(kind=kind), collect_scores(observations.filter(kinds=(kind,)))))
    return [
        *(dark_current(here, scores) for here, scores in parts),
        *(mean for here, scores in parts for mean in mean_scores(here, scores)),
        *lost_rates(context, parts[0][1]),
    ]


def dark_current(context: EstimateContext, scores: Scores) -> Estimate:
    """Calls that give more than the lowest score, among all with a verdict: on a binary scale, passes."""
    counts = score_tally(scores, scores.reports, scores.readable)
    notes = abstentions(scores, "counted as not above the lowest score")
    return share(context, DARK_CURRENT, scores, counts, notes=notes)


def mean_scores(context: EstimateContext, scores: Scores) -> list[Estimate]:
    return [mean_score(here, rows) for here, rows in by_ordinal_scale(context, scores)]


def mean_score(context: EstimateContext, scores: Scores) -> Estimate:
    rows = scores.where(scores.decided)
    if not len(rows):
        return context.undefined(MEAN_SCORE, NO_VERDICTS if len(scores) else NO_CALLS, excluded=scores.lost())
    mean = ClusterMean.of(rows.unit, rows.score)
    low, high = int(rows.low[0]), int(rows.high[0])
    ends = float(low), float(high)
    spread = mean.limits(0.975, ends)
    limits = spread or clipped(_without_spread(rows), ends)
    method, assumed = ("t_cluster", None) if spread else ("wilson_mean", LIMITS_OF_OTHER_SCORES)
    return context.estimate(
        MEAN_SCORE,
        unit="call",
        value=mean.mean,
        intervals=(Interval(method, *limits),),
        n_calls=len(rows),
        n_units=rows.n_items,
        n_clusters=rows.n_clusters,
        excluded=scores.lost(),
        bounds=_bounds(mean, len(scores) - int(np.count_nonzero(scores.readable)), low, high),
        note=join([f"on a scale from {low} to {high}", assumed, *sampling_notes(rows.n_clusters)]),
    )


def _without_spread(rows: Scores) -> Span:
    """Every unit has the same mean c; at most a share p of other scores fits, and they may lie anywhere.

    The mean of all scores then lies between c − p·(c − low) and c + p·(high − c).
    """
    centre = float(rows.score.mean())
    none = np.zeros(len(rows), dtype=np.bool_)
    reach = wilson_cluster(score_tally(rows, none, ~none))[1]
    low, high = float(rows.low[0]), float(rows.high[0])
    return centre - reach * (centre - low), centre + reach * (high - centre)


def _bounds(mean: ClusterMean, missing: int, low: int, high: int) -> Span:
    """Every missing call the lowest score, or every one the highest."""
    size, total = mean.total, float(mean.sums.sum())
    return (total + missing * low) / (size + missing), (total + missing * high) / (size + missing)


BORDER_NOISE = Metric(
    "border_noise",
    "border noise",
    "Repeats that differ at the border of the rubric beyond those that differ on unchanged items.",
    plain="wavers at the border",
    signed=True,
)

BORDER = "answer_ambiguity"
"""The probe whose texts lie at the border: no verdict on them is right, or to be kept."""
METRICS = (SELF_AGREEMENT, BORDER_NOISE, FLIP_RATE, ICC, FLEISS_KAPPA, UNREADABLE_RATE, FAILED_RATE)


def border_estimates(context: EstimateContext, observations: Iterable[Observation]) -> list[Estimate]:
    scores = probe_scores(context.probe, context.protocol, observations)
    if not len(scores):
        return undefined_without_texts(context, SELF_AGREEMENT)
    border, plain = scores.where(~scores.original), scores.where(scores.original)
    agreement, *others = stability(context, border)
    compared = len(plain) and np.any(border.readable)
    unchanged = stability(context.for_subgroup(kind=ORIGINAL), plain)[:1] if compared else []
    return [agreement, *unchanged, border_noise(context, scores), *others, *lost_rates(context, border)]


def border_noise(context: EstimateContext, scores: Scores) -> Estimate:
    """Mean over items of (repeats that differ at the border − repeats of the unchanged item that differ)."""
    border, plain = (item_noise(scores.where(mask)) for mask in (~scores.original, scores.original))
    both = np.isfinite(border) & np.isfinite(plain)
    if not both.any():
        return context.undefined(BORDER_NOISE, NO_REPEATS, "comparison", scores.lost())
    mean = ClusterMean.of(scores.by_item(scores.unit)[both], (border - plain)[both])
    limits = mean.limits(0.975, DIFFERENCE)
    used = scores.where(both[scores.item])
    differ, floor = border[both].mean(), plain[both].mean()
    means = f"repeats differ in {differ:.2f}, on the unchanged items in {floor:.2f}"
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
        note=join([means, *sampling_notes(used.n_clusters, even=mean.even)]),
    )
