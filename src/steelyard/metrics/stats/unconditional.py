"""Two shares and a row of even chances: Barnard's exact test, at the worst common rate of errors.

Errors upward and downward have one unknown rate; dealing out the errors that were seen, as Fisher's test
does, throws away much of what few units tell. Here all tables count that lie as far off as the one seen,
and the p is the largest that any common rate gives.
"""

from __future__ import annotations

from math import comb, log

import numpy as np

from steelyard.core.arrays import Floats

_RATES = np.linspace(0.0025, 0.9975, 400)
"""Common rates that are tried."""
_ROUNDING = 1e-9


def barnard(ups: tuple[int, int], downs: tuple[int, int], evens: tuple[int, int]) -> float:
    """Two-sided p that errors lean to neither side.

    (events, units) of errors upward where 0 was wanted and of errors downward where 1 was; and of answers
    upward where neither was, which an unbiased judge gives every second time.
    """
    sizes = ups[1], downs[1], evens[1]
    distance = _distances(*sizes)
    far = distance >= distance[ups[0], downs[0], evens[0]] - _ROUNDING
    even = _binomial(evens[1], np.array([0.5]))[0]
    first, second = _binomial(ups[1], _RATES), _binomial(downs[1], _RATES)
    tail = np.einsum("ijk,k->ij", far.astype(np.float64), even)
    chances = np.einsum("ri,rj,ij->r", first, second, tail)
    return min(1.0, float(chances.max()))


def _distances(ups: int, downs: int, evens: int) -> Floats:
    """Squared standard errors from no lean, of every number of errors upward, downward and even answers.

    The error is that of a common rate, so that rare errors on one side count for as much as they show.
    """
    up, down, even = np.ogrid[: ups + 1, : downs + 1, : evens + 1]
    sided = ups + downs
    rate = (up + down) / max(1, sided)
    lean = (up / max(1, ups) - down / max(1, downs)) / 2 * sided + (even - evens / 2)
    both = 1 / max(1, ups) + 1 / max(1, downs)
    variance = rate * (1 - rate) * both * sided * sided / 4 + evens / 4
    return np.divide(lean * lean, variance, out=np.zeros(lean.shape), where=variance > 0)


def _binomial(size: int, rates: Floats) -> Floats:
    """Chance of each number of events (columns) at each rate (rows)."""
    events = np.arange(size + 1)
    ways = np.array([log(comb(size, event)) for event in range(size + 1)])
    return np.asarray(
        np.exp(ways + np.outer(np.log(rates), events) + np.outer(np.log1p(-rates), size - events))
    )
