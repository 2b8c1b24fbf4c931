"""Limits of a run: concurrency, timeouts and budget; retry with exponential backoff and jitter."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from math import inf
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from steelyard.core.validation import checked
from steelyard.errors import REPEATED, TransientError
from steelyard.providers.provider import model_info
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class RunLimits:
    """Concurrency, retries, time and money."""

    concurrency: int = 16
    """Calls in flight at one address, at most; of a judge that has none, by itself."""
    attempts: int = 6
    """Tries of a call, the first included."""
    backoff: float = 0.5
    """Seconds before the second try: exponential backoff, doubled each time, with jitter."""
    max_backoff: float = 30.0
    """Longest backoff, unless the server asks for more."""
    call_timeout: float = 120.0
    """Seconds for one try."""
    trial_timeout: float = 600.0
    """Seconds for all tries of a call, backoff included."""
    failure_threshold: int = 5
    """Different items failed in a row that open the circuit breaker of a judge that never replied."""
    preflight: bool = True
    """Stop a judge whose first replies cannot be parsed, or whose first calls are refused alike."""
    batch: bool = False
    """Use the vendor's batch API where there is one: about half the price, results within hours."""
    batch_size: int = 50_000
    """Calls of one batch, at most; a vendor may take fewer."""
    poll: float = 60.0
    """Seconds between batch status checks, at most."""
    budget: float | None = None
    """Dollars for the whole study, earlier runs included."""
    engine: str = "local"
    """Where calls are made; see `engine`."""

    @classmethod
    def of(cls, given: RunLimits | Mapping[str, Any] | None) -> RunLimits:
        """The limits themselves, or from a mapping; what it does not name keeps its default."""
        if isinstance(given, RunLimits):
            return given
        named = dict(given) if isinstance(given, Mapping) else {} if given is None else given
        return cls(**checked(_model(), named, "limits").model_dump())


def timeout_for(judge: Judge, call_timeout: float, together: int = 1) -> float:
    """Seconds for one call of a judge: its own, where it states one.

    Calls of a judge that this machine computes in turn wait for one another and not for a server: each has
    the time of as many as may be under way together.
    """
    limit = float(judge.options.get("timeout", call_timeout))
    return limit * together if model_info(judge.address).sequential else limit


WORKER_LOST = "worker_lost"
MAYBE_BILLED = frozenset({"timeout", WORKER_LOST, "garbled_reply", "connection_dropped", REPEATED})
"""Errors of calls that were sent and may have been answered: the vendor bills what nobody could use."""


def timeout_error(judge: Judge, seconds: float) -> TransientError:
    """The error of a call that took longer."""
    return TransientError("timeout", f"judge {judge.name}: no reply within {seconds:g} s")


def _model() -> type[BaseModel]:
    """What a mapping of limits may hold: whole numbers from 1 on, times and money from 0 on."""
    least = {int: 1, float: 0, float | None: 0}
    hints = get_type_hints(RunLimits)
    allowed: dict[str, Any] = {}
    for each in fields(RunLimits):
        kind = hints[each.name]
        bound = Annotated[kind, Field(ge=least[kind])] if kind in least else kind
        allowed[each.name] = (bound, each.default)
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return create_model("Limits", __config__=config, **allowed)


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
    """A sleep that a stopped run interrupts."""
    if seconds > 0 and not stopped.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), seconds)
