"""Running to the end: with Ctrl-C heard, and from a notebook as from a command."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from steelyard.errors import UsageError
from steelyard.runner.runner import Runner
from steelyard.runner.sitting import Sitting

ALLOCATIONS = 20_000
"""Objects more than before after which the young ones are searched for circles."""
Work = Callable[[Runner], Coroutine[Any, Any, Sitting]]
"""What a runner is to do."""


def conduct(runner: Runner, work: Work) -> Sitting:
    """Run to the end, or to the first thing that the caller must mend, which is raised."""
    with _seldom_searched():
        sitting = _await(_interruptible(runner, work))
    for error in sitting.stopped:
        if isinstance(error, UsageError):
            raise error
    return sitting


@contextmanager
def _seldom_searched() -> Iterator[None]:
    """Memory is searched for circles seldom: a plan is large, lives to the end, and has none.

    Where it is searched as seldom or never, by somebody's wish or for a run in another thread, that stays: of
    runs side by side, whoever changed something puts it back.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < ALLOCATIONS:
        yield
        return
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _await(work: Coroutine[Any, Any, Sitting]) -> Sitting:
    """Run to the end; in a thread of its own where a notebook's event loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _interruptible(runner: Runner, work: Work) -> Sitting:
    loop, control = asyncio.get_running_loop(), runner.control

    def interrupt() -> None:
        """The first Ctrl-C finishes what is in flight, the second ends at once."""
        loop.remove_signal_handler(signal.SIGINT)
        control.progress.say(
            "stopping: calls in flight are being finished; press Ctrl-C again to end at once"
        )
        control.stop()

    # Not every system has signals, and only the main thread may listen: there Ctrl-C ends at once.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await work(runner)
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGINT)
