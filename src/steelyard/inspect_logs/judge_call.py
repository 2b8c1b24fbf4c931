"""How a judge is asked about one sample of Inspect: with its own prompt, reader and members."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError, DataError, PermanentError, TransientError
from steelyard.inspect_logs.line import Line
from steelyard.providers.provider import connect
from steelyard.runner.limits import RunLimits
from steelyard.stimuli.original import original_of
from steelyard.study.judge_config import parse_judge
from steelyard.study.task_config import INSTRUCTIONS, read_part
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Pairwise, parse_scale
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.render import rendered
from steelyard.tasks.transcripts.transcript import Transcript
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Failed, Verdict
from steelyard.verdicts.vote import RULES

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
        return Item(name, state.input_text, (rendered(run),), str(state.sample_id), transcript=run)

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
