"""Daemon threads, which do not keep the program from ending: one per piece of work, and one event loop."""

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
