"""How many calls may be in flight: fewer after a refusal, one more after a while of success."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Throttle:
    """An adaptive limit (additive increase, multiplicative decrease) with a common pause."""

    def __init__(self, limit: int, stopped: asyncio.Event) -> None:
        self.maximum = max(1, limit)
        self.limit = float(self.maximum)
        self._stopped = stopped
        self._in_flight = 0
        self._resume_at = 0.0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for the pause to end and for a free place, then hold it."""
        await self._enter()
        try:
            yield
        finally:
            async with self._freed:
                self._in_flight -= 1
                self._freed.notify_all()

    async def _enter(self) -> None:
        while True:
            await nap(self._resume_at - asyncio.get_running_loop().time(), self._stopped)
            async with self._freed:
                await self._freed.wait_for(lambda: self._in_flight < max(1, int(self.limit)))
                paused = self._resume_at > asyncio.get_running_loop().time()
                if self._stopped.is_set() or not paused:
                    self._in_flight += 1
                    return

    def succeeded(self) -> None:
        """Grow by one place per limit's worth of successes."""
        self.limit = min(self.maximum, self.limit + 1 / self.limit)

    def refused(self, retry_after: float | None) -> None:
        """Halve the limit; when the server says how long to wait, nobody calls before."""
        self.limit = max(1.0, self.limit / 2)
        if retry_after is not None:
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + retry_after)


async def nap(seconds: float, stopped: asyncio.Event) -> None:
    """Sleep, but wake at once when the run is stopped."""
    if seconds > 0 and not stopped.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), seconds)
