"""A judge as an Inspect scorer: real evaluations by Inspect, the judge behind real HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import steelyard
from agent_runs import stock_sample, write_log
from commands import Command
from docs_pages import ROOT
from editing_server import RUBRIC, Cast, grade
from servers import Answer, Received, ScriptedServer, fails, says
from steelyard.errors import ConfigError
from steelyard.inspect_logs.export import judge_call
from steelyard.runner.runner import SharedProvider
from steelyard.stimuli.original import original_of
from steelyard.tasks.task import Item
from steelyard.trials.builtin_prompts import parse_score_prompt
from steelyard.trials.trial import Trial

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


def test_judges_that_are_made_of_others_score_too(tmp_path: Path) -> None:
    path = write_log(tmp_path / "own.eval", [stock_sample(0), stock_sample(1, 9999)])
    said = {"kind": 1, "harsh": 0, "sound": None}

    def bench(request: Received) -> Answer:
        fixed = said[request.body["model"]]
        return sound(request) if fixed is None else says(json.dumps({"score": fixed}))

    with ScriptedServer(bench) as server:
        members = [{"name": name, "model": f"openai/{name}?base_url={server.url}"} for name in said]
        jury = steelyard.inspect_scorer({"name": "house", "jury": members}, f"{RUBRIC}\n")
        most = steelyard.inspect_scorer(f"majority/3?of=openai/sound?base_url={server.url}", f"{RUBRIC}\n")
        log = inspect_ai.score(inspect_ai.log.read_eval_log(str(path)), [jury, most], display="none")
    scores = {sample.id: sample.scores["house"] for sample in log.samples}
    assert {name: score.value for name, score in scores.items()} == {"r0": 1, "r1": 0}
    assert [line.split(":")[0] for line in scores["r0"].explanation.split("\n\n")] == list(said)
    assert [next(s.value for n, s in x.scores.items() if n != "house") for x in log.samples] == [1, 0]
    assert len(server.requests) == 2 * 3 + 2 * 3


def sound(request: Received) -> Answer:
    """What the rubric gives."""
    shown = parse_score_prompt(request.user)
    return says(json.dumps({"score": grade(shown.response, shown.low, shown.high)}))


def test_a_jury_with_a_member_that_failed_is_unscored_unless_the_others_decide(tmp_path: Path) -> None:
    path = write_log(tmp_path / "own.eval", [stock_sample(0)])

    def bench(request: Received) -> Answer:
        return fails(400) if request.body["model"] == "ill" else sound(request)

    with ScriptedServer(bench) as server:
        members = [{"name": n, "model": f"openai/{n}?base_url={server.url}"} for n in ("a", "b", "ill")]
        scorers = [
            steelyard.inspect_scorer({"name": name, "jury": chosen}, f"{RUBRIC}\n")
            for name, chosen in (("three", members), ("two", members[1:]))
        ]
        log = inspect_ai.score(inspect_ai.log.read_eval_log(str(path)), scorers, display="none")
    three, two = (log.samples[0].scores[name] for name in ("three", "two"))
    assert three.value == 1
    assert math.isnan(two.value)
    assert two.reason == "grader_failed"


def test_each_call_has_a_connection_that_nobody_else_answers_on() -> None:
    """Nobody looks for repeated responses here, as a run does, so that no connection is used again."""

    async def both(server: ScriptedServer) -> list[int]:
        asked = judge_call(
            f"openai/judge?base_url={server.url}", "Be right.\nAlways.", None, "binary", False, 3
        )
        item = Item("a", "request", ("response",), "a")
        trial = Trial(asked.judge, "base", original_of(item, asked.task), asked.task)
        line, seen = SharedProvider(asked.judge), []
        for _ in range(2):
            async with line, line:
                assert (await line.ask(trial)).text == (await line.ask(trial)).text
            seen.append(server.connections)
        return seen

    with ScriptedServer(lambda _: says('{"score": 1}')) as server:
        assert asyncio.run(both(server)) == [2, 4]
        assert len(server.requests) == 4


def test_inspect_finds_the_scorer_by_its_name(tmp_path: Path) -> None:
    """`inspect score` in a process of its own; the entry point is the one that pyproject declares."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["inspect_ai"]
    about = tmp_path / "site" / "steelyard_scorer-0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-scorer\nVersion: 0\n")
    lines = [f"{name} = {value}\n" for name, value in declared.items()]
    (about / "entry_points.txt").write_text("".join(["[inspect_ai]\n", *lines]))
    path = write_log(tmp_path / "own.eval", [stock_sample(0), stock_sample(1, 9999)])
    (tmp_path / "rubric.md").write_text(RUBRIC)
    with ScriptedServer(Cast()) as server:
        judge = f"openai/judge?base_url={server.url}"
        given = ["-S", f"judge={judge}", "-S", "rubric=rubric.md", "--action", "append", "--overwrite"]
        done = subprocess.run(
            [sys.executable, "-m", "inspect_ai", "score", str(path), "--scorer", "steelyard/judge", *given],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "OPENAI_API_KEY": "a key"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    scores = [next(iter(s.scores.values())) for s in inspect_ai.log.read_eval_log(str(path)).samples]
    assert [score.value for score in scores] == [1, 0]
    assert scores[0].metadata["steelyard"]["call"]["judge"] == "openai/judge"


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
        ({"judge": {"consensus": "orders", "of": "openai/a"}}, "no order to reverse"),
        ({"rubric": "absent.md"}, "cannot read absent.md"),
    ],
)
def test_what_can_not_score_is_refused(keys: dict[str, Any], told: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    given: dict[str, Any] = {"judge": "openai/a", "rubric": "Be right.\nAlways.", **keys}
    with pytest.raises(ConfigError, match=told):
        steelyard.inspect_scorer(**given)
