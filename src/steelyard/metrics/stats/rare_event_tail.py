"""Lower tail of a beta-binomial: how rarely a judge that sits on a limit shows as few events as were seen.

Few events show little of how clusters differ: an estimate of the spread is then too small, and a limit that
is computed from it too near. The chance below takes the spread as given instead: rates of clusters follow a
beta distribution around the limit with an intra-cluster correlation of .3.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.distributions import normal_probability

ALLOWED_CORRELATION = 0.3
"""Largest intra-cluster correlation for which the word `clear` keeps its error."""
_EXACT = 1 << 16
"""Above so many trials the normal law stands in; its lower tail is the heavier one."""


def chance_of_so_few(events: float, trials: Ints, share: float, times: float = 1.0) -> float:
    """P(at most so many events) over clusters with these trials where the true share is `share`.

    `times` asks for that many times these clusters.
    """
    if not 0 < share < 1:
        return float(share <= 0)
    sizes, numbers = np.unique(trials, return_counts=True)
    clusters = np.maximum(1, np.rint(numbers * times)).astype(np.int64)
    total = int(sizes @ clusters)
    if total > _EXACT:
        variance = share * (1 - share) * float((sizes * (1 + (sizes - 1) * ALLOWED_CORRELATION)) @ clusters)
        return normal_probability((events + 0.5 - total * share) / sqrt(variance))
    length = 1 << total.bit_length()
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    for size, count in zip(sizes, clusters, strict=True):
        transform *= np.fft.rfft(_beta_binomial(int(size), share), length) ** count
    sums = np.fft.irfft(transform, length)
    return float(sums[: int(np.ceil(events - 1e-9)) + 1].sum())


def _beta_binomial(size: int, share: float) -> Floats:
    """Chances of 0 … size events in a cluster."""
    scale = (1 - ALLOWED_CORRELATION) / ALLOWED_CORRELATION
    up, down = share * scale, (1 - share) * scale
    before, left = np.arange(size), np.arange(size, 0, -1)
    # Each chance by the one before it: no factorials, hence nothing that cancels.
    growth = np.log((before + up) / (before + 1)) + np.log(left / (left - 1 + down))
    height = np.concatenate([[0.0], np.cumsum(growth)])
    chances = np.exp(height - height.max())
    return np.asarray(chances / chances.sum())
