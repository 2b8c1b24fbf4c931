"""The exchange rate between two judges, from anchors that both rated: the channel, or the offset of scores.

The channel is P(new gives level b | old gives level a). Shares r_a of the old levels translate to
r′ = Σ r_a·μ_a, μ_a the mean of the new judge where the old one gave a; of yes or no, r·a + (1 − r)·b. Limits
are the score intervals of μ_a joined by MOVER, widened by the items of the history that would have been
judged anew. Where only the old mean is known, r′ = r + mean(new − old), with t over tasks. Both hold for
items like the anchors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.frame import (
    CONFIDENCE,
    Figure,
    effective_size,
    limits_on_scale,
    mean_difference,
    step_of,
    two_sided_quantile,
)
from steelyard.metrics.stats.intervals import Span, score
from steelyard.tasks.scale import usual_ends

PERMUTATIONS = 2000


@dataclass(frozen=True, eq=False)
class Channel:
    """Anchors by level of the old judge and of the new one."""

    old: tuple[float, ...]
    """Levels that occur, in order; `new` likewise."""
    new: tuple[float, ...]
    counts: Ints
    """Old levels × new levels."""
    sizes: tuple[float, ...]
    """Independent anchors of each old level: fewer where anchors of one task say much the same."""
    ends: Span
    """Of the scale."""
    confidence: float = CONFIDENCE

    @classmethod
    def of(cls, old: Floats, new: Floats, clusters: Ints, confidence: float = CONFIDENCE) -> Channel:
        rows, columns = np.unique(old), np.unique(new)
        counts = np.array([[((old == a) & (new == b)).sum() for b in columns] for a in rows])
        sizes = tuple(effective_size(new[old == a], clusters[old == a]) for a in rows)
        low, high = float(min(rows[0], columns[0])), float(max(rows[-1], columns[-1]))
        ends = usual_ends(low, high)
        return cls(tuple(rows.tolist()), tuple(columns.tolist()), counts, sizes, ends, confidence)

    @property
    def quantile(self) -> float:
        return two_sided_quantile(self.confidence)

    def means(self) -> tuple[Floats, Floats]:
        """Mean and variance of the new judge's levels, at each level of the old one."""
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        means = shares @ np.array(self.new)
        return means, np.maximum(shares @ np.array(self.new) ** 2 - means**2, 0.0)

    def mean_limits(self) -> list[Span]:
        return [
            limits_on_scale(float(mean), float(spread) / size, size, self.ends, self.quantile)
            for mean, spread, size in zip(*self.means(), self.sizes, strict=True)
        ]

    def share_limits(self) -> list[list[Span]]:
        """Of each cell: P(new = b | old = a)."""
        totals = self.counts.sum(axis=1)
        return [
            [score(count / total, size, self.quantile) for count in row]
            for row, total, size in zip(self.counts.tolist(), totals.tolist(), self.sizes, strict=True)
        ]

    def translate(self, shares: Mapping[float, float], items: int) -> Figure:
        """Shares of the old levels over so many items, as the mean that the new judge would give."""
        r = np.array([shares.get(level, 0.0) for level in self.old])
        (means, spreads), ends = self.means(), np.array(self.mean_limits())
        value, z = float(r @ means), self.quantile
        chance = z * z * float(r @ spreads) / items
        low = sqrt(float(((r * (means - ends[:, 0])) ** 2).sum()) + chance)
        high = sqrt(float(((r * (ends[:, 1] - means)) ** 2).sum()) + chance)
        figure = Figure(value, value - low, value + high, (low + high) / (2 * z), "channel")
        return figure.within(self.ends)


def offset(old: Floats, new: Floats, clusters: Ints, confidence: float = CONFIDENCE) -> Figure:
    """Mean of new less old, with t over tasks."""
    return mean_difference(new - old, clusters, step_of(old, new), "offset", confidence)


def strata_p(old: Floats, new: Floats, strata: Ints, seed: int) -> float:
    """p that one exchange rate serves all strata: strata are dealt out anew among anchors of one old level.

    The statistic sums, over old levels and strata, the squared distance of a stratum's mean from the level's.
    """
    levels = [np.flatnonzero(old == level) for level in np.unique(old)]
    rng = np.random.default_rng(seed)

    def statistic(dealt: Ints) -> float:
        total = 0.0
        for rows in levels:
            values = new[rows] - new[rows].mean()
            counts = np.bincount(dealt[rows])
            sums = np.bincount(dealt[rows], weights=values)
            total += float((sums[counts > 0] ** 2 / counts[counts > 0]).sum()) / max(
                float(values.var()), 1e-12
            )
        return total

    seen = statistic(strata)
    beyond = 0
    for _ in range(PERMUTATIONS):
        dealt = strata.copy()
        for rows in levels:
            dealt[rows] = rng.permutation(dealt[rows])
        beyond += statistic(dealt) >= seen - 1e-9
    return (beyond + 1) / (PERMUTATIONS + 1)
