"""Every figure of a pointwise probe, from the observations of one judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from steelyard.metrics.common import ACCURACY, FAILED_RATE, KAPPA, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric, step
from steelyard.metrics.scores.against_labels import (
    BALANCED_ACCURACY,
    BIAS,
    CCC,
    COMPRESSION,
    FIGURES,
    GWET_AC1,
    KRIPPENDORFF_ALPHA,
    MAE,
    PEARSON,
    QWK,
    SPEARMAN,
    UNUSED_LEVELS,
    binary_figures,
    ordinal_figures,
)
from steelyard.metrics.scores.change import ACCURACY_CHANGE, accuracy_change
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.invariance import (
    EXCESS_FLIP,
    INVARIANCE,
    invariance,
    invariance_estimates,
    unmoved,
)
from steelyard.metrics.scores.original_range import on_original_range
from steelyard.metrics.scores.repeats import (
    FLEISS_KAPPA,
    FLIP_RATE,
    ICC,
    NOISE_FLOOR,
    SELF_AGREEMENT,
    noise_floor,
    stability,
)
from steelyard.metrics.scores.shares import (
    FALSE_NEGATIVE_RATE,
    FALSE_POSITIVE_RATE,
    WITHIN_ONE,
    accuracy,
    lost_rates,
)
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observation, Observations

METRICS = (
    ACCURACY,
    ACCURACY_CHANGE,
    INVARIANCE,
    EXCESS_FLIP,
    NOISE_FLOOR,
    SELF_AGREEMENT,
    FLIP_RATE,
    ICC,
    FLEISS_KAPPA,
    FALSE_POSITIVE_RATE,
    FALSE_NEGATIVE_RATE,
    BALANCED_ACCURACY,
    KAPPA,
    GWET_AC1,
    WITHIN_ONE,
    MAE,
    BIAS,
    CCC,
    PEARSON,
    SPEARMAN,
    QWK,
    KRIPPENDORFF_ALPHA,
    COMPRESSION,
    UNUSED_LEVELS,
    UNREADABLE_RATE,
    FAILED_RATE,
)
"""Figures that a pointwise probe may report, in reading order."""


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
        return untold(context, ACCURACY)
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


def untold(context: EstimateContext, metric: Metric) -> list[Estimate]:
    """What a probe reports of which no text was shown: no figure, and the reason."""
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
    return collect_scores(on_original_range(shown))


def _repeated(scores: Scores) -> bool:
    return bool(np.any(np.bincount(scores.stimulus) > 1)) if len(scores) else False


def by_scale(context: EstimateContext, scores: Scores, among: Collection[Metric] = FIGURES) -> list[Estimate]:
    """Binary and ordinal figures `among` those named; ordinal scales are told apart where there are several.

    Clusters are drawn again for each figure, so that one that is not wanted is not worked out.
    """
    binary = scores.where(scores.binary)
    estimates = binary_figures(context, binary, among) if len(binary) else []
    ordinal = scores.where(~scores.binary)
    scales = sorted(set(zip(ordinal.low.tolist(), ordinal.high.tolist(), strict=True)))
    for low, high in scales:
        here = context if len(scales) == 1 else context.for_subgroup(scale=f"{low}-{high}")
        estimates += ordinal_figures(
            here, ordinal.where((ordinal.low == low) & (ordinal.high == high)), among
        )
    return estimates


def _by_strength(context: EstimateContext, scores: Scores, *, keep_label: bool) -> list[Estimate]:
    """Accuracy and invariance of each strength of a graded edit, where there are several."""
    strengths = np.unique(scores.strength[~np.isnan(scores.strength)])
    if len(strengths) < 2:
        return []
    right: list[Estimate] = []
    same: list[Estimate] = []
    for strength in strengths:
        here = context.for_subgroup(level=step(float(strength)))
        edits = scores.strength == strength
        right.append(accuracy(here, scores.where(edits & ~scores.original)))
        kept = unmoved(scores.where(scores.original | edits), keep_label=keep_label)
        if np.any(kept.original) and np.any(~kept.original):
            same.append(invariance(here, kept))
    return right + same
