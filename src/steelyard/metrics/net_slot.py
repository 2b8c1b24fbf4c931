"""Net slot preference: by how much one slot is favoured between equals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.metrics.clusters import percentile_limits, ratio, resample, wilson_cluster
from steelyard.metrics.direction import decompose, undecomposed
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import ALPHA, MARGIN, POWER, Limit, difference_word, judge_limit
from steelyard.metrics.heading import Heading
from steelyard.metrics.intervals import Limits, t_quantile
from steelyard.metrics.pairs import FIRST, SECOND, Ints, Pairs
from steelyard.metrics.position import PositionTest, by_pair, position_test, slot_balance
from steelyard.metrics.proportion import ONE_TASK, join
from steelyard.metrics.tally import both_orders, by_task, decided, distinct_pairs, excluded, readable, tally

METRIC = "net_slot_preference"
_READING = "reading: "
DECLARED_PROTOCOL = "base"
"""The only arm whose position test may flag: one test, declared before the data."""


@dataclass(frozen=True, eq=False)
class SlotBalance:
    """Slot-1 commits less slot-2 commits, and calls, of each independent unit."""

    balance: Ints
    """One entry per task; per pair when there is one task."""
    calls: Ints
    """Calls of the unit."""
    complete: Pairs
    """The rows behind them."""

    @property
    def mean(self) -> float:
        """Balance per call."""
        return int(self.balance.sum()) / int(self.calls.sum())

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where units do not differ."""
        units, calls = len(self.calls), int(self.calls.sum())
        residuals = calls * self.balance - int(self.balance.sum()) * self.calls
        if units < 2 or not residuals.any():
            return 0.0
        scaled = residuals / calls
        return sqrt(float(scaled @ scaled) / calls**2 * units / (units - 1))

    def limits(self, probability: float) -> Limits:
        """Two-sided limits at this one-sided probability, by t; without spread, from the slots' shares."""
        if not self.error:
            return self._limits_from_shares(probability)
        reach = t_quantile(probability, len(self.calls) - 1) * self.error
        return max(-1.0, self.mean - reach), min(1.0, self.mean + reach)

    def _limits_from_shares(self, probability: float) -> Limits:
        (low_1, high_1), (low_2, high_2) = (
            wilson_cluster(slot_tally, probability)
            for slot_tally in (
                tally(
                    self.complete,
                    (self.complete.u_first == slot).astype(np.int64) + (self.complete.v_first == slot),
                    both_orders(self.complete, readable),
                )
                for slot in (FIRST, SECOND)
            )
        )
        return max(-1.0, low_1 - high_2), min(1.0, high_1 - low_2)


def net_slot_preference(heading: Heading, pairs: Pairs) -> Estimate:
    """Slot-1 commits less slot-2 commits per call of complete pairs, with the position test."""
    parts = decompose(pairs)
    complete = parts.pairs.where(parts.complete)
    if not len(complete):
        return heading.undefined(METRIC, undecomposed(pairs, parts), excluded=excluded(pairs))
    test = position_test(parts)
    units = slot_units(complete)
    declared = heading.group.get("protocol") == DECLARED_PROTOCOL
    return heading.estimate(
        METRIC,
        unit="call",
        value=units.mean,
        numerator=test.total,
        denominator=test.calls,
        intervals=_intervals(heading, units),
        n_calls=test.calls,
        n_units=distinct_pairs(complete, np.ones(len(complete), dtype=np.bool_)),
        n_clusters=_tasks(complete),
        excluded=excluded(pairs),
        chance=0.0,
        finding=difference_word(units.limits(1 - ALPHA), test.p) if declared else None,
        minimum_detectable=_detectable(units),
        note=_note(test, complete, declared),
    )


def reading_of(estimate: Estimate) -> str | None:
    """The word that the two tests allow: `positional`, `stable`, `mixed`, `none` or `undecided`."""
    found = re.search(rf"{_READING}(\w+)", estimate.note or "")
    return found[1] if found else None


def slot_units(complete: Pairs) -> SlotBalance:
    """The balance per task, or per pair when there is one task."""
    sum_up = by_task if _tasks(complete) > 1 else by_pair
    calls = sum_up(complete, both_orders(complete, readable))
    return SlotBalance(sum_up(complete, slot_balance(complete))[calls > 0], calls[calls > 0], complete)


def few_commits(pairs: Pairs) -> bool:
    """Commits are known to be rarer than the margin."""
    counts = tally(pairs, both_orders(pairs, decided), both_orders(pairs, readable))
    return counts.n > 0 and judge_limit(counts, Limit(MARGIN)) == "clear"


def _tasks(pairs: Pairs) -> int:
    return len(np.unique(pairs.cluster))


def _intervals(heading: Heading, units: SlotBalance) -> tuple[Interval, ...]:
    method = "t_cluster" if units.error else "wilson_cluster_difference"
    intervals = [Interval(method, *units.limits(0.975))]
    if _tasks(units.complete) > 1:
        sums = resample(np.stack([units.balance, units.calls], axis=1), heading.bootstrap_seed(METRIC))
        resampled = percentile_limits(ratio(sums[:, 0], sums[:, 1]), len(units.calls))
        intervals += [Interval("bootstrap_cluster", *resampled)] if resampled else []
    return tuple(intervals)


def _detectable(units: SlotBalance) -> float | None:
    if not units.error:
        return None
    degrees = len(units.calls) - 1
    return (t_quantile(1 - ALPHA / 2, degrees) + t_quantile(POWER, degrees)) * units.error


def _note(test: PositionTest, complete: Pairs, declared: bool) -> str | None:
    these = "" if test.flipped == "tasks" else ONE_TASK if _tasks(complete) == 1 else "these tasks only"
    return join(
        [
            f"position test p = {test.p:.2g} (signs of {test.flipped} flipped)",
            f"stable excess p = {test.stable_p:.2g}",
            f"{_READING}{test.reading(few_commits=few_commits(complete))}",
            these,
            "" if declared else "not the declared test, so nothing is flagged",
        ]
    )
