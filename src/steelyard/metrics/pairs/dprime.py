"""d′: sensitivity on the judge's internal scale.

H = P(say 1 | better in slot 1), F = P(say 1 | better in slot 2), each (k + ½)/(n + 1); d′ = z(H) − z(F).
With ties it is the mean over two cuts, ties as "not 1" and ties as "not 2", which does not move with the
tie criterion. Where every call is right (or wrong) it is a function of the number of calls alone, so it
is given as a bound.

The correction that keeps d′ finite pulls it down near the ceiling, and draws of clusters can not show what
lies above it. The clustered Wilson limits of each share, taken to the normal scale, can: they are put
together by variance recovery, with the correlation that the shares show over clusters. A share whose limit is
0 or 1 leaves its side of d′ open.
"""

from __future__ import annotations

from dataclasses import replace
from math import isinf, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Interval
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import Answer, Pairs, by_cluster, excluded, neither, readable, tally
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join, sample_of
from steelyard.metrics.stats.clusters import Tally, percentile_limits, resample, wilson_cluster
from steelyard.metrics.stats.distributions import normal_quantile, normal_quantiles
from steelyard.metrics.stats.intervals import Span, clopper_pearson, joint_reach
from steelyard.metrics.stats.two_class import residual_correlation

DPRIME = Metric(
    "dprime",
    "d′",
    "Distance between the two orders in units of the judge's noise; at the ceiling it is only a bound.",
    plain="signal over noise",
)
DPRIME_2AFC = Metric(
    "dprime_2afc",
    "d′ (2AFC)",
    "d′ divided by √2, the form used for two-alternative forced choice.",
    plain="signal over noise, forced",
)

ONE_SIDE = "the better candidate stood in one slot only"


def dprime_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """`dprime` and its two-alternative form, which is smaller by √2; `pairs` hold one step."""
    yes_no = dprime(context, pairs)

    def forced(value: float | None) -> float | None:
        return None if value is None else value / sqrt(2)

    intervals = tuple(replace(i, low=forced(i.low), high=forced(i.high)) for i in yes_no.intervals)
    two_choices = replace(yes_no, metric=DPRIME_2AFC.id, value=forced(yes_no.value), intervals=intervals)
    return [yes_no, two_choices]


def dprime(context: EstimateContext, pairs: Pairs) -> Estimate:
    counts = slot_counts(pairs)
    totals = counts.sum(axis=0)
    if not totals[2] or not totals[5]:
        reason = ONE_SIDE if totals[2] or totals[5] else NO_VERDICTS if len(pairs) else NO_CALLS
        return context.undefined(DPRIME, reason, excluded=excluded(pairs))
    hits = tally(pairs, pairs.right.sum(axis=1), pairs.readable.sum(axis=1))
    wrong = pairs.reports.sum() - pairs.right.sum()
    edge = "right" if hits.k == hits.n else "left" if wrong == hits.n else None
    bootstrap = _bootstrap(context, counts)
    intervals = agreeing(hits, edge) if edge else (from_shares(counts), *bootstrap)
    bound = "every call agrees: a function of the number of calls alone, so a bound" if edge else None
    alike = NO_SPREAD if hits.n_clusters > 1 and (edge or not bootstrap) else None
    grows, falls = _saturated(totals)
    if not edge and (grows or falls):
        # An end that the correction alone has set is open.
        intervals = tuple(
            replace(i, low=None if falls else i.low, high=None if grows else i.high) for i in intervals
        )
        edge = None if grows and falls else "right" if grows else "left"
        bound = "an answer that never or always came: held by the log-linear correction, so a bound"
    return context.estimate(
        DPRIME,
        sample_of(hits),
        value=float(separation(totals)),
        intervals=intervals,
        censored=edge,
        note=join([bound, alike, ONE_CLUSTER if hits.n_clusters == 1 else None]),
    )


def _saturated(totals: Ints) -> tuple[bool, bool]:
    """Whether, in some cut, only the correction keeps d′ from growing, or from falling."""
    said_1, tied_1, calls_1, said_2, tied_2, calls_2 = (int(count) for count in totals)
    cuts = ((said_1, said_2), (said_1 + tied_1, said_2 + tied_2))
    return (
        any(first == calls_1 or second == 0 for first, second in cuts),
        any(first == 0 or second == calls_2 for first, second in cuts),
    )


def slot_counts(pairs: Pairs) -> Ints:
    """Per cluster: said 1, tied, calls with the better candidate in slot 1; the same with it in slot 2."""
    u_better = pairs.better == 1
    in_first = np.where(u_better, pairs.u_first, pairs.v_first)
    in_second = np.where(u_better, pairs.v_first, pairs.u_first)
    columns = [
        by_cluster(pairs, column)
        for codes in (in_first, in_second)
        for column in (codes == Answer.FIRST, neither(codes), readable(codes))
    ]
    table = np.stack(columns, axis=1)
    return table[(table[:, 2] + table[:, 5]) > 0]


def separation(totals: Ints | Floats) -> Floats:
    """d′ along the last axis (six counts as in `slot_counts`), the mean of the two cuts."""
    said_1, tied_1, calls_1, said_2, tied_2, calls_2 = np.moveaxis(
        np.asarray(totals, dtype=np.float64), -1, 0
    )

    def cut(first: Floats, second: Floats) -> Floats:
        one, other = (first + 0.5) / (calls_1 + 1), (second + 0.5) / (calls_2 + 1)
        return normal_quantiles(one) - normal_quantiles(other)

    return (cut(said_1, said_2) + cut(said_1 + tied_1, said_2 + tied_2)) / 2


def _bootstrap(context: EstimateContext, counts: Ints) -> tuple[Interval, ...]:
    if len(counts) < 2:
        return ()
    draws = separation(resample(counts, context.bootstrap_seed(DPRIME.id)))
    limits = percentile_limits(draws, len(counts))
    return (Interval("bootstrap_cluster", *limits),) if limits else ()


def from_shares(counts: Ints) -> Interval:
    """Span from counts per cluster (said 1, tied, calls with the better in slot 1; the same for slot 2).

    The two cuts share their calls, so their limits are averaged as d′ itself is.
    """
    said_1, tied_1, calls_1, said_2, tied_2, calls_2 = counts.T
    cuts = (_cut(said_1, calls_1, said_2, calls_2), _cut(said_1 + tied_1, calls_1, said_2 + tied_2, calls_2))
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


def _cut(first: Ints, first_calls: Ints, second: Ints, second_calls: Ints) -> Span:
    """Span of z(first share) − z(second share)."""
    hit, low_hit, high_hit = _scaled(first, first_calls)
    alarm, low_alarm, high_alarm = _scaled(second, second_calls)
    hits, alarms = (
        np.asarray(events - calls * (events.sum() / calls.sum()))
        for events, calls in ((first, first_calls), (second, second_calls))
    )
    together = residual_correlation(hits, -alarms, unknown=1.0)
    value = hit - alarm
    return (
        value - joint_reach(hit - low_hit, high_alarm - alarm, together),
        value + joint_reach(high_hit - hit, alarm - low_alarm, together),
    )


def _scaled(events: Ints, calls: Ints) -> tuple[float, float, float]:
    used = calls > 0
    counts = Tally(events[used], calls[used], n_calls=int(calls.sum()), n_units=int(calls.sum()))
    low, high = wilson_cluster(counts)
    return (normal_quantile((counts.k + 0.5) / (counts.n + 1)), normal_quantile(low), normal_quantile(high))
