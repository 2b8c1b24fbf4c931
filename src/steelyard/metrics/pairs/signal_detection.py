"""Signal detection: d′, sensitivity on the judge's internal scale, and what a protocol shifts.

H = P(say 1 | better in slot 1), F = P(say 1 | better in slot 2), each (k + ½)/(n + 1); d′ = z(H) − z(F).
With ties it is the mean over two cuts, ties as "not 1" and ties as "not 2", which does not move with the
tie criterion. Where every call is right (or wrong) it is a function of the number of calls alone, so it
is given as a bound.

The correction that keeps d′ finite pulls it down near the ceiling, and draws of clusters can not show what
lies above it. The clustered Wilson limits of each share, taken to the normal scale, can: they are put
together by variance recovery, with the correlation that the shares show over clusters. A share whose limit is
0 or 1 leaves its side of d′ open.

The criterion shift is what another protocol changes in ties and sensitivity, on pairs that both saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isinf, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.core.text import plural, pluralize
from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import Basis, Metric, climbs, step
from steelyard.metrics.pairs.columns import PairAnswer, Pairs, by_cluster, excluded, on_ladder, steps, tally
from steelyard.metrics.pairs.slot import SlotCounts
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, sample_of
from steelyard.metrics.stats.clusters import (
    Tally,
    assumed_size,
    percentile_limits,
    ratio,
    resample,
    wilson_cluster,
)
from steelyard.metrics.stats.distributions import normal_quantile, normal_quantiles, t_quantile
from steelyard.metrics.stats.intervals import (
    ENOUGH_CLUSTERS,
    Span,
    clopper_pearson,
    joint_reach,
    newcombe,
    sign_flip,
    tango,
)
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
    limits = None
    if len(counts) > 1:
        draws = separation(resample(counts, context.bootstrap_seed(DPRIME.id)))
        limits = percentile_limits(draws, len(counts))
    bootstrap = (Interval("bootstrap_cluster", *limits),) if limits else ()
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
    notes = [bound, alike, ONE_CLUSTER if hits.n_clusters == 1 else None]
    value = float(separation(totals))
    return context.estimate(DPRIME, sample_of(hits), notes, value=value, intervals=intervals, censored=edge)


def _saturated(totals: Ints) -> tuple[bool, bool]:
    """Whether, in some cut, only the correction keeps d′ from growing, or from falling."""
    said_1, tied_1, calls_1, said_2, tied_2, calls_2 = (int(count) for count in totals)
    cuts = ((said_1, said_2), (said_1 + tied_1, said_2 + tied_2))
    grows = any(first == calls_1 or second == 0 for first, second in cuts)
    return grows, any(first == 0 or second == calls_2 for first, second in cuts)


def slot_counts(pairs: Pairs) -> Ints:
    """Per cluster: said 1, tied, calls with the better candidate in slot 1; the same with it in slot 2."""
    counts = [
        by_cluster(pairs, column.sum(axis=1))
        for part in SlotCounts(pairs).parts
        for column in (part.calls == PairAnswer.FIRST, part.neither, part.readable)
    ]
    table = np.stack(counts, axis=1)
    return table[(table[:, 2] + table[:, 5]) > 0]


def separation(totals: Ints | Floats) -> Floats:
    """d′ along the last axis (six counts as in `slot_counts`), the mean of the two cuts."""
    table = np.moveaxis(np.asarray(totals, dtype=np.float64), -1, 0)
    said_1, tied_1, calls_1, said_2, tied_2, calls_2 = table

    def cut(first: Floats, second: Floats) -> Floats:
        one, other = (first + 0.5) / (calls_1 + 1), (second + 0.5) / (calls_2 + 1)
        return normal_quantiles(one) - normal_quantiles(other)

    return (cut(said_1, said_2) + cut(said_1 + tied_1, said_2 + tied_2)) / 2


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
    below = joint_reach(hit - low_hit, high_alarm - alarm, together)
    return value - below, value + joint_reach(high_hit - hit, alarm - low_alarm, together)


def _scaled(events: Ints, calls: Ints) -> tuple[float, float, float]:
    used = calls > 0
    counts = Tally(events[used], calls[used], n_calls=int(calls.sum()), n_units=int(calls.sum()))
    low, high = wilson_cluster(counts)
    return (normal_quantile((counts.k + 0.5) / (counts.n + 1)), normal_quantile(low), normal_quantile(high))


_ROUNDING = 1e-12


@dataclass(frozen=True)
class Rate:
    metric: Metric
    words: str
    events: Callable[[Pairs], Ints]
    """Events among the calls of each row."""

    def tally(self, pairs: Pairs) -> Tally:
        return tally(pairs, self.events(pairs), pairs.readable.sum(axis=1))


def protocol_shift(context: EstimateContext, rate: Rate, base: Pairs, other: Pairs) -> Estimate:
    """The rate under the protocol of the context less that under base, on the pairs that both saw."""
    shared = _shared(base, other)
    rows = shared or (base, other)
    before, after = (rate.tally(pairs) for pairs in rows)
    excluded = {"unreadable": before.unreadable + after.unreadable, "failed": before.failed + after.failed}
    for name, pairs, counts in zip(("base", context.protocol), rows, (before, after), strict=True):
        if not counts.n:
            what = "no call ended in a verdict" if len(pairs) else "nothing was measured"
            return context.undefined(rate.metric, f"{what} under the {name} protocol", excluded=excluded)
    intervals: tuple[Interval, ...] = ()
    notes: list[str | None] = ["the protocols share no pair: not compared pair by pair"]
    if shared:
        dropped = len(base) + len(other) - len(rows[0]) - len(rows[1])
        left_out = (
            f"{pluralize(dropped, 'row')} of pairs that only one protocol saw "
            f"{plural(dropped, 'is', 'are')} left out"
        )
        intervals, test, remark = _paired(context, rate, *rows)
        notes = [test, left_out if dropped else None, remark]
    asked = before.n + before.missing, after.n + after.missing
    units, clusters = max(before.n_units, after.n_units), max(before.n_clusters, after.n_clusters)
    return context.estimate(
        rate.metric,
        Sample(before.n_calls + after.n_calls, units, clusters, excluded),
        value=after.k / after.n - before.k / before.n,
        numerator=after.k - before.k if before.n == after.n else None,
        denominator=before.n if before.n == after.n else None,
        intervals=(*intervals, Interval("newcombe", *newcombe((after.k, after.n), (before.k, before.n)))),
        bounds=(
            after.k / asked[1] - (before.k + before.missing) / asked[0],
            (after.k + after.missing) / asked[1] - before.k / asked[0],
        ),
        notes=[f"{rate.words} {before.k}/{before.n} → {after.k}/{after.n}", *notes],
    )


def aligned(pairs: Pairs, names: tuple[str, ...]) -> Pairs:
    """The same rows with pairs numbered as in `names`; pairs that it lacks are numbered after its end."""
    if pairs.names == names:
        return pairs
    number = {name: index for index, name in enumerate(names)}
    extra = tuple(name for name in pairs.names if name not in number)
    number |= {name: len(names) + index for index, name in enumerate(extra)}
    renumber = np.array([number[name] for name in pairs.names], dtype=np.int64)
    return replace(pairs, pair=renumber[pairs.pair], names=names + extra)


def _shared(base: Pairs, other: Pairs) -> tuple[Pairs, Pairs] | None:
    """The rows of pairs that both protocols saw, numbered alike; None when there are none."""
    other = aligned(other, base.names)
    common = np.intersect1d(base.pair, other.pair)
    if not len(common):
        return None
    return base.where(np.isin(base.pair, common)), other.where(np.isin(other.pair, common))


def _by_cluster(rate: Rate, base: Pairs, other: Pairs) -> Ints:
    """Events and calls under the other protocol, then under base, one line per cluster."""
    sides = []
    for rows in (other, base):
        sums = by_cluster(rows, rate.events(rows)), by_cluster(rows, rows.readable.sum(axis=1))
        counts = zip(*(column.tolist() for column in sums), strict=True)
        sides.append({name: (k, n) for name, (k, n) in zip(sorted(rows.clusters), counts, strict=True) if n})
    names = sorted({*sides[0], *sides[1]})
    return np.array([[count for side in sides for count in side.get(name, (0, 0))] for name in names])


def _by_pair(rate: Rate, base: Pairs, other: Pairs) -> Ints:
    size = max(len(base.names), len(other.names))
    sums = [
        np.bincount(rows.pair, weights=column, minlength=size)
        for rows in (other, base)
        for column in (rate.events(rows), rows.readable.sum(axis=1))
    ]
    return np.rint(np.stack(sums, axis=1)).astype(np.int64)


def _paired(
    context: EstimateContext, rate: Rate, base: Pairs, other: Pairs
) -> tuple[tuple[Interval, ...], str, str | None]:
    """Tango's interval over clusters and clusters drawn again, the sign-flip test in words, and a remark."""
    table = _by_cluster(rate, base, other)
    by_clusters = len(table) >= ENOUGH_CLUSTERS
    counts = table if by_clusters else _by_pair(rate, base, other)
    # Exchanging the protocols of a cluster (or pair) turns the sign of k·n′ − k′·n, so without a change each
    # sign is a coin toss.
    p = sign_flip(counts[:, 0] * counts[:, 3] - counts[:, 2] * counts[:, 1])
    test = f"change p = {p:.2g} (signs of {'clusters' if by_clusters else 'pairs'} flipped)"
    if len(table) < 2:
        return (), test, ONE_CLUSTER
    intervals = [Interval("tango_cluster", *_score_limits(table, _changed(rate, base, other)))]
    if not _residuals(table).any():
        return tuple(intervals), test, NO_SPREAD
    sums = resample(table, context.bootstrap_seed(rate.metric.id))
    limits = percentile_limits(ratio(sums[:, 0], sums[:, 1]) - ratio(sums[:, 2], sums[:, 3]), len(table))
    if limits:
        intervals.append(Interval("bootstrap_cluster_paired", *limits))
    return tuple(intervals), test, None


def _residuals(table: Ints) -> Floats:
    """What each cluster adds to the error of the difference; 0 where no cluster differs from the rest."""
    events, calls, base_events, base_calls = table.sum(axis=0)
    own = (calls * table[:, 0] - events * table[:, 1]) / calls**2
    base = (base_calls * table[:, 2] - base_events * table[:, 3]) / base_calls**2
    apart = own - base
    return np.where(np.abs(apart) < _ROUNDING, 0.0, apart)


def _score_limits(table: Ints, changed: float) -> Span:
    """Tango's interval on as many calls as the spread between clusters allows, by Student's t."""
    events, calls, base_events, base_calls = (int(total) for total in table.sum(axis=0))
    difference = events / calls - base_events / base_calls
    discordant = max(changed, abs(difference))
    clusters, most = len(table), (calls + base_calls) / 2
    residuals, spread = _residuals(table), discordant - difference**2
    # Lost calls alone can set clusters apart where no call that both protocols saw has changed.
    if residuals.any() and spread > _ROUNDING:
        variance = float(residuals @ residuals) * clusters / (clusters - 1)
        size = min(most, spread / variance)
    else:
        size = assumed_size(most, clusters)
    gained, lost = (size * (discordant + sign * difference) / 2 for sign in (1, -1))
    return tango(gained, lost, size, t_quantile(0.975, clusters - 1))


def _changed(rate: Rate, base: Pairs, other: Pairs) -> float:
    """Share of calls by which the protocols differ, on pairs and replicates that both saw."""
    repeats = 1 + max(int(rows.replicate.max(initial=0)) for rows in (base, other))
    keys, other_keys = (rows.pair * repeats + rows.replicate for rows in (base, other))
    _, *both = np.intersect1d(keys, other_keys, return_indices=True)
    events = [rate.events(rows)[seen] for rows, seen in zip((base, other), both, strict=True)]
    calls = [rows.readable.sum(axis=1)[seen] for rows, seen in zip((base, other), both, strict=True)]
    differ, asked = int(np.abs(events[1] - events[0]).sum()), int(np.minimum(*calls).sum())
    return min(1.0, differ / asked) if asked else 0.0


CRITERION_SHIFT = Metric(
    "criterion_shift",
    meaning="Tie rate under a stricter or more lenient protocol minus that under base, on the same pairs.",
    plain="more ties when told so",
    signed=True,
    basis=Basis(with_base=True, shared=True),
)
SENSITIVITY_SHIFT = Metric(
    "sensitivity_shift",
    meaning="Target sensitivity under another protocol minus that under base, on the same pairs.",
    plain="better choices when told so",
    signed=True,
    basis=Basis(with_base=True, shared=True, only=climbs),
)

TIES = Rate(CRITERION_SHIFT, "tie rate", lambda pairs: pairs.neither.sum(axis=1))
CORRECT = Rate(SENSITIVITY_SHIFT, "target sensitivity", lambda pairs: pairs.right.sum(axis=1))


def criterion_estimates(
    context: EstimateContext, base_vacuum: Pairs, vacuum: Pairs, base: Pairs, ladder: Pairs
) -> list[Estimate]:
    ladder = aligned(ladder, base.names)
    shifts = [protocol_shift(context.for_subgroup(kind="vacuum"), TIES, base_vacuum, vacuum)]
    for delta in sorted({0.0, *steps(on_ladder(base)), *steps(on_ladder(ladder))}):
        here = context.for_subgroup(delta=step(delta))
        shifts.append(protocol_shift(here, TIES, _at(base, delta), _at(ladder, delta)))
    return shifts


def sensitivity_shifts(context: EstimateContext, base: Pairs, other: Pairs) -> list[Estimate]:
    """`sensitivity_shift` at one step, and over all steps as the design weighs them."""
    other = aligned(other, base.names)
    return [
        protocol_shift(context.for_subgroup(delta=1), CORRECT, _at(base, 1.0), _at(other, 1.0)),
        protocol_shift(context, CORRECT, on_ladder(base), on_ladder(other)),
    ]


def _at(pairs: Pairs, delta: float) -> Pairs:
    if delta == 0:
        return pairs.where((pairs.kind == "same_subset") & ~(pairs.delta > 0))
    return pairs.where((pairs.delta == delta) & (pairs.better > 0))
