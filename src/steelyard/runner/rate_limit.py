"""Rate limits of an endpoint: adaptive concurrency, requests and tokens a minute, a pause after a 429."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from steelyard.providers.provider import HasEndpoint, Provider
from steelyard.trials.judge import PACE_OPTIONS, Judge

MINUTE = 60.0
"""Seconds."""


@dataclass
class Meter:
    """One allowance that refills evenly; what is taken in advance is waited for."""

    per_minute: float
    """How much of it there is."""
    _free_at: float = field(default=0.0, init=False)

    def take(self, amount: float, now: float) -> float:
        """Seconds until so much may be used; it is taken at once, so that the next one waits behind."""
        start = max(now, self._free_at)
        self._free_at = start + amount * MINUTE / self.per_minute
        return start - now

    def give_back(self, amount: float) -> None:
        """Part of what was taken was not needed; a negative amount was needed beside it."""
        self._free_at -= amount * MINUTE / self.per_minute


class Pace:
    """Allowances of one endpoint, or none."""

    def __init__(self, requests: float | None = None, tokens: float | None = None) -> None:
        """Requests and tokens a minute; None where there is no such limit."""
        self._requests = None if requests is None else Meter(requests)
        self._tokens = None if tokens is None else Meter(tokens)

    @property
    def unlimited(self) -> bool:
        """Nobody ever waits."""
        return self._requests is None and self._tokens is None

    def narrow(self, requests: float | None, tokens: float | None) -> None:
        """Take the stricter of two statements about the same endpoint."""
        self._requests = _stricter(self._requests, requests)
        self._tokens = _stricter(self._tokens, tokens)

    def wait(self, tokens: float, now: float) -> float:
        """Seconds before a call of about so many tokens may be made."""
        by_requests = 0.0 if self._requests is None else self._requests.take(1, now)
        by_tokens = 0.0 if self._tokens is None else self._tokens.take(tokens, now)
        return max(by_requests, by_tokens)

    def used(self, expected: float, tokens: float) -> None:
        """A call took other than the expected number of tokens; 0 where its server counts none."""
        if self._tokens is not None and tokens:
            self._tokens.give_back(expected - tokens)


def _stricter(meter: Meter | None, per_minute: float | None) -> Meter | None:
    if per_minute is None:
        return meter
    if meter is None:
        return Meter(per_minute)
    meter.per_minute = min(meter.per_minute, per_minute)
    return meter


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


class Endpoints:
    """The throttles of a run, one for each address; a judge that has none is by itself."""

    def __init__(self, concurrency: int) -> None:
        """`concurrency` is how many calls may be in flight at one address."""
        self._concurrency = concurrency
        self._throttles: dict[str, Throttle] = {}

    def of(self, judge: Judge, provider: Provider) -> Throttle:
        """The throttle that the calls of a judge go through."""
        limit = min(self._concurrency, provider.concurrency)
        place = provider.endpoint if isinstance(provider, HasEndpoint) else f"judge {judge.name}"
        throttle = self._throttles.setdefault(place, Throttle(limit))
        throttle.pace.narrow(*(judge.options.get(name) for name in PACE_OPTIONS))
        return throttle
