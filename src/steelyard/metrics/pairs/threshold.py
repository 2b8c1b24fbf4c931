"""The 75 % threshold of the psychometric curve, without a model of its shape.

The curve is the isotonic fit (pool adjacent violators, weights = calls) over the measured steps, joined
by straight lines; nothing is read below the first step or beyond the last. Whether a step reaches 75 %
is decided in integers, 4·correct ≥ 3·calls over the pooled block.
"""

from __future__ import annotations

from math import inf, isinf

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.basis import CLIMBS
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_CALLS, NO_VERDICTS, EstimateContext
from steelyard.metrics.metric import Metric, ShownAs, step
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import by_cluster, distinct_pairs, excluded, tally
from steelyard.metrics.pairs.sensitivity import Choices, choices, on_ladder, steps
from steelyard.metrics.pairs.slot_imbalance import SlotCounts, imbalance_note
from steelyard.metrics.proportions import ONE_CLUSTER, join
from steelyard.metrics.stats.clusters import resample, tail, wilson_cluster

DELTA75 = Metric(
    "delta75",
    "75 % threshold",
    "Quality step from which three calls in four choose the better text; ≤ and > mark the ladder's ends.",
    plain="smallest step seen",
    shown_as=ShownAs.STEPS,
    basis=CLIMBS,
)

THRESHOLD = 0.75
REPLICATES_AGREE = "every bootstrap replicate agrees: limits from those of each step"


def isotonic(correct: Floats, calls: Floats) -> Floats:
    """The weighted non-decreasing fit along the last axis, by the max–min formula; rows are independent.

    fit_i = max over a ≤ i of min over b ≥ i of the pooled share of steps a … b; empty blocks do not count.
    """
    size = correct.shape[-1]
    fit = np.full(correct.shape, -inf)
    for start in range(size):
        shares = _pooled(correct, calls, start)
        smallest = np.minimum.accumulate(shares[..., ::-1], axis=-1)[..., ::-1]
        fit[..., start:] = np.maximum(fit[..., start:], np.where(np.isinf(smallest), -inf, smallest))
    return fit


def _pooled(correct: Floats, calls: Floats, start: int) -> Floats:
    """Shares of the blocks that begin at `start`, by their end; +inf where a block holds no call."""
    above, below = np.cumsum(correct[..., start:], axis=-1), np.cumsum(calls[..., start:], axis=-1)
    shares: Floats = np.full(above.shape, inf)
    np.divide(above, below, out=shares, where=below > 0)
    return shares


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
    """The step at which the better candidate wins three calls in four."""
    ladder = on_ladder(pairs)
    seen = choices(ladder)
    table = _Table(ladder, seen)
    if not len(table.deltas):
        return context.undefined(DELTA75, NO_VERDICTS if len(ladder) else NO_CALLS, excluded=excluded(ladder))
    for slots in (SlotCounts(ladder.where(ladder.delta == delta)) for delta in table.deltas):
        if slots.share >= THRESHOLD:
            return context.undefined(DELTA75, imbalance_note(slots.calls), excluded=excluded(ladder))
    point = float(thresholds(table.deltas, table.correct.sum(0), table.calls.sum(0)))
    interval, remark = table.interval(context.bootstrap_seed(DELTA75.id))
    return context.estimate(
        DELTA75,
        unit="call",
        value=table.clamp(point),
        intervals=(interval,),
        n_calls=int(seen.readable.sum()),
        n_units=distinct_pairs(ladder, seen.readable > 0),
        n_clusters=len(table.calls),
        excluded=excluded(ladder),
        censored="left" if point == -inf else "right" if point == inf else None,
        note=join([table.describe(point), remark]),
    )


class _Table:
    """Correct calls and calls, clusters × steps, as integers."""

    def __init__(self, ladder: Pairs, seen: Choices) -> None:
        measured = [delta for delta in steps(ladder) if seen.readable[ladder.delta == delta].any()]
        self.deltas = np.array(measured, dtype=np.float64)
        self.by_step = [
            tally(ladder, seen.correct * (ladder.delta == delta), seen.readable * (ladder.delta == delta))
            for delta in measured
        ]
        correct = [by_cluster(ladder, seen.correct * (ladder.delta == delta)) for delta in measured]
        calls = [by_cluster(ladder, seen.readable * (ladder.delta == delta)) for delta in measured]
        self.correct: Ints = _columns(correct)
        self.calls: Ints = _columns(calls)
        used = self.calls.sum(axis=1) > 0
        self.correct, self.calls = self.correct[used], self.calls[used]

    def clamp(self, value: float) -> float:
        """A censored threshold stands at the first or last step."""
        return float(min(max(value, self.deltas[0]), self.deltas[-1]))

    def describe(self, point: float) -> str:
        """Where the value comes from."""
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
                low, high = float(values[beyond]), float(values[-1 - beyond])
                return self._open("bootstrap_cluster", low, high), None
        remark = ONE_CLUSTER if len(self.calls) == 1 else REPLICATES_AGREE
        return self._from_limits(), remark

    def _from_limits(self) -> Interval:
        limits = np.array([wilson_cluster(counts) for counts in self.by_step])
        low_curve = np.maximum.accumulate(limits[:, 0])
        high_curve = np.minimum.accumulate(limits[::-1, 1])[::-1]
        low, high = (
            float(_crossings(self.deltas, curve, curve >= THRESHOLD)) for curve in (high_curve, low_curve)
        )
        return self._open("wilson_steps", low, high)

    def _open(self, method: str, low: float, high: float) -> Interval:
        """An end that lies outside the measured steps on its own side is no limit."""
        return Interval(
            method,
            None if low == -inf else self.clamp(low),
            None if high == inf else self.clamp(high),
        )


def _columns(parts: list[Ints]) -> Ints:
    return np.stack(parts, axis=1) if parts else np.zeros((0, 0), dtype=np.int64)
