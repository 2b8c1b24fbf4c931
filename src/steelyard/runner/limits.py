"""Limits of a run: concurrency, retries, timeouts and budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from steelyard.core.validation import checked
from steelyard.errors import TransientError
from steelyard.providers.provider import model_info
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class RunLimits:
    """Concurrency, retries, time and money."""

    concurrency: int = 16
    """Calls in flight at one address, at most; of a judge that has none, by itself."""
    attempts: int = 6
    """Tries per trial."""
    backoff: float = 0.5
    """Seconds before the second try; doubled each time, with jitter."""
    longest_backoff: float = 30.0
    """No wait is longer, unless the server asks for it."""
    call_timeout: float = 120.0
    """Seconds for one try."""
    trial_timeout: float = 600.0
    """Seconds for all tries of a trial, waits included."""
    hopeless: int = 5
    """Different items, lost in a row, after which a judge that never replied is given up; see `patience`."""
    pilot: bool = True
    """Leave a judge whose first replies cannot be read; see `pilot`."""
    batch: bool = False
    """Hand calls in together where a judge's vendor takes them so, at a lower price and answered later."""
    poll: float = 60.0
    """Seconds between two looks at a batch, at most."""
    budget: float | None = None
    """Dollars for the whole study, earlier sittings included."""
    engine: str = "local"
    """Where calls are made; see `engine`."""

    @classmethod
    def of(cls, given: RunLimits | Mapping[str, Any] | None) -> RunLimits:
        """The limits themselves, or from a mapping; what is not named there stays as it is by default."""
        if isinstance(given, RunLimits):
            return given
        named = dict(given) if isinstance(given, Mapping) else {} if given is None else given
        return cls(**checked(_model(), named, "limits").model_dump())


def time_limit(judge: Judge, call_timeout: float, together: int = 1) -> float:
    """Seconds for one call of a judge: its own, where it states one.

    Calls of a judge that this machine computes in turn wait for one another and not for a server: each has
    the time of as many as may be under way together.
    """
    limit = float(judge.options.get("timeout", call_timeout))
    return limit * together if model_info(judge.address).sequential else limit


def no_reply(judge: Judge, seconds: float) -> TransientError:
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


class Watch:
    """Ends what takes too long, as `asyncio.timeout` does, which sets a timer of its own for each call."""

    def __init__(self, seconds: float) -> None:
        """Everything that is watched has so many seconds."""
        self.seconds = seconds
        self._due: dict[asyncio.Task[Any], float] = {}
        """When the time of each task is up; who began first is due first, and stands first."""
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, work: Awaitable[Result]) -> Result:
        """What the task at hand awaits; TimeoutError where that takes too long."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can be watched")
        cancelled = task.cancelling()
        self._due[task] = due = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_at(due, self._end, loop)
        try:
            result = await work
        except asyncio.CancelledError:
            if not self._in_time(task) and task.cancelling() <= cancelled:
                raise TimeoutError from None
            raise
        except BaseException:
            self._in_time(task)
            raise
        self._in_time(task)
        return result

    def _in_time(self, task: asyncio.Task[Any]) -> bool:
        """Watch a task no longer; False for one that was ended, which is taken back."""
        if self._due.pop(task, None) is not None:
            return True
        task.uncancel()
        return False

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        """End whoever is late, and wait for the next."""
        now, self._timer = loop.time(), None
        for task, due in list(self._due.items()):
            if due > now:
                self._timer = loop.call_at(due, self._end, loop)
                return
            del self._due[task]
            task.cancel()
