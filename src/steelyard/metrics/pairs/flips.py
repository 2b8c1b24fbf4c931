"""Noise against order: does reversing a pair change the winner more often than asking again does?

With replicates, the calls of a pair can be compared two by two: in the same order (repeat), where only noise
can make them differ, and across orders (swap). If order makes no difference, the calls of a pair are
exchangeable whatever their order, and both shares have the same expectation. Otherwise swap exceeds repeat by
½ Σ (p − q)², with p and q the chances of each answer in the two orders: never negative, whichever slot gains.

Over missing calls, every comparison counts that they would have been part of. Calls that all name one winner
differ least from each other, calls spread over the winners most. A comparison across orders is linear in the
calls of either order: at its extremes the missing calls of an order agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import lgamma

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered, weak_cache
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.findings import MARGIN, SURE
from steelyard.metrics.metric import COMPARED, LEFT_OUT, ZERO, Amount, Lengths, Limit, Metric
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.columns import Pairs, excluded
from steelyard.metrics.pairs.decomposition import DECLARED, SAME_QUALITY
from steelyard.metrics.pairs.slot import DECLARED_PROTOCOL, first_replicates
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, proportion, sample_of, with_difference_word
from steelyard.metrics.stats.clusters import ClusterMean, Tally, wilson_cluster
from steelyard.metrics.stats.intervals import DIFFERENCE, Span, difference
from steelyard.metrics.stats.sample_size import calls_to_decide
from steelyard.stimuli.original import NATURAL

DRAWS = 9999
"""Relabellings drawn for the test; p is a multiple of 1/(DRAWS + 1)."""
_WINNERS = 3
MANY = 300
"""Ways to deal the calls of a pair from which on they may be drawn pair by pair."""
_BLOCK = 500_000
_LOST, _ABSENT = _WINNERS, _WINNERS + 1
_CELLS = _ABSENT + 1
_CELL = {
    "u_first": np.array([0, 1, 2, 2, _LOST, _LOST, _ABSENT]),
    "v_first": np.array([1, 0, 2, 2, _LOST, _LOST, _ABSENT]),
}
"""From the `PairAnswer` to what won, content u, content v or neither; or to why nothing did."""


@dataclass(frozen=True, eq=False)
class Flips:
    """Comparisons of two calls of the same pair; one entry per pair."""

    counts: Ints
    """Calls by (pair, order, winning content); a valid abstention counts as a tie."""
    cluster: Ints
    lost: Ints
    """Calls without a verdict, by (pair, order)."""

    @property
    def calls(self) -> Ints:
        """Calls with a verdict, by (pair, order)."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def repeat(self) -> Ints:
        """Comparisons within an order."""
        return np.asarray((self.calls * (self.calls - 1) // 2).sum(axis=1))

    @property
    def repeat_flips(self) -> Ints:
        alike: Ints = (self.counts * (self.counts - 1) // 2).sum(axis=(1, 2))
        return np.subtract(self.repeat, alike)

    @property
    def swap(self) -> Ints:
        """Comparisons across orders."""
        return np.asarray(self.calls[:, 0] * self.calls[:, 1])

    @property
    def swap_flips(self) -> Ints:
        alike: Ints = (self.counts[:, 0] * self.counts[:, 1]).sum(axis=1)
        return np.subtract(self.swap, alike)

    def comparable(self) -> Flips:
        return self.where((self.repeat > 0) & (self.swap > 0))

    def where(self, mask: Mask) -> Flips:
        return Flips(self.counts[mask], self.cluster[mask], self.lost[mask])

    def designed(self) -> Flips:
        """The pairs that would have comparisons of both kinds had no call been lost."""
        asked = self.calls + self.lost
        return self.where((asked.min(axis=1) > 0) & (asked.max(axis=1) > 1))

    @property
    def excess(self) -> Floats:
        """Swap share less repeat share of each comparable pair."""
        return np.asarray(self.swap_flips / self.swap - self.repeat_flips / self.repeat)


@weak_cache
def count_flips(pairs: Pairs) -> Flips:
    numbers, row = numbered(pairs.pair)
    cluster = np.empty(len(numbers), dtype=np.int64)
    cluster[row[::-1]] = pairs.cluster[::-1]
    cells = np.zeros((len(numbers), 2, _CELLS), dtype=np.int64)
    for order, column in enumerate(("u_first", "v_first")):
        cell = row * _CELLS + _CELL[column][getattr(pairs, column)]
        cells[:, order] = np.bincount(cell, minlength=_CELLS * len(numbers)).reshape(-1, _CELLS)
    return Flips(cells[:, :, :_LOST].copy(), cluster, cells[:, :, _LOST].copy())


def relabelling_p(flips: Flips, seed: int, draws: int = DRAWS) -> float:
    """One-sided p of the total excess when the orders of each pair's calls are dealt again at random.

    Exact in its error: the observed deal is one of the `draws` + 1.
    """
    generator = np.random.default_rng(seed)
    # Names of contents and of orders do not matter: pairs that differ in them alone are of one kind.
    kinds = np.concatenate([np.sort(flips.counts.sum(axis=1)), np.sort(flips.calls)], axis=1)
    unique, sizes = np.unique(kinds, axis=0, return_counts=True)
    totals = np.zeros(draws)
    for kind, size in zip(unique, sizes, strict=True):
        values, chances = _deals(kind[:3], int(kind[3]))
        totals += _sums(generator, values, chances, int(size), draws)
    beyond = int(np.count_nonzero(totals >= float(flips.excess.sum()) - 1e-9))
    return (1 + beyond) / (1 + draws)


def _sums(generator: np.random.Generator, values: Floats, chances: Floats, pairs: int, draws: int) -> Floats:
    if len(values) > max(MANY, 4 * pairs):
        # Pair by pair takes less where there are more ways to deal than pairs.
        below, totals = np.cumsum(chances), np.zeros(draws)
        for _ in range(pairs):
            deal = np.searchsorted(below, generator.random(draws) * below[-1], "right")
            totals += values[np.minimum(deal, len(values) - 1)]
        return totals
    block = max(1, _BLOCK // len(values))
    sizes = (min(block, draws - start) for start in range(0, draws, block))
    return np.concatenate([generator.multinomial(pairs, chances, size) @ values for size in sizes])


def _deals(won: Ints, first: int) -> tuple[Floats, Floats]:
    """The excess and the chance of every way to deal the winners of a pair to its two orders."""
    u, v = (axis.ravel() for axis in np.mgrid[0 : won[0] + 1, 0 : won[1] + 1])
    dealt = np.stack([u, v, first - u - v], axis=1)
    dealt = dealt[(dealt[:, 2] >= 0) & (dealt[:, 2] <= won[2])]
    logs = np.array([lgamma(n + 1) for n in range(int(won.max(initial=0)) + 1)])
    ways = np.zeros(len(dealt))
    for n, k in zip(won.tolist(), dealt.T, strict=True):
        ways = ways + (logs[n] - logs[k] - logs[n - k])
    chances = np.exp(ways - ways.max())
    each = np.stack([dealt, won - dealt], axis=1)
    none = np.zeros((len(each), 2), dtype=np.int64)
    return Flips(each, none[:, 0], none).excess, chances / chances.sum()


def flip_bounds(flips: Flips) -> tuple[Span, Span, Span]:
    """Bounds of the repeat flip rate, the swap flip rate and their difference.

    The lower bound of the difference takes the least of one and the most of the other, which no single way to
    fill in the missing calls may reach.
    """
    flips = flips.designed()
    # At the extremes the missing calls of an order all name one winner.
    corners = []
    for winners in product(range(_WINNERS), repeat=2):
        counts = flips.counts.copy()
        counts[:, (0, 1), winners] += flips.lost
        corners.append(Flips(counts, flips.cluster, 0 * flips.lost))
    repeat, swap = corners[0].repeat, corners[0].swap
    repeats = np.stack([corner.repeat_flips for corner in corners])
    swaps = np.stack([corner.swap_flips for corner in corners])
    spread = _spread(flips).repeat_flips
    excess = (swaps / swap - repeats / repeat).max(axis=0)
    return (
        (float(repeats.min(axis=0).sum() / repeat.sum()), float(spread.sum() / repeat.sum())),
        (float(swaps.min(axis=0).sum() / swap.sum()), float(swaps.max(axis=0).sum() / swap.sum())),
        (float((swaps.min(axis=0) / swap - spread / repeat).mean()), float(excess.mean())),
    )


def _spread(flips: Flips) -> Flips:
    """Each missing call names the winner that its order has named least."""
    counts, lost = flips.counts.copy(), flips.lost.copy()
    while lost.any():
        pair, order = np.nonzero(lost)
        counts[pair, order, counts[pair, order].argmin(axis=1)] += 1
        lost[pair, order] -= 1
    return Flips(counts, flips.cluster, lost)


def _per_pair(share: Callable[[Flips], Floats]) -> Amount:
    """A share of each pair's comparisons, on the row of its first repeat; none without repeats."""

    def of(pairs: Pairs, _: Lengths) -> Floats:
        flips = count_flips(pairs)
        known = (flips.repeat > 0) & (flips.swap > 0)
        values = np.full(len(known), np.nan)
        values[known] = share(flips.where(known))
        return np.asarray(values[numbered(pairs.pair)[1]])

    def side(pairs: Pairs, _: Lengths) -> Ints:
        asked = count_flips(pairs)
        several = (asked.calls + asked.lost).max(axis=1, initial=0) > 1
        counts = first_replicates(pairs) & several[numbered(pairs.pair)[1]]
        return np.where(counts, 0, LEFT_OUT)

    return Amount(of, side=side)


_of_flips = partial(Metric, basis=COMPARED)
REPEAT_FLIP_RATE = _of_flips(
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
SWAP_FLIP_RATE = _of_flips(
    "swap_flip_rate",
    "swap flips",
    "Two calls on a pair in opposite orders that name different winners.",
    plain="changes when swapped",
    behind="flip",
)
FLIP_EXCESS = _of_flips(
    "flip_excess",
    meaning="Swap flips minus repeat flips: what order adds to noise, whichever slot gains by it.",
    plain="changes by order alone",
    signed=True,
    direction=ZERO,
    unit="pair",
    amount=_per_pair(lambda flips: flips.excess),
    kinds=(*SAME_QUALITY, NATURAL),
)
METRICS = (REPEAT_FLIP_RATE, SWAP_FLIP_RATE, FLIP_EXCESS)

UNIT = "comparison"
NO_NOISE = (
    "replicates never differed, as at temperature 0: they tell nothing of noise, and nothing is flagged"
)
SAMPLED = "comparisons of one pair share its calls"


def order_test(context: EstimateContext, pairs: Pairs) -> float | None:
    """p of "order adds nothing to noise"; None where replicates tell nothing of noise."""
    flips = count_flips(pairs).comparable()
    if not len(flips.cluster) or not flips.repeat_flips.any():
        return None
    return relabelling_p(flips, context.permutation_seed(FLIP_EXCESS.id))


def flip_estimates(
    context: EstimateContext, pairs: Pairs, adjusted: AdjustedTest | None = None
) -> list[Estimate]:
    """Repeat and swap flip rates and their difference, where pairs have replicates in both orders.

    `adjusted` is the order test among the tests that were declared with it.
    """
    flips = count_flips(pairs).comparable()
    if not len(flips.cluster):
        return []
    cluster = numbered(flips.cluster)[1]

    def tally(*columns: Ints) -> Tally:
        events, trials = (np.bincount(cluster, weights=column).astype(np.int64) for column in columns)
        return Tally(events, trials, int(flips.calls.sum()), len(flips.cluster), **excluded(pairs))

    repeat, swap = tally(flips.repeat_flips, flips.repeat), tally(flips.swap_flips, flips.swap)
    repeats, swaps, between = flip_bounds(count_flips(pairs))
    test = adjusted or AdjustedTest.single(relabelling_p(flips, context.permutation_seed(FLIP_EXCESS.id)))
    return [
        proportion(context, REPEAT_FLIP_RATE, repeat, unit=UNIT, bounds=repeats, notes=[SAMPLED]),
        proportion(context, SWAP_FLIP_RATE, swap, unit=UNIT, bounds=swaps, notes=[SAMPLED]),
        _excess(context, flips, repeat, swap, between, test),
    ]


def _excess(
    context: EstimateContext, flips: Flips, repeat: Tally, swap: Tally, bounds: Span, test: AdjustedTest
) -> Estimate:
    clusters = repeat.n_clusters
    units = numbered(flips.cluster)[1] if clusters > 1 else np.arange(len(flips.cluster))
    means = ClusterMean.of(units, flips.excess)
    informative = repeat.k > 0 and not means.even
    declared = informative and context.group.get("protocol") == DECLARED_PROTOCOL
    intervals, remark = _intervals(context, means, clusters, repeat, swap)
    estimate = context.estimate(
        FLIP_EXCESS,
        sample_of(repeat),
        unit=UNIT,
        value=means.mean,
        intervals=intervals,
        bounds=bounds,
        chance=0.0,
        minimum_detectable=means.detectable if informative else None,
        notes=[f"relabelling test {test.format()}", None if repeat.k else NO_NOISE, remark],
        p=test.unadjusted_p if declared else None,
        p_corrected=test.adjusted_p if declared else None,
    )
    if not declared:
        return estimate
    planned = partial(means.planned, SURE)
    needed = calls_to_decide(planned, means.units, repeat.n_calls, MARGIN, below=False)
    return with_difference_word(replace(estimate, calls_needed=needed), test.alpha)


def _intervals(
    context: EstimateContext, means: ClusterMean, clusters: int, repeat: Tally, swap: Tally
) -> tuple[tuple[Interval, ...], str | None]:
    """Student's t over clusters, then clusters drawn again; from both shares where no cluster differs."""
    remark = ONE_CLUSTER if clusters < 2 else None
    limits = means.limits(SURE, DIFFERENCE)
    if limits is None:
        shares = swap.k / swap.n, repeat.k / repeat.n
        limits = difference(shares[0], wilson_cluster(swap), shares[1], wilson_cluster(repeat))
        return (Interval("newcombe_cluster", *limits),), remark or NO_SPREAD
    intervals = [Interval("t_cluster", *limits)]
    percentiles = means.bootstrap(context.bootstrap_seed(FLIP_EXCESS.id)) if clusters > 1 else None
    intervals += [Interval("bootstrap_cluster", *percentiles)] if percentiles else []
    return tuple(intervals), remark
