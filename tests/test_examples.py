"""The studies in `examples/` run: over HTTP, beside a planted judge, and a second time without a call."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from authoring_server import GOALS, part
from commands import Command
from servers import Answer, Received, ScriptedServer, says
from steelyard.trials.builtin_prompts import parse_score_prompt

EXAMPLES = Path(__file__).parent.parent / "examples"
STUDIES = sorted(EXAMPLES.glob("*.yaml"))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A copy of the examples in the working folder."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return tmp_path


def pairwise(study: Path) -> bool:
    task: dict[str, Any] = yaml.safe_load(study.read_text()).get("task", {})
    return task.get("scale", "pairwise") == "pairwise"


class Room:
    """Plays author, validator and judge; texts are nonsense, and their scores are remembered."""

    def __init__(self) -> None:
        with (EXAMPLES / "behaviours.csv").open(newline="", encoding="utf-8") as file:
            self.scores = {row["generation"]: int(row["human_consensus"]) for row in csv.DictReader(file)}
        self.pairs = False

    def __call__(self, request: Received) -> Answer:
        goal = next((goal for start, goal in GOALS.items() if request.user.startswith(start)), None)
        if goal is not None:
            return says(f"<text>\n{self.write(goal, part(request.user, 'response'))}\n</text>")
        if request.user.startswith("Two responses"):
            return says('{"same": "yes"}')
        if self.pairs:
            return says('{"winner": "1"}')
        return says(json.dumps({"score": self.scores.get(parse_score_prompt(request.user).response, 1)}))

    def write(self, goal: str, response: str) -> str:
        """Words without sense, as many as the goal wants."""
        count = len(response.split()) * {"verbosity_bias_long": 2, "verbosity_bias_short": 0.6}.get(goal, 1)
        text = " ".join(f"word{number}{len(self.scores)}" for number in range(round(count)))
        label = self.scores[response]
        self.scores[text] = 1 - label if goal == "label_flip" else label
        return text


def test_there_are_examples_and_each_is_explained() -> None:
    assert len(STUDIES) >= 5
    text = (EXAMPLES / "README.md").read_text()
    for study in STUDIES:
        assert f"`{study.name}`" in text


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_an_example_runs_over_http_beside_a_planted_judge_and_a_second_time_for_nothing(
    command: Command, here: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, body = Room(), yaml.safe_load(study.read_text())
    room.pairs = pairwise(study)
    accept = ["--accept-all"] if study.stem == "authored" else []
    planted = "planted/probit" if room.pairs else "planted/rater"
    if "data" in body and "author" not in body:
        body["judges"].append(planted)
        (here / "examples" / study.name).write_text(yaml.safe_dump(body))
    with ScriptedServer(room) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        planned = json.loads(command("plan", f"examples/{study.name}", "--json").out)
        within = ("coin", "first", "tie", "longest", "constant", "random", planted)
        calls = sum(row["calls"] for row in planned["rows"] if row["judge"] not in within)
        done = command("measure", f"examples/{study.name}", "--out", "run", "--json", *accept)
        no_warnings = ("the key in OPENAI_API_KEY", " calls, ")  # where the key goes; progress of a slow run
        warnings = [line for line in done.err.splitlines() if not any(part in line for part in no_warnings)]
        assert (done.code, len(warnings)) == (0, len(accept)), done.err  # one, of a judge of its own texts
        assert len(server.requests) == calls
        assert not any("human_consensus" in request.user for request in server.requests)
        again = command("measure", f"examples/{study.name}", "--out", "run", *accept)
        assert "No calls: every trial was answered before" in again.out
        assert len(server.requests) == calls
    sheet = json.loads(done.out)
    assert sheet["study"]["name"] == study.stem
    probes = {spec if isinstance(spec, str) else next(iter(spec)) for spec in body["probes"]}
    judges = [judge["name"] for judge in sheet["judges"] if not judge["baseline"]]
    assert len(judges) == len(body["judges"])
    for name in judges:
        assert probes <= {
            row["probe"] for row in sheet["estimates"] if row["judge"] == name and row["n_calls"]
        }
