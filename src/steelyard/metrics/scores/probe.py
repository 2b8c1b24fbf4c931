"""Every figure of a pointwise probe, from the observations of one judge."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading, step
from steelyard.metrics.scores.against_labels import binary_figures, ordinal_figures
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.invariance import invariance, invariance_estimates, keeps_label
from steelyard.metrics.scores.repeats import noise_floor, stability
from steelyard.metrics.scores.shares import accuracy, lost_rates
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations

METRICS = (
    "accuracy",
    "invariance",
    "excess_flip",
    "noise_floor",
    "self_agreement",
    "flip_rate",
    "icc",
    "fleiss_kappa",
    "false_positive_rate",
    "false_negative_rate",
    "balanced_accuracy",
    "kappa",
    "gwet_ac1",
    "within_one",
    "mae",
    "bias",
    "ccc",
    "pearson",
    "spearman",
    "qwk",
    "krippendorff_alpha",
    "compression",
    "unused_levels",
    "unreadable_rate",
    "failed_rate",
)
"""Ids of the figures that a pointwise probe may report, in reading order."""


NO_TEXTS = "no text of this probe was shown"


def pointwise_estimates(
    judge: str,
    probe: str,
    protocol: str,
    observations: Iterable[Observation],
    seed: int,
    *,
    unchanged: bool = False,
) -> list[Estimate]:
    """The figures of the probe's edits; of the items as they are for a probe that shows nothing else.

    A probe that edits and has no edit to show measures nothing: its items as they are do not stand in.
    """
    scores = probe_scores(probe, protocol, observations, unchanged=unchanged)
    heading = Heading(judge, probe, {"protocol": protocol}, seed)
    if not unchanged and not len(scores):
        return untold(heading, "accuracy")
    edits = scores.where(~scores.original)
    subject = edits if len(edits) else scores
    plain = scores.where(scores.original)
    estimates = [accuracy(heading, subject)]
    if len(edits) and len(plain):
        # Without a verdict on an edit, figures of the items alone would stand in its place.
        if np.any(edits.readable):
            estimates.append(accuracy(heading.within(kind=ORIGINAL), plain))
        estimates += invariance_estimates(heading, scores)
    if not len(edits) or (_repeated(plain) and np.any(edits.readable)):
        estimates.append(noise_floor(heading, plain))
    if not len(edits) or _repeated(edits):
        estimates += stability(heading, subject)
    return [
        *estimates,
        *by_scale(heading, subject),
        *_by_level(heading, scores),
        *lost_rates(heading, subject),
    ]


def untold(heading: Heading, metric: str) -> list[Estimate]:
    """What a probe reports of which no text was shown: no figure, and the reason."""
    return [heading.undefined(name, NO_TEXTS) for name in (metric, "unreadable_rate", "failed_rate")]


def probe_scores(
    probe: str, protocol: str, observations: Iterable[Observation], *, unchanged: bool = False
) -> Scores:
    """The probe's edits and the unchanged items they were made from.

    Where there is no edit: every item for a probe that shows items `unchanged`, nothing for any other.
    """
    seen = Observations.of(observations).among(protocol=protocol)
    item, plain = seen.shown.item, seen.shown.probe == ORIGINAL
    mine = seen.showing(plain | (seen.shown.probe == probe))
    edited = np.isin(item, item[mine.stimulus[~plain[mine.stimulus]]])
    return collect_scores(mine if unchanged and not edited.any() else mine.showing(edited))


def _repeated(scores: Scores) -> bool:
    return bool(np.any(np.bincount(scores.stimulus) > 1)) if len(scores) else False


def by_scale(heading: Heading, scores: Scores) -> list[Estimate]:
    """Binary and ordinal figures; ordinal scales are told apart where there are several."""
    estimates = binary_figures(heading, scores.where(scores.binary)) if np.any(scores.binary) else []
    ordinal = scores.where(~scores.binary)
    scales = sorted(set(zip(ordinal.low.tolist(), ordinal.high.tolist(), strict=True)))
    for low, high in scales:
        here = heading if len(scales) == 1 else heading.within(scale=f"{low}-{high}")
        estimates += ordinal_figures(here, ordinal.where((ordinal.low == low) & (ordinal.high == high)))
    return estimates


def _by_level(heading: Heading, scores: Scores) -> list[Estimate]:
    """Accuracy and invariance of each strength of a graded edit, where there are several."""
    levels = np.unique(scores.level[~np.isnan(scores.level)])
    if len(levels) < 2:
        return []
    right: list[Estimate] = []
    same: list[Estimate] = []
    for level in levels:
        here = heading.within(level=step(float(level)))
        edits = scores.level == level
        right.append(accuracy(here, scores.where(edits & ~scores.original)))
        kept = scores.where(scores.original | (edits & keeps_label(scores)))
        if np.any(kept.original) and np.any(~kept.original):
            same.append(invariance(here, kept))
    return right + same
