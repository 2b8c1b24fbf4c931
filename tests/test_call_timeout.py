"""Calls that take too long: one timer ends each of them, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steelyard.runner.limits import CallTimeout

LONG = 600.0
"""Seconds that no test waits."""


async def timed(timeout: CallTimeout, work: Callable[[], Awaitable[str]]) -> str:
    try:
        return await timeout.with_timeout(work())
    except TimeoutError:
        return "late"


async def never() -> str:
    await asyncio.Event().wait()
    return "never"


async def at_once() -> str:
    return "at once"


def test_who_is_late_is_ended_and_who_is_not_is_not() -> None:
    async def run() -> list[str]:
        timeout = CallTimeout(0.01)
        works = [never, at_once, never, at_once]
        return await asyncio.gather(*(timed(timeout, work) for work in works))

    assert asyncio.run(run()) == ["late", "at once", "late", "at once"]


def test_the_next_ones_are_timed_after_a_first_one_was_ended() -> None:
    async def run() -> list[str]:
        timeout = CallTimeout(0.01)
        return [await timed(timeout, never) for _ in range(3)]

    assert asyncio.run(run()) == ["late"] * 3


def test_a_task_that_was_late_goes_on_as_any_other() -> None:
    """What the timeout cancelled is taken back, or the next thing that the task awaits would be cancelled."""

    async def run() -> tuple[str, int, str]:
        timeout = CallTimeout(0.01)
        first = await timed(timeout, never)
        task = asyncio.current_task()
        assert task is not None
        await asyncio.sleep(0)
        return first, task.cancelling(), await timed(timeout, at_once)

    assert asyncio.run(run()) == ("late", 0, "at once")


def test_who_is_cancelled_from_outside_was_not_late() -> None:
    async def run() -> None:
        begun = asyncio.Event()

        async def work() -> str:
            begun.set()
            return await never()

        task = asyncio.create_task(timed(CallTimeout(LONG), work))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_an_error_of_the_work_is_its_own() -> None:
    async def fails() -> str:
        raise ValueError("of the work")

    async def run() -> str:
        timeout = CallTimeout(LONG)
        with pytest.raises(ValueError, match="of the work"):
            await timeout.with_timeout(fails())
        return await timed(timeout, at_once)

    assert asyncio.run(run()) == "at once"


def test_work_that_does_not_let_itself_be_ended_keeps_its_result() -> None:
    async def stubborn() -> str:
        try:
            return await never()
        except asyncio.CancelledError:
            return "all the same"

    async def run() -> tuple[str, int]:
        made = await timed(CallTimeout(0.01), stubborn)
        task = asyncio.current_task()
        assert task is not None
        return made, task.cancelling()

    assert asyncio.run(run()) == ("all the same", 0)
