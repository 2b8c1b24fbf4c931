"""Running to the end leaves the process as it was, whoever else runs in it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from steelyard.runner.limits import RunLimits
from steelyard.runner.record import Record
from steelyard.runner.runner import ALLOCATIONS, Runner, conduct
from steelyard.runner.session import Sitting
from steelyard.store.run_store import RunStore

LONG = 120.0
"""Seconds that nothing here takes."""


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    store = RunStore(tmp_path / "run.db")
    yield Runner(Record(store), RunLimits())
    store.close()


@pytest.fixture(autouse=True)
def threshold() -> Iterator[tuple[int, int, int]]:
    """How often memory is searched before and after each test."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


async def seen(runner: Runner) -> Sitting:
    """What is in force while a run goes on, in the place of a count."""
    return Sitting(calls=gc.get_threshold()[0])


def test_memory_is_searched_seldom_and_then_as_before(
    runner: Runner, threshold: tuple[int, int, int]
) -> None:
    assert conduct(runner, seen).calls == ALLOCATIONS
    assert gc.get_threshold() == threshold


def test_a_run_that_breaks_leaves_it_as_it_was(runner: Runner, threshold: tuple[int, int, int]) -> None:
    async def breaks(runner: Runner) -> Sitting:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        conduct(runner, breaks)
    assert gc.get_threshold() == threshold


@pytest.mark.parametrize("wish", [0, 10 * ALLOCATIONS])
def test_whoever_wishes_it_searched_more_seldom_or_never_is_heard(runner: Runner, wish: int) -> None:
    gc.set_threshold(wish, 10, 10)
    assert conduct(runner, seen).calls == wish
    assert gc.get_threshold()[0] == wish


def test_runs_that_overlap_in_two_threads_leave_it_as_it_was(
    runner: Runner, threshold: tuple[int, int, int]
) -> None:
    """The second begins before the first ends, and ends after it."""
    begun, end = Event(), Event()

    async def first(runner: Runner) -> Sitting:
        begun.set()
        await asyncio.to_thread(end.wait, LONG)
        return Sitting()

    with ThreadPoolExecutor(1) as thread:
        one = thread.submit(conduct, runner, first)
        assert begun.wait(LONG)

        async def second(runner: Runner) -> Sitting:
            end.set()
            await asyncio.wrap_future(one)
            return Sitting()

        conduct(runner, second)
    assert gc.get_threshold() == threshold
