"""Multiplicity adjustment: multiple testing with the family-wise error, or the false discovery rate, at 5 %.

A family is the set of tests that were declared together before the data. Each test holds its own error of
.05; a judge without any fault would be flagged by one of three tests in a sheet of eight. Four adjustments
keep that to one sheet in twenty:

- Holm's step-down method needs nothing but the p of each test; `adjust_for_multiplicity` applies it.
- Bonferroni multiplies one p by the number of tests, or divides the error of an interval by it; it serves a
  test whose family is known by its size alone, because the others are made elsewhere.
- A permutation of one table tests the most extreme of several groups against the most extreme of each deal.
- `JointSignFlip` compares many figures of two judges under the same sign flips (a step-down maximum, after
  Westfall and Young). Figures that share calls move together under the flips, as they do in the data, so
  nothing is lost by asking many of them.

`estimate` and `people` list one row per stratum or person. There the false discovery rate is held instead:
by Benjamini and Hochberg for strata, by Benjamini and Yekutieli where the tests depend on one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.text import join_notes
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, WITHIN_MARGIN, with_tested_interval
from steelyard.metrics.metric import Metric
from steelyard.metrics.stats.distributions import normal_quantile
from steelyard.metrics.stats.intervals import ALPHA, Span

HOLM, BONFERRONI, PERMUTATION = "Holm", "Bonferroni", "permutation"


def bonferroni_alpha(family_size: int) -> float:
    """The error of each of so many intervals or tests, both sides together."""
    return ALPHA / family_size


@dataclass(frozen=True)
class AdjustedTest:
    """The p of one test, alone and adjusted for the family that it was declared with."""

    unadjusted_p: float
    adjusted_p: float
    family_size: int = 1
    method: str = HOLM
    alpha: float = ALPHA
    """The error of its own test that keeps the family's at 5 %, both sides together."""

    @classmethod
    def single(cls, p: float) -> AdjustedTest:
        return cls(p, p)

    @classmethod
    def bonferroni(cls, p: float, family_size: int) -> AdjustedTest:
        return cls(p, min(1.0, p * family_size), family_size, BONFERRONI, bonferroni_alpha(family_size))

    @property
    def is_significant(self) -> bool:
        return self.adjusted_p <= ALPHA

    def format(self, members: str = "tests") -> str:
        """`p = 0.03, 0.09 after Holm over 3 tests`."""
        if self.family_size < 2:
            return f"p = {self.unadjusted_p:.2g}"
        after = f"{self.adjusted_p:.2g} after {self.method} over {self.family_size} {members}"
        return f"p = {self.unadjusted_p:.2g}, {after}"


def adjust_for_multiplicity(p_values: Mapping[str, float]) -> dict[str, AdjustedTest]:
    """The tests of one family by name, adjusted by Holm's method.

    After j tests that are significant the next has an error of α/(m − j); from the first that is not
    significant on, all have the same.
    """
    count, adjusted = len(p_values), dict(zip(p_values, holm(list(p_values.values())), strict=True))
    significant = sum(p <= ALPHA for p in adjusted.values())
    ranked = sorted(p_values, key=p_values.__getitem__)
    alpha = {name: ALPHA / (count - min(rank, significant)) for rank, name in enumerate(ranked)}
    return {name: AdjustedTest(p, adjusted[name], count, HOLM, alpha[name]) for name, p in p_values.items()}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p of each test.

    With m tests sorted upward, the p at rank i becomes the largest p·(m + 1 − rank) up to i, at most 1.
    """
    count = len(p_values)
    adjusted, largest = [1.0] * count, 0.0
    for rank, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        largest = max(largest, p_values[index] * (count - rank))
        adjusted[index] = min(1.0, largest)
    return adjusted


def benjamini_hochberg(values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values; what has none keeps none."""
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    least = 1.0
    for rank in range(len(known), 0, -1):
        p, place = known[rank - 1]
        least = min(least, p * len(known) / rank)
        adjusted[place] = least
    return adjusted


def benjamini_yekutieli(values: list[float]) -> list[bool]:
    """Which hypotheses are rejected at a false discovery rate of .05, however they depend."""
    count = len(values)
    harmonic = sum(1 / rank for rank in range(1, count + 1))
    ranked = sorted(values)
    within = [p for rank, p in enumerate(ranked, start=1) if p <= ALPHA * rank / (count * harmonic)]
    limit = max(within, default=-1.0)
    return [p <= limit for p in values]


def adjust_estimates(
    estimates: Sequence[Estimate],
    members: str,
    metric: Metric | None = None,
    allowed: Span = WITHIN_MARGIN,
    null: float | None = 0.0,
) -> list[Estimate]:
    """One judge's figures with their tests as one family: flagged only where Holm's method lets them be.

    With `metric` the tests of that metric alone are the family; other figures pass unchanged. `allowed` and
    `null` are those of `span_state`.
    """
    adjusted = list(estimates)
    p_values = {
        str(n): e.p
        for n, e in enumerate(estimates)
        if e.p is not None and (metric is None or e.metric == metric.id)
    }
    for number, test in adjust_for_multiplicity(p_values).items():
        estimate = adjusted[int(number)]
        withheld = estimate.status == FLAGGED and not test.is_significant
        if estimate.status is not None:
            word = INCONCLUSIVE if withheld else estimate.status
            estimate = with_tested_interval(estimate, word, test.alpha, allowed, null)
        adjusted[int(number)] = replace(
            estimate, p_corrected=test.adjusted_p, note=join_notes([estimate.note, test.format(members)])
        )
    return adjusted


Sums = Mapping[str, float]
"""Unit whose sign is flipped to its summed difference."""
EXACT = 12
"""Up to so many units every way to flip them is tried."""
DRAWS = 4095
"""Flips drawn where there are more units; the data as they are make one more."""
_BLOCK = 2048
_DIGITS = 9
"""Sizes that agree to so many digits are equal: sums taken in another order must not break a tie."""


@dataclass(frozen=True, eq=False)
class JointSignFlip:
    """The p-values of `compare`: do two judges differ, and in which figures, under the same sign flips?

    If two judges are alike, the sign of a cluster's differences is a coin toss, one toss for all figures of
    the cluster. Each figure's total is measured against the size that tosses give it, z = |Σ d| / √(Σ d²).
    Few clusters, whose smallest p is not small, do not silence the whole family.
    """

    sizes: Floats
    """Flips × figures; the first row is what was observed."""

    @classmethod
    def of(cls, figures: Sequence[Sums]) -> JointSignFlip:
        """From the sums of each figure; units of the same name are flipped together."""
        units = sorted({unit for sums in figures for unit, total in sums.items() if total})
        table = np.array([[sums.get(unit, 0) for sums in figures] for unit in units], dtype=np.float64)
        table = table.reshape(len(units), len(figures))
        scale = np.sqrt((table * table).sum(axis=0))
        totals = _totals(table)
        return cls(np.round(np.abs(totals) / np.where(scale > 0, scale, 1.0), _DIGITS))

    def unadjusted_p(self, figure: int) -> float:
        """p of one figure, as if nothing else were asked."""
        return float(np.mean(self.sizes[:, figure] >= self.sizes[0, figure]))

    @cached_property
    def joint_critical(self) -> float:
        """The size that flips alone give to any figure in at most one of twenty cases."""
        return _critical(self.sizes.max(axis=1))

    def detectable_factors(self, power: float) -> list[float]:
        """How much larger a difference must be for the adjusted p than for the p of its own test.

        Both have to exceed what flips alone reach in one of twenty cases, and by as much as `power` takes.
        """
        reserve, largest = normal_quantile(power), self.joint_critical
        own = np.array([_critical(sizes) for sizes in self.sizes.T])
        factors = np.divide(largest + reserve, own + reserve, out=np.ones(len(own)), where=own > 0)
        return [max(1.0, float(factor)) for factor in factors]

    def global_p(self) -> float:
        """p of "no figure differs", from two statistics at once: many small shifts, or one large.

        The first is the sum of squares over all figures, the second the largest size; the smaller of their p
        is compared with the smaller p under every flip.
        """
        many = _tail((self.sizes**2).sum(axis=1))
        one = _tail(self.sizes.max(axis=1))
        least = np.minimum(many, one)
        return float(np.mean(least <= least[0]))

    def adjusted_p_values(self) -> list[float]:
        """p of each figure, so that one false alarm among them is as rare as in a single test.

        Step-down: a figure is compared with the largest size, under each flip, of itself and of all figures
        that are smaller in the data.
        """
        sizes = self.sizes
        order = np.argsort(-sizes[0], kind="stable")
        largest = np.maximum.accumulate(sizes[:, order[::-1]], axis=1)[:, ::-1]
        steps = np.mean(largest >= sizes[0, order], axis=0)
        adjusted = np.empty(len(order))
        adjusted[order] = np.maximum.accumulate(steps)
        return [float(p) for p in adjusted]


def _totals(table: Floats) -> Floats:
    units = len(table)
    if units <= EXACT:
        # All signs with the first at +, since turning all of them changes no size.
        ways = np.arange(2 ** max(0, units - 1))
        return np.asarray((1 - 2 * ((ways[:, None] >> np.arange(units)) & 1)).astype(np.int64) @ table)
    chance = np.random.default_rng(0)
    totals = np.tile(table.sum(axis=0), (DRAWS + 1, 1))
    for start in range(0, units, _BLOCK):
        block = table[start : start + _BLOCK]
        flipped = chance.integers(0, 2, (DRAWS, len(block)), dtype=np.int8)
        totals[1:] -= 2.0 * (flipped.astype(np.float32) @ block.astype(np.float32))
    return totals


def _critical(sizes: Floats) -> float:
    """The least size that flips alone reach in at most one of twenty cases; the largest where none is."""
    rare = sizes[_tail(sizes) <= ALPHA]
    return float(rare.min() if len(rare) else sizes.max(initial=0.0))


def _tail(values: Floats) -> Floats:
    rounded = np.round(values, _DIGITS - 1)
    return np.asarray(1 - np.searchsorted(np.sort(rounded), rounded, side="left") / len(rounded))
