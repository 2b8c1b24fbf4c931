"""The gate in continuous integration: its script is run in a shell as the Action and GitLab run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from commands import run_forked

ROOT = Path(__file__).parents[1]
JUDGE = "LIMIT = 1\n\ndef judge(request, first, second):\n    return 'tie' if LIMIT else '1'\n"
STUDY = """
judges: [{model: "python/judge.py:judge", name: mine}]
probes: [vacuum]
profile: quick
"""


PROGRAM = """#!/bin/sh
cd "$(dirname "$0")"
printf '%s\\0' "$OLDPWD" "$GITHUB_ACTIONS" "$GITHUB_STEP_SUMMARY" "$@" >asked && read -r code <code
cat out && cat err >&2
exit "$code"
"""


def serve_commands(folder: Path) -> None:
    """Run what the program of the folder is asked for, without the imports; an empty question ends it."""
    while words := (folder / "asked").read_text().split("\0")[:-1]:
        place, actions, summary, *words = words
        github = {"GITHUB_ACTIONS": actions, "GITHUB_STEP_SUMMARY": summary}
        done = run_forked(words, Path(place), {**os.environ, **github})
        (folder / "out").write_text(done.out)
        (folder / "err").write_text(done.err)
        (folder / "code").write_text(f"{done.code}\n")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """Run a script in a repository with a judge, with `steelyard` on the path."""
    program = tmp_path / "bin" / "steelyard"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    for pipe in ("asked", "code"):
        os.mkfifo(program.parent / pipe)
    answering = threading.Thread(target=serve_commands, args=(program.parent,))
    answering.start()
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "judge.py").write_text(JUDGE)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "policy.yaml").write_text("dark_current: {max: 0.5}\n")

    def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        summary = str(folder / "summary.md")
        given = {
            **os.environ,
            "PATH": path,
            "GITHUB_ACTIONS": "",
            "GITHUB_STEP_SUMMARY": summary,
            **variables,
        }
        given["GITHUB_ACTION_PATH"] = str(ROOT)
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=folder, env=given, capture_output=True, text=True, check=False
        )

    yield run, folder
    (program.parent / "asked").write_text("")
    answering.join()


def action_steps() -> list[dict[str, Any]]:
    return list(yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"])


def gitlab_script() -> str:
    job = yaml.safe_load((ROOT / "ci/judge-gate.gitlab-ci.yml").read_text())[".judge-gate"]
    return "\n".join(job["script"])


def scripts() -> dict[str, str]:
    return {
        "action": next(s["run"] for s in action_steps() if s.get("name") == "Gate"),
        "gitlab": gitlab_script(),
    }


def test_a_judge_is_measured_gated_and_its_certificate_kept(shell: Any) -> None:
    """By the Action, and by GitLab in the same folder; a certificate that fits is checked by one of them."""
    run, folder = shell
    for where, script in scripts().items():
        done = run(script, STUDY="study.yaml", POLICY="policy.yaml", OUT="run", CERTIFICATE="")
        assert done.returncode == 0, (where, done.stderr)
        assert ElementTree.parse(folder / "gate.xml").getroot().get("failures") == "0"
        assert "PASS" in (folder / "gate.md").read_text()
        if where == "action":
            assert (folder / "summary.md").read_text() == (folder / "gate.md").read_text()
        for written in ("gate.xml", "gate.md"):
            (folder / written).unlink()
    shutil.copy(folder / "run/certificate.json", folder / "certificate.json")
    certificate = {"STUDY": "study.yaml", "POLICY": "policy.yaml", "CERTIFICATE": "certificate.json"}
    assert run(scripts()["gitlab"], **certificate).returncode == 0
    (folder / "judge.py").write_text(JUDGE.replace("LIMIT = 1", "LIMIT = 2"))
    for where, script in scripts().items():
        changed = run(script, **certificate)
        assert changed.returncode == 3, where
        assert "another fingerprint" in changed.stderr


def test_a_judge_that_fails_its_policy_fails_the_job(shell: Any) -> None:
    run, folder = shell
    (folder / "judge.py").write_text(JUDGE.replace("'tie' if LIMIT else", ""))
    done = run(scripts()["action"], STUDY="study.yaml", POLICY="policy.yaml", OUT="run")
    assert done.returncode == 3, done.stderr
    assert "FAIL" in (folder / "summary.md").read_text()
    assert "::error" not in done.stderr
    assert run(scripts()["action"]).returncode != 0  # no study is named


def test_github_is_told_of_errors_and_of_checks_that_fail(shell: Any) -> None:
    """Annotations stand on the page of the job, one line each, with `%` escaped as its commands ask."""
    run, folder = shell
    (folder / "judge.py").write_text(JUDGE.replace("'tie' if LIMIT else", ""))
    given = {"STUDY": "study.yaml", "OUT": "run", "GITHUB_ACTIONS": "true"}
    done = run(scripts()["action"], POLICY="policy.yaml", **given)
    assert done.returncode == 3, done.stderr
    [told] = [line for line in done.stderr.splitlines() if line.startswith("::error")]
    named = "::error title=Steelyard::mine: FAIL: reacts to nothing (dark current): at most 0.5: 1.00 "
    assert told.startswith(named)
    missing = run(scripts()["action"], POLICY="nope.yaml", **given)
    assert missing.returncode == 2
    sentence = missing.stderr.splitlines()[-2].removeprefix("steelyard: ")
    assert missing.stderr.splitlines()[-1] == f"::error title=Steelyard::{sentence}"
    (folder / "judge.py").write_text(JUDGE)
    odd = run("steelyard measure '100%.yaml'", **given)
    assert "::error title=Steelyard::100%25.yaml: " in odd.stderr


def test_the_files_name_what_the_script_reads() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    step = next(step for step in action_steps() if step.get("name") == "Gate")
    assert {value.split("inputs.")[1].rstrip(" }") for value in step["env"].values()} <= set(inputs)
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "steelyard gate"
    assert hook["pass_filenames"] is False


INDEX = re.compile(
    r"\b(?:install|(?:uv|pdm|poetry) add|uvx|pipx run)\b[^\n`]*?[\s'\"]steelyard(?=[\s'\"`,;:.)=<>~@\[]|$)"
    r"|nstall `steelyard`"
    r"|\bsteelyard\["
    r"|dependencies\s*=\s*\[[^\]]*[\"']steelyard[\"'\[<>=~ ]",
    re.MULTILINE,
)
"""Words that have the package fetched by its name; paths and addresses are no such words."""


def test_nothing_has_steelyard_installed_from_an_index() -> None:
    """Nobody owns the name there: whoever takes it would run code beside the user's keys."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    told = []
    for name in filter(None, names):
        path = ROOT / name
        if name != "tests/test_ci.py" and path.suffix not in (".png", ".gz", ".parquet") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            told += [f"{name}: {match[0]}" for match in INDEX.finditer(text)]
    assert not told
    for words in (
        "pip install steelyard",
        "pip install -q 'steelyard[ray]'",
        "uv add steelyard==1",
        "uvx steelyard",
    ):
        assert INDEX.search(words), words
    for words in (
        "pip install '.[ray]'",
        'pip install "$GITHUB_ACTION_PATH"',
        "pip install ./steelyard",
        "pipx install .",
    ):
        assert not INDEX.search(words), words


def test_gitlab_installs_from_a_stated_place_alone(shell: Any) -> None:
    run, folder = shell
    before = "\n".join(
        yaml.safe_load((ROOT / "ci/judge-gate.gitlab-ci.yml").read_text())[".judge-gate"]["before_script"]
    )
    pip = folder.parent / "bin" / "pip"
    pip.write_text('#!/bin/sh\necho "$@"\n')
    pip.chmod(0o755)
    unset = run(before, STEELYARD_SOURCE="")
    assert (unset.returncode != 0, unset.stdout) == (True, "")
    assert (
        "STEELYARD_SOURCE: set it to the folder or git address that you install Steelyard from"
        in unset.stderr
    )
    assert run(before, STEELYARD_SOURCE="vendor/steelyard").stdout == "install --quiet vendor/steelyard\n"
