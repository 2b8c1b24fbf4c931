"""Figures of noise against order; there are none without replicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.amount import LEFT_OUT, Amount, Texts
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import INCONCLUSIVE, MARGIN, SURE, by_loss, difference_word, moved_by
from steelyard.metrics.metric import ZERO, Limit, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import excluded
from steelyard.metrics.pairs.decomposition import DECLARED, SAME_QUALITY
from steelyard.metrics.pairs.flips import Flips, count_flips, flip_bounds, relabelling_p
from steelyard.metrics.pairs.position import first_replicates
from steelyard.metrics.pairs.slot import DECLARED_PROTOCOL
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join, proportion
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import Tally, percentile_limits, ratio, resample, wilson_cluster
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, difference
from steelyard.metrics.stats.sample_size import smallest_sufficient
from steelyard.stimuli.natural import NATURAL


def _per_pair(share: Callable[[Flips], Floats]) -> Amount:
    """A share of each pair's comparisons, on the row of its first repeat; none without repeats."""

    def of(pairs: Pairs, _: Texts) -> Floats:
        flips = count_flips(pairs)
        known = (flips.repeat > 0) & (flips.swap > 0)
        values = np.full(len(known), np.nan)
        values[known] = share(flips.where(known))
        return np.asarray(values[numbered(pairs.pair)[1]])

    def side(pairs: Pairs, _: Texts) -> Ints:
        asked = count_flips(pairs)
        several = (asked.calls + asked.lost).max(axis=1, initial=0) > 1
        counts = first_replicates(pairs) & several[numbered(pairs.pair)[1]]
        return np.where(counts, 0, LEFT_OUT)

    return Amount(of, side=side)


REPEAT_FLIP_RATE = Metric(
    "repeat_flip_rate",
    "repeat flips",
    "Two calls on a pair in the same order that name different winners: noise alone.",
    plain="changes when repeated",
    limit=Limit(MARGIN, group=DECLARED),
    unit="pair",
    amount=_per_pair(lambda flips: flips.repeat_flips / flips.repeat),
    kinds=(*SAME_QUALITY, NATURAL),
    behind="flip",
)
SWAP_FLIP_RATE = Metric(
    "swap_flip_rate",
    "swap flips",
    "Two calls on a pair in opposite orders that name different winners.",
    plain="changes when swapped",
    behind="flip",
)
FLIP_EXCESS = Metric(
    "flip_excess",
    "flip excess",
    "Swap flips minus repeat flips: what order adds to noise, whichever slot gains by it.",
    plain="changes by order alone",
    signed=True,
    direction=ZERO,
    unit="pair",
    amount=_per_pair(lambda flips: flips.excess),
    kinds=(*SAME_QUALITY, NATURAL),
)

METRICS = (REPEAT_FLIP_RATE, SWAP_FLIP_RATE, FLIP_EXCESS)
UNIT = "comparison"
NEVER = "replicates never differed, as at temperature 0: they tell nothing of noise, and nothing is flagged"
SAMPLED = "comparisons of one pair share its calls"


def order_test(context: EstimateContext, pairs: Pairs) -> float | None:
    """p of "order adds nothing to noise"; None where replicates tell nothing of noise."""
    flips = count_flips(pairs).comparable()
    if not len(flips.cluster) or not flips.repeat_flips.any():
        return None
    return relabelling_p(flips, context.permutation_seed(FLIP_EXCESS.id))


def flip_estimates(
    context: EstimateContext, pairs: Pairs, tested: AdjustedTest | None = None
) -> list[Estimate]:
    """Repeat and swap flip rates and their difference, where pairs have replicates in both orders.

    `tested` is the order test among the tests that were declared with it.
    """
    asked = count_flips(pairs)
    flips = asked.comparable()
    if not len(flips.cluster):
        return []
    missing = excluded(pairs)
    repeat = _tally(flips, flips.repeat_flips, flips.repeat, missing)
    swap = _tally(flips, flips.swap_flips, flips.swap, missing)
    repeats, swaps, between = flip_bounds(asked)
    return [
        proportion(context, REPEAT_FLIP_RATE, repeat, unit=UNIT, bounds=repeats, notes=[SAMPLED]),
        proportion(context, SWAP_FLIP_RATE, swap, unit=UNIT, bounds=swaps, notes=[SAMPLED]),
        _excess(context, flips, repeat, swap, between, tested),
    ]


def _tally(flips: Flips, events: Ints, trials: Ints, missing: Mapping[str, int]) -> Tally:
    return Tally(
        events=_whole(flips, events),
        trials=_whole(flips, trials),
        n_calls=int(flips.calls.sum()),
        n_units=len(flips.cluster),
        **missing,
    )


def _by_cluster(flips: Flips, column: Ints | Floats) -> Floats:
    """Sums over the pairs of each cluster that has any; clusters are numbered in the order of their names."""
    clusters, number = numbered(flips.cluster)
    return np.bincount(number, weights=column, minlength=len(clusters)).astype(np.float64)


def _whole(flips: Flips, column: Ints) -> Ints:
    return np.rint(_by_cluster(flips, column)).astype(np.int64)


def _excess(
    context: EstimateContext,
    flips: Flips,
    repeat: Tally,
    swap: Tally,
    bounds: Span,
    tested: AdjustedTest | None,
) -> Estimate:
    clusters = repeat.n_clusters
    ones = np.ones(len(flips.cluster), dtype=np.int64)
    by_cluster = ClusterMean(_by_cluster(flips, flips.excess), _whole(flips, ones))
    means = by_cluster if clusters > 1 else ClusterMean(flips.excess, ones)
    test = tested or AdjustedTest.single(relabelling_p(flips, context.permutation_seed(FLIP_EXCESS.id)))
    informative = repeat.k > 0 and not means.even
    declared = context.group.get("protocol") == DECLARED_PROTOCOL
    seen = word = None
    if declared and informative:
        limits = means.limits(SURE, DIFFERENCE)
        seen = difference_word(limits, test.adjusted_p)
        word = difference_word(limits, test.adjusted_p, moved=moved_by(means.mean, bounds))
    intervals, remark = _intervals(context, means, clusters, repeat, swap)
    return context.estimate(
        FLIP_EXCESS,
        unit=UNIT,
        value=means.mean,
        intervals=intervals,
        n_calls=repeat.n_calls,
        n_units=repeat.n_units,
        n_clusters=clusters,
        excluded={"unreadable": repeat.unreadable, "failed": repeat.failed},
        bounds=bounds,
        chance=0.0,
        finding=word,
        missing_decides=seen != word,
        minimum_detectable=means.detectable if informative else None,
        note=join(
            [f"relabelling test {test.format()}", "" if repeat.k else NEVER, remark, by_loss(seen, word)]
        ),
        p=test.unadjusted_p if word else None,
        p_corrected=test.adjusted_p if word else None,
        calls_needed=_calls_total(means, repeat.n_calls) if seen == INCONCLUSIVE else None,
    )


def _intervals(
    context: EstimateContext, means: ClusterMean, clusters: int, repeat: Tally, swap: Tally
) -> tuple[tuple[Interval, ...], str | None]:
    """Student's t over clusters, then clusters drawn again; from both shares where no cluster differs."""
    remark = ONE_CLUSTER if clusters < 2 else None
    if means.even:
        shares = swap.k / swap.n, repeat.k / repeat.n
        limits = difference(shares[0], wilson_cluster(swap), shares[1], wilson_cluster(repeat))
        return (Interval("newcombe_cluster", *limits),), remark or NO_SPREAD
    drawn = _drawn(context, means) if clusters > 1 else None
    intervals = {"t_cluster": means.limits(SURE, DIFFERENCE), "bootstrap_cluster": drawn}
    return tuple(Interval(method, *found) for method, found in intervals.items() if found), remark


def _drawn(context: EstimateContext, means: ClusterMean) -> Span | None:
    columns: Floats = np.stack([means.sums, means.sizes.astype(np.float64)], axis=1)
    sums = resample(columns, context.bootstrap_seed(FLIP_EXCESS.id))
    return percentile_limits(ratio(sums[:, 0], sums[:, 1]), means.units)


def _calls_total(means: ClusterMean, calls: int) -> int | None:
    """Calls in all after which the present excess is above 0, or within the margin."""

    def decided(units: int) -> bool:
        low, high = means.planned(SURE, units)
        return low > 0 or (low > -MARGIN and high < MARGIN)

    units = smallest_sufficient(decided, means.units)
    return None if units is None else ceil(units / means.units * calls)
