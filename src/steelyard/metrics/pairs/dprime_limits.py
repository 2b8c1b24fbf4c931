"""Limits of d′ from the limits of its shares.

The correction that keeps d′ finite pulls it down near the ceiling, and draws of tasks can not show what lies
above it. The clustered Wilson limits of each share, taken to the normal scale, can: they are put together by
variance recovery, with the correlation that the shares show over tasks. A share whose limit is 0 or 1 leaves
its side of d′ open.
"""

from __future__ import annotations

from math import isinf, sqrt

import numpy as np

from steelyard.metrics.estimate import Interval
from steelyard.metrics.pairs.slot_test import ENOUGH_TASKS
from steelyard.metrics.stats.arrays import Floats, Ints
from steelyard.metrics.stats.clusters import wilson_cluster
from steelyard.metrics.stats.intervals import Limits, clopper_pearson, normal_quantile
from steelyard.metrics.stats.tally import Tally


def from_shares(counts: Ints) -> Interval:
    """Limits from counts per task (said 1, tied, calls with the better in slot 1; the same for slot 2).

    The two cuts share their calls, so their limits are averaged as d′ itself is.
    """
    said_1, tied_1, calls_1, said_2, tied_2, calls_2 = counts.T
    cuts = (
        _cut(said_1, calls_1, said_2, calls_2),
        _cut(said_1 + tied_1, calls_1, said_2 + tied_2, calls_2),
    )
    low, high = ((cuts[0][side] + cuts[1][side]) / 2 for side in (0, 1))
    method = "mover_cluster" if len(counts) > 1 else "wilson_shares"
    return Interval(method, None if isinf(low) else low, None if isinf(high) else high)


def agreeing(hits: Tally, edge: str) -> tuple[Interval, ...]:
    """One-sided limits where every call agrees, from the exact interval of the share that is right."""
    sizes = {"clopper_pearson": float(hits.n)}
    if hits.n_clusters > 1:
        sizes = {"clopper_pearson_cluster": hits.share.assumed_size, **sizes}
    limits = {method: 2 * normal_quantile(clopper_pearson(size, size)[0]) for method, size in sizes.items()}
    if edge == "right":
        return tuple(Interval(method, limit, None) for method, limit in limits.items())
    return tuple(Interval(method, None, -limit) for method, limit in limits.items())


def _cut(first: Ints, first_calls: Ints, second: Ints, second_calls: Ints) -> Limits:
    """Limits of z(first share) − z(second share)."""
    hit, low_hit, high_hit = _scaled(first, first_calls)
    alarm, low_alarm, high_alarm = _scaled(second, second_calls)
    together = _correlation(_residuals(first, first_calls), -_residuals(second, second_calls))
    value = hit - alarm
    return (
        value - _joint(hit - low_hit, high_alarm - alarm, together),
        value + _joint(high_hit - hit, alarm - low_alarm, together),
    )


def _scaled(events: Ints, calls: Ints) -> tuple[float, float, float]:
    """The corrected share and its limits on the normal scale."""
    shown = calls > 0
    counts = Tally(events[shown], calls[shown], n_calls=int(calls.sum()), n_units=int(calls.sum()))
    low, high = wilson_cluster(counts)
    return (
        normal_quantile((counts.k + 0.5) / (counts.n + 1)),
        normal_quantile(low),
        normal_quantile(high),
    )


def _residuals(events: Ints, calls: Ints) -> Floats:
    return np.asarray(events - calls * (events.sum() / calls.sum()))


def _correlation(first: Floats, second: Floats) -> float:
    """How two shares move together over tasks; 1, the widest, where one of them does not move.

    Few tasks tell no correlation that could be relied on to narrow the limits.
    """
    spread = sqrt(float(first @ first) * float(second @ second))
    if spread < 1e-9:
        return 1.0
    together = float(first @ second) / spread
    return together if len(first) >= ENOUGH_TASKS else max(0.0, together)


def _joint(first: float, second: float, together: float) -> float:
    """How far the difference reaches when its parts reach so far."""
    if isinf(first) or isinf(second):
        return float("inf")
    return sqrt(max(first * first + second * second + 2 * together * first * second, 0.0))
