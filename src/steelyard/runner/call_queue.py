"""Which call comes next: in order, from anywhere while a server is in doubt, and as the pilot admits."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Sequence
from operator import attrgetter

from steelyard.runner.patience import Patience
from steelyard.runner.pilot import Pilot
from steelyard.trials.exchange import Call
from steelyard.trials.trials import Trials


class CallQueue:
    """The open calls of a batch; each that is taken is to be ended."""

    def __init__(
        self, batch: Sequence[Call], pilot: Pilot, patience: Patience, stopped: asyncio.Event
    ) -> None:
        """`stopped` is the sign that no further call is to be made."""
        self._batch = batch
        self._protocols = _protocols(batch)
        self._waiting = deque(pilot.in_order(batch))
        """Places in the batch: a call is made when it is taken."""
        self._left = Counter(self._protocols)
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
            if (turn := self._admitted()) is not None:
                call = self._batch[self._waiting[turn]]
                del self._waiting[turn]
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
        """Which of those that wait may be made first; nobody looks for one where no protocol admits any."""
        if self._pilot.settled:
            return 0
        admitted = {
            protocol for protocol, left in self._left.items() if left and self._pilot.admits(protocol)
        }
        if not admitted:
            return None
        return next(turn for turn, place in enumerate(self._waiting) if self._protocols[place] in admitted)


def _protocols(batch: Sequence[Call]) -> list[str]:
    """The protocol of each call."""
    if not isinstance(batch, Trials):
        return [call.protocol for call in batch]
    names, codes = batch.coded(attrgetter("protocol"))
    return [names[code] for code in codes[batch.question].tolist()]
