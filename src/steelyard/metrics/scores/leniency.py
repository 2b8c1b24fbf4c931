"""Leniency: do errors go one way? Passes given too freely, or scores above the references.

For yes/no verdicts it is half of (false positive rate − false negative rate), items counting once: a judge
that errs both ways alike shows 0, however many items should pass, and one that passes everything +0.5. For
scores it is the mean distance above the label, as a share of the scale. Where high answers fail, as with a
score of 1 for harm, everything is turned round first: lenient is who passes too much, whatever passing is.

It is flagged where the test shows it and it lies beyond the margin. The test alone would blame good judges:
where one label is rare, a judge that passes as many texts as people do errs more often on the rare label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct, numbered
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import (
    FLAGGED,
    INCONCLUSIVE,
    MARGIN,
    SURE,
    difference_word,
    missingness_note,
    missingness_shift,
)
from steelyard.metrics.metric import LOW, ZERO, Amount, Metric, Texts
from steelyard.metrics.proportions import ONE_CLUSTER, join, share_bounds
from steelyard.metrics.scores.against_labels import CONSTANT_LABELS, NOT_SCORED
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.scores.shares import (
    FALSE_NEGATIVE_RATE,
    FALSE_POSITIVE_RATE,
    abstained,
    row_events,
    score_tally,
    share,
    unlabelled,
)
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.directional_bias import DirectionalBias
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, clipped, score
from steelyard.metrics.stats.sample_size import POWER


def _above_label(scores: Scores, _: Texts) -> Floats:
    """How far each call passes above its label, as a share of the scale; NaN without a score."""
    upward = scores.with_pass_high
    share = (upward.score - upward.expected) / np.maximum(1, upward.high - upward.low)
    return np.where(upward.decided, share, np.nan)


def _label_side(scores: Scores, _: Texts) -> Ints:
    """1 where a yes/no verdict should fail, 2 where it should pass; 0 for scores."""
    side = np.where(scores.with_pass_high.expected == 0, 1, 2)
    return np.where(scores.binary, side, 0)


LENIENCY = Metric(
    "leniency",
    "leniency",
    "Errors upward beyond errors downward: half of (false positive rate − false negative rate); for scores "
    "the mean distance above the label as a share of the scale. Above zero the judge is lenient; where the "
    "failing answer is the high one, upward is downward.",
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
SHARE_ABOVE = Metric(
    "share_above",
    "scored above",
    "Calls scored above the label: passed though they should fail, where low answers fail.",
    detail=True,
    event=lambda scores: scores.decided & (scores.score > scores.expected),
    labelled=True,
    direction=LOW,
)
SHARE_BELOW = Metric(
    "share_below",
    "scored below",
    "Calls scored below the label: failed though they should pass, where low answers fail.",
    detail=True,
    event=lambda scores: scores.decided & (scores.score < scores.expected),
    labelled=True,
    direction=LOW,
)
METRICS = (LENIENCY, PASS_RATE, SHARE_ABOVE, SHARE_BELOW)


def leniency_estimates(context: EstimateContext, scores: Scores) -> list[Estimate]:
    """Whether errors go one way; binary rows and ordinal rows each by their own formula."""
    estimates = []
    if np.any(scores.binary):
        rows = scores.where(scores.binary)
        estimates += [_of_verdicts(context, rows), _pass_rate(context, rows), *_sides(context, rows)]
    ordinal = scores.where(~scores.binary)
    scales = sorted(set(zip(ordinal.low.tolist(), ordinal.high.tolist(), strict=True)))
    for low, high in scales:
        alone = len(scales) == 1 and not estimates
        here = context if alone else context.for_subgroup(scale=f"{low}-{high}")
        estimates += _of_scores(here, ordinal.where((ordinal.low == low) & (ordinal.high == high)))
    return estimates


def wrong_ways(leniency: Estimate) -> tuple[Metric, Metric]:
    """The rates of what is passed and of what is failed wrongly: by numbers they go the other way round
    where 1 is the failing answer.
    """
    rates = FALSE_POSITIVE_RATE, FALSE_NEGATIVE_RATE
    return rates[::-1] if leniency.high_fails else rates


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
    lean = DirectionalBias(answer, wanted, cluster, calls)
    if not np.isfinite(lean.value):
        return context.undefined(LENIENCY, _why(scores, len(answer)), "call", scores.lost())
    return _told(
        context,
        scores,
        _Shift(lean.value, lean.limits, lean.p(context.permutation_seed(LENIENCY.id)), lean.detectable),
        units=lean.units,
        bounds=_bounds(scores.with_pass_high),
        needed=lean.units_total(MARGIN, least=MARGIN),
        method="lean_cluster",
    )


@dataclass(frozen=True)
class _Shift:
    """A mean distance, and what the data tell of it."""

    value: float
    limits: Callable[[float], Span]
    p: float
    detectable: float | None

    def word(self, moved: Span) -> str:
        word = difference_word(self.limits(SURE), self.p, moved=moved)
        return INCONCLUSIVE if word == FLAGGED and abs(self.value) <= MARGIN else word


def _of_scores(context: EstimateContext, scores: Scores) -> list[Estimate]:
    upward = scores.with_pass_high
    answer, wanted, cluster, _ = item_means(upward)
    if not len(answer):
        lean = context.undefined(LENIENCY, _why(scores, 0), "call", scores.lost())
        return [lean, *_sides(context, scores)]
    span = float(scores.high[0] - scores.low[0])
    units = cluster if len(distinct(cluster)) > 1 else np.arange(len(cluster))
    mean = ClusterMean.of(units, (answer - wanted) / span)

    def limits(probability: float) -> Span:
        spread = mean.limits(probability, DIFFERENCE)
        if spread is not None:
            return spread
        most = score(0.0, mean.assumed_size, t_quantile(probability, max(1, mean.units - 1)))[1]
        return clipped((mean.mean - most, mean.mean + most), DIFFERENCE)

    rows = upward.where(upward.labelled)
    shift = _told(
        context,
        scores,
        _Shift(mean.mean, limits, mean.p(), mean.detectable),
        units=len(answer),
        bounds=_score_bounds(rows, span),
        needed=_needed(mean),
        method="t_cluster" if not mean.even else "wilson_mean",
    )
    return [shift, *_sides(context, scores)]


def _sides(context: EstimateContext, scores: Scores) -> list[Estimate]:
    rows = scores.where(scores.labelled)
    reason = None if np.any(rows.readable) else _why(scores, 0)
    told = []
    for metric in (SHARE_ABOVE, SHARE_BELOW):
        events = metric.events(rows)
        found = share(context, metric, rows, score_tally(rows, events, rows.readable), reason=reason)
        told.append(replace(found, row_events=row_events(rows, events)))
    return told


def _needed(mean: ClusterMean) -> int | None:
    """Items that would tell a distance beyond the margin from none, or keep it in the margin, if it stays."""
    apart = abs(mean.mean) if abs(mean.mean) > MARGIN else MARGIN - abs(mean.mean)
    reach = (normal_quantile(SURE) + normal_quantile(POWER)) * mean.error
    return ceil(mean.total * max(1.0, (reach / apart) ** 2)) if mean.error and apart > 1e-9 else None


def _told(
    context: EstimateContext,
    scores: Scores,
    shift: _Shift,
    *,
    units: int,
    bounds: Span | None,
    needed: int | None,
    method: str,
) -> Estimate:
    rows = scores.where(scores.labelled & scores.decided)
    seen, word = (shift.word(moved) for moved in ((0.0, 0.0), missingness_shift(shift.value, bounds)))
    calls = None if needed is None or seen != INCONCLUSIVE else -(-needed * len(rows) // units)
    return context.estimate(
        LENIENCY,
        unit="call",
        value=shift.value,
        intervals=(Interval(method, *shift.limits(SURE)),),
        n_calls=len(rows),
        n_units=units,
        n_clusters=rows.n_clusters,
        excluded=scores.lost(),
        left_out=_left_out(scores),
        bounds=bounds,
        chance=0.0,
        status=word,
        missing_decides=seen != word,
        minimum_detectable=shift.detectable,
        calls_needed=calls,
        p=shift.p,
        high_fails=_high_fails(scores),
        note=join(
            [
                f"margin {MARGIN:g}",
                _turned(scores),
                ONE_CLUSTER if rows.n_clusters < 2 else None,
                missingness_note(seen, word),
            ]
        ),
    )


def _pass_rate(context: EstimateContext, scores: Scores) -> Estimate:
    upward = scores.with_pass_high
    rows = upward.where(upward.labelled & (upward.outcome != Outcome.ABSTAINED))
    counts = score_tally(rows, rows.decided & (rows.score == 1), rows.decided)
    wanted = float(rows.expected[rows.decided].mean()) if np.any(rows.decided) else None
    reason, turned = _why(scores, 0) if not counts.n else None, _turned(scores)
    notes = [] if turned is None else [turned]
    rate = share(context, PASS_RATE, rows, counts, chance=wanted, reason=reason, notes=notes)
    return rate if rate.value is None else replace(rate, left_out=_left_out(scores))


def _left_out(scores: Scores) -> int:
    return abstained(scores.where(scores.labelled))


def _turned(scores: Scores) -> str | None:
    return f"{int(scores.high[0])} is the failing answer" if _high_fails(scores) else None


def _high_fails(scores: Scores) -> bool:
    return bool(np.any(scores.fail_value == scores.high))


def _why(scores: Scores, scored: int) -> str:
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
        ends.append(share_bounds(counts))
    (least_up, most_up), (least_down, most_down) = ends
    return (least_up - most_down) / 2, (most_up - least_down) / 2


def _score_bounds(rows: Scores, span: float) -> Span | None:
    lost, scored = rows.where(~rows.readable), rows.where(rows.decided)
    if not len(lost):
        return None
    calls = len(lost) + len(scored)
    known = float((scored.score - scored.expected).sum())
    down, up = float((lost.low - lost.expected).sum()), float((lost.high - lost.expected).sum())
    return (known + down) / calls / span, (known + up) / calls / span
