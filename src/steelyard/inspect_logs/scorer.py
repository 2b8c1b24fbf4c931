"""A judge as an Inspect scorer: the same prompt, reader and members as in a measurement."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from steelyard.errors import ConfigError, DataError, PermanentError, TransientError
from steelyard.inspect_logs.messages import MARK, UNSCORED, require_inspect
from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.engine import prime_provider
from steelyard.runner.limits import RunLimits
from steelyard.stimuli.original import original_of
from steelyard.study.judge_config import parse_judge
from steelyard.study.task_config import INSTRUCTIONS, read_part
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Pairwise, parse_scale
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.transcript import Transcript, render_transcript
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.call_answers import reason_of
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Decided, Failed, Verdict
from steelyard.verdicts.vote import RULES


class Line:
    """One judge's provider, open while somebody is inside; `async with` enters."""

    def __init__(self, judge: Judge) -> None:
        """Nothing is opened before the first call."""
        self._judge = judge
        self._inside = 0
        self._opening: asyncio.Future[Provider] | None = None
        self._places = asyncio.Semaphore()

    async def __aenter__(self) -> Self:
        if not self._inside:
            alone = model_info(self._judge.address).sequential
            self._places = asyncio.Semaphore(1 if alone else RunLimits().concurrency)
            self._opening = asyncio.ensure_future(_opened(self._judge))
        self._inside += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside -= 1
        opening = self._opening
        if self._inside or opening is None:
            return
        self._opening = None
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            await opening.result().close()
        else:
            opening.cancel()

    async def ask(self, trial: Trial) -> Reply:
        """One call, once there is a place for it."""
        assert self._opening is not None
        provider = await asyncio.shield(self._opening)
        prime_provider(provider, [trial])
        async with self._places:
            return await provider.ask(trial.presentation())


async def _opened(judge: Judge) -> Provider:
    provider = connect(judge)
    await provider.open()
    return provider


LONGEST_WAIT = 60.0
"""Seconds between two tries, at most."""


@dataclass(frozen=True)
class Said:
    """What a judge said of a sample."""

    verdict: Verdict
    """The verdict, or why there is none."""
    words: str | None
    """The reply; of a judge made of others every member's, None where nobody replied."""


@dataclass(frozen=True)
class JudgeCall:
    """A judge with its question."""

    judge: Judge
    """Who."""
    task: Task
    """What."""
    runs: bool
    """True where the whole run is judged, False where its last words are."""
    attempts: int
    """Tries of one call."""
    _lines: dict[str, Line] = field(default_factory=dict)

    async def said(self, state: Any) -> Said:
        """The verdict on a sample, as Inspect's solvers left it."""
        return await self._said(
            Trial(self.judge, "base", original_of(self._item(state), self.task), self.task)
        )

    async def _said(self, trial: Trial) -> Said:
        made = trial.judge.composition
        if made is not None:
            every = await asyncio.gather(*map(self._said, trial.members))
            return Said(RULES[made.rule]([one.verdict for one in every], False), _joined(trial, every))
        reply = await self._reply(trial)
        if isinstance(reply, Failed):
            return Said(reply, None)
        return Said(READERS.build(trial.judge.protocols["base"].reader)(reply, self.task.scale), reply.text)

    def _item(self, state: Any) -> Item:
        """The sample as it is judged."""
        name = f"{state.sample_id}/{state.epoch}"
        if not self.runs:
            return Item(name, state.input_text, (state.output.completion,), str(state.sample_id))
        messages = [message.model_dump(exclude_none=True) for message in state.messages]
        if not messages:
            raise DataError(f"sample {state.sample_id}: has no messages, expected a run to judge.")
        run = Transcript(str(state.sample_id), turns_of(messages, f"sample {state.sample_id}"), state.epoch)
        return Item(name, state.input_text, (render_transcript(run),), str(state.sample_id), transcript=run)

    async def _reply(self, trial: Trial) -> Reply | Failed:
        """What the judge says, or why it says nothing; a wrong key or an absent server is raised."""
        if trial.overflows:
            return Failed("context_overflow")
        line = self._lines.setdefault(trial.judge.name, Line(trial.judge))
        async with line:
            for tries in range(1, self.attempts + 1):
                try:
                    return await line.ask(trial)
                except PermanentError as error:
                    return Failed(error.reason)
                except TransientError as error:
                    if tries == self.attempts:
                        return Failed(error.reason)
                    pause = RunLimits().backoff * 2.0 ** (tries - 1)
                    await asyncio.sleep(min(LONGEST_WAIT, max(pause, error.retry_after or 0.0)))
        raise AssertionError("a try ends in a reply or an error")


def judge_call(
    judge: str | Mapping[str, Any],
    rubric: str | Path,
    instruction: str | None = None,
    scale: str = "binary",
    *,
    runs: bool = True,
    attempts: int = 3,
) -> JudgeCall:
    """A judge with its question, or what is wrong with it in one sentence."""
    parsed = parse_scale(scale)
    if isinstance(parsed, Pairwise):
        raise ConfigError("inspect_scorer: scale is 'pairwise', expected binary or a range such as 1-6.")
    asked = parse_judge(judge, Path(), parsed, transcripts=runs)
    for one in asked.asked:
        connect(one)  # refuses wrong models and options before anything is asked
    words = read_part(rubric, Path(), "inspect_scorer: rubric")
    return JudgeCall(asked, Task(instruction or INSTRUCTIONS[False], words, parsed), runs, attempts)


def _joined(trial: Trial, every: list[Said]) -> str | None:
    """What the members said, each under its name; None where none of them replied."""
    named = [
        f"{member.judge.name}: {one.words}"
        for member, one in zip(trial.members, every, strict=True)
        if one.words is not None
    ]
    return "\n\n".join(named) or None


def inspect_scorer(
    judge: str | Mapping[str, Any],
    rubric: str | Path,
    instruction: str | None = None,
    scale: str = "binary",
    *,
    runs: bool = True,
    attempts: int = 3,
) -> Any:
    """A judge as a scorer for Inspect's `Task(scorer=…)` and `score(log, …)`.

    `judge` is as in a study file; `rubric` a text or a file. `runs` has the whole transcript judged, else the
    last words. Verdicts are whole numbers of the scale; a call without a verdict is unscored (NaN).
    """
    require_inspect("inspect_scorer")
    from inspect_ai.scorer import mean, scorer, stderr

    call = judge_call(judge, rubric, instruction, scale, runs=runs, attempts=attempts)
    return scorer(metrics=[mean(), stderr()], name=call.judge.name)(lambda: scoring(call))()


def scoring(call: JudgeCall) -> Callable[[Any, Any], Awaitable[Any]]:
    """What Inspect calls for each sample."""

    async def score(state: Any, target: Any) -> Any:
        del target
        return inspect_score(call, await call.said(state))

    return score


def inspect_score(call: JudgeCall, said: Said) -> Any:
    """A verdict as Inspect's score; what has none is unscored, with the reason."""
    from inspect_ai.scorer import Score

    judge = call.judge
    known = {
        "judge": judge.address,
        "fingerprint": judge.fingerprint("base"),
        "call": {"judge": judge.name, "protocol": "base", "replicate": 0},
    }
    if isinstance(said.verdict, Decided):
        value = said.verdict.value
        return Score(value=int(value), answer=value, explanation=said.words, metadata={MARK: known})
    reason = UNSCORED.get(type(said.verdict), "grader_failed")
    told = {MARK: {**known, "reason": reason_of(said.verdict)}}
    return Score(value=float("nan"), explanation=said.words, reason=reason, metadata=told)
