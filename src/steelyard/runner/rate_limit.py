"""Rate limits of an endpoint: adaptive concurrency, requests and tokens a minute, a pause after a 429."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from steelyard.providers.provider import HasEndpoint, Provider
from steelyard.runner.learned_rate import LearnedRate
from steelyard.runner.retry import sleep
from steelyard.trials.judge import PACE_OPTIONS, Judge

MINUTE = 60.0
"""Seconds."""


@dataclass
class LeakyBucket:
    """An allowance that refills evenly; a reservation beyond it has to wait."""

    per_minute: float
    _free_at: float = field(default=0.0, init=False)

    def reserve(self, amount: float, now: float) -> float:
        """Seconds until so much may be used; it is reserved at once, so the next caller waits behind."""
        start = max(now, self._free_at)
        self._free_at = start + amount * MINUTE / self.per_minute
        return start - now

    def refund(self, amount: float) -> None:
        self._free_at -= amount * MINUTE / self.per_minute


class RateLimit:
    def __init__(self, requests: float | None = None, tokens: float | None = None) -> None:
        self._requests = None if requests is None else LeakyBucket(requests)
        self._tokens = None if tokens is None else LeakyBucket(tokens)

    @property
    def unlimited(self) -> bool:
        return self._requests is None and self._tokens is None

    def tighten(self, requests: float | None, tokens: float | None) -> None:
        """Keep the stricter of two limits of the same endpoint."""
        self._requests = _stricter(self._requests, requests)
        self._tokens = _stricter(self._tokens, tokens)

    def wait(self, tokens: float, now: float) -> float:
        by_requests = 0.0 if self._requests is None else self._requests.reserve(1, now)
        by_tokens = 0.0 if self._tokens is None else self._tokens.reserve(tokens, now)
        return max(by_requests, by_tokens)

    def correct(self, expected: float, tokens: float) -> None:
        """Replace the expected by the actual number of tokens; 0 means that the server counted none."""
        if self._tokens is not None and tokens:
            self._tokens.refund(expected - tokens)


def _stricter(bucket: LeakyBucket | None, per_minute: float | None) -> LeakyBucket | None:
    if per_minute is None:
        return bucket
    if bucket is None:
        return LeakyBucket(per_minute)
    bucket.per_minute = min(bucket.per_minute, per_minute)
    return bucket


class Throttle:
    """Calls at the same time and a minute: as stated, and as learnt from refusals; with a common pause.

    Until a rate is learnt, refusals halve the calls at the same time, and successes bring them back.
    """

    def __init__(self, limit: int) -> None:
        self.maximum = max(1, limit)
        self.limit = float(self.maximum)
        self.rate = RateLimit()
        self._learned = LearnedRate()
        self._in_flight = 0
        self._resume_at = 0.0
        self._refusals = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def slot(self, stopped: asyncio.Event, tokens: float = 0.0) -> Slot:
        return Slot(self, stopped, tokens)

    def release(self) -> None:
        self._in_flight -= 1
        self._wake()

    async def acquire(self, stopped: asyncio.Event, tokens: float) -> float:
        """The moment at which the call may start."""
        loop = asyncio.get_running_loop()
        if not self.rate.unlimited:
            await sleep(self.rate.wait(tokens, loop.time()), stopped)
        while True:
            if self._resume_at > loop.time():
                await sleep(self._resume_at - loop.time(), stopped)
            if self._in_flight >= self._slots:
                await self._wait_turn(loop)
            elif stopped.is_set() or self._resume_at <= loop.time():
                self._in_flight += 1
                break
        refusals = -1
        while refusals != self._refusals and not stopped.is_set():
            refusals = self._refusals
            await sleep(max(self._learned.reserve(loop.time()), self._resume_at - loop.time()), stopped)
        return loop.time()

    @property
    def _slots(self) -> int:
        return max(1, int(self.limit))

    async def _wait_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sleep until a slot is free; a cancelled waiter passes its turn on."""
        turn = loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()
            raise

    def _wake(self) -> None:
        free = self._slots - self._in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    def on_success(self, started: float) -> None:
        """Grow by one slot per limit's worth of successes; all are back where a rate is learnt."""
        self._learned.on_success(started, asyncio.get_running_loop().time())
        if self._learned.is_known:
            self.limit = self.maximum
            self._wake()
        elif self.limit < self.maximum:
            self.limit = min(self.maximum, self.limit + 1 / self.limit)
            self._wake()

    def on_rate_limit(self, backoff: float, retry_after: float | None = None) -> None:
        """Nobody calls before the server's `Retry-After` has passed, or a backoff where it has none."""
        now = asyncio.get_running_loop().time()
        if not self._learned.is_known:
            self.limit = max(1.0, self.limit / 2)
        pause = self._learned.shortened(backoff, now) if retry_after is None else retry_after
        self._resume_at = max(self._resume_at, now + pause)
        self._refusals += 1
        self._learned.on_refusal(now, self._resume_at)


@dataclass(slots=True)
class Slot:
    """An asynchronous context manager: one call at a time."""

    throttle: Throttle
    stopped: asyncio.Event
    tokens: float

    async def __aenter__(self) -> float:
        return await self.throttle.acquire(self.stopped, self.tokens)

    async def __aexit__(self, *error: object) -> None:
        self.throttle.release()


class Endpoints:
    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._throttles: dict[str, Throttle] = {}

    def throttle_for(self, judge: Judge, provider: Provider) -> Throttle:
        limit = min(self._concurrency, provider.concurrency)
        endpoint = provider.endpoint if isinstance(provider, HasEndpoint) else f"judge {judge.name}"
        throttle = self._throttles.setdefault(endpoint, Throttle(limit))
        throttle.rate.tighten(*(judge.options.get(name) for name in PACE_OPTIONS))
        return throttle
