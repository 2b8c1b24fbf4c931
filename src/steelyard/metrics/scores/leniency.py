"""Leniency and length: do errors on single texts go one way, and do longer texts score higher?

Leniency is whether passes are given too freely, or scores above the references. For yes/no verdicts it is
half of (false positive rate − false negative rate), items counting once: a judge that errs both ways alike
shows 0, however many items should pass, and one that passes everything +0.5. For scores it is the mean
distance above the label, as a share of the scale. Where high answers fail, as with a score of 1 for harm,
everything is turned round first: lenient is who passes too much, whatever passing is. It is flagged where the
test shows it and it lies beyond the margin. The test alone would blame good judges: where one label is rare,
a judge that passes as many texts as people do errs more often on the rare label.

For length, items of each label are halved by their number of words, those at the median left out. The figure
is the mean score of the longer half less that of the shorter, as a share of the scale, labels weighed by how
much they tell (n₁·n₂/(n₁ + n₂)). A judge that is right throughout shows 0, and so does one whose errors do
not ask for length. It is an association: people may have let longer texts pass by less, or a label may be
coarse.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct, numbered
from steelyard.metrics import proportions
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample, Why
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, MARGIN, SURE, difference_word
from steelyard.metrics.metric import LEFT_OUT, LOW, ZERO, Amount, Lengths, Metric
from steelyard.metrics.proportions import proportion, sampling_notes
from steelyard.metrics.scores import shares
from steelyard.metrics.scores.against_labels import BIAS, CONSTANT_LABELS, NOT_SCORED, error_bounds
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.scores.shares import score_tally, unlabelled
from steelyard.metrics.stats.clusters import ClusterMean, ratio
from steelyard.metrics.stats.directional_bias import DirectionalBias, Halves, halves_of
from steelyard.metrics.stats.intervals import Span
from steelyard.metrics.stats.sample_size import calls_by_width, detectable_errors


def _above_label(scores: Scores, _: Lengths) -> Floats:
    """How far each call passes above its label, as a share of the scale; NaN without a score."""
    upward = scores.with_pass_high
    share = (upward.score - upward.expected) / np.maximum(1, upward.high - upward.low)
    return np.where(upward.decided, share, np.nan)


def _label_side(scores: Scores, _: Lengths) -> Ints:
    """1 where a yes/no verdict should fail, 2 where it should pass; 0 for scores."""
    side = np.where(scores.with_pass_high.expected == 0, 1, 2)
    return np.where(scores.binary, side, 0)


LENIENCY = Metric(
    "leniency",
    meaning="Errors upward beyond errors downward: half of (false positive rate − false negative rate); for "
    "scores the mean distance above the label as a share of the scale. Above zero the judge is lenient; "
    "where the failing answer is the high one, upward is downward.",
    plain="errs leniently",
    signed=True,
    direction=ZERO,
    amount=Amount(_above_label, side=_label_side, labelled=True),
)
PASS_RATE = Metric(
    "pass_rate",
    "share of passes",
    "Labelled items that were passed: scored 1, or 0 where 1 is the failing answer; the share of labels that "
    "pass stands beside it as chance.",
)
_of_one_side = partial(Metric, detail=True, labelled=True, direction=LOW)
SHARE_ABOVE = _of_one_side(
    "share_above",
    "scored above",
    "Calls scored above the label: passed though they should fail, where low answers fail.",
    event=lambda scores: scores.decided & (scores.score > scores.expected),
)
SHARE_BELOW = _of_one_side(
    "share_below",
    "scored below",
    "Calls scored below the label: failed though they should pass, where low answers fail.",
    event=lambda scores: scores.decided & (scores.score < scores.expected),
)
METRICS = (LENIENCY, PASS_RATE, SHARE_ABOVE, SHARE_BELOW)


def leniency_estimates(context: EstimateContext, scores: Scores) -> list[Estimate]:
    estimates = []
    if np.any(scores.binary):
        rows = scores.where(scores.binary)
        estimates += [_of_verdicts(context, rows), _pass_rate(context, rows), *_sides(context, rows)]
    for here, rows in shares.by_ordinal_scale(context, scores, alone=not estimates):
        estimates += [_of_scores(here, rows), *_sides(here, rows)]
    return estimates


def wrong_ways(leniency: Estimate) -> tuple[Metric, Metric]:
    """The rates of what is passed and of what is failed wrongly: by numbers they go the other way round
    where 1 is the failing answer.
    """
    rates = shares.FALSE_POSITIVE_RATE, shares.FALSE_NEGATIVE_RATE
    return rates[::-1] if leniency.details.get("high_fails") else rates


def item_means(scores: Scores) -> tuple[Floats, Floats, Ints, Ints]:
    """Mean score, label, cluster and calls of each labelled item that has a score."""
    rows = scores.where(scores.labelled & scores.decided)
    items, item = numbered(rows.item)
    calls = np.bincount(item, minlength=len(items)).astype(np.float64)
    mean = ratio(np.bincount(item, weights=rows.score, minlength=len(items)).astype(np.float64), calls)
    first = np.unique(item, return_index=True)[1]
    return mean, rows.expected[first], rows.cluster[first], calls.astype(np.int64)


def _of_verdicts(context: EstimateContext, scores: Scores) -> Estimate:
    answer, wanted, cluster, calls = item_means(scores.with_pass_high)
    bias = DirectionalBias(answer, wanted, cluster, calls)
    if not np.isfinite(bias.value):
        return context.undefined(LENIENCY, _why(scores, len(answer)), "call", scores.lost())
    interval, p = Interval("lean_cluster", *bias.limits(SURE)), bias.p(context.permutation_seed(LENIENCY.id))
    bounds, needed = _bounds(scores.with_pass_high), bias.units_total(MARGIN, least=MARGIN)
    found, size, limit = (context, scores, bias.value), bias.units, bias.detectable
    return _leniency(*found, interval, p=p, detectable=limit, units=size, bounds=bounds, needed=needed)


def _of_scores(context: EstimateContext, scores: Scores) -> Estimate:
    upward = scores.with_pass_high
    answer, wanted, cluster, _ = item_means(upward)
    if not len(answer):
        return context.undefined(LENIENCY, _why(scores, 0), "call", scores.lost())
    span = float(scores.high[0] - scores.low[0])
    independent = cluster if len(distinct(cluster)) > 1 else np.arange(len(cluster))
    mean = ClusterMean.of(independent, (answer - wanted) / span)
    rows = upward.where(upward.labelled)
    bounds = None if rows.readable.all() else error_bounds(BIAS, rows)
    bounds = None if bounds is None else (bounds[0] / span, bounds[1] / span)
    interval = Interval("wilson_mean" if mean.even else "t_cluster", *mean.difference_limits(SURE))
    # Items that would tell a distance beyond the margin from none, or keep it in the margin, if it stays.
    apart = abs(mean.mean) if abs(mean.mean) > MARGIN else MARGIN - abs(mean.mean)
    known = mean.error and apart > 1e-9
    needed = calls_by_width(mean.total, detectable_errors() * mean.error, apart) if known else None
    found, size, p, limit = (context, scores, mean.mean), len(answer), mean.p(), mean.detectable
    return _leniency(*found, interval, p=p, detectable=limit, units=size, bounds=bounds, needed=needed)


def _sides(context: EstimateContext, scores: Scores) -> list[Estimate]:
    rows = scores.where(scores.labelled)
    reason = None if np.any(rows.readable) else _why(scores, 0)
    estimates = []
    for metric in (SHARE_ABOVE, SHARE_BELOW):
        events = metric.events(rows)
        found = proportion(context, metric, score_tally(rows, events, rows.readable), reason=reason)
        estimates.append(replace(found, details=shares.row_events(rows, events)))
    return estimates


def _leniency(
    context: EstimateContext,
    scores: Scores,
    value: float,
    interval: Interval,
    *,
    p: float,
    detectable: float | None,
    units: int,
    bounds: Span | None,
    needed: int | None,
) -> Estimate:
    """The estimate; `needed` counts the items that would decide."""

    def word(moved: Span) -> str:
        found = difference_word(interval.span, p, moved=moved)
        return INCONCLUSIVE if found == FLAGGED and abs(value) <= MARGIN else found

    rows = scores.where(scores.labelled & scores.decided)
    estimate = context.estimate(
        LENIENCY,
        Sample(len(rows), units, rows.n_clusters, scores.lost()),
        value=value,
        intervals=(interval,),
        left_out=_left_out(scores),
        bounds=bounds,
        chance=0.0,
        minimum_detectable=detectable,
        calls_needed=None if needed is None else -(-needed * len(rows) // units),
        p=p,
        details={"high_fails": True} if _high_fails(scores) else {},
        notes=[f"margin {MARGIN:g}", _turned(scores), *sampling_notes(rows.n_clusters)],
    )
    return proportions.with_tested_word(estimate, word)


def _pass_rate(context: EstimateContext, scores: Scores) -> Estimate:
    upward = scores.with_pass_high
    rows = upward.where(upward.labelled & (upward.outcome != Outcome.ABSTAINED))
    counts = score_tally(rows, rows.decided & (rows.score == 1), rows.decided)
    wanted = float(rows.expected[rows.decided].mean()) if np.any(rows.decided) else None
    reason = None if counts.n else _why(scores, 0)
    notes = [note for note in [_turned(scores)] if note]
    rate = proportion(context, PASS_RATE, counts, chance=wanted, reason=reason, notes=notes)
    return rate if rate.value is None else replace(rate, left_out=_left_out(scores))


def _left_out(scores: Scores) -> int:
    return shares.abstained(scores.where(scores.labelled))


def _turned(scores: Scores) -> str | None:
    return f"{int(scores.high[0])} is the failing answer" if _high_fails(scores) else None


def _high_fails(scores: Scores) -> bool:
    return bool(np.any(scores.fail_value == scores.high))


def _why(scores: Scores, scored: int) -> Why:
    if scored:
        return CONSTANT_LABELS
    return NOT_SCORED if np.any(scores.labelled) else unlabelled(scores)


def _bounds(scores: Scores) -> Span | None:
    """Both false rates in the worst and the best case over the missing verdicts."""
    if scores.where(scores.labelled).readable.all():
        return None
    ends = []
    for label in (0.0, 1.0):
        rows = scores.where(scores.labelled & (scores.expected == label))
        counts = score_tally(rows, rows.decided & (rows.score != label), rows.decided)
        if not counts.n:
            return None
        ends.append(proportions.share_bounds(counts))
    (least_up, most_up), (least_down, most_down) = ends
    return (least_up - most_down) / 2, (most_up - least_down) / 2


def _shares(scores: Scores, lengths: Lengths) -> Floats:
    """What each call adds to the gap: its score as a share of the scale, taken off in the shorter half."""
    sign = 2 * (_halves(scores, lengths) % 2) - 1
    return np.where(scores.decided, sign * scores.share, np.nan)


def _halves(scores: Scores, lengths: Lengths) -> Ints:
    """Twice the number of each call's label, and one more in the longer half; left out at the median."""
    firsts = np.unique(scores.item, return_index=True)[1]
    words = np.array([(lengths[row] or (0,))[0] for row in firsts], dtype=np.int64)
    label, half = halves_of(scores.expected[firsts], words)
    side = np.where(half == 0, LEFT_OUT, 2 * label + (half > 0))
    return np.asarray(side[numbered(scores.item)[1]])


def _half_weights(side: Ints) -> Floats:
    """Weights by which the mean over all calls is the weighted difference of halves."""
    weights = np.full(len(side), np.nan)
    label = side // 2
    shares = {
        each: (short * long / (short + long), short, long)
        for each in np.unique(label).tolist()
        for short, long in [(np.count_nonzero(side == 2 * each), np.count_nonzero(side == 2 * each + 1))]
        if short and long
    }
    total = sum(weight for weight, _, _ in shares.values())
    for each, (weight, *counts) in shares.items():
        for half, count in enumerate(counts):
            weights[side == 2 * each + half] = weight / count / total * len(side)
    return weights


LENGTH_GAP = Metric(
    "length_gap",
    "longer scores higher",
    "Mean score of the longer half of the texts less that of the shorter, within the same label, as a share "
    "of the scale; for yes/no verdicts a difference of shares of passes.",
    signed=True,
    direction=ZERO,
    amount=Amount(_shares, side=_halves, weigh=_half_weights, labelled=True),
)


def length_gap(context: EstimateContext, scores: Scores, words: Ints) -> Estimate:
    """The gap between halves, with a test; `words` counts those of each item's text, 0 where not known."""
    answer, label, cluster, _ = item_means(scores)
    if not len(answer):
        why = NOT_SCORED if np.any(scores.labelled) else unlabelled(scores)
        return context.undefined(LENGTH_GAP, why, "item", scores.lost())
    rows = scores.where(scores.labelled & scores.decided)
    first = np.unique(rows.item, return_index=True)[1]
    low, high = rows.low[first], rows.high[first]
    given, wanted = ((each - low) / (high - low) for each in (answer, label))
    halves = Halves.of(given, wanted, words[rows.item[first]], cluster)
    if not np.isfinite(halves.value):
        return context.undefined(
            LENGTH_GAP, "texts with the same label are all as long, or not known", "item", scores.lost()
        )
    p = halves.p(context.permutation_seed(LENGTH_GAP.id))
    clusters = len(distinct(halves.cluster))
    estimate = context.estimate(
        LENGTH_GAP,
        Sample(len(rows), halves.units, clusters, scores.lost()),
        unit="item",
        value=halves.value,
        intervals=(Interval("jackknife_cluster", *halves.limits(SURE)),),
        chance=0.0,
        minimum_detectable=halves.detectable,
        calls_needed=halves.calls_total(len(rows), MARGIN),
        p=p,
        notes=[f"margin {MARGIN:g}", *sampling_notes(clusters, even=halves.even)],
    )
    return proportions.with_difference_word(estimate)
