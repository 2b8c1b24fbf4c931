"""The instrument model: one joint fit of resolution, position bias, tie threshold, surface and lapses.

Goodness of fit is G² of the 3×3 tables, with p from refits to data drawn from the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Floats, Ints, distinct
from steelyard.metrics.instrument.fit import LOWEST, Fits, best_fit, fit, starts_of
from steelyard.metrics.instrument.likelihood import (
    NAMES,
    Patterns,
    Rows,
    answer_rates,
    cell_rates,
    collapse_identical,
    patterns_of,
    rows_of,
)
from steelyard.metrics.instrument.profile import (
    ClusterSpread,
    ProfileLimits,
    allowance,
    cluster_spread,
    reaches,
    spread_of,
)
from steelyard.metrics.pairs.columns import Pairs, readable

REFITS = 199
"""Simulated data sets; the smallest p is one in so many and one."""
_CELLS = 9

Cells = NDArray[np.int8]
"""A cell of a table for each row of each data set: small numbers, of which there are many."""


@dataclass(frozen=True)
class FitTest:
    deviance: float
    """G², over all tables; the table of equals is folded, since its labels are arbitrary."""
    as_far: int
    """Data sets at least as far off, the data themselves counted in."""
    refits: int

    @property
    def probability(self) -> float:
        """Share of all data sets, the data themselves counted in, that are at least as far off."""
        return self.as_far / (self.refits + 1)


def fit_test(rows: Rows, theta: Floats, seed: int, refits: int = REFITS) -> FitTest | None:
    """Test the model with these parameters on rows with both verdicts; None without such rows."""
    complete = readable(rows.better_first) & readable(rows.better_second)
    kept = _sorted(rows.take(np.flatnonzero(complete)))
    if not len(kept):
        return None
    deltas, step = np.unique(kept.delta, return_inverse=True)
    seen = _tables((kept.better_first * 3 + kept.better_second)[None], step, len(deltas))
    simulated = _simulated_tables(kept, step, theta, np.random.default_rng(seed), refits)
    tables = np.concatenate([seen, simulated])
    cells = _cells(deltas)
    # Rows of one pair are fitted as if they were pairs; simulated rows share their pair's effect as well.
    counts, starts = tables.reshape(len(tables), -1), np.tile(theta, (len(tables), 1))
    own = fit(cells, counts[:1], starts[:1], gain=1e-3)
    far = float(deviance(seen, cell_rates(own.theta, deltas), deltas)[0])
    # G² falls by twice what the log-likelihood gains, so that a refit below the data's own has told all.
    rates = cell_rates(theta[None], deltas)
    spare = (deviance(simulated, np.tile(rates, (refits, 1, 1, 1)), deltas) - far) / 2
    enough = counts[1:] @ np.log(rates.ravel()) + np.maximum(spare, 0.0) + 1e-6
    fits = fit(cells, counts[1:], starts[1:], gain=1e-3, enough=enough)
    others = deviance(simulated, cell_rates(fits.theta, deltas), deltas)
    return FitTest(far, 1 + int((others >= far - 1e-9).sum()), refits)


def deviance(tables: Floats, rates: Floats, deltas: Floats) -> Floats:
    """G² = 2 Σ n log(n / expected) of tables (sets × deltas × 9) under rates (sets × deltas × 3 × 3)."""
    seen, expected = tables.copy(), rates.reshape(tables.shape).copy()
    for table in (seen, expected):
        square = table.reshape(*table.shape[:2], 3, 3)
        equal = deltas == 0
        folded = square[:, equal] + square[:, equal].swapaxes(-1, -2)
        square[:, equal] = np.triu(folded) * (1 - np.eye(3) / 2)
    expected = expected * seen.sum(axis=-1, keepdims=True)
    ratio = np.where(seen > 0, seen / np.maximum(expected, 1e-100), 1.0)
    return np.asarray(2 * (seen * np.log(ratio)).sum(axis=(1, 2)))


def _sorted(rows: Rows) -> Rows:
    """Pairs by step and size, so that the simulation does not depend on how pairs are named."""
    _, pair, size = np.unique(rows.pair, return_inverse=True, return_counts=True)
    return rows.take(np.lexsort((pair, size[pair], rows.delta)))


def _simulated_tables(
    rows: Rows, step: Ints, theta: Floats, chance: np.random.Generator, sets: int
) -> Floats:
    """Tables (sets × deltas × 9) drawn from the model: at once for pairs of one row, by row for others."""
    deltas = np.unique(rows.delta)
    _, pair, size = np.unique(rows.pair, return_inverse=True, return_counts=True)
    alone = size[pair] == 1
    numbers = np.bincount(step[alone], minlength=len(deltas))
    rates = cell_rates(theta[None], deltas)[0].reshape(len(deltas), _CELLS)
    drawn = [chance.multinomial(n, rate / rate.sum(), sets) for n, rate in zip(numbers, rates, strict=True)]
    tables = np.stack(drawn, axis=1).astype(np.float64)
    repeated = np.flatnonzero(~alone)
    if len(repeated):
        answers = _simulate(rows.take(repeated), theta, chance, sets)
        tables += _tables(answers, step[repeated], len(deltas))
    return tables


def _simulate(rows: Rows, theta: Floats, chance: np.random.Generator, sets: int) -> Cells:
    """Cells (sets × rows) drawn from the model; rows of a pair share its surface effect."""
    pair = np.cumsum(np.diff(rows.pair, prepend=rows.pair[0]) != 0)
    # Repeats of a pair have the same push, so that it is worked out once for all of them.
    other = (np.diff(pair, prepend=0) != 0) | (np.diff(rows.delta, prepend=rows.delta[0]) != 0)
    unit = np.cumsum(other)
    first, size = np.unique(unit, return_index=True, return_counts=True)[1:]
    push = theta[0] * rows.delta[first] + chance.normal(0.0, theta[3], (sets, pair[-1] + 1))[:, pair[first]]
    answers = np.zeros((sets, len(rows)), dtype=np.int8)
    for order in (1.0, -1.0):
        edges = np.cumsum(answer_rates(theta, order * push), axis=-1)[..., :2]
        answers *= 3
        for one, drawn in enumerate(answers):  # a set at a time: all of them at once take gigabytes
            place = chance.random(len(rows))
            lower, upper = edges[one].T.repeat(size, axis=1)
            drawn += place > lower
            drawn += place > upper
    return answers


def _tables(answers: Cells | Ints, step: Ints, steps: int) -> Floats:
    """Counts (sets × deltas × 9)."""
    place = _CELLS * step
    counts = [np.bincount(drawn + place, minlength=steps * _CELLS) for drawn in answers]
    return np.stack(counts).reshape(len(answers), steps, _CELLS).astype(np.float64)


def _cells(deltas: Floats) -> Patterns:
    answers = np.array([[*np.eye(3)[a], *np.eye(3)[b]] for a, b in product(range(3), repeat=2)])
    step = np.repeat(np.arange(len(deltas)), _CELLS)
    return Patterns(deltas, step, np.tile(answers, (len(deltas), 1)), np.zeros((1, len(step))))


REFUSED = 0.01
"""A fit with such a p, or a smaller one, is not read."""
FITTED_FROM = 60
"""Pairs with both verdicts from which the five parameters are fitted."""


@dataclass(frozen=True, eq=False)
class InstrumentFit:
    rows: Rows
    clusters: tuple[str, ...]
    """Names of the clusters, in the order of the patterns."""
    patterns: Patterns
    best: Fits
    reach: tuple[ProfileLimits, ...]
    """Profile limits, in the order of the parameters; empty where the fit is refused."""
    test: FitTest | None
    alike: bool
    """Replicates never differed and were counted once."""
    spread: ClusterSpread | None = None
    """How clusters move the parameters; None where clusters are too few or the peak is flat."""

    @property
    def refused(self) -> bool:
        return self.test is not None and self.test.probability <= REFUSED

    def allowance(self, slopes: Floats) -> float:
        """Root of twice the loss at a 95 % limit of a figure with these slopes by parameter."""
        return allowance(len(self.clusters), 1.0 if self.spread is None else self.spread.inflation(slopes))

    @property
    def theta(self) -> Floats:
        """The parameters, zero where the fit stands at the lower end of a parameter that starts there."""
        at_zero = (np.array(LOWEST) >= 0) & (self.best.theta[0] <= LOWEST + 1e-4)
        return np.where(at_zero, 0.0, self.best.theta[0])


def fit_instrument(pairs: Pairs, seed: int, refits: int = REFITS) -> InstrumentFit | None:
    """Fit same-subset and ladder pairs together; None where there are too few of either."""
    rows, alike = collapse_identical(rows_of(pairs))
    complete = readable(rows.better_first) & readable(rows.better_second)
    equal = rows.delta[complete] == 0
    if len(distinct(rows.pair[complete])) < FITTED_FROM or equal.all() or not equal.any():
        return None
    patterns = patterns_of(rows)
    best = best_fit(patterns, starts_of(rows, patterns))
    test = fit_test(rows, best.theta[0], seed, refits) if refits > 0 else None
    clusters = tuple(pairs.clusters[number] for number in distinct(rows.cluster))
    spread = cluster_spread(patterns, best.theta[0])
    fit = InstrumentFit(rows, clusters, patterns, best, (), test, alike, spread)
    if fit.refused:
        return fit
    allowed = [fit.allowance(slopes) for slopes in np.eye(len(NAMES))]
    return replace(fit, reach=tuple(reaches(patterns, best, allowed=allowed)))


def sandwich(fit: InstrumentFit) -> Floats:
    return np.full(len(NAMES), np.nan) if fit.spread is None else spread_of(fit.spread.effects)
