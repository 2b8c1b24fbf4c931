"""Flip rates in the worst and best case over missing calls.

Every comparison of two calls of a pair counts, those that a missing call would have been part of as well.
Calls that all name one winner differ least from each other, calls spread over the winners most. A comparison
across orders is linear in the calls of either order: at its extremes the missing calls of an order agree.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from steelyard.metrics.pairs.flips import Flips
from steelyard.metrics.stats.intervals import Limits

_WINNERS = 3


def flip_bounds(flips: Flips) -> tuple[Limits, Limits, Limits]:
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
