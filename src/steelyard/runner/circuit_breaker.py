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

SEASONED = 4
"""So many times as many losses are needed where the judge has answered before."""


class Patience:
    """Losses of one judge since its last reply."""

    def __init__(self, hopeless: int, items: int, answered: bool) -> None:
        """`items` are all that the judge is asked about; `answered` says that it has replied before."""
        self._hopeless = hopeless
        self._items = items
        self._seasoned = answered
        self._lost: set[str] = set()
        self._reasons: Counter[str] = Counter()

    @property
    def doubtful(self) -> bool:
        """A call was lost, and none has been answered since."""
        return bool(self._reasons)

    @property
    def needed(self) -> int:
        """Different items that must be lost in a row; no more than there are."""
        return min(self._hopeless * (SEASONED if self._seasoned else 1), self._items)

    def answered(self) -> None:
        """A reply came: every loss before it was a matter of its item."""
        self._seasoned = True
        self._lost.clear()
        self._reasons.clear()

    def lost(self, call: Call, error: TransientError, drawn_in_doubt: bool) -> UnreachableError | None:
        """Count a call that used up its tries; the error where there is no hope left."""
        self._reasons[error.reason] += 1
        if drawn_in_doubt:
            self._lost.add(call.item)
        if len(self._lost) < self.needed:
            return None
        reasons = ", ".join(f"{reason} {number}" for reason, number in self._reasons.most_common())
        return UnreachableError(
            f"judge {call.judge.name}: given up after {pluralize(self._reasons.total(), 'call')} in a row "
            f"without a reply ({reasons}), on {pluralize(len(self._lost), 'different item')} or more; "
            f"the last try ended with: {error}"
        )
