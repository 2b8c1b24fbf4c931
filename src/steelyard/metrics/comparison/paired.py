"""Units that two judges both answered: their difference, its interval, and what it could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from steelyard.arrays import Ints, distinct
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.intervals import Span, tango
from steelyard.metrics.stats.normal_law import normal_quantile
from steelyard.metrics.stats.power import ALPHA, POWER
from steelyard.metrics.stats.significance import CLUSTERS, ENOUGH_CLUSTERS, PAIRS, sign_flip
from steelyard.metrics.stats.student_law import t_quantile


@dataclass(frozen=True, eq=False)
class Paired:
    """Columns of equal length, one row per unit."""

    first: Ints
    """1 where the first judge showed the event, else 0."""
    second: Ints
    """The same for the second judge."""
    cluster: Ints
    """Number of the unit's cluster."""
    pair: Ints
    """Number of the pair or item behind the unit."""

    @classmethod
    def of(cls, rows: Sequence[tuple[bool, bool, str, str]]) -> Paired:
        """From (first event, second event, cluster, pair) of each unit."""
        events = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
        return cls(events[:, 0], events[:, 1], _numbers([r[2] for r in rows]), _numbers([r[3] for r in rows]))

    @property
    def size(self) -> int:
        """Units."""
        return len(self.first)

    @cached_property
    def change(self) -> Ints:
        """Second less first, unit by unit."""
        return self.second - self.first

    @cached_property
    def gained(self) -> int:
        """Units with the event under the second judge alone."""
        return int(np.count_nonzero(self.change > 0))

    @cached_property
    def lost(self) -> int:
        """Units with the event under the first judge alone."""
        return int(np.count_nonzero(self.change < 0))

    @property
    def difference(self) -> float:
        """Share of the second judge less that of the first."""
        return (self.gained - self.lost) / self.size

    @cached_property
    def n_clusters(self) -> int:
        """Distinct clusters."""
        return len(distinct(self.cluster))

    @property
    def pairs(self) -> int:
        """Distinct pairs or items."""
        return len(distinct(self.pair))

    @cached_property
    def independent(self) -> Ints:
        """What is taken as independent: clusters, or pairs where there is one cluster."""
        return self.cluster if self.n_clusters > 1 else self.pair

    @cached_property
    def effective_size(self) -> float:
        """Independent units that would carry as much information.

        Where every cluster shows the same difference, the correlation within clusters is assumed.
        """
        unclustered = (self.gained + self.lost) / self.size - self.difference**2
        return ClusterMean.of(self.independent, self.change).effective_size(unclustered)

    def limits(self, probability: float = 0.975) -> Span:
        """Tango's interval on the effective size, with Student's t on clusters less one."""
        scale = self.effective_size / self.size
        return tango(self.gained * scale, self.lost * scale, self.effective_size, self._quantile(probability))

    def flip(self) -> tuple[float, str]:
        """Exact sign-flip p of the difference, and whose sums were flipped: those of clusters or of pairs."""
        by_clusters = self.n_clusters >= ENOUGH_CLUSTERS
        units = self.cluster if by_clusters else self.pair
        sums = np.rint(np.bincount(units, weights=self.change)).astype(np.int64)
        return sign_flip(sums), CLUSTERS if by_clusters else PAIRS

    @property
    def detectable(self) -> float:
        """Smallest difference that a two-sided 5 % test shows in four runs of five.

        The share of discordant units is taken as observed, and no smaller than the difference itself.
        """
        reach = self._quantile(1 - ALPHA / 2) + self._quantile(POWER)
        discordant = (self.gained + self.lost) / self.size
        least = reach * reach / self.effective_size
        return min(1.0, max(least, reach * sqrt(discordant / self.effective_size)))

    @cached_property
    def _units(self) -> int:
        return len(distinct(self.independent))

    def _quantile(self, probability: float) -> float:
        degrees = self._units - 1
        return t_quantile(probability, degrees) if degrees else normal_quantile(probability)


def _numbers(names: Sequence[str]) -> Ints:
    return np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1].astype(np.int64)
