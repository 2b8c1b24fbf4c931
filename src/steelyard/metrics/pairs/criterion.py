"""Criterion shift: what another protocol changes in ties and sensitivity, on pairs that both saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.core.text import plural, pluralize
from steelyard.metrics.basis import Basis, climbs
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.metric import Metric, step
from steelyard.metrics.pairs.columns import Pairs, by_cluster, tally
from steelyard.metrics.pairs.ladder import on_ladder, steps
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join
from steelyard.metrics.stats.clusters import Tally, assumed_size, percentile_limits, ratio, resample
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import Span, newcombe, tango
from steelyard.metrics.stats.significance import ENOUGH_CLUSTERS, sign_flip

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
        note=join([f"{rate.words} {before.k}/{before.n} → {after.k}/{after.n}", *notes]),
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
        columns = by_cluster(rows, rate.events(rows)), by_cluster(rows, rows.readable.sum(axis=1))
        counts = zip(*(column.tolist() for column in columns), strict=True)
        sides.append({name: (k, n) for name, (k, n) in zip(sorted(rows.clusters), counts, strict=True) if n})
    names = sorted({*sides[0], *sides[1]})
    return np.array([[count for side in sides for count in side.get(name, (0, 0))] for name in names])


def _by_pair(rate: Rate, base: Pairs, other: Pairs) -> Ints:
    size = max(len(base.names), len(other.names))
    columns = [
        np.bincount(rows.pair, weights=column, minlength=size)
        for rows in (other, base)
        for column in (rate.events(rows), rows.readable.sum(axis=1))
    ]
    return np.rint(np.stack(columns, axis=1)).astype(np.int64)


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
