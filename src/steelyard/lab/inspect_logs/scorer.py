"""A judge as an Inspect scorer: what is measured here grades there, with the same prompt and reader."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError, DataError, PermanentError, TransientError
from steelyard.lab.inspect_logs.messages import MARK, UNSCORED, require_inspect
from steelyard.lab.run.knowledge import impart
from steelyard.lab.run.limits import RunLimits
from steelyard.lab.study.judge_config import parse_judge
from steelyard.lab.study.task_config import INSTRUCTIONS, read_part
from steelyard.providers.provider import connect
from steelyard.stimuli.original import original_of
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Pairwise, parse_scale
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.render import rendered
from steelyard.tasks.transcripts.transcript import Transcript
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.call_answers import reason_of
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Decided, Failed, Verdict

LONGEST_WAIT = 60.0
"""Seconds between two tries, at most."""


@dataclass(frozen=True)
class JudgeCall:
    """How a judge is asked about one sample."""

    judge: Judge
    """Who."""
    task: Task
    """What."""
    runs: bool
    """True where the whole run is judged, False where its last words are."""
    attempts: int
    """Tries of one call."""

    async def score(self, state: Any) -> Any:
        """The verdict on a sample as Inspect's score; a call without a verdict is unscored."""
        from inspect_ai.scorer import Score

        trial = Trial(self.judge, "base", original_of(self._item(state), self.task), self.task)
        reply = await self._reply(trial)
        known = {"judge": self.judge.address, "fingerprint": self.judge.fingerprint("base")}
        if isinstance(reply, Failed):
            return _unscored(reply, None, known)
        verdict = READERS.build(self.judge.protocols["base"].reader)(reply, self.task.scale)
        if not isinstance(verdict, Decided):
            return _unscored(verdict, reply.text, known)
        return Score(
            value=int(verdict.value), answer=verdict.value, explanation=reply.text, metadata={MARK: known}
        )

    def _item(self, state: Any) -> Item:
        """The sample as it is judged."""
        name = f"{state.sample_id}/{state.epoch}"
        if not self.runs:
            return Item(name, state.input_text, (state.output.completion,), str(state.sample_id))
        messages = [message.model_dump(exclude_none=True) for message in state.messages]
        if not messages:
            raise DataError(f"sample {state.sample_id}: has no messages, expected a run to judge.")
        run = Transcript(str(state.sample_id), turns_of(messages, f"sample {state.sample_id}"), state.epoch)
        return Item(name, state.input_text, (rendered(run),), str(state.sample_id), transcript=run)

    async def _reply(self, trial: Trial) -> Reply | Failed:
        """What the judge says, or why it says nothing; a wrong key or an absent server is raised."""
        if trial.overflows:
            return Failed("context_overflow")
        provider = connect(self.judge)
        impart(provider, [trial])
        await provider.open()
        try:
            for tries in range(1, self.attempts + 1):
                try:
                    return await provider.ask(trial.presentation())
                except PermanentError as error:
                    return Failed(error.reason)
                except TransientError as error:
                    if tries == self.attempts:
                        return Failed(error.reason)
                    pause = RunLimits().backoff * 2.0 ** (tries - 1)
                    await asyncio.sleep(min(LONGEST_WAIT, max(pause, error.retry_after or 0.0)))
            raise AssertionError("a try ends in a reply or an error")
        finally:
            await provider.close()


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
    if asked.composition is not None:
        raise ConfigError(
            f"inspect_scorer: judge {asked.name!r} is made of others, expected one that is asked itself."
        )
    connect(asked)
    words = read_part(rubric, Path(), "inspect_scorer: rubric")
    return JudgeCall(asked, Task(instruction or INSTRUCTIONS[False], words, parsed), runs, attempts)


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

    async def score(state: Any, target: Any) -> Any:
        del target
        return await call.score(state)

    return scorer(metrics=[mean(), stderr()], name=call.judge.name)(lambda: score)()


def _unscored(verdict: Verdict, words: str | None, known: Mapping[str, Any]) -> Any:
    from inspect_ai.scorer import Score

    reason = UNSCORED.get(type(verdict), "grader_failed")
    told = {MARK: {**known, "reason": reason_of(verdict)}}
    return Score(value=float("nan"), explanation=words, reason=reason, metadata=told)
