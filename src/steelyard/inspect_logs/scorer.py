"""A judge as an Inspect scorer: the same prompt, reader and members as in a measurement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError, DataError
from steelyard.inspect_logs.export import require_inspect, score_of
from steelyard.providers.provider import connect
from steelyard.runner.judge_call import JudgeCall
from steelyard.study.judge_config import parse_judge
from steelyard.study.task_config import instruction_for, read_part
from steelyard.tasks.scale import Binary, Ordinal, parse_scale
from steelyard.tasks.task import Item, Task
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.transcript import Transcript, render_transcript


def judge_call(
    judge: str | Mapping[str, Any],
    rubric: str | Path,
    instruction: str | None = None,
    scale: str = "binary",
    *,
    runs: bool = True,
    attempts: int = 3,
) -> JudgeCall:
    parsed = parse_scale(scale)
    if not isinstance(parsed, (Binary, Ordinal)):
        raise ConfigError(f"inspect_scorer: scale is {scale!r}, expected binary or a range such as 1-6.")
    asked = parse_judge(judge, Path(), parsed, transcripts=runs)
    for answer in asked.leaf_judges:
        connect(answer)  # refuses wrong models and options before anything is asked
    words = read_part(rubric, Path(), "inspect_scorer: rubric")
    return JudgeCall(asked, Task(instruction or instruction_for(parsed), words, parsed), attempts)


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
    return scorer(metrics=[mean(), stderr()], name=call.judge.name)(lambda: scoring(call, runs))()


def scoring(call: JudgeCall, runs: bool) -> Callable[[Any, Any], Awaitable[Any]]:
    async def score(state: Any, target: Any) -> Any:
        del target
        answer, judge = await call.judge_item(_item(state, runs)), call.judge
        known = {
            "judge": judge.address,
            "fingerprint": judge.fingerprint("base"),
            "call": {"judge": judge.name, "protocol": "base", "replicate": 0},
        }
        return score_of(answer.verdict, answer.words, known)

    return score


def _item(state: Any, runs: bool) -> Item:
    """The whole run that is judged, or its last words."""
    name = f"{state.sample_id}/{state.epoch}"
    if not runs:
        return Item(name, state.input_text, (state.output.completion,), str(state.sample_id))
    messages = [message.model_dump(exclude_none=True) for message in state.messages]
    if not messages:
        raise DataError(f"sample {state.sample_id}: has no messages, expected a run to judge.")
    run = Transcript(str(state.sample_id), turns_of(messages, f"sample {state.sample_id}"), state.epoch)
    return Item(name, state.input_text, (render_transcript(run),), str(state.sample_id), transcript=run)
