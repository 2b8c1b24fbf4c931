"""Labels by level of the judge: Σ W_h·mean(y in level h), with score intervals joined by MOVER.

W_h is the share of all items on which the judge gave level h. Where labels were drawn by verdict this is the
only estimator; where they were drawn at random it is the efficient one. A normal interval covers .84 to .91
where a level shows few misses, so yes-or-no labels get Wilson's interval in each level:
L = θ − √Σ W_h²(p_h − l_h)², and U alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.frame import Figure, Frame, clustered_variance, mean_figure
from steelyard.metrics.stats.intervals import score_of_few

MOST_LEVELS = 10
FEWEST_LABELS = 5
"""Labels of a level below which it is read together with its neighbour."""
ENOUGH = 10
"""Labels of each kind in each level from which on a t interval covers as it says."""


@dataclass(frozen=True, eq=False)
class Level:
    share: float
    """W_h."""
    items: Ints
    """Numbers of its items in the frame."""
    labels: Ints
    """Numbers of those that are labelled; never none."""
    y: Floats

    @property
    def mean(self) -> float:
        return float(self.y.mean())


def bins(scores: Floats) -> Ints:
    """Number of the level of each score: the scores that occur, or ten bins of equal size."""
    distinct, place = np.unique(scores, return_inverse=True)
    if len(distinct) <= MOST_LEVELS:
        return place.astype(np.int64)
    edges = np.unique(np.quantile(scores, np.arange(1, MOST_LEVELS) / MOST_LEVELS))
    return np.searchsorted(edges, scores, side="right").astype(np.int64)


def levels_of(frame: Frame, *, merge: bool) -> list[Level]:
    """Levels of the judge in order; with `merge`, such as have few labels join their neighbour."""
    place = bins(frame.judge)
    groups = [[int(level)] for level in np.unique(place)]
    labels = {int(level): int((place[frame.labelled] == level).sum()) for level in np.unique(place)}
    while merge and len(groups) > 1:
        counts = [sum(labels[level] for level in group) for group in groups]
        least = int(np.argmin(counts))
        if counts[least] >= FEWEST_LABELS:
            break
        sides = [side for side in (least - 1, least + 1) if 0 <= side < len(groups)]
        other = min(sides, key=lambda side: counts[side])
        low, high = sorted((least, other))
        groups[low : high + 1] = [groups[low] + groups[high]]
    made = []
    for group in groups:
        items = np.flatnonzero(np.isin(place, group))
        ours = items[frame.labelled[items]]
        made.append(Level(len(items) / frame.size, items, ours, frame.people[ours]))
    return made


def has_rare_labels(frame: Frame) -> bool:
    """Yes-or-no labels of which some level shows few of one kind."""
    if not frame.binary_labels:
        return False
    parts = [level.y for level in levels_of(frame, merge=True)]
    return any(min(y.sum(), len(y) - y.sum()) < ENOUGH for y in parts)


def post_stratified(frame: Frame, *, population: bool = False, merge: bool = False) -> Figure:
    """θ and its limits; where tasks hold several items, on the size that the clustered variance leaves."""
    levels = levels_of(frame, merge=merge)
    value = float(sum(level.share * level.mean for level in levels))
    influence: Floats = np.zeros(frame.size)
    plain, freedom = 0.0, sum(len(level.labels) - 1 for level in levels)
    for level in levels:
        n, rest = len(level.labels), _rest(level, population=population)
        spread = float(level.y.var(ddof=1)) if n > 1 else 0.0
        plain += level.share**2 * spread / n * rest
        influence[level.labels] = level.share * (level.y - level.mean) / n * sqrt(rest)
        if population:
            influence[level.items] += (level.mean - value) / frame.size
    between = sum(level.share * (level.mean - value) ** 2 for level in levels) / frame.size * population
    variance, effect = plain + between, 1.0
    if frame.is_clustered:
        within, _ = clustered_variance(influence, frame.cluster)
        if variance > 0 and within > variance:
            freedom = len(np.unique(frame.label_clusters)) - 1
            variance, effect = within, within / variance
    if not frame.binary_labels:
        return mean_figure(frame, value, variance, freedom, "post_stratified")
    quantile = frame.quantile(freedom if effect > 1 else None)
    low = high = quantile**2 * between * effect
    for level in levels:
        rest = _rest(level, population=population)
        if rest > 0:
            size = len(level.labels) / (effect * rest)
            ends = score_of_few(level.mean, size, quantile, 1 - frame.confidence)
            low += (level.share * (level.mean - ends[0])) ** 2
            high += (level.share * (ends[1] - level.mean)) ** 2
    limits = value - sqrt(low), value + sqrt(high)
    return Figure(value, *limits, (limits[1] - limits[0]) / (2 * quantile), "post_stratified_mover")


def _rest(level: Level, *, population: bool) -> float:
    """Finite population correction of a level."""
    return 1.0 if population else 1 - len(level.labels) / len(level.items)
