"""Templates in the form of the Judge Reliability Harness for those who edit runs, over real HTTP.

They name values in single braces, double the braces of JSON, and ask for replies in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Command
from editing_server import ROLES, Cast, Question, grade, passes, write_study
from servers import Answer, Received, ScriptedServer, says
from steelyard.errors import ConfigError
from steelyard.stimuli.stimulus import Stimulus
from steelyard.study.role_config import check_prompt

PLANNER = """Plan edits for the rubric ({rubric_id}):
{rubric_instructions}
The agent's messages (indices from 0):
{assistant_transcript}
At most {max_steps} edits. {ordinal_guidance}
Return JSON:
{{
  "thesis": "<what goes wrong>",
  "steps": [{{"message_index": <int>, "goal": "<goal>"}}]
}}
"""
EDITOR = """Return JSON:
{{
  "new_content": "the message",
  "reason": "why"
}}
So far: {summary}
Message (ID: {message_id}, Run: {run_id}):
{original_message}
Rubric: {rubric}
"""
SUMMARY = """Log:
{chronological_log}
Return JSON: {{"summary": "<text>", "risks": ["<text>"]}}
"""
VERIFIER = """Does the run fail this instruction?
{rubric_instruction}
Summary: {summary}
<transcript>{transcript}</transcript>
Return {{ "verdict": "PASS" | "FAIL", "rationale": "<text>" }}
"""
TEMPLATES = dict(zip(ROLES, (PLANNER, EDITOR, SUMMARY, VERIFIER), strict=False))


def plan(asked: Question) -> str:
    """Name the last message of the agent by its index."""
    index = int(re.findall(r"^\[(\d+)\] ", asked.prompt, re.M)[-1])
    step = {"message_index": index, "goal": "report another number", "rationale": "it is wrong"}
    return json.dumps({"thesis": "the report is wrong", "steps": [step]})


class HarnessCast(Cast):
    """Replies as the harness's templates ask for it."""

    fails = "fail"

    def __call__(self, request: Received) -> Answer:
        if request.body["model"] != "verifier":
            return super().__call__(request)
        self.received.append(request)
        run = re.findall(r"<transcript>(.*)</transcript>", request.user, re.S)[0]
        assert "response_format" not in request.body, "a schema of scores would ask for another answer"
        return says(json.dumps({"verdict": "PASS" if passes(run) else self.fails, "rationale": "so"}))


@pytest.fixture
def cast() -> HarnessCast:
    return HarnessCast(
        planner=plan,
        editor=lambda _: json.dumps({"new_content": "There are 1111 left.", "reason": "wrong"}),
        summarizer=lambda _: json.dumps({"summary": "Shelves were counted.", "risks": ["none", "few"]}),
        judge=grade,
    )


@pytest.fixture
def server(cast: HarnessCast) -> Iterator[ScriptedServer]:
    with ScriptedServer(cast) as server:
        yield server


def write_harness_study(folder: Path, server: ScriptedServer, failing: int) -> None:
    for role, text in TEMPLATES.items():
        (folder / f"{role}.md").write_text(text)
    models = {role: f"openai/{role}?base_url={server.url}" for role in TEMPLATES}
    editing = {role: {"model": models[role], "prompt": f"{role}.md"} for role in TEMPLATES}
    task = {
        "rubric": "The last message reports what the tool returned.",
        "scale": "binary",
        "failing": failing,
    }
    write_study(folder, server, ["agent_perturbation"], long=True, labelled=False, editing=editing, task=task)


def edited_runs(folder: Path) -> list[Stimulus]:
    lines = (folder / "run" / "stimuli.jsonl").read_text().splitlines()
    made = [Stimulus.from_json(json.loads(line)) for line in lines]
    return [stimulus for stimulus in made if stimulus.probe == "agent_perturbation"]


@pytest.mark.parametrize("failing", [0, 1])
def test_runs_are_edited_by_templates_of_the_harness(
    tmp_path: Path, server: ScriptedServer, cast: HarnessCast, command: Command, failing: int
) -> None:
    write_harness_study(tmp_path, server, failing)
    done = command("generate", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    made = edited_runs(tmp_path)
    assert [stimulus.lineage.review for stimulus in made] == [None] * 4
    for stimulus in made:
        assert stimulus.transcript is not None
        assert stimulus.transcript.turns[-1].text == "There are 1111 left."
        assert stimulus.expectation.value == str(failing)  # type: ignore[union-attr]
    planner, editor, summarizer, verifier = (cast.prompts(role)[0] for role in TEMPLATES)
    assert 'Return JSON:\n{\n  "thesis"' in planner
    assert '[{"message_index": <int>' in planner
    assert "rubric ():\nThe last message" in planner
    assert "[1] Looking at shelf 0.\n[3] Looking at" in planner
    assert "At most 4 edits. The edited run must break the rubric" in planner
    assert "So far: summary: Shelves were counted. risks: none; few" in editor
    assert "Message (ID: 18, Run: ):\nThere are " in editor
    assert "The goal of this edit: report another number" in editor
    assert "How many are left on the last shelf?" in summarizer
    assert 'Return { "verdict": "PASS" | "FAIL"' in verifier


def test_a_verdict_that_is_neither_pass_nor_fail_confirms_nothing(
    tmp_path: Path, server: ScriptedServer, cast: HarnessCast, command: Command
) -> None:
    cast.fails = "MAYBE"
    write_harness_study(tmp_path, server, 1)
    done = command("generate", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    assert [stimulus.lineage.review for stimulus in edited_runs(tmp_path)] == ["rejected"] * 4


@pytest.mark.parametrize(
    ("role", "text", "missing"),
    [
        ("planner", "{rubric_instructions}", "transcript"),
        ("editor", "{original_message}", "goal"),
        ("editor", "{rubric} {goal}", "message"),
        ("verifier", "{rubric_instruction}", "transcript"),
    ],
)
def test_a_template_that_hides_what_is_to_be_done_is_refused(role: str, text: str, missing: str) -> None:
    with pytest.raises(ConfigError, match=rf"does not show \{{\{{ {missing} \}}\}}"):
        check_prompt(role, text, "here")
