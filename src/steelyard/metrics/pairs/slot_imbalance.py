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

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import estimate_word
from steelyard.metrics.metric import Limit
from steelyard.metrics.pairs.columns import Answer, Pairs, shown
from steelyard.metrics.pairs.counting import count_calls
from steelyard.metrics.proportions import join
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.metrics.stats.intervals import Span

Count = Callable[[Pairs], Tally]
"""Events and trials among the calls of some pairs."""

STOOD = "the better text stood in"
UNTOLD = "not told from a preference for that slot"
ONE_SLOT = f"{STOOD} one slot only: {UNTOLD}"
EVEN_TO = 0.6
"""Share of calls in one slot up to which slots count as even."""


@dataclass(frozen=True, eq=False)
class SlotCounts:
    """The calls on pairs with a better text, by the slot in which it stood."""

    pairs: Pairs
    """The rows."""

    @cached_property
    def parts(self) -> tuple[Pairs, Pairs]:
        """The calls with the better text in slot 1, and those with it in slot 2."""
        first, second = (_better_in(self.pairs, slot) for slot in (1, 2))
        return first, second

    @cached_property
    def calls(self) -> tuple[int, int]:
        """Calls that were made, by slot."""
        first, second = (int(count_calls(part, shown).sum()) for part in self.parts)
        return first, second

    @property
    def share(self) -> float:
        """What always naming the slot that was tried more often gets right; 0 without a call."""
        return max(self.calls) / max(1, sum(self.calls))


def with_slot_imbalance(estimate: Estimate, limit: Limit | None, pairs: Pairs, count: Count) -> Estimate:
    """The estimate; where slots are uneven, with the bounds of the share over both, and a remark."""
    slots = SlotCounts(pairs)
    if estimate.value is None or slots.share <= EVEN_TO:
        return estimate
    counts, parts = count(pairs), [count(part) for part in slots.parts]
    low, high = _bounds(counts, parts)
    bounds = min(low, estimate.value), max(high, estimate.value)
    note = join([_remark(slots.calls), _mean(parts), estimate.note])
    bounded = replace(estimate, bounds=bounds, note=note, calls_needed=None, slot_calls=slots.calls)
    return replace(bounded, status=estimate_word(bounded, limit.allowed) if limit else None)


def slot_imbalance_note(estimate: Estimate) -> str | None:
    """Why uneven slots leave an estimate undecided; None where they are even."""
    return None if estimate.slot_calls is None else imbalance_note(estimate.slot_calls)


def imbalance_note(calls: tuple[int, int]) -> str:
    """What uneven slots mean for a figure that they leave open."""
    return ONE_SLOT if 0 in calls else f"{_remark(calls)}: {UNTOLD}"


def _remark(calls: tuple[int, int]) -> str:
    """Where the better text stood, in words."""
    slot, total = 1 + int(calls[1] > calls[0]), sum(calls)
    return ONE_SLOT if 0 in calls else f"{STOOD} slot {slot} in {max(calls)} of {total} calls"


def _bounds(counts: Tally, parts: list[Tally]) -> Span:
    """The share if both slots had as many calls: those that one lacks lie within its own limits."""
    made = [part.n + part.missing for part in parts]
    lesser = parts[int(made[1] < made[0])]
    lacking = abs(made[0] - made[1])
    low, high = _limits(lesser)
    total = counts.n + counts.missing + lacking
    return (counts.k + lacking * low) / total, (counts.k + counts.missing + lacking * high) / total


def _limits(counts: Tally) -> Span:
    """What the share of a slot may be, whatever became of its missing calls."""
    if not counts.n:
        return 0.0, 1.0
    low, high = wilson_cluster(counts)
    made = counts.n + counts.missing
    return low * counts.n / made, (high * counts.n + counts.missing) / made


def _mean(parts: list[Tally]) -> str | None:
    """The mean over slots, in words; None where one has no verdict."""
    if not all(part.n for part in parts):
        return None
    return f"both slots counted alike, the share is {np.mean([part.k / part.n for part in parts]):.2f}"


def _better_in(pairs: Pairs, slot: int) -> Pairs:
    """The calls in which the better text stood in this slot; all others as if they had not been made."""
    return replace(
        pairs,
        u_first=np.where(pairs.better == slot, pairs.u_first, np.int64(Answer.ABSENT)),
        v_first=np.where(pairs.better == 3 - slot, pairs.v_first, np.int64(Answer.ABSENT)),
    )
