"""Every figure of a pointwise probe: on its edits, as a change from the items, pooled, and without an answer.

A probe may edit some items only: hidden instructions are put into responses that should fail, and a judge
that passes everything is right on none of them, edited or not. Its accuracy on the edits says nothing of the
edits; the change from the same items unchanged does. What a judge does with the items themselves is one
question, whichever probe asked it: unchanged items of a whole run are read together, each call once.

Empty responses (dark current) and texts at the border of the rubric have no right answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct
from steelyard.metrics import proportions
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import SURE
from steelyard.metrics.metric import HIGH, Basis, Items, Metric, labelled_items, on_items, step
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.proportions import ACCURACY, DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE, proportion
from steelyard.metrics.scores import against_labels, edited_texts, repeats, shares
from steelyard.metrics.scores.against_labels import FIGURES, MAE
from steelyard.metrics.scores.columns import Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.leniency import LENGTH_GAP, length_gap, leniency_estimates
from steelyard.metrics.scores.leniency import METRICS as OF_LENIENCY
from steelyard.metrics.scores.repeats import BORDER_NOISE, FLEISS_KAPPA, FLIP_RATE, ICC, SELF_AGREEMENT
from steelyard.metrics.scores.shares import accuracy, lost_rates, score_tally, unlabelled
from steelyard.metrics.stats.clusters import ClusterMean, ratio, wilson_cluster
from steelyard.metrics.stats.intervals import Span, clipped
from steelyard.stimuli.original import ORIGINAL, PERTURBED
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
    notes = [means, *proportions.sampling_notes(used.n_clusters, even=mean.even)]
    sample = Sample(len(used), int(both.sum()), used.n_clusters, scores.lost())
    intervals = (Interval(method, *mean.difference_limits(SURE)),)
    return context.estimate(
        ACCURACY_CHANGE, sample, notes, unit="item", value=mean.mean, intervals=intervals, chance=0.0
    )


def _right(rows: Scores, mask: Mask) -> Floats:
    """Share of right calls of each item, NaN for an item without one."""
    part = rows.where(mask)
    calls = np.bincount(part.item, minlength=len(rows.items)).astype(np.float64)
    right = np.bincount(part.item, weights=part.right, minlength=len(rows.items)).astype(np.float64)
    return ratio(right, calls)


METRICS = (
    *(ACCURACY, ACCURACY_CHANGE, INVARIANCE, EXCESS_FLIP, *repeats.METRICS),
    *(*FIGURES, UNREADABLE_RATE, FAILED_RATE),
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
        estimates += edited_texts.invariance_estimates(context, scores, keep_label=keep_label)
    if not len(edits) or (_repeated(plain) and np.any(edits.readable)):
        estimates.append(repeats.noise_floor(context, plain))
    if not len(edits) or _repeated(edits):
        estimates += repeats.stability(context, subject)
    estimates += by_scale(context, subject)
    estimates += _by_strength(context, scores, keep_label=keep_label)
    return [*estimates, *lost_rates(context, subject)]


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
    estimates = against_labels.binary_figures(context, binary, among) if len(binary) else []
    for here, rows in shares.by_ordinal_scale(context, scores):
        estimates += against_labels.ordinal_figures(here, rows, among)
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
        both = scores.where(scores.original | edits)
        kept = edited_texts.same_verdict_expected(both, keep_label=keep_label)
        if np.any(kept.original) and np.any(~kept.original):
            same.append(edited_texts.invariance(here, edited_texts.compare_items(kept)))
    return right + same


POOLED_PROBE = "pooled"


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
    return by_scale(context, scores.where(~scores.binary), against_labels.POOLED_METRICS)


MEAN_SCORE = Metric("mean_score", meaning="Mean of the scores given to responses without content.")

LIMITS_OF_OTHER_SCORES = "no spread between clusters: limits from the largest share of other scores that fits"


def score_vacuum_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    parts = [(context, collect_scores(observations))]
    for kind in sorted({shown.kind for shown in observations.stimuli_seen}):
        parts.append((context.for_subgroup(kind=kind), collect_scores(observations.filter(kinds=(kind,)))))
    dark = [dark_current(here, scores) for here, scores in parts]
    means = [mean_score(*scale) for part in parts for scale in shares.by_ordinal_scale(*part)]
    return [*dark, *means, *lost_rates(context, parts[0][1])]


def dark_current(context: EstimateContext, scores: Scores) -> Estimate:
    """Calls that give more than the lowest score, among all with a verdict: on a binary scale, passes."""
    counts = score_tally(scores, scores.reports, scores.readable)
    notes = shares.abstentions(scores, "counted as not above the lowest score")
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
    sample, intervals = rows.sample(scores.lost()), (Interval(method, *limits),)
    missing, total = len(scores) - int(np.count_nonzero(scores.readable)), float(mean.sums.sum())
    # Every missing call the lowest score, or every one the highest.
    least, most = ((total + missing * end) / (mean.total + missing) for end in (low, high))
    bounds = least, most
    notes = [f"on a scale from {low} to {high}", assumed, *proportions.sampling_notes(rows.n_clusters)]
    return context.estimate(MEAN_SCORE, sample, notes, value=mean.mean, intervals=intervals, bounds=bounds)


def _without_spread(rows: Scores) -> Span:
    """Every unit has the same mean c; at most a share p of other scores fits, and they may lie anywhere.

    The mean of all scores then lies between c − p·(c − low) and c + p·(high − c).
    """
    centre = float(rows.score.mean())
    none = np.zeros(len(rows), dtype=np.bool_)
    reach = wilson_cluster(score_tally(rows, none, ~none))[1]
    low, high = float(rows.low[0]), float(rows.high[0])
    return centre - reach * (centre - low), centre + reach * (high - centre)


BORDER_METRICS = (SELF_AGREEMENT, BORDER_NOISE, FLIP_RATE, ICC, FLEISS_KAPPA, UNREADABLE_RATE, FAILED_RATE)


def border_estimates(context: EstimateContext, observations: Iterable[Observation]) -> list[Estimate]:
    scores = probe_scores(context.probe, context.protocol, observations)
    if not len(scores):
        return undefined_without_texts(context, SELF_AGREEMENT)
    border, plain = scores.where(~scores.original), scores.where(scores.original)
    agreement, *others = repeats.stability(context, border)
    compared = len(plain) and np.any(border.readable)
    unchanged = repeats.stability(context.for_subgroup(kind=ORIGINAL), plain)[:1] if compared else []
    noise = repeats.border_noise(context, scores)
    return [agreement, *unchanged, noise, *others, *lost_rates(context, border)]


COMMONEST_ANSWER = Metric(
    "commonest_answer",
    meaning="Share of the scores of items, edited or not, that are the judge's commonest one; at 1 it always "
    "answers the same, and that an edit or a repeat changes nothing says nothing of it.",
    detail=True,
    basis=Basis(items=Items.RUN, only=on_items),
)
OF_ITEMS = (ACCURACY, *against_labels.OF_UNCHANGED, SELF_AGREEMENT, FLEISS_KAPPA, ICC)
OF_UNCHANGED = (*OF_ITEMS, *OF_LENIENCY, LENGTH_GAP, COMMONEST_ANSWER)


def unchanged_estimates(judge: str, observations: Observations, seed: int) -> list[Estimate]:
    estimates: list[Estimate] = []
    for protocol in observations.protocols_seen:
        rows = observations.filter(protocol=protocol)
        plain = rows.filter(ORIGINAL)
        if not len(plain):
            continue
        context = EstimateContext.for_protocol(judge, ORIGINAL, protocol, seed)
        scores = collect_scores(plain)
        figures = [accuracy(context, scores), *by_scale(context, scores, OF_ITEMS)]
        if np.any(np.bincount(scores.stimulus) > 1):
            figures += repeats.stability(context, scores)
        estimates += [figure for figure in figures if figure.metric in {metric.id for metric in OF_ITEMS}]
        estimates += directional_bias_estimates(context, scores, _words(scores, plain))
        shown = rows.shown
        items = rows.filter(stimuli=shown.scored & np.isin(shown.kind, (ORIGINAL, PERTURBED)))
        estimates.append(_commonest(context, collect_scores(rescaled_to_original(items))))
    return estimates


def _words(scores: Scores, plain: Observations) -> Ints:
    shown = plain.shown
    rows = distinct(plain.stimulus)
    known = dict(zip(shown.items[shown.item[rows]].tolist(), shown.words[rows].tolist(), strict=True))
    return np.array([known[item] for item in scores.items], dtype=np.int64)


def directional_bias_estimates(context: EstimateContext, plain: Scores, words: Ints) -> list[Estimate]:
    """Leniency, and length where texts are known: what errors lean to, tested as one family."""
    estimates = leniency_estimates(context, plain)
    estimates += [length_gap(context, plain, words)] if np.any(words) else []
    return adjust_estimates(estimates, "leanings")


def _commonest(context: EstimateContext, scores: Scores) -> Estimate:
    levels, counts = np.unique(scores.score[scores.decided], return_counts=True)
    answer = int(levels[np.argmax(counts)]) if len(levels) else 0
    tally = score_tally(scores, scores.decided & (scores.score == answer), scores.decided)
    if not len(levels):
        return proportion(context, COMMONEST_ANSWER, tally)
    found = proportion(context, COMMONEST_ANSWER, tally, notes=[f"answer {answer}"])
    return replace(found, details={"answer": answer})


def answer_in_words(commonest: Estimate) -> str:
    return str(commonest.details.get("answer", "one score"))


def never_varies(commonest: Estimate | None) -> TypeGuard[Estimate]:
    """True where more than one call was scored, and all alike."""
    return commonest is not None and commonest.value == 1 and (commonest.denominator or 0) > 1
