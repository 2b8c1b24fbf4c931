"""The runner: executes open trials judge by judge; every reply is on disk before it counts."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import current_thread, main_thread
from types import TracebackType
from typing import Any, Self

from steelyard.core.arrays import chosen_rows
from steelyard.errors import CallError, UsageError
from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.judge_run import JudgeQueue, JudgeRun
from steelyard.runner.limits import RunLimits, retry
from steelyard.runner.record import RunRecord, StoredReplies
from steelyard.runner.session import Progress, RunControl, RunSession, prime_provider
from steelyard.stimuli.original import NATURAL_PROBE, natural_pair, original_of
from steelyard.store.in_flight import SETTLED
from steelyard.tasks.task import Item, Task
from steelyard.trials.judge import Judge, Reply
from steelyard.trials.trial import Exchange, Trial
from steelyard.verdicts.majority_vote import RULES, swap_slots
from steelyard.verdicts.readers import READERS, Confidence, confidence_of
from steelyard.verdicts.verdict import Failed, Verdict


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
        for judge in calls.judges:
            mine = calls.of_judge(judge.name)
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
            lanes.setdefault(lane, []).append(self._run_class(judge)(self.control, queue, stored))
        async with asyncio.TaskGroup() as group:
            for runs in lanes.values():
                group.create_task(_run_in_turn(runs))
        self.session.dollars = self.control.budget.spent
        return self.session

    def _run_class(self, judge: Judge) -> type[JudgeRun]:
        """By batches where calls are to be submitted, or were: what is paid for must not be called again."""
        info, stored = model_info(judge.address), self.store.batches(judge.name)
        waiting = not info.free and any(row.state != SETTLED for row in stored)
        if not (info.batch and (self.control.limits.batch or waiting)):
            return JudgeRun
        # Imported here: most runs need neither batches nor the HTTP below them.
        from steelyard.runner.batch_runner import BatchJudgeRun

        return BatchJudgeRun


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


class SharedProvider:
    """One judge's provider, shared by concurrent calls and open while any of them is in flight.

    A framework does not tell when it has scored its last sample, so the last call closes the provider.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._calls = 0
        self._opening: asyncio.Future[Provider] | None = None
        self._slots = asyncio.Semaphore()

    async def __aenter__(self) -> Self:
        if not self._calls:
            alone = model_info(self._judge.address).sequential
            self._slots = asyncio.Semaphore(1 if alone else RunLimits().concurrency)
            self._opening = asyncio.ensure_future(_open_provider(self._judge))
        self._calls += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls -= 1
        opening = self._opening
        if self._calls or opening is None:
            return
        self._opening = None
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            await opening.result().close()
        else:
            opening.cancel()

    async def ask(self, trial: Trial) -> Reply:
        assert self._opening is not None
        provider = await asyncio.shield(self._opening)
        prime_provider(provider, [trial])
        async with self._slots:
            return await provider.ask(trial.presentation())


async def _open_provider(judge: Judge) -> Provider:
    provider = connect(judge)
    await provider.open()
    return provider


@dataclass(frozen=True)
class JudgeAnswer:
    verdict: Verdict
    words: str | None
    """The reply; of a judge made of others every member's, None where nobody replied."""
    confidence: Confidence | None = None


@dataclass(frozen=True)
class JudgeCall:
    judge: Judge
    task: Task
    attempts: int
    _providers: dict[str, SharedProvider] = field(default_factory=dict)

    async def judge_item(self, item: Item, replicate: int = 0) -> JudgeAnswer:
        """One response on its scale, or two compared."""
        pair = len(item.responses) == 2
        shown = natural_pair(item, NATURAL_PROBE) if pair else original_of(item, self.task)
        return await self._judge_trial(Trial(self.judge, "base", shown, self.task, replicate=replicate))

    async def _judge_trial(self, trial: Trial) -> JudgeAnswer:
        composition = trial.judge.composition
        if composition is not None:
            answers = await asyncio.gather(*map(self._judge_trial, trial.members))
            verdicts = [
                answer.verdict if member.order == trial.order else swap_slots(answer.verdict)
                for member, answer in zip(trial.members, answers, strict=True)
            ]
            voted = RULES[composition.rule](verdicts, len(trial.stimulus.texts) == 2)
            words = [
                f"{member.judge.name}: {answer.words}"
                for member, answer in zip(trial.members, answers, strict=True)
                if answer.words is not None
            ]
            return JudgeAnswer(voted, "\n\n".join(words) or None)
        reply = await self._reply(trial)
        if isinstance(reply, Failed):
            return JudgeAnswer(reply, None)
        reader, scale = READERS.build(trial.judge.protocols["base"].reader), self.task.scale
        return JudgeAnswer(reader(reply, scale), reply.text, confidence_of(reader, reply, scale))

    async def _reply(self, trial: Trial) -> Reply | Failed:
        """The reply, or why there is none; a wrong key or an absent server is raised."""
        if trial.overflows:
            return Failed("context_overflow")
        limits = RunLimits(attempts=self.attempts)
        provider = self._providers.setdefault(trial.judge.name, SharedProvider(trial.judge))
        async with provider:
            try:
                return await retry(
                    partial(provider.ask, trial), limits, asyncio.Event(), limits.trial_timeout
                )
            except CallError as error:
                return Failed(error.reason)
