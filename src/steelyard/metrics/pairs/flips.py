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

from dataclasses import dataclass
from itertools import product
from math import lgamma

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered, weak_cache
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.stats.intervals import Span

DRAWS = 9999
"""Relabellings drawn for the test; p is a multiple of 1/(DRAWS + 1)."""
_WINNERS = 3
MANY = 300
"""Ways to deal the calls of a pair from which on they may be drawn pair by pair."""
_BLOCK = 4_000_000
_LOST, _ABSENT = _WINNERS, _WINNERS + 1
_CELLS = _ABSENT + 1
_CELL = {
    "u_first": np.array([0, 1, 2, 2, _LOST, _LOST, _ABSENT]),
    "v_first": np.array([1, 0, 2, 2, _LOST, _LOST, _ABSENT]),
}
"""From the `Answer` to what won, content u, content v or neither; or to why nothing did."""


@dataclass(frozen=True, eq=False)
class Flips:
    """Comparisons of two calls of the same pair; one entry per pair."""

    counts: Ints
    """Calls by (pair, order, winning content); a valid abstention counts as a tie."""
    cluster: Ints
    """Cluster number of each pair."""
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
        """Comparisons within an order whose winners differ."""
        alike: Ints = (self.counts * (self.counts - 1) // 2).sum(axis=(1, 2))
        return np.subtract(self.repeat, alike)

    @property
    def swap(self) -> Ints:
        """Comparisons across orders."""
        return np.asarray(self.calls[:, 0] * self.calls[:, 1])

    @property
    def swap_flips(self) -> Ints:
        """Comparisons across orders whose winners differ."""
        alike: Ints = (self.counts[:, 0] * self.counts[:, 1]).sum(axis=1)
        return np.subtract(self.swap, alike)

    def comparable(self) -> Flips:
        """The pairs that have comparisons of both kinds."""
        return self.where((self.repeat > 0) & (self.swap > 0))

    def where(self, mask: Mask) -> Flips:
        """The pairs that the mask keeps."""
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
    """Sort the calls of each pair by order and winning content."""
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
    """Total excess of so many like pairs, drawn again and again."""
    if len(values) > max(MANY, 4 * pairs):
        return _drawn_singly(generator, values, chances, pairs, draws)
    block = max(1, _BLOCK // len(values))
    parts = [
        generator.multinomial(pairs, chances, size=min(block, draws - start)) @ values
        for start in range(0, draws, block)
    ]
    return np.concatenate(parts)


def _drawn_singly(
    generator: np.random.Generator, values: Floats, chances: Floats, pairs: int, draws: int
) -> Floats:
    """The same pair by pair, which takes less where there are more ways to deal than pairs."""
    below, totals = np.cumsum(chances), np.zeros(draws)
    for _ in range(pairs):
        deal = np.searchsorted(below, generator.random(draws) * below[-1], "right")
        totals += values[np.minimum(deal, len(values) - 1)]
    return totals


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
    asked = flips.designed()
    corners = [_filled(asked, winners) for winners in product(range(_WINNERS), repeat=2)]
    repeat, swap = corners[0].repeat, corners[0].swap
    repeats = np.stack([corner.repeat_flips for corner in corners])
    swaps = np.stack([corner.swap_flips for corner in corners])
    spread = _spread(asked).repeat_flips
    excess = (swaps / swap - repeats / repeat).max(axis=0)
    return (
        (float(repeats.min(axis=0).sum() / repeat.sum()), float(spread.sum() / repeat.sum())),
        (float(swaps.min(axis=0).sum() / swap.sum()), float(swaps.max(axis=0).sum() / swap.sum())),
        (float((swaps.min(axis=0) / swap - spread / repeat).mean()), float(excess.mean())),
    )


def _filled(flips: Flips, winners: tuple[int, ...]) -> Flips:
    """The missing calls of each order all name one winner."""
    counts = flips.counts.copy()
    for order, winner in enumerate(winners):
        counts[:, order, winner] += flips.lost[:, order]
    return Flips(counts, flips.cluster, 0 * flips.lost)


def _spread(flips: Flips) -> Flips:
    """Each missing call names the winner that its order has named least."""
    counts, lost = flips.counts.copy(), flips.lost.copy()
    while lost.any():
        pair, order = np.nonzero(lost)
        counts[pair, order, counts[pair, order].argmin(axis=1)] += 1
        lost[pair, order] -= 1
    return Flips(counts, flips.cluster, lost)
