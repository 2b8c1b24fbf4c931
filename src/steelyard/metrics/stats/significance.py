"""What may be believed: the sign-flip test of a total, and many tests at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from steelyard.core.arrays import Floats, Ints

ENOUGH_CLUSTERS = 6
"""Fewer cluster sums cannot reach p ≤ .05 by flipping signs."""
CLUSTERS, PAIRS = "clusters", "pairs"
"""Whose sums are flipped."""
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


def holm(probabilities: Sequence[float]) -> list[float]:
    """The p of each test, corrected so that one false alarm among them is as rare as in a single test.

    With m tests sorted upward, the p at rank i becomes the largest p·(m + 1 − rank) up to i, at most 1.
    """
    count = len(probabilities)
    chances, largest = [1.0] * count, 0.0
    for rank, index in enumerate(sorted(range(count), key=probabilities.__getitem__)):
        largest = max(largest, probabilities[index] * (count - rank))
        chances[index] = min(1.0, largest)
    return chances
