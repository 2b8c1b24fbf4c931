"""The judge as an instrument: one joint fit of resolution, position bias, tie threshold, surface, lapses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats, distinct
from steelyard.metrics.instrument.cluster_spread import ClusterSpread, allowance, cluster_spread, spread_of
from steelyard.metrics.instrument.fit import LOWEST, STARTS, Fits, best_fit, starts_of
from steelyard.metrics.instrument.goodness import REFITS, FitTest, fit_test
from steelyard.metrics.instrument.likelihood import NAMES
from steelyard.metrics.instrument.patterns import Patterns, Rows, patterns_of, rows_of
from steelyard.metrics.instrument.profile import Reach, reaches
from steelyard.metrics.pairs.answer import readable
from steelyard.metrics.pairs.columns import Pairs

REFUSED = 0.01
"""A fit with such a p, or a smaller one, is not read."""
FITTED_FROM = 60
"""Pairs with both verdicts from which the five parameters are fitted."""


@dataclass(frozen=True, eq=False)
class InstrumentFit:
    """The joint fit of one judge under one protocol."""

    rows: Rows
    """What was fitted."""
    clusters: tuple[str, ...]
    """Names of the clusters, in the order of the patterns."""
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
    spread: ClusterSpread | None = None
    """How clusters move the parameters; None where clusters are too few or the peak is flat."""

    @property
    def refused(self) -> bool:
        """The model does not describe these answers."""
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
    rows, alike = _once(rows_of(pairs))
    if not _enough(rows):
        return None
    patterns = patterns_of(rows)
    best = best_fit(patterns, starts_of(rows) if patterns.many else STARTS)
    test = fit_test(rows, best.theta[0], seed, refits) if refits > 0 else None
    clusters = tuple(pairs.clusters[number] for number in distinct(rows.cluster))
    spread = cluster_spread(patterns, best.theta[0])
    fit = InstrumentFit(rows, clusters, patterns, best, (), test, alike, spread)
    return fit if fit.refused else replace(fit, reach=tuple(_limits(fit)))


def _limits(fit: InstrumentFit) -> list[Reach]:
    """Profile limits of every parameter, read with the spread between clusters."""
    slopes = np.eye(len(NAMES))
    return reaches(fit.patterns, fit.best, allowed=[fit.allowance(slope) for slope in slopes])


def _enough(rows: Rows) -> bool:
    """Pairs shown in both orders, some of equal quality and some a known step apart."""
    complete = readable(rows.better_first) & readable(rows.better_second)
    equal = rows.delta[complete] == 0
    pairs = len(distinct(rows.pair[complete]))
    return pairs >= FITTED_FROM and bool(equal.any()) and not bool(equal.all())


def _once(rows: Rows) -> tuple[Rows, bool]:
    """One row per pair where replicates never differ: a judge without noise, whose repeats add nothing."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    same = (rows.better_first == rows.better_first[first][pair]) & (
        rows.better_second == rows.better_second[first][pair]
    )
    alike = len(first) < len(rows) and bool(same.all())
    return (rows.take(first), True) if alike else (rows, False)


def sandwich(fit: InstrumentFit) -> Floats:
    """Standard errors over clusters; NaN where there is none."""
    return np.full(len(NAMES), np.nan) if fit.spread is None else spread_of(fit.spread.effects)
