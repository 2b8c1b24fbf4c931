"""The exchange rate between two judges, from anchors that both rated: the channel, or the offset of scores.

Yes or no: r′ = r·a + (1 − r)·b with a = P(new passes | old passes) and b = P(new passes | old fails). Limits
are Wilson's of a and b joined by MOVER, widened by the items of the history that would have been judged anew.
Scores: r′ = r + mean(new − old), with t over tasks. Both hold for items like the anchors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.frame import Figure, t_figure
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.intervals import Span, Z, score

PERMUTATIONS = 2000


@dataclass(frozen=True)
class AnchorCounts:
    """Counts of anchors: passes of the new judge among those that the old one passed, and failed."""

    kept: tuple[int, int]
    """Passes of the new judge, and anchors, where the old one passed."""
    turned: tuple[int, int]
    """The same where the old one failed."""

    @classmethod
    def of(cls, old: Floats, new: Floats) -> AnchorCounts:
        passed, failed = new[old == 1], new[old == 0]
        return cls((int(passed.sum()), len(passed)), (int(failed.sum()), len(failed)))

    @property
    def is_complete(self) -> bool:
        return bool(self.kept[1] and self.turned[1])

    def limits(self) -> tuple[Span, Span]:
        return tuple(score(k / n, n, Z) for k, n in (self.kept, self.turned))  # type: ignore[return-value]

    def translate(self, rate: float, items: int) -> Figure:
        """An old pass rate over so many items as the new judge would give it."""
        (a, b), (of_a, of_b) = (k / n for k, n in (self.kept, self.turned)), self.limits()
        value = rate * a + (1 - rate) * b
        chance = Z * Z * (rate * a * (1 - a) + (1 - rate) * b * (1 - b)) / items
        low = sqrt((rate * (a - of_a[0])) ** 2 + ((1 - rate) * (b - of_b[0])) ** 2 + chance)
        high = sqrt((rate * (of_a[1] - a)) ** 2 + ((1 - rate) * (of_b[1] - b)) ** 2 + chance)
        figure = Figure(value, value - low, value + high, (low + high) / (2 * Z), "channel")
        return figure.within((0.0, 1.0))


def offset(old: Floats, new: Floats, clusters: Ints) -> Figure:
    """Mean of new less old, with t over tasks."""
    _, place = np.unique(clusters, return_inverse=True)
    mean = ClusterMean.of(place.astype(np.int64), new - old)
    return t_figure(mean.mean, mean.variance, mean.units - 1, "offset")


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
