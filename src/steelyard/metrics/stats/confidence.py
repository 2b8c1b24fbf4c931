"""How well a signal of confidence tells right answers from wrong ones, and where answers are accepted by it.

A threshold is kept while the upper Clopper–Pearson limit of the accepted verdicts' error is at most the
promised one. Going down from the most confident verdicts and stopping at the first failure tests many
thresholds at the price of one. Errors are of independent units: one verdict per cluster (`one_per_cluster`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.core.content_hash import seed_for
from steelyard.metrics.stats import distributions
from steelyard.metrics.stats.clusters import around, resample, sum_rows
from steelyard.metrics.stats.intervals import SHARE, Span, score
from steelyard.metrics.stats.sample_size import trials_total

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
    reach = distributions.t_quantile(probability, fewest - 1)
    sums = sum_rows(clusters, (auroc_parts(signal, right) - value) / len(signal))
    error = sqrt(float(sums @ sums) * len(sums) / (len(sums) - 1))
    return score(value, fewest, reach) if error < _ROUNDING else around(value, reach * error, SHARE)


def auroc_parts(signal: Floats, right: Mask) -> Floats:
    """What each answer adds (DeLong): their mean is the AUROC; NaN without right and wrong answers."""
    value = auroc(signal, right)
    if value is None:
        return np.full(len(signal), np.nan)
    weight = np.where(right, len(right) / right.sum(), len(right) / (~right).sum())
    return np.asarray(value + weight * (_placements(signal, right) - value))


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


STARTS = 0.3, 0.6
"""Shares of the verdicts from which the two walks start, declared before any label is seen."""


@dataclass(frozen=True)
class Threshold:
    """Verdicts with a signal of at least `value` are accepted."""

    value: float
    accepted: int
    """Labelled units at or above it."""
    wrong: int
    error: float
    """Level of its bound: the share of the confidence's complement that this walk was given."""

    @property
    def bound(self) -> float:
        return upper_bound(self.wrong, self.accepted, self.error)


def upper_bound(wrong: int, accepted: int, error: float) -> float:
    """The upper Clopper–Pearson limit: the share that is wrong exceeds it in at most `error` of samples."""
    return 1.0 if wrong >= accepted else distributions.beta_quantile(wrong + 1, accepted - wrong, 1 - error)


def lower_bound(wrong: int, accepted: int, error: float) -> float:
    return 0.0 if not wrong else distributions.beta_quantile(wrong, accepted - wrong + 1, error)


def holds(wrong: int, accepted: int, promised: float, error: float) -> bool:
    """Whether the upper limit is at most the promised error: so few are wrong by chance at most so often."""
    return accepted > 0 and distributions.binomial_probability(wrong, accepted, promised) <= error


@dataclass(frozen=True, eq=False)
class AcceptedCounts:
    """Units accepted and wrong at each distinct value of the signal, from the highest down."""

    values: Floats
    accepted: Ints
    wrong: Ints
    units: int
    """All units, those without a signal too, which no threshold accepts."""

    @classmethod
    def of(cls, signal: Floats, wrong: Mask) -> AcceptedCounts:
        known = ~np.isnan(signal)
        values, place = np.unique(-signal[known], return_inverse=True)
        sizes = np.bincount(place, minlength=len(values))
        errors = np.bincount(place, weights=wrong[known], minlength=len(values)).astype(np.int64)
        return cls(-values, np.cumsum(sizes), np.cumsum(errors), len(signal))

    def start(self, share: float) -> int:
        """The largest set of at most this share, equal values whole; else the smallest there is."""
        return max(0, int(np.searchsorted(self.accepted, share * self.units, side="right")) - 1)


def two_starts(signal: Floats, wrong: Mask, promised: float, error: float) -> Threshold | None:
    """The lowest threshold that either walk keeps, each walk at its part of `error`; None where neither does.

    Where and how often it looks follows from the signal alone. A threshold whose own bound exceeds the
    promised error is never returned.
    """
    counts = AcceptedCounts.of(signal, wrong)
    if not len(counts.values):
        return None
    starts = sorted({counts.start(share) for share in STARTS})
    each = error / len(starts)
    last = -1
    for start in starts:
        for place in range(start, len(counts.values)):
            if not holds(int(counts.wrong[place]), int(counts.accepted[place]), promised, each):
                break
            last = max(last, place)
    if last < 0:
        return None
    return Threshold(float(counts.values[last]), int(counts.accepted[last]), int(counts.wrong[last]), each)


def one_per_cluster(clusters: Ints, seed: int) -> Ints:
    """Rows, one of each cluster, drawn by the seed: verdicts of one cluster are no further evidence."""
    order = np.random.default_rng(seed_for(seed, "one per cluster")).permutation(len(clusters))
    _, first = np.unique(clusters[order], return_index=True)
    return np.sort(order[first])


def risk_area(signal: Floats, wrong: Mask) -> float:
    """Mean error of the accepted over all shares accepted; low where wrong verdicts come last."""
    counts = AcceptedCounts.of(signal, wrong)
    if not len(counts.values):
        return 1.0
    steps = np.diff(counts.accepted, prepend=0)
    return float((steps * counts.wrong / counts.accepted).sum() / counts.accepted[-1])


@dataclass(frozen=True)
class CurvePoint:
    """Error among the most confident verdicts, with limits that hold at all points of the curve together."""

    share: float
    accepted: int
    wrong: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.wrong / self.accepted


CURVE = tuple(n / 10 for n in range(1, 11))


def risk_curve(signal: Floats, wrong: Mask, error: float) -> list[CurvePoint]:
    """The error at ten shares accepted; exact limits, each at `error`/10, so that all hold together."""
    counts = AcceptedCounts.of(signal, wrong)
    places = sorted({counts.start(share) for share in CURVE}) if len(counts.values) else []
    tail = error / (2 * len(CURVE))
    return [
        CurvePoint(n / counts.units, n, k, lower_bound(k, n, tail), upper_bound(k, n, tail))
        for n, k in ((int(counts.accepted[place]), int(counts.wrong[place])) for place in places)
    ]


def fewest_labels(promised: float, error: float) -> int:
    """Labelled units that a faultless judge needs: none of 60 % of them is wrong."""
    return ceil(ceil(log(error / len(STARTS)) / log(1 - promised)) / STARTS[-1])


def labels_to_show(observed: float, promised: float, error: float) -> int | None:
    """Labelled units that show an observed error at the second start to be below the promised one."""
    if observed >= promised:
        return None
    needed = trials_total(observed, promised, distributions.normal_quantile(1 - error / len(STARTS)), 0.8)
    return None if needed is None else max(fewest_labels(promised, error), ceil(needed / STARTS[-1]))
