"""The sampling frame: every judged item with its score, its label where it has one, its task and its odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import Span

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Figure:
    """A mean with its interval; `low` and `high` are None where the figure is a count of all items."""

    value: float
    low: float | None
    high: float | None
    error: float
    """Standard error; for score intervals the one that their width amounts to."""
    method: str
    clamped: bool = False
    """True where an end lay outside the scale and was moved to it."""

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def within(self, ends: Span) -> Figure:
        """The same with its limits on the scale."""
        if self.low is None or self.high is None:
            return self
        low, high = max(self.low, ends[0]), min(self.high, ends[1])
        moved = self.clamped or low > self.low or high < self.high
        return replace(self, low=min(low, ends[1]), high=max(high, ends[0]), clamped=moved)


@dataclass(frozen=True, eq=False)
class Frame:
    judge: Floats
    """Score of every item; all are known."""
    people: Floats
    """Mean of people's ratings of the item; NaN where nobody labelled it."""
    cluster: Ints
    """Number of the task that the item belongs to."""
    odds: Floats | None = None
    """Chance with which each item was drawn for labelling, where it is known."""

    @cached_property
    def labelled(self) -> Mask:
        return ~np.isnan(self.people)

    @property
    def size(self) -> int:
        return len(self.judge)

    @property
    def labels(self) -> int:
        return int(self.labelled.sum())

    @cached_property
    def y(self) -> Floats:
        return self.people[self.labelled]

    @cached_property
    def f(self) -> Floats:
        """Scores of the labelled items."""
        return self.judge[self.labelled]

    @property
    def label_clusters(self) -> Ints:
        return self.cluster[self.labelled]

    @property
    def unlabelled_share(self) -> float:
        """Finite population correction: 0 where every item is labelled."""
        return 1 - self.labels / self.size

    @cached_property
    def is_clustered(self) -> bool:
        return len(np.unique(self.cluster)) < self.size

    @cached_property
    def binary_labels(self) -> bool:
        return bool(((self.y == 0) | (self.y == 1)).all())

    def filter(self, keep: Mask) -> Frame:
        odds = None if self.odds is None else self.odds[keep]
        return Frame(self.judge[keep], self.people[keep], self.cluster[keep], odds)


def clustered_variance(influence: Floats, clusters: Ints) -> tuple[float, int]:
    """Variance of a sum of influences, each cluster summed first, and the number of clusters."""
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, weights=influence)
    count = len(sums)
    return (float(sums @ sums) * count / (count - 1) if count > 1 else float("nan")), count


def t_figure(value: float, variance: float, freedom: float, method: str) -> Figure:
    error = sqrt(max(variance, 0.0))
    reach = t_quantile((1 + CONFIDENCE) / 2, max(1, int(freedom))) * error
    return Figure(value, value - reach, value + reach, error, method)
