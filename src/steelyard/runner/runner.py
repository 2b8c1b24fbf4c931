"""The runner: executes open trials judge by judge; every reply is on disk before it counts."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from steelyard.errors import UsageError
from steelyard.providers.provider import model_info
from steelyard.runner.batch_judge_run import BatchRun
from steelyard.runner.judge_run import Agenda, JudgeRun
from steelyard.runner.limits import RunLimits
from steelyard.runner.progress import Progress
from steelyard.runner.record import Record, Stored
from steelyard.runner.session import RunControl, Sitting
from steelyard.store.batches import SETTLED
from steelyard.trials.exchange import Call, Exchange
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial


class Runner:
    """Executes the open trials of a plan."""

    def __init__(
        self, record: Record, limits: RunLimits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        """`spent` is what the study has cost beside the trials that will be run here."""
        self.control = RunControl(record, limits, progress, spent)
        self.record = record
        self.store = record.store

    @property
    def sitting(self) -> Sitting:
        """What has happened so far."""
        return self.control.sitting

    async def run(self, trials: Sequence[Trial]) -> Sitting:
        """Run what has no reply yet; judges that need every core in turn, all others side by side."""
        answers = self.record.answers(trials)
        calls, agendas = answers.calls, []
        names, codes = calls.coded(lambda asked: asked.judge.name)
        for judge in calls.judges:
            mine = codes[calls.question] == names.index(judge.name)
            agendas.append(Agenda(judge, calls.take(mine), [calls.take(mine & ~answers.answered)]))
        return await self._follow(agendas, Stored(self.store, answers))

    async def follow(self, agendas: Sequence[Agenda]) -> Sitting:
        """Run each judge's batches; judges that need every core in turn, all others side by side."""
        return await self._follow(agendas, self._stored([call for one in agendas for call in one.trials]))

    async def _follow(self, agendas: Sequence[Agenda], stored: Stored) -> Sitting:
        lanes: dict[str, list[JudgeRun]] = {}
        for agenda in agendas:
            judge = agenda.judge
            answered = int(stored.of(agenda.trials).sum())
            self.control.budget.spent += stored.paid(agenda.trials)
            lane = judge.provider if model_info(judge.address).sequential else f"judge {judge.name}"
            if not judge.baseline:
                self.control.progress.begin(judge.name, len(agenda.trials), answered)
            kind = BatchRun if self._batched(judge) else JudgeRun
            lanes.setdefault(lane, []).append(kind(self.control, agenda, stored))
        async with asyncio.TaskGroup() as group:
            for runs in lanes.values():
                group.create_task(_in_turn(runs))
        self.sitting.dollars = self.control.budget.spent
        return self.sitting

    def _batched(self, judge: Judge) -> bool:
        """Calls are to be handed in together, or were: what is paid for must not be asked for again."""
        info, stored = model_info(judge.address), self.store.batches(judge.name)
        waiting = not info.free and any(row.state != SETTLED for row in stored)
        return info.batch and (self.control.limits.batch or waiting)

    def _stored(self, calls: Sequence[Call]) -> Stored:
        """What was answered before, of both kinds of calls."""
        written = [call.key for call in calls if isinstance(call, Exchange)]
        trials = [call for call in calls if isinstance(call, Trial)]
        return Stored(
            self.store,
            self.record.answers(trials) if trials else None,
            self.store.exchanges(written) if written else {},
        )


async def _in_turn(runs: Iterable[JudgeRun]) -> None:
    for run in runs:
        await run.execute()


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
