"""Does the instrument model fit? G² of the 3×3 tables, with p from refits to data drawn from the model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.instrument.fit import fit
from steelyard.metrics.instrument.likelihood import answer_rates, cell_rates
from steelyard.metrics.instrument.patterns import Patterns, Rows
from steelyard.metrics.pairs.answer import readable

REFITS = 199
"""Simulated data sets; the smallest p is one in so many and one."""
_CELLS = 9

Cells = NDArray[np.int8]
"""A cell of a table for each row of each data set: small numbers, of which there are many."""


@dataclass(frozen=True)
class FitTest:
    """How far the tables are from the model, and how often chance alone brings them so far."""

    deviance: float
    """G², over all tables; the table of equals is folded, since its labels are arbitrary."""
    as_far: int
    """Data sets at least as far off, the data themselves counted in."""
    refits: int
    """Simulated data sets."""

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
    starts = np.tile(theta, (len(tables), 1))
    fits = fit(cells, tables.reshape(len(tables), -1), starts, gain=1e-3)
    far = deviance(tables, cell_rates(fits.theta, deltas), deltas)
    return FitTest(float(far[0]), int((far >= far[0] - 1e-9).sum()), refits)


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
    """Every cell of every table as a pattern."""
    answers = np.array([[*np.eye(3)[a], *np.eye(3)[b]] for a, b in product(range(3), repeat=2)])
    step = np.repeat(np.arange(len(deltas)), _CELLS)
    return Patterns(deltas, step, np.tile(answers, (len(deltas), 1)), np.zeros((1, len(step))))
