"""Events and trials per cluster: the integers from which every proportion is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from steelyard.core.arrays import Ints
from steelyard.metrics.stats.cluster_mean import ClusterMean


@dataclass(frozen=True, eq=False)
class Tally:
    """Integer counts of one proportion, one entry per cluster that has trials."""

    events: Ints
    """Events in each cluster."""
    trials: Ints
    """Trials in each cluster; all positive."""
    n_calls: int
    """Calls behind the trials."""
    n_units: int
    """Distinct pairs behind the trials; replicates of a pair count once."""
    unreadable: int = 0
    """Calls left out because the reply held no answer."""
    failed: int = 0
    """Calls left out because there was no reply."""
    abstained: int = 0
    """Calls among the trials that abstained."""
    copies: int = 1
    """Trials that are one by construction: they count, and make nothing surer."""

    @property
    def k(self) -> int:
        """Events in all."""
        return int(self.events.sum())

    @property
    def n(self) -> int:
        """Trials in all."""
        return int(self.trials.sum())

    @cached_property
    def share(self) -> ClusterMean:
        """Events per trial, with clusters as the independent units."""
        return ClusterMean(self.events // self.copies, self.trials // self.copies)

    @property
    def n_clusters(self) -> int:
        """Clusters with trials."""
        return len(self.trials)

    @property
    def missing(self) -> int:
        """Calls without a verdict."""
        return self.unreadable + self.failed
