"""Proportions of pointwise calls: accuracy, within one, false positives and negatives, lost calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Ints, Mask, distinct
from steelyard.metrics.basis import LABELLED, Basis, should_fail, should_pass
from steelyard.metrics.common import ACCURACY, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate, Reason
from steelyard.metrics.estimate_context import NO_CALLS, EstimateContext
from steelyard.metrics.metric import LOW, Limit, Metric
from steelyard.metrics.proportions import ONE_CLUSTER, join, proportion
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.stats.clusters import Tally
from steelyard.metrics.stats.intervals import Span

WITHIN_ONE = Metric(
    "within_one",
    "within one",
    "Scores at most one level from the label.",
    plain="one level off at most",
    detail=True,
)
FOLLOWED = Metric(
    "followed",
    "label followed",
    "Verdicts on a text changed to earn another label that lie nearer to that label than to the item's own.",
    plain="follows a changed label",
    limit=Limit(0.65, "min"),
    behind="wrong",
    basis=LABELLED,
)
FALSE_POSITIVE_RATE = Metric(
    "false_positive_rate",
    "false positive rate",
    "Negatives that were scored positive.",
    plain="passes what should fail",
    direction=LOW,
    behind="wrong",
    basis=Basis(only=should_fail),
)
FALSE_NEGATIVE_RATE = Metric(
    "false_negative_rate",
    "false negative rate",
    "Positives that were scored negative.",
    plain="fails what should pass",
    direction=LOW,
    behind="wrong",
    basis=Basis(only=should_pass),
)

NO_LABELS = "no item has a reference label"
NO_LABEL_BEFORE = "no changed text has a label, and an item that was shown as it is"
OWN_LABELS = Reason("own_labels", "its own verdicts are the reference")


def unlabelled(scores: Scores, otherwise: str = NO_LABELS) -> str:
    """Why no row of these scores can be held against a label."""
    return OWN_LABELS if np.any(scores.own_label) else otherwise


def by_ordinal_scale(
    context: EstimateContext, scores: Scores, *, alone: bool = True
) -> Iterator[tuple[EstimateContext, Scores]]:
    """The ordinal rows of each scale; the context names the scale where it is not the only one."""
    ordinal = scores.where(~scores.binary)
    scales = sorted(set(zip(ordinal.low.tolist(), ordinal.high.tolist(), strict=True)))
    for low, high in scales:
        here = context if alone and len(scales) == 1 else context.for_subgroup(scale=f"{low}-{high}")
        yield here, ordinal.where((ordinal.low == low) & (ordinal.high == high))


def unit_sums(units: Ints, column: Ints | Mask) -> Ints:
    """Sum a column within resampling units, numbered in the order of their names."""
    return np.rint(np.bincount(units, weights=column)).astype(np.int64)


def unit_tally(
    scores: Scores, units: Ints, events: Ints | Mask, trials: Ints | Mask, n_calls: int, n_units: int
) -> Tally:
    """Events among trials, summed within resampling units that have a trial."""
    per_unit = unit_sums(units, trials)
    kept = per_unit > 0
    summed = unit_sums(units, events)[kept]
    return Tally(summed, per_unit[kept], n_calls=n_calls, n_units=n_units, **scores.lost())


def score_tally(scores: Scores, events: Mask, trials: Mask) -> Tally:
    """Events among trials per cluster.

    With one cluster, items stand for clusters where some of them have repeats; where each has a single call,
    calls are the independent unit.
    """
    units = scores.unit if len(scores) else scores.item
    if scores.n_clusters < 2 and _no_repeats(scores.item[trials]):
        units = np.zeros(len(scores), dtype=np.int64)
    calls, items = int(np.count_nonzero(trials)), len(distinct(scores.item[trials]))
    return unit_tally(scores, units, events & trials, trials, calls, items)


def share(
    context: EstimateContext,
    metric: Metric,
    scores: Scores,
    counts: Tally,
    *,
    unit: str = "call",
    bounds: Span | None = None,
    chance: float | None = None,
    reason: str | None = None,
    notes: Iterable[str] = (),
) -> Estimate:
    """The estimate of a proportion of scores; it says so where all of them belong to one cluster."""
    estimate = proportion(
        context, metric, counts, unit=unit, bounds=bounds, chance=chance, reason=reason, notes=notes
    )
    if estimate.value is None or counts.n_clusters < 2 or scores.n_clusters > 1:
        return estimate
    note = join([estimate.note, ONE_CLUSTER, "items stand for clusters"])
    return replace(estimate, n_clusters=1, note=note)


def accuracy(context: EstimateContext, scores: Scores) -> Estimate:
    """Calls that give the expected label; an abstention is not correct, a lost call is not counted."""
    rows = scores.where(scores.labelled)
    reason = None if len(rows) else unlabelled(scores) if len(scores) else NO_CALLS
    levels = np.unique(rows.high - rows.low + 1)
    guess = 1 / int(levels[0]) if len(levels) == 1 else None
    return _of_calls(context, ACCURACY, rows, rows.right, chance=guess, reason=reason)


def within_one(context: EstimateContext, scores: Scores) -> Estimate:
    rows = scores.where(scores.labelled)
    near = rows.decided & np.less_equal(np.abs(rows.score - rows.expected), 1)
    return _of_calls(context, WITHIN_ONE, rows, near, reason=None if len(rows) else unlabelled(scores))


def followed(context: EstimateContext, scores: Scores) -> Estimate:
    """Changed texts whose verdict goes with the change; on a scale only of items shown as they are too."""
    plain = scores.where(scores.original)
    labels = np.full(len(scores.items), np.nan)
    labels[plain.item] = plain.expected  # the judge's own verdict among them, where that is the reference
    rows = scores.where(scores.labelled & ~scores.original)
    rows = rows.where(rows.binary | np.isfinite(labels[rows.item]))
    before = np.where(rows.binary, 1 - rows.expected, labels[rows.item])
    goes = rows.decided & (np.abs(rows.score - rows.expected) < np.abs(rows.score - before))
    reason = None if len(rows) else unlabelled(scores, NO_LABEL_BEFORE)
    return _of_calls(context, FOLLOWED, rows, goes, reason=reason)


def false_rates(context: EstimateContext, scores: Scores) -> list[Estimate]:
    """`false_positive_rate` among items whose label is 0, `false_negative_rate` among those whose is 1."""
    rows = scores.where(scores.labelled)
    estimates = []
    for metric, label in ((FALSE_POSITIVE_RATE, 0), (FALSE_NEGATIVE_RATE, 1)):
        mine = rows.where(rows.expected == label)
        wrong = mine.decided & (mine.score == 1 - label)
        reason = None if len(mine) else unlabelled(scores, f"no item has the label {label}")
        estimates.append(_of_calls(context, metric, mine, wrong, reason=reason))
    return estimates


def lost_rates(context: EstimateContext, scores: Scores) -> list[Estimate]:
    every = np.ones(len(scores), dtype=np.bool_)
    estimates = []
    for metric, ending in ((UNREADABLE_RATE, Outcome.UNREADABLE), (FAILED_RATE, Outcome.FAILED)):
        counts = replace(score_tally(scores, scores.outcome == ending, every), unreadable=0, failed=0)
        estimates.append(share(context, metric, scores, counts, reason=NO_CALLS))
    return estimates


def abstentions(scores: Scores, consequence: str) -> list[str]:
    count = abstained(scores)
    return [f"{count} abstained, {consequence}"] if count else []


def abstained(scores: Scores) -> int:
    return int(np.count_nonzero(scores.outcome == Outcome.ABSTAINED))


def _of_calls(
    context: EstimateContext,
    metric: Metric,
    rows: Scores,
    events: Mask,
    *,
    chance: float | None = None,
    reason: str | None = None,
) -> Estimate:
    counts = score_tally(rows, events, rows.readable)
    treatment = "counted as not correct" if metric in (ACCURACY, WITHIN_ONE) else "counted as no error"
    notes = abstentions(rows, treatment)
    estimate = share(context, metric, rows, counts, chance=chance, reason=reason, notes=notes)
    return replace(estimate, abstained=abstained(rows), details=row_events(rows, events))


def row_events(rows: Scores, events: Mask) -> dict[str, tuple[int, int]]:
    """Items that show the event in every call, and in some; nothing where every item has one call."""
    seen = rows.readable
    if not np.any(seen) or _no_repeats(rows.item[seen]):
        return {}
    calls, shown = unit_sums(rows.item, seen), unit_sums(rows.item, events & seen)
    every = int(np.count_nonzero((shown == calls) & (calls > 0)))
    return {"row_events": (every, int(np.count_nonzero(shown)) - every)}


def _no_repeats(items: Ints) -> bool:
    return len(distinct(items)) == len(items)
