"""Criterion shift: what another protocol changes in ties and sensitivity, on pairs that both saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.core.text import plural, pluralize
from steelyard.metrics.basis import Basis, climbs
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric, step
from steelyard.metrics.pairs.columns import Pairs, neither, readable
from steelyard.metrics.pairs.counting import by_cluster, count_calls, tally
from steelyard.metrics.pairs.sensitivity import choices, on_ladder, steps
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join
from steelyard.metrics.stats.cluster_mean import ASSUMED_CORRELATION
from steelyard.metrics.stats.clusters import Tally, percentile_limits, ratio, resample
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import Span, newcombe, tango
from steelyard.metrics.stats.significance import ENOUGH_CLUSTERS, sign_flip

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Rate:
    """A rate per call that two arms are compared by."""

    metric: Metric
    """Id of the difference."""
    words: str
    """The rate, in words."""
    events: Callable[[Pairs], Ints]
    """Events among the calls of each row."""

    def tally(self, pairs: Pairs) -> Tally:
        """Events among calls with a verdict."""
        return tally(pairs, self.events(pairs), count_calls(pairs, readable))


def arm_shift(context: EstimateContext, rate: Rate, base: Pairs, arm: Pairs, arm_name: str) -> Estimate:
    """The rate of an arm less that of the base arm, paired."""
    shared = _shared(base, arm)
    arms = shared or (base, arm)
    tallies = rate.tally(arms[0]), rate.tally(arms[1])
    for name, rows, counts in zip(("base", arm_name), arms, tallies, strict=True):
        if not counts.n:
            what = "no call ended in a verdict" if len(rows) else "nothing was measured"
            return context.undefined(rate.metric, f"{what} in the {name} arm", excluded=_excluded(*tallies))
    if shared is None:
        return _estimate(context, rate, tallies, (), ["the arms share no pair: not compared pair by pair"])
    dropped = len(base) + len(arm) - len(arms[0]) - len(arms[1])
    intervals, remark = _paired(context, rate, *arms)
    left_out = (
        f"{pluralize(dropped, 'row')} of pairs that only one arm saw {plural(dropped, 'is', 'are')} left out"
        if dropped
        else None
    )
    notes = [change_test(rate, *arms), left_out, remark]
    return _estimate(context, rate, tallies, intervals, notes)


def aligned(pairs: Pairs, names: tuple[str, ...]) -> Pairs:
    """The same rows with pairs numbered as in `names`; pairs that it lacks are numbered after its end."""
    if pairs.names == names:
        return pairs
    number = {name: index for index, name in enumerate(names)}
    extra = tuple(name for name in pairs.names if name not in number)
    number |= {name: len(names) + index for index, name in enumerate(extra)}
    renumber = np.array([number[name] for name in pairs.names], dtype=np.int64)
    return replace(pairs, pair=renumber[pairs.pair], names=names + extra)


def change_test(rate: Rate, base: Pairs, arm: Pairs) -> str:
    """Exact sign-flip test of the paired change, in words.

    Exchanging the arms of a cluster (or pair) turns the sign of k·n′ − k′·n, so without a change each sign is
    a coin toss.
    """
    table = _by_cluster(rate, base, arm)
    by_clusters = len(table) >= ENOUGH_CLUSTERS
    counts = table if by_clusters else _by_pair(rate, base, arm)
    p = sign_flip(counts[:, 0] * counts[:, 3] - counts[:, 2] * counts[:, 1])
    return f"change p = {p:.2g} (signs of {'clusters' if by_clusters else 'pairs'} flipped)"


def _shared(base: Pairs, arm: Pairs) -> tuple[Pairs, Pairs] | None:
    """The rows of pairs that both arms were shown, numbered alike; None when there are none."""
    arm = aligned(arm, base.names)
    present = np.zeros((2, max(len(base.names), len(arm.names))), dtype=np.bool_)
    present[0, base.pair] = True
    present[1, arm.pair] = True
    common = present[0] & present[1]
    if not common.any():
        return None
    return base.where(common[base.pair]), arm.where(common[arm.pair])


def _by_name(rate: Rate, pairs: Pairs) -> dict[str, tuple[int, int]]:
    events, calls = by_cluster(pairs, rate.events(pairs)), by_cluster(pairs, count_calls(pairs, readable))
    names = sorted(pairs.clusters)
    return {name: (int(k), int(n)) for name, k, n in zip(names, events, calls, strict=True) if n}


def _by_cluster(rate: Rate, base: Pairs, arm: Pairs) -> Ints:
    """Events and calls of the arm, then of base, one line per cluster."""
    arms = _by_name(rate, base), _by_name(rate, arm)
    names = sorted({*arms[0], *arms[1]})
    return np.array([[*arms[1].get(name, (0, 0)), *arms[0].get(name, (0, 0))] for name in names])


def _by_pair(rate: Rate, base: Pairs, arm: Pairs) -> Ints:
    size = max(len(base.names), len(arm.names))
    columns = [
        np.bincount(rows.pair, weights=column, minlength=size)
        for rows in (arm, base)
        for column in (rate.events(rows), count_calls(rows, readable))
    ]
    return np.rint(np.stack(columns, axis=1)).astype(np.int64)


def _paired(
    context: EstimateContext, rate: Rate, base: Pairs, arm: Pairs
) -> tuple[tuple[Interval, ...], str | None]:
    """Tango's interval over clusters; beside it, clusters drawn again with both arms together."""
    table = _by_cluster(rate, base, arm)
    if len(table) < 2:
        return (), ONE_CLUSTER
    alike = not _residuals(table).any()
    intervals = [Interval("tango_cluster", *_score_limits(table, _changed(rate, base, arm)))]
    sums = resample(table, context.bootstrap_seed(rate.metric.id))
    limits = percentile_limits(ratio(sums[:, 0], sums[:, 1]) - ratio(sums[:, 2], sums[:, 3]), len(table))
    if limits and not alike:
        intervals.append(Interval("bootstrap_cluster_paired", *limits))
    return tuple(intervals), NO_SPREAD if alike else None


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
    # Lost calls alone can set clusters apart where no call that both arms saw has changed.
    if residuals.any() and spread > _ROUNDING:
        variance = float(residuals @ residuals) * clusters / (clusters - 1)
        size = min(most, spread / variance)
    else:
        size = most / (1 + (most / clusters - 1) * ASSUMED_CORRELATION)
    gained, lost = (size * (discordant + sign * difference) / 2 for sign in (1, -1))
    return tango(gained, lost, size, t_quantile(0.975, clusters - 1))


def _changed(rate: Rate, base: Pairs, arm: Pairs) -> float:
    """Calls by which the arms differ, among the calls of pairs and replicates that both arms saw."""
    repeats = 1 + max(int(rows.replicate.max(initial=0)) for rows in (base, arm))
    own, other = (rows.pair * repeats + rows.replicate for rows in (base, arm))
    _, *both = np.intersect1d(own, other, return_indices=True)
    events = [rate.events(rows)[seen] for rows, seen in zip((base, arm), both, strict=True)]
    calls = [count_calls(rows, readable)[seen] for rows, seen in zip((base, arm), both, strict=True)]
    differ, asked = int(np.abs(events[1] - events[0]).sum()), int(np.minimum(*calls).sum())
    return min(1.0, differ / asked) if asked else 0.0


def _estimate(
    context: EstimateContext,
    rate: Rate,
    tallies: tuple[Tally, Tally],
    intervals: tuple[Interval, ...],
    notes: list[str | None],
) -> Estimate:
    base, arm = tallies
    same = base.n == arm.n
    rates = f"{rate.words} {base.k}/{base.n} → {arm.k}/{arm.n}"
    return context.estimate(
        rate.metric,
        unit="call",
        value=arm.k / arm.n - base.k / base.n,
        numerator=arm.k - base.k if same else None,
        denominator=base.n if same else None,
        intervals=(*intervals, Interval("newcombe", *newcombe((arm.k, arm.n), (base.k, base.n)))),
        n_calls=base.n_calls + arm.n_calls,
        n_units=max(base.n_units, arm.n_units),
        n_clusters=max(base.n_clusters, arm.n_clusters),
        excluded=_excluded(base, arm),
        bounds=_bounds(base, arm),
        note=join([rates, *notes]),
    )


def _excluded(base: Tally, arm: Tally) -> dict[str, int]:
    return {"unreadable": base.unreadable + arm.unreadable, "failed": base.failed + arm.failed}


def _bounds(base: Tally, arm: Tally) -> tuple[float, float]:
    totals = base.n + base.missing, arm.n + arm.missing
    low = arm.k / totals[1] - (base.k + base.missing) / totals[0]
    high = (arm.k + arm.missing) / totals[1] - base.k / totals[0]
    return low, high


CRITERION_SHIFT = Metric(
    "criterion_shift",
    "criterion shift",
    "Tie rate under a stricter or more lenient protocol minus that under base, on the same pairs.",
    plain="more ties when told so",
    signed=True,
    basis=Basis(with_base=True),
)
SENSITIVITY_SHIFT = Metric(
    "sensitivity_shift",
    "sensitivity shift",
    "Target sensitivity under another protocol minus that under base, on the same pairs.",
    plain="better choices when told so",
    signed=True,
    basis=Basis(with_base=True, only=climbs),
)

EQUALS = "same_subset"
TIES = Rate(CRITERION_SHIFT, "tie rate", lambda pairs: count_calls(pairs, neither))
CORRECT = Rate(SENSITIVITY_SHIFT, "target sensitivity", lambda pairs: choices(pairs).correct)


def criterion_estimates(
    context: EstimateContext, base_vacuum: Pairs, strict_vacuum: Pairs, base: Pairs, strict: Pairs
) -> list[Estimate]:
    """`criterion_shift` for vacuum and for each step that either arm measured."""
    shifts = [
        criterion_shift(context.for_subgroup(kind="vacuum"), base_vacuum, strict_vacuum, context.protocol)
    ]
    strict = aligned(strict, base.names)
    for delta in sorted({0.0, *steps(on_ladder(base)), *steps(on_ladder(strict))}):
        here = context.for_subgroup(delta=step(delta))
        shifts.append(criterion_shift(here, _at(base, delta), _at(strict, delta), context.protocol))
    return shifts


def criterion_shift(
    context: EstimateContext, base: Pairs, strict: Pairs, strict_name: str = "strict"
) -> Estimate:
    """Tie rate of the strict arm less that of the base arm, on the pairs that both arms saw."""
    return arm_shift(context, TIES, base, strict, strict_name)


def sensitivity_shifts(context: EstimateContext, base: Pairs, arm: Pairs) -> list[Estimate]:
    """`sensitivity_shift` at one step, and over all steps as the design weighs them."""
    arm = aligned(arm, base.names)
    return [
        arm_shift(context.for_subgroup(delta=1), CORRECT, _at(base, 1.0), _at(arm, 1.0), context.protocol),
        arm_shift(context, CORRECT, on_ladder(base), on_ladder(arm), context.protocol),
    ]


def _at(pairs: Pairs, delta: float) -> Pairs:
    if delta == 0:
        return pairs.where((pairs.kind == EQUALS) & ~(pairs.delta > 0))
    return pairs.where((pairs.delta == delta) & (pairs.better > 0))
