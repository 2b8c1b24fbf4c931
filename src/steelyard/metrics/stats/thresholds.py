"""Thresholds of confidence above which verdicts are accepted, with an exact bound on the share that is wrong.

A threshold is kept while the upper Clopper–Pearson limit of the accepted verdicts' error is at most the
promised one. Going down from the most confident verdicts and stopping at the first failure tests many
thresholds at the price of one. Errors are of independent units: one verdict per cluster (`one_per_cluster`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.rng import seed_for
from steelyard.metrics.stats.distributions import beta_quantile, binomial_probability, normal_quantile
from steelyard.metrics.stats.sample_size import trials_total

STARTS = 0.3, 0.6
"""Shares of the verdicts from which the two walks start, declared before any label is seen."""
PAPER_GRID, PAPER_LEAST = 5000, 30


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
    return 1.0 if wrong >= accepted else beta_quantile(wrong + 1, accepted - wrong, 1 - error)


def lower_bound(wrong: int, accepted: int, error: float) -> float:
    return 0.0 if not wrong else beta_quantile(wrong, accepted - wrong + 1, error)


def holds(wrong: int, accepted: int, promised: float, error: float) -> bool:
    """Whether the upper limit is at most the promised error: so few are wrong by chance at most so often."""
    return accepted > 0 and binomial_probability(wrong, accepted, promised) <= error


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


def paper_walk(signal: Floats, wrong: Mask, promised: float, error: float) -> float | None:
    """The single walk of arXiv 2407.18370 on its grid, first looked at with 30 verdicts; None where it fails.

    The published code returns its highest threshold even where the bound of that one fails; this does not.
    """
    kept = None
    for threshold in np.linspace(0, 1, PAPER_GRID)[::-1]:
        above = signal >= threshold
        accepted = int(above.sum())
        if accepted < PAPER_LEAST:
            continue
        if not holds(int(wrong[above].sum()), accepted, promised, error):
            break
        kept = float(threshold)
    return kept


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
    needed = trials_total(observed, promised, normal_quantile(1 - error / len(STARTS)), 0.8)
    return None if needed is None else max(fewest_labels(promised, error), ceil(needed / STARTS[-1]))
