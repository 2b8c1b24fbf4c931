"""Which call comes next: in order, from anywhere while a server is in doubt, and as the pilot admits."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Iterable

from steelyard.lab.run.patience import Patience
from steelyard.lab.run.pilot import Pilot
from steelyard.trials.exchange import Call


class CallQueue:
    """The open calls of a batch; each that is taken is to be ended."""

    def __init__(
        self, batch: Iterable[Call], pilot: Pilot, patience: Patience, stopped: asyncio.Event
    ) -> None:
        """`stopped` is the sign that no further call is to be made."""
        self._waiting = deque(pilot.in_order(batch))
        self._left = Counter(call.protocol for call in self._waiting)
        self._pilot = pilot
        self._patience = patience
        self._stopped = stopped
        self._ended = asyncio.Event()
        self._chance = random.Random()

    async def take(self) -> Call | None:
        """The next call; None where none is left, or none is to be made.

        A protocol is full only while a call of it is under way, so whoever waits here is woken.
        """
        while self._waiting and not self._stopped.is_set():
            if self._patience.doubtful:
                self._waiting.rotate(-self._chance.randrange(len(self._waiting)))
            if (place := self._admitted()) is not None:
                call = self._waiting[place]
                del self._waiting[place]
                self._left[call.protocol] -= 1
                self._pilot.begin(call)
                return call
            self._ended.clear()
            await self._ended.wait()
        return None

    def end(self, call: Call) -> None:
        """A call that was taken came to its end, whatever that was."""
        self._pilot.end(call)
        self._ended.set()

    def _admitted(self) -> int | None:
        """Place of the first call that may be made; nobody looks for one where no protocol admits any."""
        if self._pilot.settled:
            return 0
        admitted = {
            protocol for protocol, left in self._left.items() if left and self._pilot.admits(protocol)
        }
        if not admitted:
            return None
        return next(place for place, call in enumerate(self._waiting) if call.protocol in admitted)
