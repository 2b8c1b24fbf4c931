"""Retry with exponential backoff and jitter; a sleep that a stopped run interrupts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from typing import TypeVar

from steelyard.errors import TransientError
from steelyard.runner.limits import RunLimits

Result = TypeVar("Result")

_JITTER = random.Random()


def backoff_delay(limits: RunLimits, tries: int, error: TransientError) -> float:
    """Seconds before the next try: doubled each time, with jitter; at least the server's `Retry-After`."""
    longest = min(limits.max_backoff, limits.backoff * 2.0 ** (tries - 1))
    return max(error.retry_after or 0.0, longest * (0.5 + _JITTER.random() / 2))


async def retry(
    ask: Callable[[], Awaitable[Result]],
    limits: RunLimits,
    stopped: asyncio.Event,
    longest_delay: float = inf,
) -> Result:
    """Ask until there is a result; the last transient error is raised after `attempts` tries or a stop."""
    tries = 0
    while True:
        try:
            return await ask()
        except TransientError as error:
            tries += 1
            delay = backoff_delay(limits, tries, error)
            if tries >= limits.attempts or stopped.is_set() or delay > longest_delay:
                raise
            await sleep(delay, stopped)


async def sleep(seconds: float, stopped: asyncio.Event) -> None:
    if seconds > 0 and not stopped.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), seconds)
