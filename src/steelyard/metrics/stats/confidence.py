"""How well a signal of confidence tells right answers from wrong ones, and whether it is a chance."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.metrics.stats.clusters import around, resample, sum_rows
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import SHARE, Span, score

BINS = 10
FOLDS = 10
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


def auroc_limits(signal: Floats, right: Mask, clusters: Ints, probability: float = 0.975) -> Span | None:
    """Two-sided limits at this one-sided probability, by what each cluster adds (DeLong); Student's t.

    Degrees of freedom are one less than the clusters with the rarer outcome; None with fewer than two of
    either. Where nothing varies, as if the clusters with the rarer outcome were that many single trials.
    """
    value = auroc(signal, right)
    fewest = min(len(np.unique(clusters[right])), len(np.unique(clusters[~right])))
    if value is None or fewest < 2:
        return None
    reach = t_quantile(probability, fewest - 1)
    added = np.where(right, 1.0 / right.sum(), 1.0 / (~right).sum()) * (_placements(signal, right) - value)
    sums = sum_rows(clusters, added)
    error = sqrt(float(sums @ sums) * len(sums) / (len(sums) - 1))
    return score(value, fewest, reach) if error < _ROUNDING else around(value, reach * error, SHARE)


def _placements(signal: Floats, right: Mask) -> Floats:
    """Of each answer the share of the other outcome that it is told from, ties half."""
    _, place = np.unique(signal, return_inverse=True)
    goods, bads = (np.bincount(place, weights=each, minlength=place.max() + 1) for each in (right, ~right))
    below = (np.cumsum(bads) - bads / 2) / bads.sum()
    above = 1 - (np.cumsum(goods) - goods / 2) / goods.sum()
    return np.asarray(np.where(right, below[place], above[place]))


_ROUNDING = 1e-12


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


def isotonic(confidence: Floats, right: Mask) -> tuple[Floats, Floats]:
    """Distinct confidences and the isotonic fit of the share that is right (pool adjacent violators)."""
    known, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    shares = np.bincount(place, weights=right) / counts
    blocks: list[list[float]] = []
    for share, count in zip(shares, counts, strict=True):
        blocks.append([share, float(count), 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (first, heavy, wide), (second, weight, width) = blocks[-2], blocks.pop()
            total = heavy + weight
            blocks[-1] = [(first * heavy + second * weight) / total, total, wide + width]
    return known, np.repeat([block[0] for block in blocks], [int(block[2]) for block in blocks])


def recalibrated(confidence: Floats, right: Mask) -> Floats:
    """The isotonic fit at each answer's confidence."""
    known, fitted = isotonic(confidence, right)
    return np.asarray(fitted[np.searchsorted(known, confidence)], dtype=np.float64)


def recalibrated_by_others(confidence: Floats, right: Mask, clusters: Ints, seed: int) -> Floats | None:
    """The isotonic fit at each answer's confidence, made of answers of other clusters; None of too few.

    Clusters are dealt to ten folds; between two confidences that others have the fit is interpolated.
    """
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) < 2 * FOLDS:
        return None
    fold = np.random.default_rng(seed).permutation(len(names))[place] % FOLDS
    made = np.empty(len(confidence))
    for each in range(FOLDS):
        mine = fold == each
        made[mine] = np.interp(confidence[mine], *isotonic(confidence[~mine], right[~mine]))
    return made


def calibration_bins(confidence: Floats) -> Ints:
    """The bin of each answer: bins of about equal size, equal values whole, numbered without gaps."""
    edges = np.unique(np.quantile(confidence, np.arange(1, BINS) / BINS))
    return np.asarray(np.unique(np.searchsorted(edges, confidence, side="right"), return_inverse=True)[1])


def calibration_error(confidence: Floats, right: Mask, bins: Ints | None = None) -> float:
    """Root mean square distance of confidence from the share that is right, less what chance adds.

    From each bin's squared distance the sampling variance r(1 − r)/(n − 1) is taken off; floored at 0. A bin
    of one answer has no variance to take off and is left out. `bins` are others than those of equal size.
    """
    one = np.zeros(len(confidence), dtype=np.int64)
    return sqrt(max(0.0, float(_squares(_bin_sums(confidence, right, one, bins).sum(axis=0)))))


def calibration_limits(
    confidence: Floats, right: Mask, clusters: Ints, seed: int, bins: Ints | None = None
) -> Span | None:
    """The 95 % interval of the calibration error, whole clusters drawn again; None of fewer than two.

    A draw adds its own sampling error to that of the data, of which the figure takes off one: draws are
    compared with their mean, not with the figure.
    """
    table = _bin_sums(confidence, right, clusters, bins)
    if len(table) < 2:
        return None
    drawn = _squares(resample(table.reshape(len(table), -1), seed, REPLICATES).reshape(-1, *table.shape[1:]))
    value = float(_squares(table.sum(axis=0)))
    low, high = (value - float(np.quantile(drawn - drawn.mean(), share)) for share in (0.975, 0.025))
    return sqrt(max(0.0, low)), sqrt(max(0.0, high))


def _bin_sums(confidence: Floats, right: Mask, clusters: Ints, bins: Ints | None) -> Floats:
    """Clusters × bins × (answers, confidence, right)."""
    place, number = calibration_bins(confidence) if bins is None else bins, numbered(clusters)[1]
    table = np.zeros((int(number.max(initial=-1)) + 1, int(place.max(initial=-1)) + 1, 3))
    np.add.at(table, (number, place), np.stack([np.ones(len(place)), confidence, right], axis=1))
    return table


def _squares(sums: Floats) -> Floats:
    """Of sums over bins the mean squared distance less what chance adds."""
    count, stated, share = sums[..., 0], sums[..., 1], sums[..., 2]
    kept = count > 1
    size = np.where(kept, count, 2.0)
    rate = share / size
    squares = (stated / size - rate) ** 2 - rate * (1 - rate) / (size - 1)
    weight = np.where(kept, count, 0.0)
    return np.asarray((weight * squares).sum(-1) / np.maximum(weight.sum(-1), 1))
