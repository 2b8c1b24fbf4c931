"""The studies in `examples/` run: planted, over HTTP, and a second time without a call."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import Command
from servers import Answer, Received, ScriptedServer, says

EXAMPLES = Path(__file__).parent.parent / "examples"
STUDIES = sorted(EXAMPLES.glob("*.yaml"))
each_study = pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A copy of the examples in the working folder."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return tmp_path


def pairwise(study: Path) -> bool:
    task: dict[str, Any] = yaml.safe_load(study.read_text()).get("task", {})
    return task.get("scale", "pairwise") == "pairwise"


def test_there_are_examples_and_each_is_explained() -> None:
    assert len(STUDIES) >= 4
    text = (EXAMPLES / "README.md").read_text()
    for study in STUDIES:
        assert f"`{study.name}`" in text


@each_study
def test_an_example_runs_with_a_planted_judge(command: Command, here: Path, study: Path) -> None:
    judge = "planted/probit" if pairwise(study) else "planted/rater"
    planned = command("plan", f"examples/{study.name}", "--json")
    assert planned.code == 0, planned.err
    done = command("measure", f"examples/{study.name}", "-j", judge, "--out", "run", "--json")
    assert done.code == 0, done.err
    assert done.err == ""
    sheet = json.loads(done.out)
    assert sheet["study"]["name"] == study.stem
    judged = {row["probe"] for row in sheet["estimates"] if row["judge"] == judge and row["n_calls"]}
    probes = [
        spec if isinstance(spec, str) else next(iter(spec))
        for spec in yaml.safe_load(study.read_text())["probes"]
    ]
    assert judged >= set(probes)


@each_study
def test_an_example_runs_over_http_and_a_second_time_for_nothing(
    command: Command, here: Path, study: Path
) -> None:
    def script(request: Received) -> Answer:
        assert "human_consensus" not in request.user
        return says('{"winner": "1"}' if pairwise(study) else '{"score": 1}')

    with ScriptedServer(script) as server:
        judge = f"openai/gpt-4o-mini?base_url={server.url}"
        planned = json.loads(command("plan", f"examples/{study.name}", "-j", judge, "--json").out)
        calls = sum(row["calls"] for row in planned["rows"] if row["judge"] == "openai/gpt-4o-mini")
        done = command("measure", f"examples/{study.name}", "-j", judge, "--out", "run")
        assert done.code == 0, done.err
        assert len(server.requests) == calls
        again = command("measure", f"examples/{study.name}", "-j", judge, "--out", "run")
        assert "No calls: every trial was answered before" in again.out
        assert len(server.requests) == calls
