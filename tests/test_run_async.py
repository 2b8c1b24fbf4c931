"""Running to the end: an event loop of its own, errors raised, and the process left as it was."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.errors import ConfigError
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import RunSession
from steelyard.store.run_store import RunStore


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    store = RunStore(tmp_path / "run.db")
    yield Runner(RunRecord(store), RunLimits())
    store.close()


def test_a_library_call_changes_no_setting_of_the_process(runner: Runner) -> None:
    before = gc.get_threshold()

    async def work(runner: Runner) -> RunSession:
        return RunSession(calls=gc.get_threshold()[0])

    assert run_async(runner, work).calls == before[0]
    assert gc.get_threshold() == before


def test_it_runs_inside_the_loop_of_a_notebook(runner: Runner) -> None:
    async def work(runner: Runner) -> RunSession:
        return RunSession(calls=3)

    async def notebook() -> int:
        return run_async(runner, work).calls

    assert asyncio.run(notebook()) == 3


def test_what_the_caller_must_fix_is_raised(runner: Runner) -> None:
    async def work(runner: Runner) -> RunSession:
        return RunSession(stop_errors=[ConfigError("the key is wrong")])

    with pytest.raises(ConfigError, match="the key is wrong"):
        run_async(runner, work)
