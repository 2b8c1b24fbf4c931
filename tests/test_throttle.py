from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from steelyard.errors import TransientError
from steelyard.runner.limits import _JITTER, RunLimits, backoff_delay, sleep
from steelyard.runner.rate_limit import Throttle


def test_the_limit_halves_and_grows_back_by_one_per_round() -> None:
    async def scenario() -> None:
        throttle = Throttle(8)
        throttle.on_rate_limit(0.0)
        assert throttle.limit == 4
        for _ in range(4):
            throttle.on_success(0.0)
        assert throttle.limit == pytest.approx(4.92, abs=0.01)  # 4 + 1/4 + 1/4.25 + 1/4.49 + 1/4.71
        for _ in range(100):
            throttle.on_success(0.0)
        assert throttle.limit == 8
        for _ in range(10):
            throttle.on_rate_limit(0.0)
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
        throttle.on_rate_limit(3600)

        async def call() -> None:
            async with throttle.slot(stopped):
                pass

        waiting = [asyncio.create_task(call()), asyncio.create_task(sleep(3600, stopped))]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        stopped.set()
        await asyncio.gather(*waiting)

    asyncio.run(scenario())


# A server that says nothing but 429, in virtual time

ALLOWED = 10.0
"""Calls a second."""
MINUTE = 60.0


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock stands at the next timer whenever nothing else is to be done."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__()
        selector: Any = self._selector  # type: ignore[attr-defined]
        usual = selector.select

        def select(timeout: float | None = None) -> Any:
            found = usual(0)
            self._now += 0.0 if found or timeout is None else timeout
            return found

        selector.select = select

    def time(self) -> float:
        return self._now


def bucket(burst: float) -> Callable[[float], bool]:
    """An allowance that refills evenly, up to so many calls."""
    left, last = burst, 0.0

    def allows(now: float) -> bool:
        nonlocal left, last
        left, last = min(burst, left + (now - last) * ALLOWED), now
        left -= (allowed := left >= 1)
        return allowed

    return allows


def window(seconds: float) -> Callable[[float], bool]:
    """So many calls in any so many seconds."""
    made: deque[float] = deque()

    def allows(now: float) -> bool:
        while made and made[0] <= now - seconds:
            made.popleft()
        if allowed := len(made) < seconds * ALLOWED:
            made.append(now)
        return allowed

    return allows


def measured(
    allows: Callable[[float], bool], latency: float, retry_after: float | None, workers: int = 16
) -> tuple[float, float]:
    """Share of the allowed rate that was reached after the first minute, and share of calls refused."""
    seen: list[tuple[float, bool]] = []
    end = 6 * MINUTE

    async def run() -> None:
        loop, throttle, stopped = asyncio.get_running_loop(), Throttle(workers), asyncio.Event()

        async def call() -> None:
            for tries in range(1, 7):
                try:
                    async with throttle.slot(stopped) as started:
                        await asyncio.sleep(latency / 4)
                        allowed = allows(loop.time())
                        seen.append((loop.time(), allowed))
                        if not allowed:
                            raise TransientError("rate_limited", "no", retry_after=retry_after)
                        await asyncio.sleep(3 * latency / 4)
                except TransientError as error:
                    delay = backoff_delay(RunLimits(), tries, error)
                    throttle.on_rate_limit(delay, retry_after)
                    await sleep(delay, stopped)
                else:
                    throttle.on_success(started)
                    return

        async def worker() -> None:
            while loop.time() < end:
                await call()

        await asyncio.gather(*(worker() for _ in range(workers)))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
    late = [allowed for moment, allowed in seen if MINUTE <= moment < end]
    return sum(late) / (end - MINUTE) / ALLOWED, 1 - sum(late) / len(late)


@pytest.mark.parametrize("retry_after", [None, 1.0], ids=["no header", "header"])
@pytest.mark.parametrize("latency", [0.02, 0.3, 1.0])
@pytest.mark.parametrize(
    "server",
    [
        pytest.param(lambda: bucket(1), id="strict spacing"),
        pytest.param(lambda: bucket(10), id="10"),
        pytest.param(lambda: bucket(600), id="600"),
        pytest.param(lambda: window(1.0), id="second"),
        pytest.param(lambda: window(60.0), id="minute"),
    ],
)
def test_the_rate_of_a_server_that_only_refuses_is_learnt(
    server: Callable[[], Callable[[float], bool]], latency: float, retry_after: float | None
) -> None:
    _JITTER.seed(1)
    reached, refused = measured(server(), latency, retry_after)
    assert reached >= 0.95
    assert refused <= 0.02


@pytest.mark.slow
def test_a_limit_that_is_lifted_is_left_behind() -> None:
    """Refused in its second ten seconds and never again, a server is soon asked as fast as it answers."""

    def allows(now: float) -> bool:
        return not 10 < now < 20

    reached, refused = measured(allows, 0.5, None)
    assert reached * ALLOWED > 0.9 * 16 / 0.5
    assert refused == 0
