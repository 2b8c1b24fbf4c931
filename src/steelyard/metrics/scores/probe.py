"""Every figure of a pointwise probe: on its edits, as a change from the items, pooled, and without an answer.

A probe may edit some items only: hidden instructions are put into responses that should fail, and a judge
that passes everything is right on none of them, edited or not. Its accuracy on the edits says nothing of the
edits; the change from the same items unchanged does.

Empty responses (dark current) and texts at the border of the rubric have no right answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import SURE
from steelyard.metrics.metric import HIGH, Basis, Items, Metric, labelled_items, step
from steelyard.metrics.proportions import (
    ACCURACY,
    DARK_CURRENT,
    FAILED_RATE,
    UNREADABLE_RATE,
    join,
    proportion,
    sampling_notes,
)
from steelyard.metrics.scores.against_labels import (
    CCC,
    FIGURES,
    MAE,
    PEARSON,
    SPEARMAN,
    binary_figures,
    ordinal_figures,
)
from steelyard.metrics.scores.columns import Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.invariance import (
    EXCESS_FLIP,
    INVARIANCE,
    compare_items,
    invariance,
    invariance_estimates,
    same_verdict_expected,
)
from steelyard.metrics.scores.repeats import (
    FLEISS_KAPPA,
    FLIP_RATE,
    ICC,
    NO_REPEATS,
    NOISE_FLOOR,
    SELF_AGREEMENT,
    item_noise,
    noise_floor,
    stability,
)
from steelyard.metrics.scores.shares import (
    abstentions,
    accuracy,
    by_ordinal_scale,
    lost_rates,
    score_tally,
    unlabelled,
)
from steelyard.metrics.stats.clusters import ClusterMean, ratio, wilson_cluster
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observation, Observations

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
    mean = ClusterMean.of(rows.by_item(rows.unit)[both], (edited - plain)[both])
    method = "wilson_cluster_difference" if mean.even else "t_cluster"
    used = rows.where(both[rows.item])
    means = f"edited {float(edited[both].mean()):.2f}, unchanged {float(plain[both].mean()):.2f}"
    return context.estimate(
        ACCURACY_CHANGE,
        Sample(len(used), int(both.sum()), used.n_clusters, scores.lost()),
        unit="item",
        value=mean.mean,
        intervals=(Interval(method, *mean.difference_limits(SURE)),),
        chance=0.0,
        note=join([means, *sampling_notes(used.n_clusters, even=mean.even)]),
    )


def _right(rows: Scores, mask: Mask) -> Floats:
    """Share of right calls of each item, NaN for an item without one."""
    part = rows.where(mask)
    calls = np.bincount(part.item, minlength=len(rows.items)).astype(np.float64)
    right = np.bincount(part.item, weights=part.right, minlength=len(rows.items)).astype(np.float64)
    return ratio(right, calls)


METRICS = (
    *(ACCURACY, ACCURACY_CHANGE, INVARIANCE, EXCESS_FLIP),
    *(NOISE_FLOOR, SELF_AGREEMENT, FLIP_RATE, ICC, FLEISS_KAPPA),
    *FIGURES,
    *(UNREADABLE_RATE, FAILED_RATE),
)


NO_TEXTS = "no text of this probe was shown"


def pointwise_estimates(
    context: EstimateContext,
    observations: Iterable[Observation],
    *,
    unchanged: bool = False,
    keep_label: bool = True,
) -> list[Estimate]:
    """The figures of the probe's edits; of the items as they are for a probe that shows nothing else.

    A probe that edits and has no edit to show measures nothing: its items as they are do not stand in. Edits
    that do not `keep_label` are held to being right, and not to leaving the verdict alone.
    """
    scores = probe_scores(context.probe, context.protocol, observations, unchanged=unchanged)
    if not unchanged and not len(scores):
        return undefined_without_texts(context, ACCURACY)
    edits = scores.where(~scores.original)
    subject = edits if len(edits) else scores
    plain = scores.where(scores.original)
    estimates = [accuracy(context, subject)]
    if len(edits) and len(plain):
        # Without a verdict on an edit, figures of the items alone would stand in its place.
        if np.any(edits.readable):
            estimates.append(accuracy(context.for_subgroup(kind=ORIGINAL), plain))
            estimates.append(accuracy_change(context, scores))
        estimates += invariance_estimates(context, scores, keep_label=keep_label)
    if not len(edits) or (_repeated(plain) and np.any(edits.readable)):
        estimates.append(noise_floor(context, plain))
    if not len(edits) or _repeated(edits):
        estimates += stability(context, subject)
    return [
        *estimates,
        *by_scale(context, subject),
        *_by_strength(context, scores, keep_label=keep_label),
        *lost_rates(context, subject),
    ]


def undefined_without_texts(context: EstimateContext, metric: Metric) -> list[Estimate]:
    return [context.undefined(name, NO_TEXTS) for name in (metric, UNREADABLE_RATE, FAILED_RATE)]


def probe_scores(
    probe: str, protocol: str, observations: Iterable[Observation], *, unchanged: bool = False
) -> Scores:
    """The probe's edits and the unchanged items they were made from, on the range of the latter.

    Where there is no edit: every item for a probe that shows items `unchanged`, nothing for any other.
    """
    seen = Observations.of(observations).filter(protocol=protocol)
    item, plain = seen.shown.item, seen.shown.probe == ORIGINAL
    mine = seen.filter(stimuli=plain | (seen.shown.probe == probe))
    edited = np.isin(item, item[mine.stimulus[~plain[mine.stimulus]]])
    shown = mine if unchanged and not edited.any() else mine.filter(stimuli=edited)
    return collect_scores(rescaled_to_original(shown))


def _repeated(scores: Scores) -> bool:
    return bool(np.any(np.bincount(scores.stimulus) > 1)) if len(scores) else False


def by_scale(context: EstimateContext, scores: Scores, among: Collection[Metric] = FIGURES) -> list[Estimate]:
    """Binary and ordinal figures `among` those named; ordinal scales are told apart where there are several.

    Clusters are drawn again for each figure, so that one that is not wanted is not worked out.
    """
    binary = scores.where(scores.binary)
    estimates = binary_figures(context, binary, among) if len(binary) else []
    for here, rows in by_ordinal_scale(context, scores):
        estimates += ordinal_figures(here, rows, among)
    return estimates


def _by_strength(context: EstimateContext, scores: Scores, *, keep_label: bool) -> list[Estimate]:
    strengths = np.unique(scores.strength[~np.isnan(scores.strength)])
    if len(strengths) < 2:
        return []
    right: list[Estimate] = []
    same: list[Estimate] = []
    for strength in strengths:
        here = context.for_subgroup(level=step(float(strength)))
        edits = scores.strength == strength
        right.append(accuracy(here, scores.where(edits & ~scores.original)))
        kept = same_verdict_expected(scores.where(scores.original | edits), keep_label=keep_label)
        if np.any(kept.original) and np.any(~kept.original):
            same.append(invariance(here, compare_items(kept)))
    return right + same


POOLED_PROBE = "pooled"
POOLED_METRICS = (CCC, PEARSON, SPEARMAN, MAE)


def pooled_estimates(
    judge: str, observations: Sequence[Observation], estimates: Sequence[Estimate], seed: int
) -> list[Estimate]:
    """Agreement with the labels over every ordinal call of the judge's probes; nothing for fewer than two.

    Each call counts once. Items as they are count where a probe shows nothing else.
    """
    mine = [e for e in estimates if e.judge == judge and e.metric == MAE.id and e.value is not None]
    probes = {e.probe for e in mine if e.group.get("protocol") == "base"}
    if len(probes) < 2:
        return []
    base = Observations.of(observations).filter(protocol="base")
    base = rescaled_to_original(base.filter(stimuli=base.shown.scored))
    edited = {shown.probe for shown in base.stimuli_seen}
    names = probes if probes <= edited else {*probes, ORIGINAL}
    scores = collect_scores(base.filter(stimuli=np.isin(base.shown.probe, list(names))))
    context = EstimateContext.for_protocol(judge, POOLED_PROBE, "base", seed)
    return by_scale(context, scores.where(~scores.binary), POOLED_METRICS)


MEAN_SCORE = Metric("mean_score", meaning="Mean of the scores given to responses without content.")

LIMITS_OF_OTHER_SCORES = "no spread between clusters: limits from the largest share of other scores that fits"


def score_vacuum_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    parts = [(context, collect_scores(observations))]
    for kind in sorted({shown.kind for shown in observations.stimuli_seen}):
        parts.append((context.for_subgroup(kind=kind), collect_scores(observations.filter(kinds=(kind,)))))
    return [
        *(dark_current(here, scores) for here, scores in parts),
        *(mean_score(*scale) for part in parts for scale in by_ordinal_scale(*part)),
        *lost_rates(context, parts[0][1]),
    ]


def dark_current(context: EstimateContext, scores: Scores) -> Estimate:
    """Calls that give more than the lowest score, among all with a verdict: on a binary scale, passes."""
    counts = score_tally(scores, scores.reports, scores.readable)
    notes = abstentions(scores, "counted as not above the lowest score")
    return proportion(context, DARK_CURRENT, counts, notes=notes)


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
        rows.sample(scores.lost()),
        value=mean.mean,
        intervals=(Interval(method, *limits),),
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
    meaning="Repeats that differ at the border of the rubric beyond those that differ on unchanged items.",
    plain="wavers at the border",
    signed=True,
)

BORDER = "answer_ambiguity"
"""The probe whose texts lie at the border: no verdict on them is right, or to be kept."""
BORDER_METRICS = (SELF_AGREEMENT, BORDER_NOISE, FLIP_RATE, ICC, FLEISS_KAPPA, UNREADABLE_RATE, FAILED_RATE)


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
        Sample(int(np.count_nonzero(used.readable)), int(both.sum()), used.n_clusters, scores.lost()),
        unit="comparison",
        value=mean.mean,
        intervals=(Interval("t_cluster", *limits),) if limits else (),
        chance=0.0,
        minimum_detectable=mean.detectable,
        note=join([means, *sampling_notes(used.n_clusters, even=mean.even)]),
    )
