"""How many calls may be in flight: fewer after a refusal, one more after a while of success."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from steelyard.runner.pace import Pace


class Throttle:
    """An adaptive limit (additive increase, multiplicative decrease) with a common pause and a pace."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many calls may be in flight at most."""
        self.maximum = max(1, limit)
        self.limit = float(self.maximum)
        self.pace = Pace()
        """How fast calls may follow each other."""
        self._in_flight = 0
        self._resume_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def place(self, stopped: asyncio.Event, tokens: float = 0.0) -> Place:
        """Hold one of the places, when a call of about so many tokens has its turn; at once after a stop."""
        return Place(self, stopped, tokens)

    async def enter(self, stopped: asyncio.Event, tokens: float) -> None:
        """Take a place, which is to be left."""
        loop = asyncio.get_running_loop()
        if not self.pace.unlimited:
            await nap(self.pace.wait(tokens, loop.time()), stopped)
        while True:
            if self._resume_at > loop.time():
                await nap(self._resume_at - loop.time(), stopped)
            if self._in_flight >= self._places:
                await self._turn(loop)
            elif stopped.is_set() or self._resume_at <= loop.time():
                self._in_flight += 1
                return

    def leave(self) -> None:
        """Give a place back."""
        self._in_flight -= 1
        self._wake()

    @property
    def _places(self) -> int:
        return max(1, int(self.limit))

    async def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sleep until a place is free; a turn that cannot be used is the next one's."""
        turn = loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()
            raise

    def _wake(self) -> None:
        """Call as many as there are free places, first come first."""
        free = self._places - self._in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    def succeeded(self) -> None:
        """Grow by one place per limit's worth of successes."""
        if self.limit < self.maximum:
            self.limit = min(self.maximum, self.limit + 1 / self.limit)
            self._wake()

    def refused(self, retry_after: float | None) -> None:
        """Halve the limit; when the server says how long to wait, nobody calls before."""
        self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + retry_after)


@dataclass(slots=True)
class Place:
    """A place at an endpoint, held while a call is made."""

    throttle: Throttle
    """Whose place it is."""
    stopped: asyncio.Event
    """The sign that nobody is to wait any longer."""
    tokens: float
    """What the call is likely to take."""

    async def __aenter__(self) -> None:
        await self.throttle.enter(self.stopped, self.tokens)

    async def __aexit__(self, *_: object) -> None:
        self.throttle.leave()


async def nap(seconds: float, stopped: asyncio.Event) -> None:
    """Sleep, but wake at once when the run is stopped."""
    if seconds > 0 and not stopped.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), seconds)
