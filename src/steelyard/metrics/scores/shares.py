"""Figures of pointwise calls: proportions, and functions of sums over clusters.

The first are accuracy, within one, false positives and negatives, lost calls; of the second, clusters are
left out or drawn again for the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct
from steelyard.core.content_hash import seed_for
from steelyard.metrics import proportions
from steelyard.metrics.estimate import NO_CALLS, Estimate, EstimateContext, Interval, Reason, Sample, Why
from steelyard.metrics.findings import SURE, with_finding
from steelyard.metrics.metric import LABELLED, LOW, Basis, Limit, Metric, should_fail, should_pass
from steelyard.metrics.proportions import ACCURACY, FAILED_RATE, UNREADABLE_RATE, proportion
from steelyard.metrics.scores.columns import Outcome, Scores
from steelyard.metrics.stats.clusters import REPLICATES, Figure, Tally, jackknife, percentile_limits, resample
from steelyard.metrics.stats.intervals import UNBOUNDED, Ends, Span
from steelyard.metrics.stats.two_class import LimitTest, table_limits

WITHIN_ONE = Metric(
    "within_one",
    meaning="Scores at most one level from the label.",
    plain="one level off at most",
    detail=True,
)
FOLLOWED = Metric(
    "followed",
    "label followed",
    "Verdicts on a text changed to earn another label that lie nearer to that label than to the item's own; "
    "on edited runs of agents, verdicts on the half of the scale that the edit earns.",
    plain="follows a changed label",
    limit=Limit(0.65, "min"),
    behind="wrong",
    basis=LABELLED,
)
_error = partial(Metric, direction=LOW, behind="wrong")
FALSE_POSITIVE_RATE = _error(
    "false_positive_rate",
    meaning="Negatives that were scored positive.",
    plain="passes what should fail",
    basis=Basis(only=should_fail),
)
FALSE_NEGATIVE_RATE = _error(
    "false_negative_rate",
    meaning="Positives that were scored negative.",
    plain="fails what should pass",
    basis=Basis(only=should_pass),
)

NO_LABELS = "no item has a reference label"
NO_LABEL_BEFORE = "no changed text has a label, and an item that was shown as it is"
OWN_LABELS = Reason("own_labels", "its own verdicts are the reference")


def unlabelled(scores: Scores, otherwise: str = NO_LABELS) -> Why:
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
    clusters = None if scores.n_clusters > 1 else 1
    return Tally(summed, per_unit[kept], n_calls, n_units, **scores.lost(), clusters=clusters)


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


def run_followed(context: EstimateContext, scores: Scores) -> Estimate:
    """Edited runs whose verdict lies on the half of the scale, failing or passing, that the edit earns."""
    rows = scores.where(scores.labelled & ~scores.original)
    failing = np.where(np.isnan(rows.fail_value), rows.low, rows.fail_value)
    half = (rows.high - rows.low) / 2
    fails, should = (np.abs(answers - failing) < half for answers in (rows.score, rows.expected))
    reason = None if len(rows) else unlabelled(scores)
    return _of_calls(context, FOLLOWED, rows, rows.decided & (fails == should), reason=reason)


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
        estimates.append(proportion(context, metric, counts, reason=NO_CALLS))
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
    reason: Why | None = None,
) -> Estimate:
    counts = score_tally(rows, events, rows.readable)
    treatment = "counted as not correct" if metric in (ACCURACY, WITHIN_ONE) else "counted as no error"
    notes = abstentions(rows, treatment)
    estimate = proportion(context, metric, counts, chance=chance, reason=reason, notes=notes)
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


_BLOCK = 4_000_000
_UNDEFINED_SHARE = 0.05
_ROUNDING = 1e-9
NO_WIDTH = "clusters drawn again all give this value: no interval"
EXACT = "no spread between clusters: exact limits on clusters"


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of each resampling unit, and what lies behind them."""

    table: Floats
    rows: Scores
    """The calls they were made from, lost ones included."""
    n_calls: int
    """Calls among them that count."""
    n_items: int


def resampled(
    context: EstimateContext,
    metric: Metric,
    sums: Sums,
    figure: Figure,
    *,
    reason: Why,
    ends: Ends = UNBOUNDED,
    bounds: Span | None = None,
    chance: float | None = None,
    notes: tuple[str | None, ...] = (),
    alike: Callable[[], Interval | None] = lambda: None,
    by_rates: bool = False,
    left_out: int = 0,
) -> Estimate:
    """The estimate; `reason` says why it is undefined, `alike` serves where all draws are the same.

    `by_rates`: the sums are tables of two labels, whose rates make the limits. `left_out`: calls that
    abstained.
    """
    value = float(figure(sums.table.sum(0))) if len(sums.table) else float("nan")
    if not np.isfinite(value):
        return context.undefined(metric, reason, "call", sums.rows.lost())
    found, remark = intervals(sums.table, figure, context.bootstrap_seed(metric.id), ends, by_rates=by_rates)
    assumed = alike() if remark == NO_WIDTH else None
    clusters = sums.rows.n_clusters
    limit = context.limit(metric)
    if limit and not found:
        # A limit is read from these, so they are shown.
        limits = LimitTest(sums.table, figure, ends, sums.n_calls, by_rates).limits(SURE)
        found, assumed, remark = (Interval("random_mixture", *limits),), None, proportions.NO_SPREAD
    sample = Sample(sums.n_calls, sums.n_items, clusters, sums.rows.lost())
    spread = proportions.NO_SPREAD if assumed else remark
    single = proportions.ONE_CLUSTER if clusters < 2 else None
    told = [*notes, spread, single, proportions.limit_note(limit)]
    found = (*found, assumed) if assumed else found
    estimate = context.estimate(
        metric, sample, told, value=value, intervals=found, left_out=left_out, bounds=bounds, chance=chance
    )
    # The losses alone do not tell how far they could move such a figure; see `with_label_word`.
    found_word = with_finding(replace(estimate, excluded={}, bounds=None), limit)
    return replace(estimate, status=found_word.status, calls_needed=found_word.calls_needed)


def intervals(
    table: Floats, figure: Figure, seed: int, ends: Ends, *, by_rates: bool = False
) -> tuple[tuple[Interval, ...], str | None]:
    """Clusters left out in turn or the rates of two labels, then clusters drawn again, and a remark."""
    drawn, remark = interval(table, figure, seed)
    limits = {"bootstrap_cluster": drawn}
    if by_rates:
        limits = {"mover_cluster": table_limits(table, figure), **limits}
        remark = EXACT if remark == NO_WIDTH else remark
    elif drawn:
        limits = {"jackknife_cluster": jackknife(table, figure, ends), **limits}
    return tuple(Interval(method, *found) for method, found in limits.items() if found), remark


def interval(table: Floats, figure: Figure, seed: int) -> tuple[Span | None, str | None]:
    """Percentile limits over units drawn again, and a remark where they need one."""
    if len(table) < 2:
        return None, None
    values = draws(table, figure, seed)
    limits = percentile_limits(values, len(table))
    if limits is None or limits[1] - limits[0] < _ROUNDING * max(map(abs, limits)):
        return None, NO_WIDTH
    lost = float(np.mean(~np.isfinite(values)))
    return limits, f"undefined in {lost:.0%} of the draws" if lost > _UNDEFINED_SHARE else None


def draws(table: Floats, figure: Figure, seed: int) -> Floats:
    """The figure of each bootstrap replicate, in blocks that bound the memory of wide tables."""
    flat = table.reshape(len(table), -1)
    block = max(1, min(REPLICATES, _BLOCK // flat.shape[1]))
    parts = []
    for start in range(0, REPLICATES, block):
        size = min(block, REPLICATES - start)
        sums = resample(flat, seed_for(seed, start), size)
        parts.append(figure(sums.reshape(size, *table.shape[1:])))
    return np.concatenate(parts)
