"""Daemon threads, which do not keep the program from ending: one for each work; an event loop; a debounce."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


async def run_in_daemon_thread(work: Callable[[], Result], name: str, keep_alive: bool = False) -> Result:
    """What the work returns or raises; whoever stops waiting leaves the thread to itself.

    `keep_alive` lets the thread live as long as the process, for child processes that end with their thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    context = copy_context()

    def settle(result: Result | None, error: Exception | None) -> None:
        if future.done():  # nobody waits any longer
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def run() -> None:
        result: Result | None = None
        error: Exception | None = None
        try:
            result = context.run(work)
        except Exception as raised:
            # A future takes no StopIteration.
            error = RuntimeError(repr(raised)) if isinstance(raised, StopIteration) else raised
        except BaseException as raised:
            error = RuntimeError(repr(raised))
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, error)
        if keep_alive and error is None:
            threading.Event().wait()

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future


async def run_in_lasting_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns or raises, in an event loop that lives as long as the process.

    Clients keep connections of the loop that they were first used in; in a later loop these are dead.
    """
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, lasting_loop()))


@cache
def lasting_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="event loop", daemon=True).start()
    return loop


class Debouncer:
    """Runs a job in a thread of its own: callers do not wait, triggers that come meanwhile share one run.

    It begins once `quiet` seconds have passed without a trigger, or somebody waits for it.
    """

    def __init__(self, job: Callable[[], object], quiet: float = 0.0) -> None:
        self._job, self._quiet = job, quiet
        self._lock, self._running = threading.Lock(), threading.Lock()
        self._triggered = False
        self._timer: threading.Timer | None = None
        self._fault: Exception | None = None

    def trigger(self) -> None:
        with self._lock:
            self._triggered = True
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._quiet, self._run)
            self._timer.daemon = True
            self._timer.start()

    def flush(self) -> None:
        """Serve every trigger before it returns; raise the error of the last run."""
        self._run()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def close(self) -> None:
        try:
            self.flush()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer.join()

    def _run(self) -> None:
        with self._running:
            with self._lock:
                triggered, self._triggered = self._triggered, False
            if triggered:
                self._fault = None
                try:
                    self._job()
                except Exception as error:
                    self._fault = error
