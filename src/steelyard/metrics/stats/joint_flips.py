"""Many figures of two judges under the same sign flips: do the judges differ at all, and in which figures?

If two judges are alike, the sign of a cluster's differences is a coin toss, one toss for all figures of the
cluster. Each figure's total is measured against the size that tosses give it, z = |Σ d| / √(Σ d²). Figures
that share calls move together under the flips, as they do in the data, so nothing is lost by asking many of
them, and few clusters, whose smallest p is not small, do not silence the whole family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.normal_law import normal_quantile
from steelyard.metrics.stats.power import ALPHA

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
class JointFlips:
    """Sizes of every figure under every flip; the first row is what was observed."""

    sizes: Floats
    """Flips × figures."""

    @classmethod
    def of(cls, figures: Sequence[Sums]) -> JointFlips:
        """From the sums of each figure; units of the same name are flipped together."""
        units = sorted({unit for sums in figures for unit, total in sums.items() if total})
        table = np.array([[sums.get(unit, 0) for sums in figures] for unit in units], dtype=np.float64)
        table = table.reshape(len(units), len(figures))
        scale = np.sqrt((table * table).sum(axis=0))
        totals = _totals(table)
        return cls(np.round(np.abs(totals) / np.where(scale > 0, scale, 1.0), _DIGITS))

    def alone(self, figure: int) -> float:
        """p of one figure, as if nothing else were asked."""
        return float(np.mean(self.sizes[:, figure] >= self.sizes[0, figure]))

    def demands(self, power: float) -> list[float]:
        """How much larger a difference must be for the corrected p than for the p of its own test.

        Both have to exceed what flips alone reach in one of twenty cases, and by as much as `power` takes.
        """
        reserve = normal_quantile(power)
        own = np.array([_critical(sizes) for sizes in self.sizes.T])
        largest = _critical(self.sizes.max(axis=1))
        factors = np.divide(largest + reserve, own + reserve, out=np.ones(len(own)), where=own > 0)
        return [max(1.0, float(factor)) for factor in factors]

    def together(self) -> float:
        """p of "no figure differs", from two statistics at once: many small shifts, or one large.

        The first is the sum of squares over all figures, the second the largest size; the smaller of their p
        is compared with the smaller p under every flip.
        """
        many = _tail((self.sizes**2).sum(axis=1))
        one = _tail(self.sizes.max(axis=1))
        least = np.minimum(many, one)
        return float(np.mean(least <= least[0]))

    def corrected(self) -> list[float]:
        """p of each figure, so that one false alarm among them is as rare as in a single test.

        Step-down: a figure is held against the largest size, under each flip, of itself and of all figures
        that are smaller in the data.
        """
        sizes = self.sizes
        order = np.argsort(-sizes[0], kind="stable")
        largest = np.maximum.accumulate(sizes[:, order[::-1]], axis=1)[:, ::-1]
        steps = np.mean(largest >= sizes[0, order], axis=0)
        chances = np.empty(len(order))
        chances[order] = np.maximum.accumulate(steps)
        return [float(p) for p in chances]


def _totals(table: Floats) -> Floats:
    """Totals of each figure as observed, and under flips of the units."""
    units = len(table)
    if units <= EXACT:
        return np.asarray(_every_sign(units) @ table)
    chance = np.random.default_rng(0)
    totals = np.tile(table.sum(axis=0), (DRAWS + 1, 1))
    for start in range(0, units, _BLOCK):
        block = table[start : start + _BLOCK]
        flipped = chance.integers(0, 2, (DRAWS, len(block)), dtype=np.int8)
        totals[1:] -= 2.0 * (flipped.astype(np.float32) @ block.astype(np.float32))
    return totals


def _every_sign(units: int) -> Ints:
    """All signs of the units with the first held at +, since turning all of them changes no size."""
    ways = np.arange(2 ** max(0, units - 1))
    return 1 - 2 * ((ways[:, None] >> np.arange(units)) & 1).astype(np.int64)


def _critical(sizes: Floats) -> float:
    """The least size that flips alone reach in at most one of twenty cases; the largest where none is."""
    rare = sizes[_tail(sizes) <= ALPHA]
    return float(rare.min() if len(rare) else sizes.max(initial=0.0))


def _tail(values: Floats) -> Floats:
    """For each value the share that is at least as large."""
    rounded = np.round(values, _DIGITS - 1)
    return np.asarray(1 - np.searchsorted(np.sort(rounded), rounded, side="left") / len(rounded))
