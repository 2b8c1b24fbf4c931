from __future__ import annotations

import asyncio

import pytest

from steelyard.runner.rate_limit import Throttle
from steelyard.runner.retry import sleep


def test_the_limit_halves_and_grows_back_by_one_per_round() -> None:
    async def scenario() -> None:
        throttle = Throttle(8)
        throttle.on_rate_limit(None)
        assert throttle.limit == 4
        for _ in range(4):
            throttle.on_success()
        assert throttle.limit == pytest.approx(4.92, abs=0.01)  # 4 + 1/4 + 1/4.25 + 1/4.49 + 1/4.71
        for _ in range(100):
            throttle.on_success()
        assert throttle.limit == 8
        for _ in range(10):
            throttle.on_rate_limit(None)
        assert throttle.limit == 1

    asyncio.run(scenario())


def test_no_more_calls_in_flight_than_the_limit() -> None:
    async def scenario() -> int:
        throttle, stopped = Throttle(3), asyncio.Event()
        most, now = 0, 0

        async def call() -> None:
            nonlocal most, now
            async with throttle.slot(stopped):
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                now -= 1

        await asyncio.gather(*(call() for _ in range(20)))
        return most

    assert asyncio.run(scenario()) == 3


def test_a_stopped_run_does_not_wait_for_a_pause() -> None:
    """The servers asked for an hour; the stop ends both kinds of waiting at once."""

    async def scenario() -> None:
        stopped = asyncio.Event()
        throttle = Throttle(2)
        throttle.on_rate_limit(retry_after=3600)

        async def call() -> None:
            async with throttle.slot(stopped):
                pass

        waiting = [asyncio.create_task(call()), asyncio.create_task(sleep(3600, stopped))]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        stopped.set()
        await asyncio.gather(*waiting)

    asyncio.run(scenario())
