"""Ranks that survive: simultaneous rank sets from the errors of all systems together.

A figure θ_m is a system's win rate over its own comparisons, or its mean score. Its error comes from what
each comparison adds, scaled by n/n_m: a system in few comparisons is known less well. People's votes on some
comparisons correct the judge's on all: θ = λ·θ^J(all) − (λ·θ^J(labelled) − θ^H(labelled)), one λ for all.

System m ranks above m′ where their difference exceeds c standard errors; c is the quantile of the largest
difference among all pairs under equality, found again over the pairs that are left (step-down; Romano and
Wolf 2005, Mogstad et al. 2024). A rank lies between 1 + the number of better and k − the number of worse.

Rows of one task are summed first, and few tasks take Student's t. A system whose rows all say the same has
no variance; it gets the one that its score interval amounts to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.estimation.frame import CONFIDENCE, independent_units, limits_on_scale, two_sided_quantile
from steelyard.metrics.stats.distributions import normal_probability, t_probability
from steelyard.metrics.stats.intervals import SHARE, Span, score

DRAWS = 20_000
_STEPS = 10
_ROUNDING = 1e-18
"""Variance below which rows do not differ."""


@dataclass(frozen=True, eq=False)
class SystemScores:
    """Scores of systems, one row for each comparison or item; NaN where a system did not take part."""

    values: Floats
    """Rows × systems."""
    cluster: Ints

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def counts(self) -> Ints:
        """Rows of each system."""
        return np.asarray((~np.isnan(self.values)).sum(axis=0))

    @property
    def ends(self) -> Span | None:
        """Ends of the scale: those of a share, or the lowest and highest score; None where all are one."""
        low, high = float(np.nanmin(self.values)), float(np.nanmax(self.values))
        if low >= 0 and high <= 1:
            return SHARE
        return (low, high) if high > low else None

    def figures(self) -> Floats:
        return np.asarray(np.nanmean(self.values, axis=0))

    def influence(self) -> Floats:
        """What each row adds to the error of each mean, times the rows: (v − θ)·n/n_m."""
        present = ~np.isnan(self.values)
        apart = np.where(present, self.values - self.figures(), 0.0)
        return np.asarray(apart * (self.rows / self.counts))

    def filter(self, rows: Mask) -> Self:
        return replace(self, values=self.values[rows], cluster=self.cluster[rows])

    def without_spread(self) -> Floats:
        """Variance of each figure for the case that its rows do not differ: what its limits amount to."""
        if self.ends is None:
            return np.zeros(len(self.counts))
        low, high = self.ends
        even = (self.figures() - low) * (high - self.figures()) / self.counts
        z = two_sided_quantile(CONFIDENCE)
        at_end = [score(1.0, count, z)[0] for count in self.counts.tolist()]
        return np.where(even > 0, even, ((1 - np.array(at_end)) * (high - low) / (2 * z)) ** 2)


@dataclass(frozen=True, eq=False)
class Ranking:
    figures: Floats
    covariance: Floats
    weight: float | None = None
    """λ, where the judge was corrected."""
    freedom: int | None = None
    """Degrees of freedom of the errors, where rows lie in tasks; None where they are normal."""
    ends: Span | None = None
    sizes: Ints | None = None
    """Rows of each system, where figures lie on a scale with ends."""

    def limits(self, system: int, confidence: float = CONFIDENCE) -> Span | None:
        """Limits of a figure; None where all rows of all systems are one score, whose scale is not known."""
        value, error = float(self.figures[system]), float(self.errors[system])
        quantile = two_sided_quantile(confidence, self.freedom)
        if error == 0:
            return None
        if self.ends is None or self.sizes is None:
            return value - quantile * error, value + quantile * error
        return limits_on_scale(value, error**2, float(self.sizes[system]), self.ends, quantile)

    @property
    def errors(self) -> Floats:
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def difference_error(self, one: int, other: int) -> float:
        cov = self.covariance
        return float(np.sqrt(max(cov[one, one] + cov[other, other] - 2 * cov[one, other], 0.0)))

    @property
    def places(self) -> Ints:
        """Rank of each system by its figure alone; 1 is the best."""
        order = np.argsort(-self.figures, kind="stable")
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(1, len(order) + 1)
        return places


def covariance(influence: Floats, cluster: Ints) -> tuple[Floats, int | None]:
    """Covariance of figures, from rows summed within their cluster first, and its degrees of freedom."""
    place = independent_units(cluster)
    rows, count = len(influence), int(place.max()) + 1
    sums = np.zeros((count, influence.shape[1]))
    np.add.at(sums, place, influence)
    cov = np.asarray(sums.T @ sums / rows**2 * count / max(1, count - 1))
    return cov, None if count == rows else count - 1


def plain_ranking(scores: SystemScores) -> Ranking:
    """By one rater alone."""
    cov, freedom = covariance(scores.influence(), scores.cluster)
    cov = _with_spread(cov, scores)
    return Ranking(scores.figures(), cov, freedom=freedom, ends=scores.ends, sizes=scores.counts)


def _with_spread(cov: Floats, scores: SystemScores) -> Floats:
    """Where the rows of a system do not differ, its variance is not 0 but unknown."""
    spread = np.diag(cov)
    none = spread <= _ROUNDING * np.maximum(1.0, np.abs(scores.figures()))
    return np.asarray(cov + np.diag(np.where(none, scores.without_spread(), 0.0)))


def corrected_ranking(judge: SystemScores, people: SystemScores, labelled: Mask) -> Ranking:
    """The judge on all rows, corrected by people on the labelled ones; `people` holds those alone."""
    near, rest = judge.filter(labelled), judge.filter(~labelled)
    j, h = near.influence(), people.influence()
    shared, spread = float((j * h).sum()), float((j * j).sum())
    if spread == 0 or not rest.rows:
        return plain_ranking(people)
    n, others = near.rows, rest.rows
    weight = min(1.0, max(0.0, shared / ((1 + n / others) * spread)))
    figures = weight * rest.figures() - (weight * near.figures() - people.figures())
    influence = np.concatenate([(h - weight * j) / n, weight * rest.influence() / others])
    clusters = np.concatenate([near.cluster, rest.cluster])
    cov, freedom = covariance(influence * len(influence), clusters)
    return Ranking(figures, _with_spread(cov, people), weight, freedom, people.ends, people.counts)


def better(ranking: Ranking, seed: int, confidence: float = CONFIDENCE) -> Mask:
    """Whether the system of a row is shown to be better than that of a column, for all pairs at once."""
    k = len(ranking.figures)
    above, below = np.triu_indices(k, 1)
    apart = ranking.figures[above] - ranking.figures[below]
    spread = np.diag(ranking.covariance)
    error = np.sqrt(np.maximum(spread[above] + spread[below] - 2 * ranking.covariance[above, below], 0.0))
    known = error > 0
    ratio = np.divide(apart, error, out=np.where(apart == 0, 0.0, np.copysign(np.inf, apart)), where=known)
    noise = _noise(ranking, seed)
    gaps = np.abs(noise[:, above[known]] - noise[:, below[known]]) / error[known]
    open_pairs = np.ones(len(apart), dtype=np.bool_)
    for _ in range(_STEPS):
        largest = gaps[:, open_pairs[known]].max(axis=1, initial=0.0)
        limit = float(np.quantile(largest, confidence))
        rejected = open_pairs & (np.abs(ratio) > limit)
        if not rejected.any():
            break
        open_pairs &= ~rejected
    shown = np.zeros((k, k), dtype=np.bool_)
    shown[above, below] = ~open_pairs & (ratio > 0)
    shown[below, above] = ~open_pairs & (ratio < 0)
    return shown


def rank_sets(shown: Mask) -> list[tuple[int, int]]:
    """Best and worst rank of each system that the data allow."""
    worse_than, better_than = shown.sum(axis=0), shown.sum(axis=1)
    return [(1 + int(w), len(shown) - int(b)) for w, b in zip(worse_than, better_than, strict=True)]


def first_chances(ranking: Ranking, seed: int) -> Floats:
    """P(first) of each system under N(θ, Σ); systems that are first together share it."""
    drawn = ranking.figures + _noise(ranking, seed)
    first = drawn >= drawn.max(axis=1, keepdims=True) - 1e-12
    return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))


def flip_chance(ranking: Ranking, one: int, other: int) -> float:
    """P(the order of two systems is the other way round)."""
    error = ranking.difference_error(one, other)
    gap = abs(float(ranking.figures[one] - ranking.figures[other]))
    if error == 0:
        return 0.5 if gap == 0 else 0.0
    free = ranking.freedom
    return normal_probability(-gap / error) if free is None else t_probability(-gap / error, free)


def tiers(ranking: Ranking, shown: Mask) -> list[int]:
    """Tier of each system: a new one begins with a system that is shown to be worse than the tier's first."""
    numbers, leader, tier = [0] * len(ranking.figures), -1, 0
    for system in np.argsort(-ranking.figures, kind="stable").tolist():
        if leader < 0 or shown[leader, system]:
            leader, tier = system, tier + 1
        numbers[system] = tier
    return numbers


def _noise(ranking: Ranking, seed: int) -> Floats:
    """Errors of all figures together, drawn from N(0, Σ), or from t where rows lie in tasks."""
    values, vectors = np.linalg.eigh(ranking.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((DRAWS, len(values))) @ root.T
    if ranking.freedom is not None:
        drawn /= np.sqrt(rng.chisquare(ranking.freedom, (DRAWS, 1)) / ranking.freedom)
    return np.asarray(drawn)
