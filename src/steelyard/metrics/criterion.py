"""Criterion shift: how much more often a stricter prompt makes the judge call a tie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.metrics.clusters import percentile_limits, ratio, resample, wilson_cluster
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.heading import Heading, step
from steelyard.metrics.intervals import difference, newcombe
from steelyard.metrics.pairs import Ints, Pairs
from steelyard.metrics.proportion import NO_SPREAD, ONE_TASK, join
from steelyard.metrics.sensitivity import on_ladder, steps
from steelyard.metrics.tally import Tally, both_orders, by_task, neither, readable, tally

METRIC = "criterion_shift"
EQUALS = "same_subset"


def criterion_estimates(
    judge: str,
    base_vacuum: Pairs,
    strict_vacuum: Pairs,
    base: Pairs,
    strict: Pairs,
    seed: int,
    strict_name: str = "strict",
) -> list[Estimate]:
    """`criterion_shift` for vacuum and for each step that either arm measured."""
    heading = Heading(judge, "criterion", {"protocol": strict_name}, seed)
    shifts = [criterion_shift(heading.within(kind="vacuum"), base_vacuum, strict_vacuum, strict_name)]
    strict = aligned(strict, base.names)
    for level in sorted({0.0, *steps(on_ladder(base)), *steps(on_ladder(strict))}):
        here = heading.within(delta=step(level))
        shifts.append(criterion_shift(here, _at(base, level), _at(strict, level), strict_name))
    return shifts


def criterion_shift(heading: Heading, base: Pairs, strict: Pairs, strict_name: str = "strict") -> Estimate:
    """Tie rate of the strict arm less that of the base arm, on the pairs that both arms saw."""
    shared = _shared(base, strict)
    arms = shared or (base, strict)
    tallies = ties(arms[0]), ties(arms[1])
    for name, arm, counts in zip(("base", strict_name), arms, tallies, strict=True):
        if not counts.n:
            what = "no call ended in a verdict" if len(arm) else "nothing was measured"
            return heading.undefined(METRIC, f"{what} in the {name} arm", excluded=_excluded(*tallies))
    if shared is None:
        return _estimate(heading, *tallies, (), ["the arms share no pair: not compared pair by pair"])
    dropped = len(base) + len(strict) - len(arms[0]) - len(arms[1])
    resampled, remark = _paired(heading, *arms)
    notes = [f"{dropped} rows of pairs that only one arm saw are left out" if dropped else None, remark]
    return _estimate(heading, *tallies, (resampled,) if resampled else (), notes)


def ties(pairs: Pairs) -> Tally:
    """Ties and valid abstentions among calls with a verdict."""
    return tally(pairs, both_orders(pairs, neither), both_orders(pairs, readable))


def _at(pairs: Pairs, level: float) -> Pairs:
    if level == 0:
        return pairs.where((pairs.kind == EQUALS) & ~(pairs.delta > 0))
    return pairs.where((pairs.delta == level) & (pairs.better > 0))


def aligned(pairs: Pairs, names: tuple[str, ...]) -> Pairs:
    """The same rows with pairs numbered as in `names`; pairs that it lacks are numbered after its end."""
    if pairs.names == names:
        return pairs
    number = {name: index for index, name in enumerate(names)}
    extra = tuple(name for name in pairs.names if name not in number)
    number |= {name: len(names) + index for index, name in enumerate(extra)}
    renumber = np.array([number[name] for name in pairs.names], dtype=np.int64)
    return replace(pairs, pair=renumber[pairs.pair], names=names + extra)


def _shared(base: Pairs, strict: Pairs) -> tuple[Pairs, Pairs] | None:
    """The rows of pairs that both arms were shown; None when there are none."""
    strict = aligned(strict, base.names)
    present = np.zeros((2, max(len(base.names), len(strict.names))), dtype=np.bool_)
    present[0, base.pair] = True
    present[1, strict.pair] = True
    common = present[0] & present[1]
    if not common.any():
        return None
    return base.where(common[base.pair]), strict.where(common[strict.pair])


def _by_name(pairs: Pairs) -> dict[str, tuple[int, int]]:
    events, calls = by_task(pairs, both_orders(pairs, neither)), by_task(pairs, both_orders(pairs, readable))
    names = sorted(pairs.clusters)
    return {name: (int(k), int(n)) for name, k, n in zip(names, events, calls, strict=True) if n}


def _paired(heading: Heading, base: Pairs, strict: Pairs) -> tuple[Interval | None, str | None]:
    """Tasks drawn again with both arms together; where tasks do not differ, from each arm's limits."""
    arms = _by_name(base), _by_name(strict)
    names = sorted({*arms[0], *arms[1]})
    if len(names) < 2:
        return None, ONE_TASK
    table: Ints = np.array([[*arms[1].get(name, (0, 0)), *arms[0].get(name, (0, 0))] for name in names])
    sums = resample(table, heading.bootstrap_seed(METRIC))
    limits = percentile_limits(ratio(sums[:, 0], sums[:, 1]) - ratio(sums[:, 2], sums[:, 3]), len(names))
    if limits:
        return Interval("bootstrap_cluster_paired", *limits), None
    low, high = ties(base), ties(strict)
    shares = high.k / high.n, low.k / low.n
    return (
        Interval(
            "newcombe_cluster", *difference(shares[0], wilson_cluster(high), shares[1], wilson_cluster(low))
        ),
        NO_SPREAD,
    )


def _estimate(
    heading: Heading, base: Tally, strict: Tally, intervals: tuple[Interval, ...], notes: list[str | None]
) -> Estimate:
    same = base.n == strict.n
    rates = f"tie rate {base.k}/{base.n} → {strict.k}/{strict.n}"
    return heading.estimate(
        METRIC,
        unit="call",
        value=strict.k / strict.n - base.k / base.n,
        numerator=strict.k - base.k if same else None,
        denominator=base.n if same else None,
        intervals=(*intervals, Interval("newcombe", *newcombe((strict.k, strict.n), (base.k, base.n)))),
        n_calls=base.n_calls + strict.n_calls,
        n_units=max(base.n_units, strict.n_units),
        n_clusters=max(base.n_clusters, strict.n_clusters),
        excluded=_excluded(base, strict),
        bounds=_bounds(base, strict),
        note=join([rates, *notes]),
    )


def _excluded(base: Tally, strict: Tally) -> dict[str, int]:
    return {"unreadable": base.unreadable + strict.unreadable, "failed": base.failed + strict.failed}


def _bounds(base: Tally, strict: Tally) -> tuple[float, float]:
    totals = base.n + base.missing, strict.n + strict.missing
    low = strict.k / totals[1] - (base.k + base.missing) / totals[0]
    high = (strict.k + strict.missing) / totals[1] - base.k / totals[0]
    return low, high
