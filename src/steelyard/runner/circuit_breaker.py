"""Circuit breaker: stop calling a judge whose server answers nothing, whatever it is asked about.

One call that used up its retries proves little: a single text may be too much for a server that answers all
others. After a failed call the circuit is half-open: the next calls are drawn at random from all open work.
It opens when so many different items in a row, all drawn while half-open, have failed that a server which
still answers some of them would hardly ever look like that.
"""

from __future__ import annotations

from collections import Counter

from steelyard.core.text import pluralize
from steelyard.errors import TransientError, UnreachableError
from steelyard.trials.exchange import Call

PROVEN_FACTOR = 4
"""The threshold is so many times higher for a judge that has answered before."""


class CircuitBreaker:
    def __init__(self, failure_threshold: int, items: int, has_answered: bool) -> None:
        self._base_threshold = failure_threshold
        self._items = items
        self._has_answered = has_answered
        self._failed_items: set[str] = set()
        self._reasons: Counter[str] = Counter()

    @property
    def half_open(self) -> bool:
        return bool(self._reasons)

    @property
    def threshold(self) -> int:
        """Different items that must fail in a row; no more than there are."""
        return min(self._base_threshold * (PROVEN_FACTOR if self._has_answered else 1), self._items)

    def record_reply(self) -> None:
        """Close the circuit: failures before this reply were due to their items."""
        self._has_answered = True
        self._failed_items.clear()
        self._reasons.clear()

    def record_failure(
        self, call: Call, error: TransientError, was_half_open: bool
    ) -> UnreachableError | None:
        self._reasons[error.reason] += 1
        if was_half_open:
            self._failed_items.add(call.item)
        if len(self._failed_items) < self.threshold:
            return None
        reasons = ", ".join(f"{reason} {number}" for reason, number in self._reasons.most_common())
        return UnreachableError(
            f"judge {call.judge.name}: stopped after {pluralize(self._reasons.total(), 'call')} in a row "
            f"without a reply ({reasons}), on {pluralize(len(self._failed_items), 'different item')} or "
            f"more; last error: {error}"
        )
