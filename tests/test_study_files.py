"""Files that a study file names: those below its own folder are read, others with consent, pipes never."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

import steelyard as api
from commands import Command
from servers import ScriptedServer, says
from steelyard.errors import ConfigError, SteelyardError
from steelyard.study.judge_config import JudgeConfig
from steelyard.study.role_config import StageConfig, ValidatorConfig
from steelyard.study.roles import AuthorConfig
from steelyard.study.study_file import StudyConfig
from steelyard.study.task_config import TaskConfig
from steelyard.tasks.data_config import DataConfig, ResponsesConfig

SECRET, TOKEN = "MYPRIVATE-0123456789", "token-0123456789"
ROWS = "q,a,l\n" + "".join(f"Why {n}?,Because {n}.,{n % 2}\n" for n in range(4))
TEMPLATE = f"{SECRET} {{{{ request }}}} {{{{ response }}}}"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(says('{"score": 1}')) as serving:
        yield serving


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that somebody else wrote, beside one that holds what is private."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MYPRIVATE_TOKEN", TOKEN)
    private, folder = tmp_path / "private", tmp_path / "foreign"
    private.mkdir()
    folder.mkdir()
    (private / "x.md").write_text(TEMPLATE)
    (private / "x.csv").write_text(f"q,a,l\n{SECRET},Because.,1\nWhy?,No.,0\n")
    (private / "more.csv").write_text(f"q,l\n{SECRET},1\n")
    (private / "rubrics.yaml").write_text(yaml.safe_dump([{"id": "r", "instructions": SECRET}]))
    (private / "recorded.jsonl").write_text(json.dumps({"judge": SECRET, "score": 1}) + "\n")
    (private / "code.py").write_text(
        f"print({SECRET!r})\n\n\ndef judge(request, response):\n    return 1\n\n\n"
        "def cue(text):\n    return text + '!'\n"
    )
    (private / "promptfoo.yaml").write_text(f"tests: {SECRET}\n")
    (folder / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.csv").write_text(f"q,a,l\n{SECRET},Because.,1\nWhy?,No.,0\n")
    (folder / "rubric.md").write_text("Right is what is true.")
    (folder / "items.csv").write_text(ROWS)
    (folder / "link.md").symlink_to(private / "x.md")
    (folder / "link.csv").symlink_to(private / "x.csv")
    (folder / "paper").symlink_to(private / "x.md")
    (folder / "linked").symlink_to(private)
    (folder / "dataset" / "subset").mkdir(parents=True)
    (folder / "dataset" / "subset" / "dataset.json").symlink_to(private / "x.csv")
    return folder


def study(folder: Path, server: ScriptedServer, **given: Any) -> Path:
    """A study on the folder's own files, but for what is given; `@` is the private folder."""
    body: dict[str, Any] = {
        "judges": [judge(server)],
        "task": {"rubric": "rubric.md", "scale": "binary"},
        "data": {"path": "items.csv", "columns": {"request": "q", "response": "a", "label": "l"}},
        "probes": ["stochastic_stability"],
    }
    for key, value in given.items():
        body[key] = {**body[key], **value} if key in ("task", "data") else value
    text = json.dumps(body).replace("@", str(folder.parent / "private"))
    (folder / "study.yaml").write_text(text.replace("SERVER", server.url))
    return folder / "study.yaml"


def judge(server: ScriptedServer, **keys: Any) -> dict[str, Any]:
    return {"name": "m", "model": "openai/x", "base_url": server.url, **keys}


J: dict[str, Any] = {"name": "m", "model": "openai/x", "base_url": "SERVER"}
WRITERS = {"author": "openai/w?base_url=SERVER", "validator": "openai/v?base_url=SERVER"}
OUTSIDE: dict[str, tuple[dict[str, Any], str, str]] = {
    "environment": ({"task": {"rubric": "/proc/self/environ"}}, "task.rubric", ": /proc/self/environ)"),
    "hidden": ({"task": {"rubric": ".env"}}, "task.rubric", ".env (task.rubric"),
    "in a hidden folder": ({"data": {"path": ".git/x.csv"}}, "data.path", ".git/x.csv (data.path"),
    "whole path": ({"task": {"rubric": "@/x.md"}}, "task.rubric", "@/x.md"),
    "above": ({"task": {"rubric": "../private/x.md"}}, "task.rubric", "@/x.md"),
    "link": ({"task": {"rubric": "link.md"}}, "task.rubric", "@/x.md (task.rubric: link.md)"),
    "linked folder": ({"task": {"instruction": "linked/x.md"}}, "task.instruction", "@/x.md"),
    "rubrics": ({"task": {"rubrics": "@/rubrics.yaml"}}, "task.rubrics", "@/rubrics.yaml"),
    "data": ({"data": {"path": "@/x.csv"}}, "data.path", "@/x.csv"),
    "linked data": ({"data": {"path": "link.csv"}}, "data.path", "@/x.csv"),
    "link in a folder of data": ({"data": {"path": "dataset"}}, "data.path", "@/x.csv"),
    "responses": (
        {"data": {"responses": {"path": "@/more.csv", "key": "q"}}},
        "data.responses.path",
        "@/more.csv",
    ),
    "prompt": ({"judges": [{**J, "prompt": "@/x.md"}]}, "judge 'm': prompt", "@/x.md"),
    "system": ({"judges": [{**J, "system": "@/x.md"}]}, "judge 'm': system", "@/x.md"),
    "rubric of a judge": ({"judges": [{**J, "rubric": "@/x.md"}]}, "judge 'm': rubric", "@/x.md"),
    "protocol": (
        {"judges": [{**J, "protocols": {"strict": "@/x.md"}}]},
        "judge 'm': protocols.strict",
        "@/x.md",
    ),
    "prompt of a protocol": (
        {"judges": [{**J, "protocols": {"strict": {"system": "@/x.md"}}}]},
        "judge 'm': protocols.strict.system",
        "@/x.md",
    ),
    "prompt in a query": (
        {"judges": ["openai/x?base_url=SERVER&prompt=%2E%2E/private/x.md"]},
        "judge 'openai/x': prompt",
        "@/x.md",
    ),
    "prompt in a model's query": (
        {"judges": [{"name": "m", "model": "openai/x?base_url=SERVER&prompt=@/x.md"}]},
        "judge 'm': prompt",
        "@/x.md",
    ),
    "prompt of a member": (
        {
            "judges": [
                {"jury": ["openai/x?base_url=SERVER", "majority/3?of=openai/y?base_url=SERVER&prompt=@/x.md"]}
            ]
        },
        "judge 'openai/y': prompt",
        "@/x.md",
    ),
    "model in a query": (
        {"judges": ["openai/x?base_url=SERVER&model=python/@/code.py:judge"]},
        "judge 'openai/x': model",
        "@/code.py",
    ),
    "named as the built-in prompt": ({"judges": [{**J, "system": "paper"}]}, "judge 'm': system", "@/x.md"),
    "recording": ({"judges": ["recorded/@/recorded.jsonl"]}, "judge 'recorded/", "@/recorded.jsonl"),
    "prompt of an editor": (
        {**WRITERS, "editing": {"planner": {"prompt": "@/x.md"}}},
        "editing.planner.prompt",
        "@/x.md",
    ),
    "function": ({"judges": ["python/@/code.py:judge"]}, "judge 'python/", "@/code.py"),
    "assertion": ({"judges": ["promptfoo/@/promptfoo.yaml:a"]}, "judge 'promptfoo/", "@/promptfoo.yaml"),
    "function of a cue": (
        {"probes": [{"tradeoff": {"cues": [{"name": "c", "function": "@/code.py:cue"}]}}]},
        "probes.tradeoff.cues",
        "@/code.py",
    ),
    "function of a cue in a module": (
        {"probes": [{"tradeoff": {"cues": [{"name": "c", "function": "shutil:copyfile"}]}}]},
        "probes.tradeoff.cues",
        "/shutil.py (probes.tradeoff.cues",
    ),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_study_file_reads_nothing_outside_its_folder_unasked(
    command: Command, foreign: Path, server: ScriptedServer, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given, key, name = OUTSIDE[case]
    path = study(foreign, server, **given)
    name = name.replace("@", str(foreign.parent / "private"))
    for words in (("plan",), ("measure",), ("measure", "--dry-run")):
        done = command(*words, path, "--out", foreign.parent / "run")
        assert done.code == 2, done.out + done.err
        assert (key in done.err, name in done.err) == (True, True), done.err
        told = (
            f"outside its folder, or hidden in it; expected other files below {foreign}: copy them there, or"
        )
        assert told in done.err
        assert "--yes" in done.err
        assert len(done.err.strip().splitlines()) == 1
        assert SECRET not in done.out + done.err
    for call in (api.measure, api.plan):
        with pytest.raises(ConfigError, match=r"expected other files below .*consent") as refused:
            call(study=path, out=foreign.parent / "run")
        assert key in str(refused.value)
        assert SECRET not in str(refused.value) + capsys.readouterr().out
    assert not server.requests
    assert not (foreign.parent / "run").exists()


OPENED: list[str] = []
WATCHED: list[str] = []
"""Folders whose opened files are noted; a hook can not be taken out again."""


def note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and WATCHED and str(arguments[0]).startswith(WATCHED[0]):
        OPENED.append(str(arguments[0]))


sys.addaudithook(note_opened)
PARTS: dict[str, type[BaseModel]] = {
    "": StudyConfig,
    "task": TaskConfig,
    "data": DataConfig,
    "data.responses": ResponsesConfig,
    "judges": JudgeConfig,
    "author": AuthorConfig,
    "validator": ValidatorConfig,
    "editing.planner": StageConfig,
}


@pytest.mark.parametrize("part", PARTS)
def test_no_key_of_a_study_file_opens_a_file_elsewhere(
    foreign: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Whatever the key: one that names files and that the check does not know would be seen here."""
    private = str(foreign.parent / "private")
    monkeypatch.setattr(sys.modules[__name__], "WATCHED", [private])
    OPENED.clear()
    roles = {
        "author": {"model": "openai/w"},
        "validator": {"model": "openai/v"},
        "editing": {"planner": {"model": "openai/p"}},
    }
    given = roles if part in ("author", "validator", "editing.planner") else {}
    given = {"data": {"responses": {"path": "items.csv", "key": "q"}}} if part == "data.responses" else given
    for field in PARTS[part].model_fields:
        for name in ("x.md", "x.csv", "rubrics.yaml", "code.py:judge"):
            path = study(foreign, server, **given)
            body = place = yaml.safe_load(path.read_text())
            for key in filter(None, part.split(".")):
                place = place[key][0] if key == "judges" else place[key]
            place[field] = f"{private}/{name}"
            if field == "rubrics":  # beside a rubric it is refused before it is read
                del place["rubric"]
            path.write_text(json.dumps(body))
            with contextlib.suppress(SteelyardError):
                api.plan(study=path)
    assert not OPENED
    Path(private, "x.md").read_text()
    assert [OPENED.pop()] == [f"{private}/x.md"]


@pytest.mark.parametrize(
    "words", [["generate"], ["doctor"], ["measure", "--until", "verdict"], ["plan", "--until", "verdict"]]
)
def test_every_command_that_opens_a_study_file_refuses(
    command: Command, foreign: Path, server: ScriptedServer, words: list[str]
) -> None:
    path = study(foreign, server, task={"rubric": "../private/x.md"})
    done = command(*words, path)
    assert (done.code, "task.rubric" in done.err, SECRET in done.out + done.err) == (2, True, False)
    assert not server.requests


def test_a_rule_and_a_certificate_refuse_too(command: Command, foreign: Path, server: ScriptedServer) -> None:
    path = study(foreign, server, task={"rubric": "../private/x.md"})
    (foreign / "certificate.json").write_text("{}")
    for words in (
        ["measure", path, "--until", "accuracy>0.1"],
        ["gate", path, "--certificate", foreign / "certificate.json"],
    ):
        done = command(*words)
        assert (done.code, "task.rubric" in done.err, "--yes" in done.err) == (2, True, True), done.err
    done = command("gate", path, "--certificate", foreign / "certificate.json", "--yes")
    assert "not a certificate" in done.err


def test_consent_is_listed_and_lets_the_study_run(
    command: Command, foreign: Path, server: ScriptedServer
) -> None:
    private = foreign.parent / "private"
    path = study(foreign, server, task={"rubric": "../private/x.md"}, data={"path": "link.csv"})
    planned = command("plan", path, "--yes")
    assert planned.code == 0, planned.err
    assert f"Reads {private / 'x.md'} (task.rubric: ../private/x.md)" in planned.out
    done = command("measure", path, "--yes", "--out", "run")
    assert done.code == 0, done.err
    listed = f"{private / 'x.md'} (task.rubric: ../private/x.md), {private / 'x.csv'} (data.path: link.csv)"
    assert done.err.count(f"reads {listed}") == 1
    assert all(SECRET in request.body["messages"][-1]["content"] for request in server.requests)
    sheet = api.measure(study=path, out="run", consent=["files"])
    assert sheet.folder == Path("run")
    assert api.plan(study=path, out="run", consent=True).calls == 0
    assert command("report", "run").code == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 2)])
def test_a_terminal_asks_once(
    command: Command, foreign: Path, server: ScriptedServer, monkeypatch, typed: str, code: int
) -> None:
    terminal = io.StringIO(typed)
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", terminal)
    (foreign.parent / "private" / "pairs.md").write_text("{{ request }} {{ first }} {{ second }}")
    path = foreign / "pairs.yaml"
    path.write_text(
        json.dumps({"judges": [judge(server, prompt="../private/pairs.md")], "probes": ["vacuum"]})
    )
    done = command("plan", path, "--until", "verdict")
    assert (done.code, done.err.count("judge 'm': prompt")) == (code, 1), done.err
    assert ("no consent: nothing of it was read or sent" in done.err) == (code == 2)


def test_a_pipe_is_refused_even_with_consent(command: Command, foreign: Path, server: ScriptedServer) -> None:
    os.mkfifo(foreign / "pipe.csv")
    (foreign.parent / "private" / "sub").mkdir()
    os.mkfifo(foreign.parent / "private" / "sub" / "dataset.json")
    for name in ("pipe.csv", "/dev/zero", "linked"):
        done = command("measure", study(foreign, server, data={"path": name}), "--yes")
        assert (done.code, "data.path" in done.err, "expected a regular file" in done.err) == (2, True, True)
    with pytest.raises(ConfigError, match="expected a regular file"):
        api.plan(study=study(foreign, server, task={"rubric": "pipe.csv"}), consent=True)


def test_what_the_user_types_needs_no_consent(
    command: Command, foreign: Path, server: ScriptedServer
) -> None:
    private = foreign.parent / "private"
    path = study(foreign, server, task={"rubric": "/etc/hostname"}, data={"path": "/etc/hostname"})
    typed = ("--rubric", private / "x.md", "--data", private / "x.csv", "--prompt", private / "x.md")
    done = command("measure", path, *typed, "--out", "typed")
    assert done.code == 0, done.err
    sheet = api.measure(
        judge(server, prompt=str(private / "x.md")),
        study=path,
        task={"rubric": str(private / "x.md")},
        data={"path": str(private / "x.csv")},
        out="python",
    )
    assert sheet.folder == Path("python")
    alone = study(foreign, server, judges=[judge(server)])
    body = yaml.safe_load(alone.read_text())
    body["task"]["rubric"], body["data"]["path"] = str(private / "x.md"), str(private / "x.csv")
    del body["judges"]
    assert api.plan(judge(server), **body).calls > 0


def test_a_study_file_reached_otherwise_reads_beside_it(
    command: Command, foreign: Path, server: ScriptedServer
) -> None:
    path = study(foreign, server, task={"rubric": "sub/../rubric.md"})
    (foreign / "sub").mkdir()
    (foreign.parent / "way").symlink_to(foreign)
    (foreign / "other.yaml").symlink_to(path)
    for way in (
        path,
        "foreign/study.yaml",
        "way/study.yaml",
        "foreign/other.yaml",
        "private/../foreign/study.yaml",
    ):
        done = command("plan", way)
        assert done.code == 0, done.err
    shown = "Reads foreign/sub/../rubric.md (task.rubric), foreign/items.csv (data.path)."
    assert shown in command("plan", "foreign/study.yaml").out
    # Paths are seen from where the link lies, as they always were.
    (foreign.parent / "private" / "other.yaml").symlink_to(path)
    assert "cannot read private/sub/../rubric.md" in command("plan", "private/other.yaml").err


def test_python_asks_before_a_key_goes_elsewhere(foreign: Path, server: ScriptedServer) -> None:
    path = study(foreign, server, judges=[judge(server, api_key_env="MYPRIVATE_TOKEN")])
    with pytest.raises(ConfigError, match=r"judge m sends the value of MYPRIVATE_TOKEN to .*consent"):
        api.measure(study=path, out=foreign / "run")
    with pytest.raises(ConfigError, match="sends the value of MYPRIVATE_TOKEN"):
        api.measure(study=path, out=foreign / "run", consent="files")
    with pytest.raises(ConfigError, match="consent: found 'all', expected"):
        api.measure(study=path, consent="all")
    assert not server.requests
    assert not (foreign / "run").exists()
    api.measure(study=path, out=foreign / "run", consent={"keys"})
    api.measure(judge(server, api_key_env="MYPRIVATE_TOKEN"), study=path, out=foreign / "own")
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {TOKEN}"}
