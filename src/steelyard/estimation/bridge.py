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
from steelyard.estimation.frame import CONFIDENCE, Figure, mean_difference, step_of, two_sided_quantile
from steelyard.estimation.rogan_gladen import effective_counts
from steelyard.metrics.stats.intervals import Span, score

PERMUTATIONS = 2000


@dataclass(frozen=True)
class AnchorCounts:
    """Counts of anchors: passes of the new judge among those that the old one passed, and failed."""

    kept: tuple[int, int]
    """Passes of the new judge, and anchors, where the old one passed."""
    turned: tuple[int, int]
    """The same where the old one failed."""
    sizes: tuple[float, float] | None = None
    """Independent anchors that both amount to, where anchors of one task say much the same."""
    confidence: float = CONFIDENCE

    @classmethod
    def of(cls, old: Floats, new: Floats, clusters: Ints, confidence: float = CONFIDENCE) -> AnchorCounts:
        parts = [(new[old == level], clusters[old == level]) for level in (1, 0)]
        kept, turned = ((int(events.sum()), len(events)) for events, _ in parts)
        if not kept[1] or not turned[1]:
            return cls(kept, turned, None, confidence)
        one, other = (effective_counts(events, tasks)[1] for events, tasks in parts)
        return cls(kept, turned, (one, other), confidence)

    @property
    def is_complete(self) -> bool:
        return bool(self.kept[1] and self.turned[1])

    def limits(self) -> tuple[Span, Span]:
        z = two_sided_quantile(self.confidence)
        one, other = self.sizes or (self.kept[1], self.turned[1])
        (a, b) = (k / n for k, n in (self.kept, self.turned))
        return score(a, one, z), score(b, other, z)

    def translate(self, rate: float, items: int) -> Figure:
        """An old pass rate over so many items as the new judge would give it."""
        z = two_sided_quantile(self.confidence)
        (a, b), (of_a, of_b) = (k / n for k, n in (self.kept, self.turned)), self.limits()
        value = rate * a + (1 - rate) * b
        chance = z * z * (rate * a * (1 - a) + (1 - rate) * b * (1 - b)) / items
        low = sqrt((rate * (a - of_a[0])) ** 2 + ((1 - rate) * (b - of_b[0])) ** 2 + chance)
        high = sqrt((rate * (of_a[1] - a)) ** 2 + ((1 - rate) * (of_b[1] - b)) ** 2 + chance)
        figure = Figure(value, value - low, value + high, (low + high) / (2 * z), "channel")
        return figure.within((0.0, 1.0))


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
