"""A judge that is asked one thing at a time, outside of a run: its answer, or that of its members' vote."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

from steelyard.errors import CallError
from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.limits import RunLimits, retry
from steelyard.runner.session import prime_provider
from steelyard.stimuli.original import NATURAL_PROBE, natural_pair, original_of
from steelyard.tasks.task import Item, Task
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.readers import READERS, Confidence, confidence_of
from steelyard.verdicts.verdict import Failed, Verdict
from steelyard.verdicts.vote import RULES, swap_slots


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
