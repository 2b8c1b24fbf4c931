"""Estimators of what people would say of all items, each for one way in which the labels were drawn.

Drawn at random: the regression estimator for these items, PPI++ for the population behind them.
GREG: λ·mean(f of all) + mean(y − λf), λ = s_yf/s_f², variance (1 − n/N)·s²_e/n with n − 2 degrees of freedom.
PPI++: the same with the unlabelled mean and λ = s_yf/[(1 + n/N_u)·s_f²] within [0, 1]; the variance of the
judged items is added, since another population sample would have other items. Items of one task are not
independent: influences are summed within the task first. A task that is labelled in part is no problem, as
both sums of its influence are added before they are squared.

By level of the judge: Σ W_h·mean(y in level h), with score intervals joined by MOVER. W_h is the share of all
items on which the judge gave level h. Where labels were drawn by verdict this is the only estimator; where
they were drawn with other odds they weigh by these within a level (Hájek), and a judge that tells nothing
does no harm. A normal interval covers .84 to .91 where a level shows few misses, so each level gets a score
interval: L = θ − √Σ W_h²(p_h − l_h)², and U alike.

Labels from elsewhere: Rogan and Gladen's correction with the interval of Lang and Reiczigel (2014),
θ = (p + specificity − 1)/(sensitivity + specificity − 1). It is wide: with 60 labels about three times as
wide as the labels alone would be, had they been drawn from the items themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.frame import (
    CONFIDENCE,
    Figure,
    Frame,
    drawn_weight,
    effective_size,
    limits_on_scale,
    mean_figure,
    two_sided_quantile,
    unseen_residual,
    with_tasks,
)
from steelyard.metrics.stats.intervals import SHARE, newcombe


def slope(frame: Frame) -> float:
    """λ of the regression of labels on scores; 0 where the judge gives one score alone."""
    f = frame.f - frame.f.mean()
    return float(f @ (frame.y - frame.y.mean()) / (f @ f)) if np.ptp(frame.f) > 0 else 0.0


def greg(frame: Frame, weight: float | None = None) -> Figure:
    """What people would say of these items; `weight` is λ, and 0 leaves the judge out."""
    n, tuned = frame.labels, weight is None
    lam = slope(frame) if weight is None else weight
    apart = frame.y - lam * frame.f
    value = lam * float(frame.judge.mean()) + float(apart.mean())
    residual = apart - apart.mean()
    freedom = n - 2 if tuned else n - 1
    influence = residual / n * sqrt(frame.unlabelled_share)
    plain = float(influence @ influence) * n / max(1, freedom)
    method = "greg" if tuned else "labels_t"
    return mean_figure(frame, value, *with_tasks(frame, plain, influence, freedom), method, residual)


def ppi_weight(frame: Frame) -> float:
    """λ of PPI++: the regression on scores, whose spread is that of all items, shrunk by n/N_u."""
    n, spread = frame.labels, float(frame.judge.var(ddof=1))
    if spread == 0 or n == frame.size:
        return 0.0
    shared = float(np.cov(frame.y, frame.f)[0, 1])
    return min(1.0, max(0.0, shared / ((1 + n / (frame.size - n)) * spread)))


def ppi(frame: Frame) -> Figure:
    """What people would say of the population that all judged items were drawn from."""
    n, rest, lam = frame.labels, ~frame.labelled, ppi_weight(frame)
    apart = frame.y - lam * frame.f
    value = float(apart.mean())
    influence: Floats = np.zeros(frame.size)
    residual = apart - apart.mean()
    influence[frame.labelled] = residual / n
    variance = float(apart.var(ddof=1)) / n
    if rest.any():
        others = frame.judge[rest]
        value += lam * float(others.mean())
        influence[rest] = lam * (others - others.mean()) / len(others)
        variance += lam**2 * float(frame.judge.var(ddof=1)) / len(others)
    known = with_tasks(frame, variance, influence, n - 1, population=True)
    return mean_figure(frame, value, *known, "ppi++", residual)


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
    """Numbers of those that are labelled."""
    y: Floats


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
    labels = np.bincount(place[frame.labelled], minlength=int(place.max()) + 1)
    groups = [[level] for level in np.flatnonzero(np.bincount(place)).tolist()]
    while merge and len(groups) > 1:
        counts = [int(labels[group].sum()) for group in groups]
        least = int(np.argmin(counts))
        if counts[least] >= FEWEST_LABELS:
            break
        sides = [side for side in (least - 1, least + 1) if 0 <= side < len(groups)]
        other = min(sides, key=lambda side: counts[side])
        low, high = sorted((least, other))
        groups[low : high + 1] = [groups[low] + groups[high]]
    number = np.zeros(len(labels), dtype=np.int64)
    for at, group in enumerate(groups):
        number[group] = at
    ours, made = number[place], []
    for at in range(len(groups)):
        items = np.flatnonzero(ours == at)
        drawn = items[frame.labelled[items]]
        made.append(Level(len(items) / frame.size, items, drawn, frame.people[drawn]))
    return made


def has_rare_labels(frame: Frame) -> bool:
    """Yes-or-no labels of which some level shows few of one kind."""
    if not frame.binary_labels:
        return False
    parts = [level.y for level in levels_of(frame, merge=True)]
    return any(min(y.sum(), len(y) - y.sum()) < ENOUGH for y in parts)


@dataclass(frozen=True)
class _Known:
    """What the labels of a level say."""

    share: float
    mean: float
    spread: float
    """Variance of a label."""
    size: float
    """Independent labels that would know the mean as well, before tasks are looked at; 0 without labels."""
    influence: Floats

    @classmethod
    def of(cls, level: Level, frame: Frame) -> _Known:
        n = len(level.labels)
        if not n:
            weights = None if frame.odds is None else 1 / frame.odds[frame.labelled]
            return cls(level.share, float(np.average(frame.y, weights=weights)), 0.0, 0.0, np.zeros(0))
        odds = np.full(n, n / len(level.items)) if frame.odds is None else frame.odds[level.labels]
        left = np.ones(n) if frame.of_population else 1 - odds
        weights = 1 / odds / (1 / odds).sum()
        mean = float(np.average(level.y, weights=1 / odds))
        apart = level.y - mean
        spread = float(weights @ (apart * apart)) * n / max(1, n - 1)
        influence = weights * apart * np.sqrt(left)
        error = float(influence @ influence) * n / max(1, n - 1)
        size = 1 / max(float((weights * weights) @ left), 1e-30)
        if error > 0:  # what differs may have the lower odds
            size = min(size, spread / error)
        return cls(level.share, mean, spread, size, level.share * influence)

    @property
    def variance(self) -> float:
        return self.share**2 * self.spread / self.size if self.size else 0.0


def post_stratified(frame: Frame, *, merge: bool = False, judge: bool = True) -> Figure:
    """θ and its limits; where tasks hold several items, on the size that the clustered variance leaves.

    Labels weigh by their odds within a level, where these are known. Each level has a score interval on the
    scale: where its labels do not differ, on their own number; without labels it may be anywhere. One rare
    label in a level can put the limit of MOVER beyond the truth, so limits of scores reach at least as far as
    those of all levels together. Without the judge there is one level, and its labels stand alone.
    """
    whole = Level(1.0, np.arange(frame.size), np.flatnonzero(frame.labelled), frame.y)
    levels = levels_of(frame, merge=merge) if judge else [whole]
    parts = [_Known.of(level, frame) for level in levels]
    value = sum(part.share * part.mean for part in parts)
    between = sum(part.share * (part.mean - value) ** 2 for part in parts) / frame.size * frame.of_population
    influence: Floats = np.zeros(frame.size)
    for level, part in zip(levels, parts, strict=True):
        influence[level.labels] = part.influence
        if frame.of_population:
            influence[level.items] += (part.mean - value) / frame.size
    plain, binary = between + sum(part.variance for part in parts), frame.binary_labels
    freedom = None if binary else frame.labels - sum(part.size > 0 for part in parts)
    variance, free = with_tasks(frame, plain, influence, freedom, population=frame.of_population)
    residual = np.concatenate([level.y - part.mean for level, part in zip(levels, parts, strict=True)])
    if not binary and (not judge or frame.ends is None or frame.is_difference):
        return mean_figure(frame, value, variance, free, "post_stratified" if judge else "labels_t", residual)
    effect = variance / plain if plain > 0 else 1.0
    ends, quantile, tail = frame.ends or SHARE, frame.quantile(free), 1 - frame.confidence
    low = high = quantile**2 * between * effect
    for part in parts:
        limits = ends
        if part.size:
            size = part.size / effect
            error = 0.0 if binary else part.spread / size
            limits = limits_on_scale(part.mean, error, size, ends, quantile, tail)
        low += (part.share * (part.mean - limits[0])) ** 2
        high += (part.share * (limits[1] - part.mean)) ** 2
    limits = value - sqrt(low), value + sqrt(high)
    if not binary:
        if merge:  # levels that are read together may hold what no label shows
            variance += unseen_residual(residual, ends[1] - ends[0]) ** 2 * drawn_weight(frame)
        size = 1 / sum(part.share**2 * effect / part.size for part in parts if part.size)
        together = limits_on_scale(value, variance, size, ends, quantile, tail)
        limits = min(limits[0], together[0]), max(limits[1], together[1])
    method = "post_stratified_mover" if judge else "wilson"
    return Figure(value, *limits, (limits[1] - limits[0]) / (2 * quantile), method)


Counts = tuple[float, float]
"""Events and trials; fewer than were counted, where items of one task say much the same."""


def effective_counts(events: Floats, clusters: Ints) -> Counts:
    """Events and trials of independent items that would know the share as well as these."""
    size = effective_size(events, clusters)
    return float(events.mean()) * size, size


def separates(sensitivity: Counts, specificity: Counts) -> bool:
    """Whether the judge is shown to pass good answers more often than bad ones."""
    return newcombe(sensitivity, (specificity[1] - specificity[0], specificity[1]))[0] > 0


def rogan_gladen(
    passed: Counts, sensitivity: Counts, specificity: Counts, confidence: float = CONFIDENCE
) -> Figure:
    z = two_sided_quantile(confidence)
    p, q1, q0 = (events / trials for events, trials in (passed, sensitivity, specificity))
    value = (p + q0 - 1) / (q1 + q0 - 1)
    size = passed[1] + z * z
    p = (passed[0] + z * z / 2) / size
    m1, m0 = sensitivity[1] + 2, specificity[1] + 2
    q1, q0 = (sensitivity[0] + 1) / m1, (specificity[0] + 1) / m0
    v1, v0 = q1 * (1 - q1) / m1, q0 * (1 - q0) / m0
    centre = (p + q0 - 1) / (q1 + q0 - 1)
    shift = 2 * z * z * (centre * v1 - (1 - centre) * v0)
    error = sqrt(p * (1 - p) / size + centre**2 * v1 + (1 - centre) ** 2 * v0) / (q1 + q0 - 1)
    middle = centre + shift
    return Figure(value, middle - z * error, middle + z * error, error, "rogan_gladen")


def allocation(labels: int, p: float, q0: float, q1: float, pilot: int) -> tuple[int, int]:
    """Labels of people's fails and passes (m0, m1) with the narrowest interval, after Lee et al. (2025).

    `q0` and `q1` were seen on `pilot` labels of each kind, and are smoothed by one event on either side.
    """
    q0, q1 = ((q * pilot + 1) / (pilot + 2) for q in (q0, q1))
    m1 = round(labels / (1 + (1 / p - 1) * sqrt((1 - q0) / (1 - q1))))
    m1 = min(max(m1, pilot), labels - pilot)
    return labels - m1, m1
