"""The judge as an instrument: one joint fit of resolution, position bias, tie threshold, surface, lapses.

The profile interval assumes that pairs are independent given the parameters. Beside it stands a sandwich
over tasks, which stays honest where tasks differ (in position bias, say). A parameter that runs to
infinity is given as a one-sided bound, and one on which the answers set no limit is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.fit_test import REFITS, FitTest, fit_test
from steelyard.metrics.heading import NO_CALLS, NO_VERDICTS, Heading
from steelyard.metrics.intervals import t_quantile
from steelyard.metrics.pair_fit import HIGHEST, LAPSE_BOUND, LOWEST, SURFACE_BOUND, Fits, best_fit
from steelyard.metrics.pair_likelihood import NAMES, Patterns, Rows, pattern_scores, patterns_of, rows_of
from steelyard.metrics.pairs import Floats, Pairs
from steelyard.metrics.profile_limits import Reach, reaches
from steelyard.metrics.proportion import ONE_TASK, join
from steelyard.metrics.tally import excluded

PROFILE, SANDWICH = "profile", "sandwich_cluster"
REFUSED = 0.01
"""A fit with such a p, or a smaller one, is not read."""
FITTED_FROM = 60
"""Pairs from which the five parameters are fitted."""
SANDWICH_FROM = 6
"""Tasks from which the spread between them is worth an interval."""
RUNS_AWAY = "the likelihood has no peak on this side: a one-sided bound"
NO_LIMIT = "{} pairs set no limit on it on either side"
TOO_LITTLE = f"the joint fit needs {FITTED_FROM} pairs, some of equal quality and some a known step apart"
NOT_TESTED = "fit not tested"
ALIKE = "replicates all alike, counted once"
_HELD = {
    "surface_sensitivity": f"surface sensitivity held at its bound {SURFACE_BOUND:g}",
    "lapse_rate": f"lapse rate held at its bound {LAPSE_BOUND:g}",
}


@dataclass(frozen=True, eq=False)
class InstrumentFit:
    """The joint fit of one judge under one protocol."""

    rows: Rows
    """What was fitted."""
    patterns: Patterns
    """The same, counted."""
    best: Fits
    """The maximum of the likelihood."""
    reach: tuple[Reach, ...]
    """Profile limits, in the order of the parameters."""
    test: FitTest | None
    """Goodness of fit; None where it was not tested."""
    alike: bool
    """Replicates never differed and were counted once."""

    @property
    def theta(self) -> Floats:
        """The parameters, zero where the fit stands at the lower end of a parameter that starts there."""
        at_zero = (np.array(LOWEST) >= 0) & (self.best.theta[0] <= LOWEST + 1e-4)
        return np.where(at_zero, 0.0, self.best.theta[0])


def instrument_estimates(heading: Heading, pairs: Pairs, refits: int = REFITS) -> list[Estimate]:
    """The five parameters, or for each the reason why there is none."""
    found = fit_instrument(pairs, heading.bootstrap_seed("instrument_model"), refits)
    missing = excluded(pairs)
    if found is None:
        reason = TOO_LITTLE if len(rows_of(pairs)) else NO_VERDICTS if len(pairs) else NO_CALLS
        return [heading.undefined(name, reason, "pair", missing) for name in NAMES]
    spread = sandwich(found)
    return [_estimate(heading, found, name, spread, missing) for name in range(len(NAMES))]


def fit_instrument(pairs: Pairs, seed: int, refits: int = REFITS) -> InstrumentFit | None:
    """Fit same-subset and ladder pairs together; None where there are too few of either."""
    rows, alike = _once(rows_of(pairs))
    if len(rows) < FITTED_FROM:
        return None
    patterns = patterns_of(rows)
    if patterns.weights.sum() < FITTED_FROM or patterns.deltas[0] > 0 or len(patterns.deltas) < 2:
        return None
    best = best_fit(patterns)
    test = fit_test(rows, best.theta[0], seed, refits) if refits > 0 else None
    return InstrumentFit(rows, patterns, best, tuple(reaches(patterns, best)), test, alike)


def _once(rows: Rows) -> tuple[Rows, bool]:
    """One row per pair where replicates never differ: a judge without noise, whose repeats add nothing."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    same = (rows.better_first == rows.better_first[first][pair]) & (
        rows.better_second == rows.better_second[first][pair]
    )
    alike = len(first) < len(rows) and bool(same.all())
    return (rows.take(first), True) if alike else (rows, False)


def sandwich(found: InstrumentFit) -> Floats:
    """Standard errors clustered by task; NaN where a parameter stands at an end or tasks are too few."""
    errors: Floats = np.full(len(NAMES), np.nan)
    tasks, best = len(found.patterns.by_task), found.best.theta[0]
    free = np.flatnonzero((best > LOWEST + 1e-3) & (best < HIGHEST - 1e-3))
    if tasks < SANDWICH_FROM or not len(free):
        return errors
    bread = _information(found.patterns, best)[np.ix_(free, free)]
    if np.linalg.eigvalsh(bread)[0] <= 1e-6:
        return errors
    scores = found.patterns.by_task @ pattern_scores(best[None], found.patterns)[1][0][:, free]
    inverse = np.linalg.inv(bread)
    variance = inverse @ (scores.T @ scores) @ inverse * tasks / (tasks - 1)
    errors[free] = np.sqrt(np.diag(variance))
    return errors


def _information(patterns: Patterns, theta: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood, by central differences of its gradient."""
    reach = 1e-5
    moved = theta + reach * np.concatenate([np.eye(len(NAMES)), -np.eye(len(NAMES))])
    slopes = np.einsum("rkp,k->rp", pattern_scores(moved, patterns)[1], patterns.weights)
    second = (slopes[: len(NAMES)] - slopes[len(NAMES) :]) / (2 * reach)
    return np.asarray(-(second + second.T) / 2)


def _estimate(
    heading: Heading, found: InstrumentFit, index: int, spread: Floats, missing: dict[str, int]
) -> Estimate:
    bad = found.test is not None and found.test.probability <= REFUSED
    value, censored, remark = _value(found, index)
    if bad:
        value, censored, remark = None, None, "the model does not fit these answers, so it is not read"
    return heading.estimate(
        NAMES[index],
        unit="pair",
        value=value,
        intervals=() if value is None else _intervals(found, index, spread[index], censored),
        n_calls=int(found.patterns.weights @ found.patterns.counts.sum(axis=1)),
        n_units=int(found.patterns.weights.sum()),
        n_clusters=len(found.patterns.by_task),
        excluded=missing,
        censored=censored,
        note=join([remark, *_held(found), _fit_words(found.test), *_scope(found)]),
    )


def _value(found: InstrumentFit, index: int) -> tuple[float | None, str | None, str | None]:
    """Value, censoring and the reason for either."""
    reach = found.reach[index]
    if reach.idle:
        return None, None, NO_LIMIT.format(int(found.patterns.weights.sum()))
    if reach.grows and reach.low is not None:
        return reach.low, "right", RUNS_AWAY
    if reach.falls and reach.high is not None:
        return reach.high, "left", RUNS_AWAY
    return float(found.theta[index]), None, None


def _intervals(found: InstrumentFit, index: int, error: float, censored: str | None) -> tuple[Interval, ...]:
    reach = found.reach[index]
    profile = Interval(PROFILE, reach.low, reach.high)
    if censored or not error > 0:
        return (profile,)
    width = t_quantile(0.975, len(found.patterns.by_task) - 1) * error
    value = float(found.theta[index])
    low = value - width if LOWEST[index] < 0 else max(0.0, value - width)
    return (profile, Interval(SANDWICH, float(low), float(value + width)))


def _held(found: InstrumentFit) -> list[str]:
    at_end = found.best.theta[0] >= HIGHEST - 1e-4
    return [words for name, words in _HELD.items() if at_end[NAMES.index(name)]]


def _fit_words(test: FitTest | None) -> str:
    if test is None:
        return NOT_TESTED
    return f"fit G² {test.deviance:.1f}, p {test.probability:.3f} from {test.refits} refits"


def _scope(found: InstrumentFit) -> list[str]:
    return [
        *([ALIKE] if found.alike else []),
        *([ONE_TASK] if len(found.patterns.by_task) == 1 else []),
    ]
