"""A judge with its remedy as a plain function, to be a custom metric of the framework that it came from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.commands.gate.gate import require_certified
from steelyard.core.text import pluralize
from steelyard.core.threads import lasting_loop
from steelyard.errors import ConfigError, PermanentError, UnreadableError, UsageError
from steelyard.providers.provider import connect, shows_question
from steelyard.runner.runner import JudgeAnswer, JudgeCall
from steelyard.study.judge_config import parse_judge
from steelyard.study.task_config import instruction_for, read_part
from steelyard.tasks.task import BestOf, Item, Pairwise, Scale, Task, parse_scale, question_hash
from steelyard.trials.judge import Judge
from steelyard.verdicts.verdict import Decided, Failed, Tie, Unreadable

Answer = str | int
"""`1`, `2` or `tie` of two texts, a score of one."""


class RemediedJudge:
    """Call it with `(request, response)` or `(request, first, second)`; `ask` is the same, awaited.

    Where there is no verdict it raises: `steelyard.Unreadable`, or an error of the call. Never a score.
    """

    def __init__(self, call: JudgeCall) -> None:
        self._call = call
        self.__name__ = call.judge.name

    @property
    def judge(self) -> Judge:
        """The judge behind it, with its fingerprint."""
        return self._call.judge

    @property
    def scale(self) -> Scale:
        return self._call.task.scale

    @property
    def question(self) -> str | None:
        """Hash of the instruction and rubric that it shows; None where it shows none."""
        return question_hash([self._call.task]) if shows_question(self.judge) else None

    def __call__(self, request: str, *texts: str, **fields: Any) -> Answer:
        """The verdict; `reference`, `context` and `metadata` may be named."""
        return asyncio.run_coroutine_threadsafe(self.ask(request, *texts, **fields), lasting_loop()).result()

    async def ask(self, request: str, *texts: str, **fields: Any) -> Answer:
        """The verdict, awaited."""
        return self.answer_of(await self.reply(request, *texts, **fields))

    async def reply(
        self,
        request: str,
        *texts: str,
        reference: str | None = None,
        context: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        replicate: int = 0,
    ) -> JudgeAnswer:
        """The verdict with the words of the reply; a further `replicate` is a call of its own."""
        expected = 2 if isinstance(self._call.task.scale, Pairwise) else 1
        if len(texts) != expected:
            raise UsageError(
                f"judge {self.__name__}: found {pluralize(len(texts), 'text')}, expected {expected}."
            )
        data = None if metadata is None else json.dumps(metadata)
        item = Item("call", request, texts, "call", reference=reference, context=context, metadata=data)
        return await self._call.judge_item(item, replicate)

    def answer_of(self, answer: JudgeAnswer) -> Answer:
        """The answer of a verdict; raises where there is none."""
        match answer.verdict:
            case Decided(value):
                return value if isinstance(self._call.task.scale, Pairwise) else int(value)
            case Tie():
                return "tie"
            case Unreadable(reason):
                raise UnreadableError(f"{reason}: {answer.words}" if answer.words else reason)
            case Failed(reason):
                raise PermanentError(reason, f"judge {self.__name__}: no reply ({reason}).")
        raise UnreadableError("the judge abstained")


def remedied_judge(
    given: str | Mapping[str, Any], scale: str, rubric: str | Path, certificate: Path | None, attempts: int
) -> RemediedJudge:
    parsed = parse_scale(scale)
    if isinstance(parsed, BestOf):
        raise ConfigError(f"remedied: scale is {scale!r}, expected pairwise, binary or a range such as 1-6.")
    judge = parse_judge(given, Path(), parsed)
    for one in judge.leaf_judges:
        connect(one)  # refuses wrong models and options before anything is asked
    if certificate is not None:
        require_certified(judge, certificate, datetime.now(UTC))
    words = read_part(rubric, Path(), "remedied: rubric") if rubric else ""
    task = Task(instruction_for(parsed), words, parsed)
    return RemediedJudge(JudgeCall(judge, task, attempts))
