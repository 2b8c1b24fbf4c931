"""What Inspect finds by the package's entry point: `inspect score LOG --scorer steelyard/judge -S judge=…`.

Inspect imports this module with every command, so that everything else is imported when a scorer is made.
"""

from __future__ import annotations

from inspect_ai.scorer import Scorer, mean, scorer, stderr


def judge(
    judge: str,
    rubric: str,
    instruction: str | None = None,
    scale: str = "binary",
    runs: bool = True,
    attempts: int = 3,
) -> Scorer:
    from steelyard.inspect_logs.export import judge_call, scoring

    call = judge_call(judge, rubric, instruction, str(scale), runs, attempts)
    return scoring(call, runs)


SCORER = scorer(metrics=[mean(), stderr()], name="judge")(judge)
