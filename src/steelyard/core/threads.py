"""A thread that does not keep the program from ending, awaited from an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

Result = TypeVar("Result")


async def run_in_daemon_thread(work: Callable[[], Result], name: str) -> Result:
    """What the work returns or raises; whoever stops waiting leaves the thread to itself."""
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

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
