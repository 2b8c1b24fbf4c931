"""The sampling frame: every judged item with its score, its label where it has one, its task and its odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import Span, score

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
    ends: Span | None = None
    """Ends of the scale, where it has any; those of a difference lie as far below 0 as above."""

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
        return Frame(self.judge[keep], self.people[keep], self.cluster[keep], odds, self.ends)

    @property
    def is_difference(self) -> bool:
        return self.ends is not None and self.ends[0] == -self.ends[1]

    @property
    def unit(self) -> float:
        """Size of a difference, where there is one: the root mean square of those that people made."""
        some = self.y[self.y != 0] if (self.y != 0).any() else self.judge[self.judge != 0]
        return float(np.sqrt(np.mean(some**2))) if len(some) else 1.0


def clustered_variance(influence: Floats, clusters: Ints) -> tuple[float, int]:
    """Variance of a sum of influences, each cluster summed first, and the number of clusters."""
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, weights=influence)
    count = len(sums)
    return (float(sums @ sums) * count / (count - 1) if count > 1 else float("nan")), count


def mean_figure(frame: Frame, value: float, variance: float, freedom: float, method: str) -> Figure:
    """Limits of a mean that keep their coverage where labels seldom differ; without a scale they are t's.

    Most labels at one end of a scale make the mean skewed and its variance too small in just those samples
    that miss what is rare. So a mean on a scale gets the score interval of a share, on the size that its
    variance amounts to. A mean of differences gets one difference of each sign more (Bonett and Price 2012).
    """
    if frame.ends is None or frame.binary_labels:
        return t_figure(value, variance, freedom, method)
    if frame.is_difference:
        more = 2 * frame.unit**2 * drawn_weight(frame)
        return t_figure(value, variance + more, freedom, method)
    low, span = frame.ends[0], frame.ends[1] - frame.ends[0]
    share = min(1.0, max(0.0, (value - low) / span))
    spread = share * (1 - share)
    size = frame.labels / max(frame.unlabelled_share, 1e-9)
    if variance > 0 and spread > 0:
        size = spread * span**2 / variance
    quantile = t_quantile((1 + CONFIDENCE) / 2, max(1, int(freedom)))
    below, above = score(share, size, quantile)
    return Figure(value, low + span * below, low + span * above, sqrt(max(variance, 0.0)), method)


def drawn_weight(frame: Frame) -> float:
    """Square of what one label adds to the mean, as the draw weighs it, with finite population correction."""
    if frame.odds is None:
        return frame.unlabelled_share / frame.labels**2
    odds = frame.odds[frame.labelled]
    return float(np.mean((1 - odds) / odds**2)) / frame.size**2


def t_figure(value: float, variance: float, freedom: float, method: str) -> Figure:
    error = sqrt(max(variance, 0.0))
    reach = t_quantile((1 + CONFIDENCE) / 2, max(1, int(freedom))) * error
    return Figure(value, value - reach, value + reach, error, method)
