"""Every figure of a pointwise probe: on its edits, as a change from the items, and pooled over probes.

A probe may edit some items only: hidden instructions are put into responses that should fail, and a judge
that passes everything is right on none of them, edited or not. Its accuracy on the edits says nothing of the
edits; the change from the same items unchanged does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.metrics.basis import Basis, Items, labelled_items
from steelyard.metrics.common import ACCURACY, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import SURE
from steelyard.metrics.metric import HIGH, Metric, step
from steelyard.metrics.proportions import join, sampling_notes
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
    NOISE_FLOOR,
    SELF_AGREEMENT,
    noise_floor,
    stability,
)
from steelyard.metrics.scores.shares import accuracy, by_ordinal_scale, lost_rates, unlabelled
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import ratio
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
        unit="item",
        value=mean.mean,
        intervals=(Interval(method, *mean.difference_limits(SURE)),),
        n_calls=len(used),
        n_units=int(both.sum()),
        n_clusters=used.n_clusters,
        excluded=scores.lost(),
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
