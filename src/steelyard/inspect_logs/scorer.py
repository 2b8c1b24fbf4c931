"""A judge as an Inspect scorer: what is measured here grades there, with the same prompt and reader."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from steelyard.inspect_logs.judge_call import JudgeCall, Said, judge_call
from steelyard.inspect_logs.messages import MARK, UNSCORED, require_inspect
from steelyard.verdicts.call_answers import reason_of
from steelyard.verdicts.verdict import Decided


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
