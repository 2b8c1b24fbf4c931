"""The time that a call may take: one timer for all calls of a judge, whose time is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

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
