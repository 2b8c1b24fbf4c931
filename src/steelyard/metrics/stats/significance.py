"""Exact significance tests: sign flips of a total, McNemar's test, Barnard's test.

McNemar's test takes units as independent. Calls on one cluster are not, so it stands for reference beside the
sign-flip test over clusters.

Barnard's test is of two shares with one unknown rate of errors, and of a row of even chances. Fisher's test
deals out the errors that were seen, and throws away much of what few units tell. Here all tables count that
lie as far off as the one seen, and the p is the largest that any common rate gives.
"""

from __future__ import annotations

from math import comb, gcd, log

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.distributions import binomial_probability

ENOUGH_CLUSTERS = 6
"""Fewer cluster sums cannot reach p ≤ .05 by flipping signs."""
CLUSTERS, PAIRS = "clusters", "pairs"
_LARGE = 400_000_000
"""Additions above which the convolution is done by Fourier transform."""


def sign_flip(sums: Ints) -> float:
    """Exact two-sided p of the total under independent sign flips of the sums."""
    sizes = np.abs(sums[sums != 0])
    if not len(sizes):
        return 1.0
    unit = gcd(*(int(size) for size in np.unique(sizes)))
    sizes, observed = sizes // unit, abs(int(sums.sum())) // unit
    total = int(sizes.sum())
    # With every sign −, the total is −`total`; each + adds twice its size: index i is total 2·i − `total`.
    chances = _convolve(sizes, total) if len(sizes) * total <= _LARGE else _transform(sizes, total)
    upper = float(chances[(total + observed) // 2 :].sum())
    return min(1.0, 2 * upper) if observed else 1.0


def _convolve(sizes: Ints, total: int) -> Floats:
    chances = np.zeros(total + 1)
    chances[0], reached = 1.0, 0
    for size in np.sort(sizes):
        reached += int(size)
        shifted = chances[: reached - size + 1].copy()
        chances[: reached + 1] *= 0.5
        chances[size : reached + 1] += 0.5 * shifted
    return chances


def _transform(sizes: Ints, total: int) -> Floats:
    """The same convolution as a product of characteristic functions, for many or large sums."""
    values, counts = np.unique(sizes, return_counts=True)
    frequency = np.arange(total // 2 + 1) / (total + 1)
    product = np.ones(len(frequency))
    for value, count in zip(values, counts, strict=True):
        product *= np.cos(np.pi * value * frequency) ** count
    # Removing the common phase exp(−iπf·total) leaves a real product; it is put back before inverting.
    phase = np.exp(-1j * np.pi * frequency * total)
    return np.clip(np.fft.irfft(product * phase, n=total + 1), 0.0, 1.0)


def mcnemar_exact(gained: int, lost: int) -> float:
    """Two-sided binomial p of the discordant units; 1 where there are none."""
    return min(1.0, 2 * binomial_probability(min(gained, lost), gained + lost, 0.5))


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """McNemar's exact p with half the weight on what was observed: less strict, still near its error."""
    least, count = min(gained, lost), gained + lost
    fewer, so_few = (binomial_probability(most, count, 0.5) for most in (least - 1, least))
    return min(1.0, so_few + fewer)


_RATES = np.linspace(0.0025, 0.9975, 400)
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
