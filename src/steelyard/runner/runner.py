"""The runner: executes open trials judge by judge; every reply is on disk before it counts."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread
from typing import Any

from steelyard.core.arrays import chosen_rows
from steelyard.errors import UsageError
from steelyard.providers.provider import model_info
from steelyard.runner.batch_runner import BatchJudgeRun
from steelyard.runner.judge_run import JudgeQueue, JudgeRun
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord, StoredReplies
from steelyard.runner.session import Progress, RunControl, RunSession
from steelyard.store.in_flight import SETTLED
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Exchange, Trial


class Runner:
    def __init__(
        self, record: RunRecord, limits: RunLimits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        self.control = RunControl(record, limits, progress, spent)
        self.record = record
        self.store = record.store

    @property
    def session(self) -> RunSession:
        return self.control.session

    async def run(self, trials: Sequence[Trial]) -> RunSession:
        """Make the calls that have no reply; judges that need every core in turn, others concurrently."""
        answers = self.record.answers(trials)
        calls, queues = answers.calls, []
        names, codes = calls.coded(lambda asked: asked.judge.name)
        for judge in calls.judges:
            mine = codes[calls.question] == names.index(judge.name)
            every, pending = chosen_rows(mine), chosen_rows(mine & ~answers.answered)
            queues.append(JudgeQueue(judge, calls.take(every), [calls.take(pending)]))
        return await self._run_queues(queues, StoredReplies(self.store, answers))

    async def run_queues(self, queues: Sequence[JudgeQueue]) -> RunSession:
        calls = [call for one in queues for call in one.trials]
        written = [call.key for call in calls if isinstance(call, Exchange)]
        trials = [call for call in calls if isinstance(call, Trial)]
        answers = self.record.answers(trials) if trials else None
        exchanges = self.store.exchanges(written) if written else {}
        return await self._run_queues(queues, StoredReplies(self.store, answers, exchanges))

    async def _run_queues(self, queues: Sequence[JudgeQueue], stored: StoredReplies) -> RunSession:
        lanes: dict[str, list[JudgeRun]] = {}
        for queue in queues:
            judge = queue.judge
            answered = int(stored.of(queue.trials).sum())
            self.control.budget.spent += stored.cost(queue.trials)
            lane = judge.provider if model_info(judge.address).sequential else f"judge {judge.name}"
            if not judge.baseline:
                self.control.progress.begin(judge.name, len(queue.trials), answered)
            run_class = BatchJudgeRun if self._uses_batches(judge) else JudgeRun
            lanes.setdefault(lane, []).append(run_class(self.control, queue, stored))
        async with asyncio.TaskGroup() as group:
            for runs in lanes.values():
                group.create_task(_run_in_turn(runs))
        self.session.dollars = self.control.budget.spent
        return self.session

    def _uses_batches(self, judge: Judge) -> bool:
        """Calls are to be submitted in batches, or were: what is paid for must not be called again."""
        info, stored = model_info(judge.address), self.store.batches(judge.name)
        waiting = not info.free and any(row.state != SETTLED for row in stored)
        return info.batch and (self.control.limits.batch or waiting)


async def _run_in_turn(runs: Iterable[JudgeRun]) -> None:
    for run in runs:
        await run.execute()


Work = Callable[[Runner], Coroutine[Any, Any, RunSession]]


def run_async(runner: Runner, work: Work) -> RunSession:
    session = _await(_interruptible(runner, work))
    for error in session.stop_errors:
        if isinstance(error, UsageError):
            raise error
    return session


def _await(work: Coroutine[Any, Any, RunSession]) -> RunSession:
    """Run to the end; in a thread of its own if a notebook's event loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _interruptible(runner: Runner, work: Work) -> RunSession:
    loop, control = asyncio.get_running_loop(), runner.control

    def interrupt() -> None:
        """The first Ctrl-C finishes what is in flight, the second ends at once."""
        loop.remove_signal_handler(signal.SIGINT)
        control.progress.say("stopping after the calls in flight; press Ctrl-C again to stop at once")
        control.stop()

    # asyncio handles signals in the main thread alone, and none on Windows: there Ctrl-C ends at once.
    handles_signals = sys.platform != "win32" and current_thread() is main_thread()
    if handles_signals:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await work(runner)
    finally:
        if handles_signals:
            loop.remove_signal_handler(signal.SIGINT)
