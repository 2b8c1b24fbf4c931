"""Ranks that survive: simultaneous rank sets from the errors of all systems together.

A figure θ_m is a system's win rate over its own comparisons, or its mean score. Its error comes from what
each comparison adds, scaled by n/n_m: a system in few comparisons is known less well. People's votes on some
comparisons correct the judge's on all: θ = λ·θ^J(all) − (λ·θ^J(labelled) − θ^H(labelled)), with one λ for
all systems or, where each has enough votes, one of its own.

System m ranks above m′ where their difference exceeds c standard errors; c is the quantile of the largest
difference among all pairs under equality, found again over the pairs that are left (step-down; Romano and
Wolf 2005, Mogstad et al. 2024). A rank lies between 1 + the number of better and k − the number of worse.

Rows of one task are summed first. Errors follow the multivariate t of the system with the fewest rows, or of
the tasks: by the normal law one ranking in six of equal systems with 12 rows each claimed a difference. A
system whose rows all say the same has no variance; it gets the one that its score interval amounts to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log
from typing import Self

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.estimation.frame import CONFIDENCE, independent_units, limits_on_scale, two_sided_quantile
from steelyard.metrics.stats.distributions import normal_probability, t_probability
from steelyard.metrics.stats.intervals import SHARE, Span, score

FEWEST_ROWS = 10
"""Rows of a system below which its error is not known well enough."""
DRAWS = 20_000
_STEPS = 10
POINTS = 400 / log(10)
AVERAGE = 1000.0
_FIT_STEPS = 100
_EXACT = 1e-10
_ROUNDING = 1e-18
"""Variance below which rows do not differ."""


@dataclass(frozen=True, eq=False)
class SystemScores:
    """Scores of systems, one row for each comparison or item; NaN where a system did not take part."""

    values: Floats
    """Rows × systems."""
    cluster: Ints
    ends: Span | None = SHARE
    """Lowest and highest score that a row may have; None where they are not known."""

    @property
    def rows(self) -> int:
        return len(self.values)

    @property
    def counts(self) -> Ints:
        """Rows of each system."""
        return np.asarray((~np.isnan(self.values)).sum(axis=0))

    def figures(self) -> Floats:
        """NaN for a system without a row."""
        sums, counts = np.nansum(self.values, axis=0), self.counts
        return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))

    def influence(self) -> Floats:
        """What each row adds to the error of each mean, times the rows: (v − θ)·n/n_m."""
        present = ~np.isnan(self.values)
        apart = np.where(present, self.values - self.figures(), 0.0)
        return np.asarray(apart * (self.rows / np.maximum(self.counts, 1)))

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
class Comparisons(SystemScores):
    """Rows of two systems each; their figures are Bradley–Terry strengths instead of win rates.

    P(m beats m′) = 1/(1 + exp(β_m′ − β_m)), Σ β = 0, and a tie is half a win of each. The errors are the
    sandwich from what each comparison adds, so that ties and comparisons of one task are allowed for.
    Strengths are on Elo's scale: 400 points are odds of ten to one, and the systems have 1,000 on average.

    Strengths exist where a chain of wins or ties leads from each system to each other (Ford 1957). A system
    that never lost has none, nor have groups of systems that never met.
    """

    ends: Span | None = None

    @cached_property
    def sides(self) -> tuple[Ints, Ints]:
        """The two systems of each row."""
        present = ~np.isnan(self.values)
        return present.argmax(axis=1), present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)

    @cached_property
    def won(self) -> Floats:
        """Share of the win of the first side."""
        return np.asarray(self.values[np.arange(self.rows), self.sides[0]])

    @cached_property
    def wins(self) -> Floats:
        """Wins of the system of a row over that of a column."""
        one, other = self.sides
        made = np.zeros((self.values.shape[1],) * 2)
        np.add.at(made, (one, other), self.won)
        np.add.at(made, (other, one), 1 - self.won)
        return made

    @cached_property
    def _fit(self) -> tuple[Floats, Floats]:
        """Strengths in log odds, and the inverse of their information, by Newton's method."""
        games = self.wins + self.wins.T
        strength = np.zeros(len(games))
        for _ in range(_FIT_STEPS):
            chance = _chances(strength)
            weight = games * chance * (1 - chance)
            even = np.full_like(weight, 1 / len(weight))  # fixes the sum, which the data leave open
            inverse = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + even) - even
            step = inverse @ (self.wins - games * chance).sum(axis=1)
            strength = strength + step * min(1.0, 1 / max(np.abs(step).max(), _EXACT))
            if np.abs(step).max() < _EXACT:
                break
        return strength - strength.mean(), inverse

    def figures(self) -> Floats:
        return np.asarray(AVERAGE + POINTS * self._fit[0])

    def influence(self) -> Floats:
        strength, inverse = self._fit
        one, other = self.sides
        apart = self.won - _chances(strength)[one, other]
        return np.asarray(POINTS * self.rows * apart[:, None] * (inverse[one] - inverse[other]))

    def without_spread(self) -> Floats:
        """By the model itself, where no comparison differs from it: all are ties."""
        return np.asarray(POINTS**2 * np.diag(self._fit[1]))


def _chances(strength: Floats) -> Floats:
    """P(the system of a row beats that of a column)."""
    return np.asarray(1 / (1 + np.exp(strength[None, :] - strength[:, None])))


def unbeaten_group(wins: Floats) -> tuple[Mask, bool] | None:
    """A group of systems that never lost to the others, and whether it met them; None where there is none."""
    reach = (wins > 0) | np.eye(len(wins), dtype=np.bool_)
    for _ in range(len(wins).bit_length()):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        if reach.all():
            return None
    # Nobody outside reaches the smallest such group: it holds all systems that reach one of its own.
    reached_by = reach.sum(axis=0)
    group = reach[:, int(reached_by.argmin())]
    met = bool(((wins + wins.T)[group][:, ~group] > 0).any())
    return group, met


@dataclass(frozen=True, eq=False)
class Ranking:
    figures: Floats
    covariance: Floats
    freedom: int | None = None
    """Degrees of freedom of all errors together: those of the system with the fewest rows, or of tasks; None
    where the errors are known."""
    is_clustered: bool = False
    """Rows lie in tasks."""
    weights: Floats | None = None
    """λ of each system, where the judge was corrected."""
    ends: Span | None = None
    sizes: Ints | None = None
    """Rows of each system, where figures lie on a scale with ends."""

    def limits(self, system: int, confidence: float = CONFIDENCE) -> Span | None:
        """Limits of a figure; None where all rows of all systems are one score, whose scale is not known."""
        value, error = float(self.figures[system]), float(self.errors[system])
        quantile = two_sided_quantile(confidence, self.freedom if self.is_clustered else None)
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


def covariance(influence: Floats, cluster: Ints, counts: Ints) -> tuple[Floats, int, bool]:
    """Covariance of figures with so many rows each, its degrees of freedom, and whether rows lie in tasks.

    Rows are summed within their task first. Each figure loses a degree of freedom to its own mean.
    """
    place = independent_units(cluster)
    rows, count = len(influence), int(place.max()) + 1
    sums = np.zeros((count, influence.shape[1]))
    np.add.at(sums, place, influence)
    cov, fewest = sums.T @ sums / rows**2, max(1, int(counts.min()) - 1)
    if count < rows:
        return np.asarray(cov * count / max(1, count - 1)), min(count - 1, fewest), True
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))
    return np.asarray(cov * np.outer(scale, scale)), fewest, False


def plain_ranking(scores: SystemScores) -> Ranking:
    """By one rater alone."""
    cov, free, tasks = covariance(scores.influence(), scores.cluster, scores.counts)
    cov = _with_spread(cov, scores)
    return Ranking(scores.figures(), cov, free, tasks, ends=scores.ends, sizes=scores.counts)


def _with_spread(cov: Floats, scores: SystemScores) -> Floats:
    """Where the rows of a system do not differ, its variance is not 0 but unknown."""
    spread = np.diag(cov)
    none = spread <= _ROUNDING * np.maximum(1.0, np.abs(scores.figures()))
    return np.asarray(cov + np.diag(np.where(none, scores.without_spread(), 0.0)))


def corrected_ranking(
    judge: SystemScores, people: SystemScores, labelled: Mask, *, weight_per_system: bool = False
) -> Ranking:
    """The judge on all rows, corrected by people on the labelled ones; `people` holds those alone.

    A system with few rows that people did not label keeps the figure of its labels: one row more would move
    it by λ, and a single row shows no variance.
    """
    near, rest = judge.filter(labelled), judge.filter(~labelled)
    known = rest.counts >= FEWEST_ROWS
    j, h = near.influence(), people.influence()
    if not j.any() or not known.any():
        return plain_ranking(people)
    n, others = near.rows, rest.rows
    weights = np.where(known, _weights(j, h, 1 + n / others, each=weight_per_system), 0.0)
    figures = people.figures() + np.where(known, weights * (rest.figures() - near.figures()), 0.0)
    influence = np.concatenate([(h - weights * j) / n, weights * rest.influence() / others])
    clusters = np.concatenate([near.cluster, rest.cluster])
    cov, free, tasks = covariance(influence * len(influence), clusters, people.counts)
    cov = _with_spread(cov, people)
    return Ranking(figures, cov, free, tasks, weights, people.ends, people.counts)


def _weights(judge: Floats, people: Floats, shrinkage: float, *, each: bool) -> Floats:
    """λ = tr Cov/(shrinkage·tr Var) within [0, 1], over all systems or of each alone."""
    shared, spread = (judge * people).sum(axis=0), (judge * judge).sum(axis=0)
    if not each:
        shared, spread = np.full_like(shared, shared.sum()), np.full_like(spread, spread.sum())
    ratio = np.divide(shared, shrinkage * spread, out=np.zeros_like(shared), where=spread > 0)
    return np.asarray(np.clip(ratio, 0.0, 1.0))


def labels_to_separate(
    gap: float, reach: float, plain_reach: float, labels: int, rows: int
) -> tuple[int | None, int | None]:
    """Labels in all that tell two figures apart, and rows needed if all are labelled; None without a gap.

    `reach` is half the interval of the difference as corrected by so many labels of the rows, `plain_reach`
    by the labels alone. The variance with n of N rows labelled is σ²[(1 − ρ²)/n + ρ²/N]. Labels are None
    where even a label of every row would not do.
    """
    if gap == 0:
        return None, None
    plain_reach = max(plain_reach, reach)
    variance = labels * (plain_reach / gap) ** 2
    needed = ceil(variance)
    if needed > rows:
        return None, needed
    squared = 0.0
    if labels < rows and plain_reach > 0:
        squared = min(1.0, max(0.0, (1 - (reach / plain_reach) ** 2) / (1 - labels / rows)))
    left = 1 - variance * squared / rows
    return (ceil(variance * (1 - squared) / left) if left > 0 else needed), needed


def step_down(ranking: Ranking, seed: int, confidence: float = CONFIDENCE) -> tuple[Mask, float]:
    """Whether the system of a row is shown to be better than that of a column, for all pairs at once.

    Also by how many standard errors the pairs that are left would have to differ.
    """
    k = len(ranking.figures)
    above, below = np.triu_indices(k, 1)
    apart = ranking.figures[above] - ranking.figures[below]
    spread = np.diag(ranking.covariance)
    error = np.sqrt(np.maximum(spread[above] + spread[below] - 2 * ranking.covariance[above, below], 0.0))
    known = error > 0
    ratio = np.divide(apart, error, out=np.where(apart == 0, 0.0, np.copysign(np.inf, apart)), where=known)
    noise = _noise(ranking, seed)
    gaps = np.abs(noise[:, above[known]] - noise[:, below[known]]) / error[known]
    open_pairs, limit = np.ones(len(apart), dtype=np.bool_), 0.0
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
    return shown, limit


def rank_sets(shown: Mask) -> list[tuple[int, int]]:
    """Best and worst rank of each system that the data allow."""
    worse_than, better_than = shown.sum(axis=0), shown.sum(axis=1)
    return [(1 + int(w), len(shown) - int(b)) for w, b in zip(worse_than, better_than, strict=True)]


def first_chances(ranking: Ranking, seed: int) -> Floats:
    """P(first) of each system by the law of errors; systems that are first together share it."""
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
    """Errors of all figures together, drawn from the multivariate t, or from N(0, Σ) where they are known."""
    values, vectors = np.linalg.eigh(ranking.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((DRAWS, len(values))) @ root.T
    if ranking.freedom is not None:
        drawn /= np.sqrt(rng.chisquare(ranking.freedom, (DRAWS, 1)) / ranking.freedom)
    return np.asarray(drawn)
