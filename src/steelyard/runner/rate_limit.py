"""Rate limits of an endpoint: adaptive concurrency, requests and tokens a minute, a pause after a 429."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from steelyard.providers.provider import HasEndpoint, Provider
from steelyard.runner.limits import sleep
from steelyard.trials.judge import PACE_OPTIONS, Judge

MARGIN = 0.02
"""Share of the rate that is left at first."""
FIRST_REACH, LAST_REACH = 4.0, 60.0
"""Seconds until the learnt rate is reached again."""
SHORTEST, LONG = 5.0, 30.0
"""Seconds between two rounds of refusals that tell a rate, and of a server that remembers, as one does that
refuses for longer than the first: what it allows soon after a refusal is the pace of a minute ago."""
FEWEST, ROUNDS = 32, 4
"""Answered calls between them, likewise; or so many rounds, for a first guess."""
TRIED, TRIALS = 0.99, 3
"""Share of a refused rate that is tried next, and how many rates before what was answered counts."""
NEWEST, KNOWN = 12, 4096
"""Calls that tell how fast calls started, and calls known with those that wait."""
MINUTE, LATE = 60.0, 0.25
"""Seconds of the usual window, and how long after it is over a server is asked again."""
HIGHEST = 1.25
"""Share of the answered rate that the last minute's counts for at most: a burst was allowed before it."""


class LearnedRate:
    """The rate that a server allows, learnt from its refusals (429): most servers do not say it.

    Calls that were answered between two rounds of refusals, over the time between them, are what the server
    allows: its allowance was used up at both ends, whatever the window is in which it counts. Calls then
    start a little below that rate, reach it after a while, and go far beyond soon after if none is refused.
    The while is short at first and doubles where the rate proved right.

    A server that counts by the second, or wants calls apart, forgets in the pause after a refusal and allows
    more than was answered. So a rate just below the refused one is tried first, then less of it. Where the
    server refuses these too, or goes on to refuse for long, it remembers: what was answered counts from then
    on.
    """

    def __init__(self) -> None:
        self._rate: float | None = None
        """Calls a second; None while no call was refused."""
        self._reach = FIRST_REACH
        self._since = 0.0
        self._free_at = 0.0
        self._answered = 0
        self._rounds = 0
        self._starts: deque[float] = deque(maxlen=KNOWN)
        self._from: tuple[float, int] | None = None
        """When the last round of refusals before this one ended, and the calls answered by then."""
        self._last: tuple[float, int] = (0.0, 0)
        """The same of the last refusal."""
        self._refused_at: float | None = None
        """When a round of refusals began; None once a later call was answered."""
        self._tried: float | None = None
        """The rate at which it began; None where the learnt rate itself was too high."""
        self._lately: float | None = None
        """The rate of the last minute before it, likewise."""
        self._trial: tuple[float, int] | None = None
        """What was answered, while more is tried, and how many rates are left to try."""
        self._in_trial = False
        """Whether this round began with a rate that was only tried."""
        self._remembers = False

    @property
    def is_known(self) -> bool:
        return self._rate is not None

    def reserve(self, now: float) -> float:
        """Seconds until the next call may start."""
        if self._from is None:
            self._from = now, 0
        if self._rate is None:
            self._starts.append(now)
            return 0.0
        start = max(now, self._free_at)
        self._free_at = start + 1 / self._allowed(self._rate, start)
        self._starts.append(start)
        return start - now

    def _allowed(self, rate: float, now: float) -> float:
        grown = math.exp(min(4 * (now - self._since - self._reach) / self._reach, 50.0))
        return rate * (1 + MARGIN * (grown - 1))

    def shortened(self, pause: float, now: float) -> float:
        """A pause that does not outlast the minute since the first call: most servers count by the minute.

        Before a rate is known nothing tells when a server opens, and a long backoff would miss it.
        """
        if self._rate is not None or not self._starts:
            return pause
        opens = self._starts[0] + MINUTE + LATE
        return min(pause, opens - now) if opens > now else pause

    def on_refusal(self, now: float, resume_at: float) -> None:
        """Calls that wait for their turn take another, after the pause that the server asks for."""
        if self._refused_at is None:
            self._refused_at = now
            if self._rate is not None:
                self._slow_down(self._rate, now)
        self._last = now, self._answered
        self._free_at = max(now, resume_at)

    def _slow_down(self, rate: float, now: float) -> None:
        """At once: the first answer after the refusal tells more, and comes a whole call later."""
        is_late = now - self._since > self._reach / 2
        self._tried, self._lately = self._paces(now) if is_late else (None, None)
        self._in_trial = self._trial is not None and not is_late
        if self._trial is not None and self._in_trial:
            low, left = self._trial
            self._remembers = left <= 1
            self._rate = low if self._remembers else (low + rate) / 2
            self._trial = None if self._remembers else (low, left - 1)
        elif is_late:
            self._trial = None
        self._since = now

    def _paces(self, now: float) -> tuple[float, float]:
        """Calls a second of those that started last, and in the last minute; who still waits starts anew."""
        started = [moment for moment in self._starts if moment <= now]
        self._starts = deque(started, KNOWN)
        newest = started[-NEWEST:]
        pace = (len(newest) - 1) / (newest[-1] - newest[0]) if len(newest) > 1 else 0.0
        return pace, sum(moment > now - LAST_REACH for moment in started) / LAST_REACH

    def on_success(self, started: float, now: float) -> None:
        self._answered += 1
        if self._refused_at is None or started < self._refused_at or self._from is None:
            return
        ended, answered = self._last
        if ended - self._refused_at > SHORTEST:
            self._remembers = True
            ended = (ended + started) / 2  # the server opened between the two
        self._refused_at = None
        self._rounds += 1
        before, self._in_trial, was_trial = self._from, False, self._in_trial
        if was_trial:
            self._since, self._from = now, (ended, answered)
            return
        seconds, answers = ended - before[0], answered - before[1]
        is_guess = self._rounds >= ROUNDS if self._rate is None else bool(self._tried) and not self._remembers
        if seconds < (LONG if self._remembers else SHORTEST) or (answers < FEWEST and not is_guess):
            return
        # Time in which nobody called, or nobody was answered, is no limit: it halves the rate at most.
        found = max(answers / seconds, (self._rate or 0.0) / 2)
        if self._tried is not None and self._lately is not None:
            found = max(found, (found + 3 * min(self._lately, HIGHEST * found)) / 4)
            self._reach *= 2
            if not self._remembers and TRIED * self._tried > found:
                self._trial, found = (found, TRIALS), TRIED * self._tried
        self._reach = min(max(self._reach, seconds if self._remembers else 0.0), LAST_REACH)
        self._rate, self._since, self._from = found, now, (ended, answered)


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
        refusals, now = -1, loop.time()
        while refusals != self._refusals and not stopped.is_set():
            refusals = self._refusals
            if (wait := max(self._learned.reserve(now), self._resume_at - now)) > 0:
                await sleep(wait, stopped)
                now = loop.time()
        return now

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

    def __aenter__(self) -> Coroutine[Any, Any, float]:
        return self.throttle.acquire(self.stopped, self.tokens)

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
