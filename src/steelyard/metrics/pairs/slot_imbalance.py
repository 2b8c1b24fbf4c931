"""Slot imbalance: the better text stood in one slot more often, so that a fixed choice of slot looks right.

Both orders of every pair put it in either slot equally often. Verdicts recorded elsewhere need not, and a
share of right calls then speaks of the slot that was tried more often. What the calls that the other slot
lacks could have been bounds the share over both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.core.text import pluralize
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import with_limit_word
from steelyard.metrics.metric import Limit
from steelyard.metrics.pairs.columns import Answer, Pairs, was_shown
from steelyard.metrics.proportions import join
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.metrics.stats.intervals import Span

Count = Callable[[Pairs], Tally]
"""Events and trials among the calls of some pairs."""

EVEN_TO = 0.6
"""Share of calls in one slot up to which slots count as even."""


@dataclass(frozen=True, eq=False)
class SlotCounts:
    pairs: Pairs

    @cached_property
    def parts(self) -> tuple[Pairs, Pairs]:
        """The calls with the better text in slot 1, and those with it in slot 2; others count as not made."""
        first, second = (
            replace(
                self.pairs,
                u_first=np.where(self.pairs.better == slot, self.pairs.u_first, np.int64(Answer.ABSENT)),
                v_first=np.where(self.pairs.better == 3 - slot, self.pairs.v_first, np.int64(Answer.ABSENT)),
            )
            for slot in (1, 2)
        )
        return first, second

    @cached_property
    def calls(self) -> tuple[int, int]:
        first, second = (int(was_shown(part.calls).sum()) for part in self.parts)
        return first, second

    @property
    def share(self) -> float:
        """What always naming the slot that was tried more often gets right; 0 without a call."""
        return max(self.calls) / max(1, sum(self.calls))


def with_slot_imbalance(estimate: Estimate, limit: Limit | None, pairs: Pairs, count: Count) -> Estimate:
    slots = SlotCounts(pairs)
    if estimate.value is None or slots.share <= EVEN_TO:
        return estimate
    counts, parts = count(pairs), [count(part) for part in slots.parts]
    low, high = _bounds(counts, parts)
    bounds = min(low, estimate.value), max(high, estimate.value)
    mean = None
    if all(part.n for part in parts):
        shares = [part.k / part.n for part in parts]
        mean = f"both slots counted alike, the share is {np.mean(shares):.2f}"
    note = join([_remark(slots.calls), mean, estimate.note])
    details = {**estimate.details, "slot_calls": slots.calls}
    bounded = replace(estimate, bounds=bounds, note=note, calls_needed=None, details=details)
    return with_limit_word(bounded, limit.allowed) if limit else replace(bounded, status=None)


def slot_imbalance_note(estimate: Estimate) -> str | None:
    """Why uneven slots leave an estimate undecided; None where they are even."""
    calls = estimate.details.get("slot_calls")
    return None if calls is None else imbalance_note(calls)


def imbalance_note(calls: tuple[int, int]) -> str:
    return _remark(calls) if 0 in calls else f"{_remark(calls)}: not told from a preference for that slot"


def _remark(calls: tuple[int, int]) -> str:
    if 0 in calls:
        return "the better text stood in one slot only: not told from a preference for that slot"
    return (
        f"the better text stood in slot {1 + int(calls[1] > calls[0])} in {max(calls)} of "
        f"{pluralize(sum(calls), 'call')}"
    )


def _bounds(counts: Tally, parts: list[Tally]) -> Span:
    """The share if both slots had as many calls: those that one lacks lie within its own limits."""
    made = [part.n + part.missing for part in parts]
    lesser = parts[int(made[1] < made[0])]
    lacking = abs(made[0] - made[1])
    low, high = 0.0, 1.0
    if lesser.n:
        # Whatever became of the missing calls of that slot.
        low, high = wilson_cluster(lesser)
        asked = lesser.n + lesser.missing
        low, high = low * lesser.n / asked, (high * lesser.n + lesser.missing) / asked
    total = counts.n + counts.missing + lacking
    return (counts.k + lacking * low) / total, (counts.k + counts.missing + lacking * high) / total
