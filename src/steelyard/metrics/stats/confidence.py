"""How well a signal of confidence tells right answers from wrong ones, and whether it is a chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.stats.clusters import percentile_limits
from steelyard.metrics.stats.intervals import Span

BINS = 10
REPLICATES = 500
SURE = 0.9
"""A confidence from which on an answer is stated as sure."""


def auroc(signal: Floats, right: Mask) -> float | None:
    """Chance that a right answer has the higher signal than a wrong one, a tie half; None without both."""
    good, bad = int(right.sum()), int((~right).sum())
    if not good or not bad:
        return None
    _, place, counts = np.unique(signal, return_inverse=True, return_counts=True)
    midranks = np.cumsum(counts) - (counts - 1) / 2
    return float((midranks[place][right].sum() - good * (good + 1) / 2) / (good * bad))


@dataclass(frozen=True)
class BrierParts:
    """`value` = miscalibration − discrimination + uncertainty, exactly (isotonic recalibration, no bins)."""

    value: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def brier(confidence: Floats, right: Mask) -> BrierParts:
    """Mean squared distance of the stated chance of being right from what happened."""
    happened = right.astype(np.float64)
    value, base = float(np.mean((confidence - happened) ** 2)), float(happened.mean())
    uncertainty = base * (1 - base)
    best = float(np.mean((recalibrated(confidence, right) - happened) ** 2))
    return BrierParts(value, value - best, uncertainty - best, uncertainty)


def recalibrated(confidence: Floats, right: Mask) -> Floats:
    """The isotonic fit of the share that is right, at each answer's confidence (pool adjacent violators)."""
    _, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    shares = np.bincount(place, weights=right) / counts
    blocks: list[list[float]] = []
    for share, count in zip(shares, counts, strict=True):
        blocks.append([share, float(count), 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (first, heavy, wide), (second, weight, width) = blocks[-2], blocks.pop()
            total = heavy + weight
            blocks[-1] = [(first * heavy + second * weight) / total, total, wide + width]
    fitted = np.repeat([block[0] for block in blocks], [int(block[2]) for block in blocks])
    return np.asarray(fitted[place], dtype=np.float64)


def calibration_bins(confidence: Floats, right: Mask, bins: int = BINS) -> Floats:
    """Rows of (answers, mean confidence, share right), in bins of about equal size; equal values whole."""
    edges = np.unique(np.quantile(confidence, np.arange(1, bins) / bins))
    place = np.searchsorted(edges, confidence, side="right")
    counts = np.bincount(place, minlength=len(edges) + 1).astype(np.float64)
    kept = counts > 0
    sums = [np.bincount(place, weights=each, minlength=len(counts))[kept] for each in (confidence, right)]
    return np.stack([counts[kept], *(each / counts[kept] for each in sums)], axis=1)


def calibration_error(confidence: Floats, right: Mask, bins: int = BINS) -> float:
    """Root mean square distance of confidence from the share that is right, less what chance adds.

    From each bin's squared distance the sampling variance r(1 − r)/(n − 1) is taken off; floored at 0. A bin
    of one answer has no variance to take off and is left out.
    """
    table = calibration_bins(confidence, right, bins)
    count, stated, share = table[table[:, 0] > 1].T
    if not len(count):
        return 0.0
    squares = (stated - share) ** 2 - share * (1 - share) / (count - 1)
    return sqrt(max(0.0, float((count * squares).sum() / count.sum())))


def bootstrap_limits(
    figure: Callable[[Ints], float | None], clusters: Ints, seed: int, replicates: int = REPLICATES
) -> Span | None:
    """The 95 % interval of a figure of rows, whole clusters drawn again; None where it has no width."""
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) < 2:
        return None
    order = np.argsort(place, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(place))[:-1])
    rng = np.random.default_rng(seed)
    drawn = (
        figure(np.concatenate([groups[n] for n in rng.integers(0, len(groups), len(groups))]))
        for _ in range(replicates)
    )
    return percentile_limits(np.array([value for value in drawn if value is not None]), len(names))
