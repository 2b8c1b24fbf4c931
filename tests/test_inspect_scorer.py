"""A judge as an Inspect scorer: real evaluations by Inspect, the judge behind real HTTP."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path
from typing import Any

import pytest

import steelyard
from agent_runs import stock_sample, write_log
from commands import Command
from editing_server import RUBRIC, Cast, grade
from servers import Answer, ScriptedServer, fails, says
from steelyard.errors import ConfigError

inspect_ai = pytest.importorskip("inspect_ai")


def rescored(folder: Path, answer: Any, **keys: Any) -> dict[str, Any]:
    """The scores that Inspect gets of a log with two runs, the second of which reports a wrong number."""
    cast = Cast(judge=answer)
    path = write_log(folder / "own.eval", [stock_sample(0), stock_sample(1, 9999)])
    with ScriptedServer(cast) as server:
        judge = {"model": f"openai/judge?base_url={server.url}", "name": "house"}
        scorer = steelyard.inspect_scorer(judge, f"{RUBRIC}\n", **keys)
        log = inspect_ai.score(inspect_ai.log.read_eval_log(str(path)), scorer, display="none")
    inspect_ai.log.write_eval_log(log, str(folder / "scored.eval"))
    return {sample.id: sample.scores["house"] for sample in log.samples}


def test_a_log_is_scored_and_its_verdicts_are_imported(tmp_path: Path, command: Command) -> None:
    scores = rescored(tmp_path, grade)
    assert {name: score.value for name, score in scores.items()} == {"r0": 1, "r1": 0}
    assert json.loads(scores["r0"].explanation) == {"score": 1}
    assert scores["r0"].metadata["steelyard"]["judge"] == "openai/judge"
    done = command("import", "scored.eval", "--out", "back", "--judge", "house")
    assert done.code == 0, done.err
    lines = (tmp_path / "back" / "observations.jsonl").read_text().splitlines()
    assert {(c["judge"], c["item"], c["score"]) for c in map(json.loads, lines)} == {
        ("house", "r0", 1),
        ("house", "r1", 0),
    }


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says("I can not say."), "invalid_response_format"),
        (says('{"score": 4}'), "invalid_response_format"),
        (fails(400), "grader_failed"),
        (fails(500), "grader_failed"),
    ],
)
def test_a_failure_is_no_grade(tmp_path: Path, answer: Answer, reason: str) -> None:
    scores = rescored(tmp_path, lambda *_: answer, attempts=1)
    assert [score.reason for score in scores.values()] == [reason, reason]
    assert all(math.isnan(score.value) for score in scores.values())


def test_a_call_that_fails_once_is_tried_again(tmp_path: Path) -> None:
    seen: list[str] = []

    def moody(transcript: str, low: int, high: int) -> int | Answer:
        seen.append(transcript)
        return fails(503) if len(seen) == 1 else grade(transcript, low, high)

    scores = rescored(tmp_path, moody)
    assert {name: score.value for name, score in scores.items()} == {"r0": 1, "r1": 0}
    assert len(seen) == 3


def answering() -> Any:
    """A solver that needs no model."""
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    async def solve(state: Any, generate: Any) -> Any:
        del generate
        state.output = ModelOutput.from_content("mockllm/model", "There are 42 left.")
        return state

    return solver(name="answering")(lambda: solve)()


# Inspect leaves a stream of its own unclosed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_evaluation_by_inspect_with_a_judge_of_steelyard(tmp_path: Path) -> None:
    from inspect_ai.dataset import Sample

    asked: list[str] = []

    def note(transcript: str, low: int, high: int) -> int:
        asked.append(transcript)
        return 3

    with ScriptedServer(Cast(judge=note)) as server:
        scorer = steelyard.inspect_scorer(
            f"openai/judge?base_url={server.url}", f"{RUBRIC}\n", scale="1-5", runs=False
        )
        task = inspect_ai.Task([Sample(input="How many?", target="x")], solver=answering(), scorer=scorer)
        (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path / "logs"))
        gc.collect()
    assert log.status == "success"
    (score,) = log.samples[0].scores.values()
    assert score.value == 3
    assert asked == ["There are 42 left."]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"scale": "pairwise"}, "expected binary or a range"),
        ({"judge": {"jury": ["planted/rater", "openai/a", "openai/b"]}}, "is made of others"),
        ({"rubric": "absent.md"}, "cannot read absent.md"),
    ],
)
def test_what_can_not_score_is_refused(keys: dict[str, Any], told: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    given: dict[str, Any] = {"judge": "openai/a", "rubric": "Be right.\nAlways.", **keys}
    with pytest.raises(ConfigError, match=told):
        steelyard.inspect_scorer(**given)
