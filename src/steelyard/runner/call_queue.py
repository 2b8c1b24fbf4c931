"""The open calls of a batch, in the order in which they may be made, and the breaker that stops a judge."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Sequence
from operator import attrgetter

from steelyard.core.text import pluralize
from steelyard.errors import TransientError, UnreachableError
from steelyard.runner.preflight import Preflight, Refusals
from steelyard.trials.trial import Call
from steelyard.trials.trials import Trials

PROVEN_FACTOR = 4
"""The threshold is so many times higher for a judge that has answered before."""


class CircuitBreaker:
    """Stop calling a judge whose server answers nothing, whatever it is asked about.

    One call that used up its retries proves little: a single text may be too much for a server that answers
    all others. After a failed call the circuit is half-open: the next calls are drawn at random from all open
    work. It opens when so many different items in a row, all drawn while half-open, have failed that a server
    which still answers some of them would hardly ever look like that.
    """

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


class CallQueue:
    """The open calls of a batch: in order, at random while the circuit is half-open, as the preflight allows.

    Each call that is taken has to be ended.
    """

    def __init__(
        self,
        batch: Sequence[Call],
        preflight: Preflight,
        breaker: CircuitBreaker,
        refusals: Refusals,
        stopped: asyncio.Event,
    ) -> None:
        self._batch = batch
        self._protocols = _protocols(batch)
        self._waiting = deque(preflight.order(batch))
        self._open_calls = Counter(self._protocols)
        self._preflight = preflight
        self._breaker = breaker
        self._refusals = refusals
        self._stopped = stopped
        self._ended = asyncio.Event()
        self._random = random.Random()

    async def take(self) -> Call | None:
        """The next call; None if none is open, or none may be made.

        A protocol is full only while a call of it is in flight, and refusals hold up others only while some
        are in flight, so whoever waits here is woken.
        """
        while self._waiting and not self._stopped.is_set():
            if self._breaker.half_open:
                self._waiting.rotate(-self._random.randrange(len(self._waiting)))
            if (turn := self._next_allowed()) is not None:
                call = self._batch[self._waiting[turn]]
                del self._waiting[turn]
                self._open_calls[call.protocol] -= 1
                self._preflight.begin(call)
                self._refusals.begin()
                return call
            self._ended.clear()
            await self._ended.wait()
        return None

    def end(self, call: Call) -> None:
        self._preflight.end(call)
        self._refusals.end()
        self._ended.set()

    def _next_allowed(self) -> int | None:
        if not self._refusals.allows:
            return None
        if self._preflight.passed:
            return 0
        allowed = {
            protocol
            for protocol, count in self._open_calls.items()
            if count and self._preflight.allows(protocol)
        }
        if not allowed:
            return None
        return next(turn for turn, row in enumerate(self._waiting) if self._protocols[row] in allowed)


def _protocols(batch: Sequence[Call]) -> list[str]:
    if not isinstance(batch, Trials):
        return [call.protocol for call in batch]
    names, codes = batch.coded(attrgetter("protocol"))
    return [names[code] for code in codes[batch.question].tolist()]
