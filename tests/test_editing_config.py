"""`editing` of a study file: each role has its own model, decoding and prompt, and what is wrong is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import Command
from editing_server import Cast, write_study
from servers import ScriptedServer

OUT = ("--out", "run")


@pytest.fixture
def cast() -> Cast:
    return Cast()


@pytest.fixture
def server(cast: Cast) -> Iterator[ScriptedServer]:
    with ScriptedServer(cast) as server:
        yield server


def study(folder: Path, server: ScriptedServer, **editing: Any) -> None:
    """A study of one run whose roles are told apart by their models, with what a test says of them."""
    roles = {role: {"model": f"openai/{role}?base_url={server.url}"} for role in ("planner", "summarizer")}
    for role, given in editing.items():
        roles[role] = {**roles.get(role, {}), **given} if isinstance(given, dict) else given
    write_study(folder, server, ["agent_perturbation"], count=1, editing=roles)


def test_every_role_is_sent_its_own_decoding(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    study(
        tmp_path,
        server,
        planner={"temperature": 0.1, "max_tokens": 111, "seed": 5},
        editor={"temperature": 0.9},
        verifier={"max_tokens": 33},
    )
    assert command("generate", "study.yaml", *OUT).code == 0
    sent = {request.body["model"]: request.body for request in cast.received}
    parts = ("temperature", "max_tokens", "seed")
    told = {role: tuple(body.get(part) for part in parts) for role, body in sent.items()}
    assert told == {
        "planner": (0.1, 111, 5),
        "editor": (0.9, 2048, None),
        "verifier": (0.0, 33, None),
    }


def test_a_prompt_of_the_study_takes_the_place_of_the_built_in_one(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    (tmp_path / "planner.md").write_text(
        "Own words for {{ expected }} of {{ high }}.\n===== transcript\n{{ transcript }}\n===== end"
    )
    study(tmp_path, server, planner={"prompt": "planner.md"})
    assert command("generate", "study.yaml", *OUT).code == 0
    (asked,) = cast.prompts("planner")
    assert asked.startswith("Own words for 0 of 1.\n===== transcript\n[001] USER\n")
    frozen = command("measure", "study.yaml", *OUT)
    assert frozen.code == 0, frozen.err
    assert "Own words" in (tmp_path / "run" / "study.yaml").read_text()
    (tmp_path / "planner.md").write_text("Other words. {{ transcript }}")
    refused = command("generate", "study.yaml", *OUT)
    assert refused.code == 2
    assert cast.calls["planner"] == 1


@pytest.mark.parametrize(
    ("editing", "told"),
    [
        ({"planner": {"prompt": "{{ nothing }} {{ transcript }}"}}, "unknown variable 'nothing'"),
        ({"planner": {"prompt": "{{ rubric }}"}}, "does not show {{ transcript }}"),
        ({"editor": {"prompt": "{{ message }}"}}, "does not show {{ goal }}"),
        ({"summarizer": {"prompt": "{{ summary }}"}}, "does not show {{ messages }}"),
        ({"verifier": {"prompt": "{{ rubric }}"}}, "does not show {{ transcript }}"),
        ({"verifier": {"prompt": "{{ transcript }} {{ wanted_end }}"}}, "unknown variable 'wanted_end'"),
        ({"planner": {"prompt": "absent.md"}}, "absent.md: no such file"),
        ({"planner": {"prompt": 7}}, "expected a file with a prompt"),
        ({"planner": {"model": "planted/coin"}}, "writes no text"),
        ({"editor": {"attempts": 2}}, "attempts"),
        ({"editor": {"prompts": {}}}, "did you mean 'prompt'?"),
        ({"judge": {}}, "unknown key 'editing.judge'"),
        ({"steps": 0}, "steps"),
        ({"summary_words": "many"}, "summary_words"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command, editing: Any, told: str
) -> None:
    study(tmp_path, server, **editing)
    done = command("generate", "study.yaml", *OUT)
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1
    assert not cast.calls


def test_editing_needs_an_author(tmp_path: Path, server: ScriptedServer, command: Command) -> None:
    study(tmp_path, server)
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    del body["author"], body["validator"]
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(body))
    done = command("generate", "study.yaml", *OUT)
    assert done.code == 2
    assert "editing: found one without an author" in done.err


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        ({"agent_levels": {"targets": [9]}}, "the target 9 is not on the scale 1-3"),
        ({"agent_levels": {"targets": []}}, "expected a list of scores"),
        ({"agent_levels": {"targets": [1, 1]}}, "each once"),
    ],
)
def test_targets_are_scores_of_the_scale(
    tmp_path: Path, server: ScriptedServer, command: Command, probe: Any, told: str
) -> None:
    write_study(tmp_path, server, [probe], count=1, scale="1-3", labelled=False)
    done = command("generate", "study.yaml", *OUT)
    assert done.code == 2
    assert told in done.err


def test_runs_of_a_binary_scale_have_no_levels(
    tmp_path: Path, server: ScriptedServer, command: Command
) -> None:
    write_study(tmp_path, server, ["agent_levels"], count=1)
    done = command("generate", "study.yaml", *OUT)
    assert done.code == 2
    assert "needs transcripts of agents on an ordinal scale" in done.err
