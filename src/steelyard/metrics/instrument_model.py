"""The judge as an instrument: one joint fit of resolution, position bias, tie threshold, surface, lapses.

The profile limits take pairs as independent given the parameters. The sandwich over tasks stays honest
where tasks differ (in position bias, say).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.metrics.fit_test import REFITS, FitTest, fit_test
from steelyard.metrics.pair_fit import HIGHEST, LOWEST, Fits, best_fit
from steelyard.metrics.pair_likelihood import NAMES, Patterns, Rows, pattern_scores, patterns_of, rows_of
from steelyard.metrics.pairs import TIE, Floats, Pairs
from steelyard.metrics.profile_limits import Reach, reaches

REFUSED = 0.01
"""A fit with such a p, or a smaller one, is not read."""
FITTED_FROM = 60
"""Pairs with both verdicts from which the five parameters are fitted."""
SANDWICH_FROM = 6
"""Tasks from which the spread between them is worth an interval."""


@dataclass(frozen=True, eq=False)
class InstrumentFit:
    """The joint fit of one judge under one protocol."""

    rows: Rows
    """What was fitted."""
    tasks: tuple[str, ...]
    """Names of the tasks, in the order of the patterns."""
    patterns: Patterns
    """The rows, counted."""
    best: Fits
    """The maximum of the likelihood."""
    reach: tuple[Reach, ...]
    """Profile limits, in the order of the parameters; empty where the fit is refused."""
    test: FitTest | None
    """Goodness of fit; None where it was not tested."""
    alike: bool
    """Replicates never differed and were counted once."""

    @property
    def refused(self) -> bool:
        """The model does not describe these answers."""
        return self.test is not None and self.test.probability <= REFUSED

    @property
    def theta(self) -> Floats:
        """The parameters, zero where the fit stands at the lower end of a parameter that starts there."""
        at_zero = (np.array(LOWEST) >= 0) & (self.best.theta[0] <= LOWEST + 1e-4)
        return np.where(at_zero, 0.0, self.best.theta[0])


def fit_instrument(pairs: Pairs, seed: int, refits: int = REFITS) -> InstrumentFit | None:
    """Fit same-subset and ladder pairs together; None where there are too few of either."""
    rows, alike = _once(rows_of(pairs))
    if not _enough(rows):
        return None
    patterns = patterns_of(rows)
    best = best_fit(patterns)
    test = fit_test(rows, best.theta[0], seed, refits) if refits > 0 else None
    tasks = tuple(pairs.clusters[number] for number in np.unique(rows.cluster))
    found = InstrumentFit(rows, tasks, patterns, best, (), test, alike)
    if found.refused:
        return found
    return InstrumentFit(rows, tasks, patterns, best, tuple(reaches(patterns, best)), test, alike)


def _enough(rows: Rows) -> bool:
    """Pairs shown in both orders, some of equal quality and some a known step apart."""
    complete = (rows.better_first <= TIE) & (rows.better_second <= TIE)
    level = rows.delta[complete] == 0
    pairs = len(np.unique(rows.pair[complete]))
    return pairs >= FITTED_FROM and bool(level.any()) and not bool(level.all())


def _once(rows: Rows) -> tuple[Rows, bool]:
    """One row per pair where replicates never differ: a judge without noise, whose repeats add nothing."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    same = (rows.better_first == rows.better_first[first][pair]) & (
        rows.better_second == rows.better_second[first][pair]
    )
    alike = len(first) < len(rows) and bool(same.all())
    return (rows.take(first), True) if alike else (rows, False)


def task_effects(found: InstrumentFit) -> Floats | None:
    """How each task (rows) moves each parameter; None where tasks are too few or the peak is flat.

    The inverse of the information times the task's score; NaN for a parameter that stands at an end.
    """
    best, tasks = found.best.theta[0], len(found.patterns.by_task)
    free = np.flatnonzero((best > LOWEST + 1e-3) & (best < HIGHEST - 1e-3))
    if tasks < SANDWICH_FROM or not len(free):
        return None
    bread = _information(found.patterns, best)[np.ix_(free, free)]
    if np.linalg.eigvalsh(bread)[0] <= 1e-6:
        return None
    scores = found.patterns.by_task @ pattern_scores(best[None], found.patterns)[1][0][:, free]
    effects: Floats = np.full((tasks, len(NAMES)), np.nan)
    effects[:, free] = scores @ np.linalg.inv(bread)
    return effects


def sandwich(found: InstrumentFit) -> Floats:
    """Standard errors clustered by task; NaN where there is none."""
    effects = task_effects(found)
    return np.full(len(NAMES), np.nan) if effects is None else spread_of(effects)


def spread_of(effects: Floats) -> Floats:
    """Standard error of a sum of task effects (rows)."""
    tasks = len(effects)
    return np.asarray(np.sqrt((effects**2).sum(axis=0) * tasks / (tasks - 1)))


def _information(patterns: Patterns, theta: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood, by central differences of its gradient."""
    reach = 1e-5
    moved = theta + reach * np.concatenate([np.eye(len(NAMES)), -np.eye(len(NAMES))])
    slopes = np.einsum("rkp,k->rp", pattern_scores(moved, patterns)[1], patterns.weights)
    second = (slopes[: len(NAMES)] - slopes[len(NAMES) :]) / (2 * reach)
    return np.asarray(-(second + second.T) / 2)
