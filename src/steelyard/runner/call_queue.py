"""The open calls of a batch, in the order in which they may be made."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Sequence
from operator import attrgetter

from steelyard.runner.circuit_breaker import CircuitBreaker
from steelyard.runner.preflight import Preflight, Refusals
from steelyard.trials.exchange import Call
from steelyard.trials.trials import Trials


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
