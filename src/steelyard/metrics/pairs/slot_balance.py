"""Slot balance: slot-1 commits less slot-2 commits of independent units, and what they can tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

import numpy as np

from steelyard.metrics.findings import MARGIN
from steelyard.metrics.pairs.answer import Answer, decided, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import by_task, count_answers, count_calls, tally
from steelyard.metrics.pairs.slot_test import ENOUGH_TASKS, by_pair, slot_balance
from steelyard.metrics.stats.arrays import Ints
from steelyard.metrics.stats.cluster_mean import ClusterMean, reach_of_test
from steelyard.metrics.stats.clusters import effective_size, wilson_cluster
from steelyard.metrics.stats.intervals import DIFFERENCE, Limits, clipped, normal_quantile, score, t_quantile
from steelyard.metrics.stats.power import ALPHA, first_number
from steelyard.metrics.stats.tally import Tally


@dataclass(frozen=True, eq=False)
class SlotBalance:
    """Slot-1 commits less slot-2 commits, and calls, of each independent unit."""

    balance: Ints
    """One entry per task; per pair when there is one task."""
    calls: Ints
    """Calls of the unit."""
    complete: Pairs
    """The rows behind them."""

    @cached_property
    def means(self) -> ClusterMean:
        """The balance per call."""
        return ClusterMean(self.balance, self.calls)

    def limits(self, probability: float, units: int | None = None) -> Limits:
        """Two-sided limits at this one-sided probability, by t; without spread, from the slots' shares."""
        spread = self.means.limits(probability, DIFFERENCE, units=units)
        if spread:
            return spread
        count = units or len(self.calls)
        (low_1, high_1), (low_2, high_2) = (
            self._share_limits(slot, probability, count) for slot in (Answer.FIRST, Answer.SECOND)
        )
        return clipped((low_1 - high_2, high_1 - low_2), DIFFERENCE)

    def _share_limits(self, slot: Answer, probability: float, units: int) -> Limits:
        counts = self._tally(count_answers(self.complete, slot))
        one_task = counts.n_clusters < 2
        quantile = normal_quantile(probability) if one_task else t_quantile(probability, units - 1)
        return score(counts.k / counts.n, effective_size(counts) * units / len(self.calls), quantile)

    def _tally(self, events: Ints) -> Tally:
        return tally(self.complete, events, count_calls(self.complete, readable))

    @property
    def detectable(self) -> float | None:
        """Smallest preference these data show with 80 % power; None for a single unit.

        Without spread between units, the variance is that of as many commits as the data allow.
        """
        if len(self.calls) < 2:
            return None
        if not self.means.even:
            return self.means.detectable
        commits = self._tally(count_calls(self.complete, decided))
        most = wilson_cluster(commits)[1]
        return reach_of_test(len(self.calls)) * sqrt(most / effective_size(commits))

    @property
    def calls_needed(self) -> int | None:
        """Calls of more units like these after which the present balance is beyond doubt, or within."""
        count = first_number(self._decided, max(2, len(self.calls)))
        return None if count is None else ceil(count / len(self.calls) * int(self.calls.sum()))

    def _decided(self, units: int) -> bool:
        low, high = self._planned(1 - ALPHA, units)
        if low > -MARGIN and high < MARGIN:
            return True
        low, high = self._planned(1 - ALPHA / 2, units)
        return units >= ENOUGH_TASKS and (low > 0 or high < 0)

    def _planned(self, probability: float, units: int) -> Limits:
        """Limits in four runs of five; without spread there is none to fall short by."""
        even = self.means.even
        return self.limits(probability, units) if even else self.means.planned(probability, units)


def slot_units(complete: Pairs) -> SlotBalance:
    """The balance per task, or per pair when there is one task."""
    sum_up = by_task if tasks(complete) > 1 else by_pair
    calls = sum_up(complete, count_calls(complete, readable))
    return SlotBalance(sum_up(complete, slot_balance(complete))[calls > 0], calls[calls > 0], complete)


def tasks(pairs: Pairs) -> int:
    """Tasks with a row."""
    return len(np.unique(pairs.cluster))
