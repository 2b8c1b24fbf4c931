"""The ladder: how often the better candidate wins step by step, and from which step on it is seen.

The 75 % threshold of the psychometric curve has no model of its shape. The curve is the isotonic fit (pool
adjacent violators, weights = calls) over the measured steps, joined by straight lines; nothing is read below
the first step or beyond the last. Whether a step reaches 75 % is decided in integers, 4·correct ≥ 3·calls
over the pooled block.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, isinf

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct
from steelyard.core.text import join_notes
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Interval, Sample, Why
from steelyard.metrics.metric import CLIMBS, Basis, Ends, Limit, Metric, ShownAs, climbs, step
from steelyard.metrics.pairs import columns, equals, flips, slot
from steelyard.metrics.pairs.columns import Pairs, excluded, on_ladder, share_of_calls, steps, tally
from steelyard.metrics.pairs.equals import ORDER, TIE_RATE, tie_rate
from steelyard.metrics.pairs.length import FILLER, LENGTH_LEAN, length_lean
from steelyard.metrics.pairs.signal_detection import DPRIME, DPRIME_2AFC, dprime_estimates
from steelyard.metrics.pairs.slot import DECLARED_PROTOCOL, NET_SLOT_PREFERENCE, Count, net_slot_preference
from steelyard.metrics.proportions import FAILED_RATE, ONE_CLUSTER, UNREADABLE_RATE, proportion
from steelyard.metrics.stats.clusters import Tally, resample, tail, wilson_cluster

_of_steps = partial(Metric, by_step=True, basis=CLIMBS)
TARGET_SENSITIVITY = _of_steps(
    "target_sensitivity",
    "target sensitivity",
    "Calls that choose the better of two texts a known number of quality steps apart; a tie is a miss.",
    plain="chooses the better text",
    limit=Limit(0.80, "min", {"delta": 1}),
    event=lambda pairs: pairs.right,
    labelled=True,
    over_steps=True,
    behind="wrong",
)
NONTIE_ACCURACY = Metric(
    "nontie_accuracy",
    "accuracy without ties",
    "Correct calls among those that name a winner.",
    basis=Basis(ends=Ends.CHOICE, only=climbs),
)
MISS_BY_TIE = _of_steps(
    "miss_by_tie",
    meaning="Calls that answer tie although one text is better.",
    plain="calls a tie wrongly",
    event=lambda pairs: pairs.neither,
    compared=False,
)
WRONG_CHOICE = _of_steps(
    "wrong_choice",
    meaning="Calls that choose the worse text.",
    plain="chooses the worse text",
    event=lambda pairs: pairs.reports & ~pairs.right,
    labelled=True,
    compared=False,
    behind="wrong",
)


UNDECIDED = "no call of this condition was decided"


def sensitivity_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:

    def right_of_decided(rows: Pairs) -> Tally:
        return tally(rows, rows.right.sum(axis=1), rows.reports.sum(axis=1))

    return [
        target_sensitivity(context, pairs),
        _share(context, NONTIE_ACCURACY, pairs, right_of_decided, reason=UNDECIDED),
        proportion(context, MISS_BY_TIE, share_of_calls(pairs, MISS_BY_TIE)),
        _share(context, WRONG_CHOICE, pairs),
        tie_rate(context, pairs),
    ]


def target_sensitivity(context: EstimateContext, pairs: Pairs) -> Estimate:
    return _share(context, TARGET_SENSITIVITY, pairs)


def _share(
    context: EstimateContext,
    metric: Metric,
    pairs: Pairs,
    count: Count | None = None,
    reason: Why | None = None,
) -> Estimate:
    """A share of right or wrong choices; where slots are uneven, it says what the other one could change."""
    count = count or partial(share_of_calls, metric=metric)
    estimate = proportion(context, metric, count(pairs), reason=reason)
    return slot.with_slot_imbalance(estimate, context.limit(metric), pairs, count)


def by_base_level(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    estimates = []
    for quality in np.unique(pairs.base_level[~np.isnan(pairs.base_level)]):
        here = context.for_subgroup(base_level=step(quality))
        estimates.append(target_sensitivity(here, pairs.where(pairs.base_level == quality)))
    return estimates


DELTA75 = Metric(
    "delta75",
    "75 % threshold",
    "Quality step from which three calls in four choose the better text; ≤ and > mark the ladder's ends.",
    plain="smallest step seen",
    shown_as=ShownAs.STEPS,
    basis=CLIMBS,
)

THRESHOLD = 0.75


def isotonic(correct: Floats, calls: Floats) -> Floats:
    """The weighted non-decreasing fit along the last axis, by the max–min formula; rows are independent.

    fit_i = max over a ≤ i of min over b ≥ i of the pooled share of steps a … b; empty blocks do not count.
    """
    size = correct.shape[-1]
    fit = np.full(correct.shape, -inf)
    for start in range(size):
        # Shares of the blocks that begin here, by their end; +inf where a block holds no call.
        above, below = np.cumsum(correct[..., start:], axis=-1), np.cumsum(calls[..., start:], axis=-1)
        shares = np.divide(above, below, out=np.full(above.shape, inf), where=below > 0)
        smallest = np.minimum.accumulate(shares[..., ::-1], axis=-1)[..., ::-1]
        fit[..., start:] = np.maximum(fit[..., start:], np.where(np.isinf(smallest), -inf, smallest))
    return fit


def reaches(correct: Floats, calls: Floats) -> Mask:
    """Where the isotonic fit is at least 75 %, decided on the integers 4·correct − 3·calls."""
    excess = 4 * np.rint(correct) - 3 * np.rint(calls)
    weight = np.rint(calls)
    reached: Mask = np.zeros(correct.shape, dtype=np.bool_)
    for start in range(correct.shape[-1]):
        sums, filled = np.cumsum(excess[..., start:], axis=-1), np.cumsum(weight[..., start:], axis=-1) > 0
        # A block without calls says nothing: it must neither pass nor fail the step.
        holds = np.where(filled, sums >= 0, True)
        every = np.logical_and.accumulate(holds[..., ::-1], axis=-1)[..., ::-1]
        some = np.logical_or.accumulate(filled[..., ::-1], axis=-1)[..., ::-1]
        reached[..., start:] |= every & some
    return reached


def thresholds(deltas: Floats, correct: Floats, calls: Floats) -> Floats:
    """The 75 % step of each row: −inf when the first step reaches it, +inf when none does."""
    return _crossings(deltas, isotonic(correct, calls), reaches(correct, calls))


def _crossings(deltas: Floats, fit: Floats, reached: Mask) -> Floats:
    """Where each row's curve first meets 75 %, on the line to the first step that reaches it."""
    ever = reached.any(axis=-1)
    index = np.where(ever, reached.argmax(axis=-1), 1)
    at = np.maximum(index, 1)[..., None]
    if len(deltas) == 1:
        return np.where(ever, -inf, inf)
    high, low = np.take_along_axis(fit, at, -1)[..., 0], np.take_along_axis(fit, at - 1, -1)[..., 0]
    upper, lower = deltas[at[..., 0]], deltas[at[..., 0] - 1]
    rise = high - low
    share = np.divide(
        THRESHOLD - low, rise, out=np.ones(np.shape(rise)), where=np.isfinite(rise) & (rise > 0)
    )
    inside = lower + np.clip(share, 0.0, 1.0) * (upper - lower)
    return np.where(~ever, inf, np.where(index == 0, -inf, inside))


def delta75(context: EstimateContext, pairs: Pairs) -> Estimate:
    ladder = on_ladder(pairs)
    readable_calls = ladder.readable.sum(axis=1)
    table = _Table(ladder, readable_calls)
    if not len(table.deltas):
        return context.undefined(DELTA75, NO_VERDICTS if len(ladder) else NO_CALLS, excluded=excluded(ladder))
    for slots in (slot.SlotCounts(ladder.where(ladder.delta == delta)) for delta in table.deltas):
        if slots.share >= THRESHOLD:
            return context.undefined(DELTA75, slot.imbalance_note(slots.calls), excluded=excluded(ladder))
    point = float(thresholds(table.deltas, table.correct.sum(0), table.calls.sum(0)))
    interval, remark = table.interval(context.bootstrap_seed(DELTA75.id))
    units = len(distinct(ladder.pair[readable_calls > 0]))
    sample = Sample(int(readable_calls.sum()), units, len(table.calls), excluded(ladder))
    value, end = table.clamp(point), "left" if point == -inf else "right" if point == inf else None
    notes = [table.describe(point), remark]
    return context.estimate(DELTA75, sample, notes, value=value, intervals=(interval,), censored=end)


class _Table:
    def __init__(self, ladder: Pairs, readable_calls: Ints) -> None:
        measured = [delta for delta in steps(ladder) if readable_calls[ladder.delta == delta].any()]
        self.deltas = np.array(measured, dtype=np.float64)
        at_steps = ladder.delta[:, None] == self.deltas
        correct, calls = (column[:, None] * at_steps for column in (ladder.right.sum(axis=1), readable_calls))
        self.by_step = [tally(ladder, *counts) for counts in zip(correct.T, calls.T, strict=True)]
        sums = [
            np.array([columns.by_cluster(ladder, column) for column in counts.T], dtype=np.int64)
            .reshape(len(measured), len(ladder.clusters))
            .T
            for counts in (correct, calls)
        ]
        used = sums[1].sum(axis=1) > 0
        self.correct, self.calls = sums[0][used], sums[1][used]

    def clamp(self, value: float) -> float:
        """A censored threshold stands at the first or last step."""
        return float(min(max(value, self.deltas[0]), self.deltas[-1]))

    def describe(self, point: float) -> str:
        first, last = step(self.deltas[0]), step(self.deltas[-1])
        if isinf(point):
            return f"≤ {first}: the first step reaches .75" if point < 0 else f"> {last}: no step reaches .75"
        after = self.deltas[self.deltas >= point][0]
        before = self.deltas[self.deltas < point][-1]
        return f"interpolated between steps {step(before)} and {step(after)}"

    def interval(self, seed: int) -> tuple[Interval, str | None]:
        """Cluster bootstrap; where replicates cannot differ, from the limits of each step."""
        if len(self.calls) > 1:
            sums = resample(np.concatenate([self.correct, self.calls], axis=1), seed)
            count = len(self.deltas)
            values = np.sort(thresholds(self.deltas, sums[:, :count], sums[:, count:]))
            if values[0] < values[-1]:
                beyond = int(tail(len(self.calls)) * len(values))
                return self._open("bootstrap_cluster", values[beyond], values[-1 - beyond]), None
        limits = np.array([wilson_cluster(counts) for counts in self.by_step])
        low_curve = np.maximum.accumulate(limits[:, 0])
        high_curve = np.minimum.accumulate(limits[::-1, 1])[::-1]
        low, high = (_crossings(self.deltas, curve, curve >= THRESHOLD) for curve in (high_curve, low_curve))
        agree = "every bootstrap replicate agrees: limits from those of each step"
        return self._open("wilson_steps", low, high), ONE_CLUSTER if len(self.calls) == 1 else agree

    def _open(self, method: str, low: Floats, high: Floats) -> Interval:
        """An end that lies outside the measured steps on its own side is no limit."""
        first = None if low == -inf else self.clamp(float(low))
        return Interval(method, first, None if high == inf else self.clamp(float(high)))


PADDED_PREFERENCE = Metric(
    "padded_preference",
    meaning="Decided calls that choose the text padded with filler; a judge blind to padding shows 0.50.",
    plain="prefers padding",
    basis=Basis(ends=Ends.CHOICE),
)
METRICS = (
    *(*equals.METRICS, NET_SLOT_PREFERENCE, *flips.METRICS, PADDED_PREFERENCE, LENGTH_LEAN),
    *(TARGET_SENSITIVITY, NONTIE_ACCURACY, MISS_BY_TIE, WRONG_CHOICE, DELTA75, DPRIME, DPRIME_2AFC),
    *(TIE_RATE, UNREADABLE_RATE, FAILED_RATE),
)


def ladder_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    ladder = on_ladder(pairs)
    estimates = _equals(context, pairs)
    # The first step is always reported, with a reason where it was not measured.
    for delta in steps(ladder) or [1.0]:
        rows = ladder.where(np.asarray(ladder.delta == delta))
        here = context.for_subgroup(delta=step(delta))
        estimates += sensitivity_estimates(here, rows)
        estimates += by_base_level(here, rows)
        estimates += dprime_estimates(here, rows)
    pooled = target_sensitivity(context, ladder)
    pooled = replace(pooled, note=join_notes(["all steps together", pooled.note]))
    return [*estimates, pooled, delta75(context, pairs), *columns.missing_rates(context, pairs)]


def _equals(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """Figures of the kinds whose candidates are equally good; `same_subset` is always reported."""
    equal = ~(pairs.delta > 0)
    estimates: list[Estimate] = []
    others: int | None = None
    for kind in ("same_subset", "different_subset", FILLER):
        rows = pairs.where(equal & (pairs.kind == kind))
        same = kind == "same_subset"
        if not len(rows) and not same:
            continue
        here = context.for_subgroup(delta=0, kind=kind)
        declared = same and context.group["protocol"] == DECLARED_PROTOCOL
        family = equals.equals_tests(here, rows) if declared else {}
        estimates += equals.direction_estimates(here, rows, family)
        if same:
            estimates.append(net_slot_preference(here, rows, family=family))
        if declared:
            others = len(family)
            estimates += flips.flip_estimates(here, rows, family.get(ORDER))
        if kind == FILLER:
            estimates.append(padded_preference(here, rows))
            # The second content is the padded one.
            padded = np.full(len(rows), 2, dtype=np.int64)
            estimates.append(length_lean(here, rows, padded, NO_CALLS, others))
    return estimates


def padded_preference(context: EstimateContext, pairs: Pairs) -> Estimate:
    counts, notes = tally(pairs, pairs.wins("v").sum(axis=1), pairs.reports.sum(axis=1)), ["of decided calls"]
    return proportion(context, PADDED_PREFERENCE, counts, chance=0.5, reason=UNDECIDED, notes=notes)
