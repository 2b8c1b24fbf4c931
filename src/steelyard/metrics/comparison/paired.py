"""Units that two judges both answered: their difference, its interval, and what it could have shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, distinct
from steelyard.metrics.comparison.rows import UnitEvent
from steelyard.metrics.metric import Amount
from steelyard.metrics.multiplicity import JointSignFlip, Sums
from steelyard.metrics.stats import intervals
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.metrics.stats.distributions import cluster_quantile
from steelyard.metrics.stats.intervals import ALPHA, CLUSTERS, PAIRS, Span
from steelyard.metrics.stats.sample_size import POWER

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Paired:
    first: Ints | Floats
    """1 where the first judge showed the event, else 0; or what its unit adds to a mean."""
    second: Ints | Floats
    cluster: Ints
    pair: Ints
    weight: Floats | None = None
    """What each unit counts, where the figure is a mean of amounts; None for a share of events."""
    reach: float = 1.0
    exchanged: Floats | None = None
    """Differences whose signs are flipped, where what a unit adds depends on the others; they are computed
    from both judges together, so that which judge is which changes nothing else."""

    @classmethod
    def of(cls, rows: Sequence[tuple[float, float, str, str]]) -> Paired:
        """From (first, second, cluster, pair) of each unit: events, or amounts."""
        values = np.array([row[:2] for row in rows]).reshape(-1, 2)
        if values.dtype == np.bool_:
            values = values.astype(np.int64)
        return cls(values[:, 0], values[:, 1], _numbers([r[2] for r in rows]), _numbers([r[3] for r in rows]))

    def among(
        self, parts: Callable[[Floats, Ints], Floats], sides: Sequence[tuple[int, int]]
    ) -> Paired | None:
        """What units add among the others of their judge, and of both judges; None where nothing is told."""
        side = np.array(sides, dtype=np.int64)
        values = np.stack([self.first, self.second], axis=1).astype(np.float64)
        first, second = (parts(values[:, judge], side[:, judge]) for judge in (0, 1))
        if np.isnan(first).any() or np.isnan(second).any():
            return None
        both = parts(values.T.ravel(), side.T.ravel())
        exchanged = both[self.size :] - both[: self.size]
        return replace(self, first=first, second=second, weight=np.ones(self.size), exchanged=exchanged)

    @property
    def size(self) -> int:
        return len(self.first)

    @property
    def of_events(self) -> bool:
        return self.weight is None

    def mean(self, values: Ints | Floats) -> float:
        return float((values if self.weight is None else values * self.weight).sum()) / self.size

    @cached_property
    def change(self) -> Ints | Floats:
        change = self.second - self.first
        return change if self.weight is None else change * self.weight

    @property
    def flippable(self) -> Ints | Floats:
        return self.change if self.exchanged is None else self.exchanged

    @cached_property
    def gained(self) -> int:
        return int(np.count_nonzero(self.change > 0))

    @cached_property
    def lost(self) -> int:
        return int(np.count_nonzero(self.change < 0))

    @property
    def difference(self) -> float:
        return float(self.change.sum()) / self.size

    @cached_property
    def n_clusters(self) -> int:
        return len(distinct(self.cluster))

    @cached_property
    def independent(self) -> Ints:
        """What is taken as independent: clusters, or pairs where there is one cluster."""
        return self.cluster if self.n_clusters > 1 else self.pair

    @cached_property
    def _means(self) -> ClusterMean:
        return ClusterMean.of(self.independent, self.change)

    @cached_property
    def effective_size(self) -> float:
        """Independent units that would carry as much information.

        Where every cluster shows the same difference, the correlation within clusters is assumed.
        """
        unclustered = float((self.change * self.change).mean()) - self.difference**2
        return self._means.effective_size(unclustered)

    def limits(self, probability: float = 0.975) -> Span:
        """Of events Tango's interval on the effective size, with Student's t on clusters less one; of amounts
        Student's t over clusters.

        Where every cluster shows the same mean change, as many other changes as the data allow might have
        been anything.
        """
        quantile = self._quantile(probability)
        if self.of_events:
            scale = self.effective_size / self.size
            return intervals.tango(self.gained * scale, self.lost * scale, self.effective_size, quantile)
        ends = (-self.reach, self.reach)
        other = intervals.score(0.0, self._means.assumed_size, quantile)[1] * self.reach
        mean = self.difference
        return self._means.limits(probability, ends) or intervals.clipped((mean - other, mean + other), ends)

    def flip(self) -> tuple[float, str]:
        """Sign-flip p of the difference, and whose sums were flipped: those of clusters or of pairs.

        Exact for sums of halves; other amounts are flipped at random where there are many.
        """
        by_clusters = self.n_clusters >= intervals.ENOUGH_CLUSTERS
        units = self.cluster if by_clusters else self.pair
        halves = 2 * np.bincount(units, weights=self.flippable)
        whole = np.rint(halves)
        if np.abs(halves - whole).max(initial=0.0) < _ROUNDING:
            p = intervals.sign_flip(whole.astype(np.int64))
        else:
            sums = dict(zip(map(str, range(len(halves))), halves.tolist(), strict=True))
            p = JointSignFlip.of([sums]).unadjusted_p(0)
        return p, CLUSTERS if by_clusters else PAIRS

    @property
    def detectable(self) -> float:
        """Smallest difference that a two-sided 5 % test shows in four runs of five.

        The spread of changes is taken as observed, and no smaller than a change in the units that make up the
        difference itself.
        """
        reach = self._quantile(1 - ALPHA / 2) + self._quantile(POWER)
        changed, size = float((self.change * self.change).mean()), float(np.abs(self.change).mean())
        each = changed / size if size and not self.of_events else self.reach
        least = reach * reach / self.effective_size * each
        return min(self.reach, max(least, reach * sqrt(changed / self.effective_size)))

    def _quantile(self, probability: float) -> float:
        return cluster_quantile(probability, self._means.units)


def _numbers(names: Sequence[str]) -> Ints:
    return np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1].astype(np.int64)


def change_sums(
    rows: Sequence[tuple[float, float, str, str]], changes: Sequence[float], flipped: str
) -> Sums:
    """The difference of each cluster, or of each pair where pairs are flipped; pairs sort first."""
    sums: dict[str, float] = {}
    for (_, _, cluster, pair), change in zip(rows, changes, strict=True):
        name = f"2 {cluster}" if flipped == CLUSTERS else f"1 {pair}"
        sums[name] = sums.get(name, 0) + change
    return sums


def change_bounds(shown: Sequence[tuple[UnitEvent, UnitEvent]], amount: Amount | None) -> Span:
    """The mean change if every missing verdict had gone one way, or the other."""
    ends = [[e.ends if e.happened is None else (e.happened, e.happened) for e in both] for both in shown]
    reach = np.array(ends, dtype=np.float64)
    changes = reach[:, 1] - reach[:, 0, ::-1]
    if amount is not None:
        changes *= weights_of(amount, [first for first, _ in shown])[:, None]
    low, high = changes.mean(axis=0).tolist()
    return low, high


def weights_of(amount: Amount, events: Iterable[UnitEvent]) -> Floats:
    return amount.weigh(np.array([event.side for event in events], dtype=np.int64))
