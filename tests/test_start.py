"""The first minutes: `demo`, `init` and `skill`, from nothing to a first decision."""

from __future__ import annotations

import json
import lzma
import os
import pty
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import click
import pytest
import yaml

from commands import Command, run_command
from steelyard.cli.help import COMMANDS
from steelyard.cli.main import cli
from steelyard.commands.demo import SHEET, unpack_demo
from steelyard.commands.report import publish

# The recorded run


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demonstration was run, with what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "printed").write_text(run_command(folder, "demo", COLUMNS="100").out)
    return folder


def test_the_demonstration_is_the_screen_and_the_page_of_a_run(shown: Path) -> None:
    printed = (shown / "printed").read_text()
    assert printed.startswith("Judge Datasheet, ")
    assert "embedded/smollm2-135m: unfit" in printed
    assert "288 calls, recorded; none was made for this. For every figure open the page" in printed
    assert printed.splitlines()[-1] == "Your own judge: steelyard init"
    run = shown / "steelyard-runs" / "recorded-demo"
    assert str(Path("steelyard-runs/recorded-demo/datasheet.html")) in printed
    assert "<title>" in (run / "datasheet.html").read_text()


def test_the_record_behind_it_is_a_run_like_any_other(shown: Path) -> None:
    again = run_command(shown, "demo", COLUMNS="100")
    assert again.out == (shown / "printed").read_text()
    calls = run_command(shown, "show", "steelyard-runs/recorded-demo", "-n", "1")
    assert "embedded/smollm2-135m" in calls.out
    gated = run_command(shown, "gate", "steelyard-runs/recorded-demo", "--policy", "smoke", code=3)
    assert "FAIL" in gated.out


def test_the_sheet_that_ships_is_what_its_record_says(tmp_path: Path) -> None:
    """`make docs` writes it again where words or figures have changed."""
    folder = unpack_demo(tmp_path / "demo")
    publish(folder, anew=True)
    rebuilt = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))
    shipped = json.loads(lzma.decompress((files("steelyard.commands") / SHEET).read_bytes()))
    for body in (rebuilt, shipped):
        body.pop("run")
    assert shipped == rebuilt, "run `make docs`"


def test_another_run_is_not_overwritten(command: Command, tmp_path: Path) -> None:
    assert command("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "mine").code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    done = command("demo", "--out", "mine")
    assert done.code == 2
    assert done.err == "steelyard: mine: holds another run; choose another folder with --out.\n"
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before


# A study of one's own

ROWS = [("how?", "so", "good"), ("why?", "because", "bad"), ("when?", "then", "")] * 4


def answers(folder: Path, header: str = "uid,question,answer,human_verdict") -> None:
    lines = (f"{n},{q} {n},{a} {n},{label}" for n, (q, a, label) in enumerate(ROWS))
    (folder / "answers.csv").write_text("\n".join([header, *lines, ""]))


def test_four_options_make_a_study_that_can_be_measured(command: Command, tmp_path: Path) -> None:
    answers(tmp_path)
    (tmp_path / "judge.md").write_text("{{ request }}\n{{ response }}\nIs it right? Reply 1 or 0.\n")
    done = command(
        *("init", "-j", "planted/rater", "--data", "answers.csv", "--prompt", "judge.md", "--for", "gate")
    )
    assert done.code == 0, done.err
    text = (tmp_path / "study.yaml").read_text()
    body = yaml.safe_load(text)
    assert body["judges"] == [{"model": "planted/rater", "prompt": "judge.md"}]
    assert body["data"]["columns"] == {
        "id": "uid",
        "request": "question",
        "response": "answer",
        "label": "human_verdict",
    }
    assert (body["task"]["scale"], body["data"]["labels"]) == ("binary", {"good": 1, "bad": 0})
    assert len(text.splitlines()) <= 14
    assert "#" in text
    assert "planted/rater" in done.out
    assert "nothing was spent" in done.out
    last = done.out.splitlines()[-1]
    assert last == "Next: steelyard measure study.yaml, then: steelyard gate RUN --policy default"
    measured = command("measure", "study.yaml", "-p", "stochastic_stability", "--out", "run")
    assert measured.code == 0, measured.err


@pytest.mark.parametrize(
    ("rows", "scale", "columns"),
    [
        (
            "prompt,answer_a,answer_b\nq,x,y\n",
            "pairwise",
            {"response_1": "answer_a", "response_2": "answer_b"},
        ),
        ("input,output,human_score\nq,x,1\nq2,y,5\n", "1-5", {"response": "output", "label": "human_score"}),
        ("input,output,label\nq,x,1\nq2,y,0\n", "binary", {"response": "output", "label": "label"}),
    ],
)
def test_the_scale_follows_from_the_rows(
    command: Command, tmp_path: Path, rows: str, scale: str, columns: dict[str, str]
) -> None:
    (tmp_path / "rows.csv").write_text(rows)
    judge = "planted/coin" if scale == "pairwise" else "planted/rater"
    done = command("init", "-j", judge, "--data", "rows.csv", "--out", "s.yaml")
    assert done.code == 0, done.err
    body = yaml.safe_load((tmp_path / "s.yaml").read_text())
    assert body["task"]["scale"] == scale
    assert columns.items() <= body["data"]["columns"].items()


def test_without_data_the_built_in_texts_are_named(command: Command, tmp_path: Path) -> None:
    done = command("init", "-j", "planted/probit")
    assert done.code == 0, done.err
    assert "data" not in yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert done.out.splitlines()[-1] == "Next: steelyard measure study.yaml --until verdict"
    assert command("measure", "study.yaml", "-p", "vacuum", "--dry-run").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "init: no judge is named; add --judge JUDGE, such as openai/gpt-4o-mini."),
        (("-j", "planted/rater", "--data", "nope.csv"), "nope.csv: no such file in "),
        (
            ("-j", "planted/rater", "--data", "odd.csv"),
            "odd.csv: found the columns 'a', 'b', none of which is",
        ),
        (("-j", "planted/rater", "--data", "odd_labels.csv"), "holds 'blue' and 'red', expected"),
        (("-j", "planted/rater", "--prompt", "nope.md"), "nope.md"),
        (("-j", "plantd/rater"), "did you mean"),
        (
            ("-j", "planted/probit", "--out", "there.yaml"),
            "there.yaml: is there already; choose another --out.",
        ),
    ],
)
def test_what_cannot_be_a_study_leaves_no_file(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    (tmp_path / "odd_labels.csv").write_text("question,answer,label\nq,a,blue\nq2,b,red\n")
    (tmp_path / "there.yaml").write_text("mine\n")
    done = command("init", *arguments)
    assert done.code == 2, done.out
    assert said in done.err
    assert not (tmp_path / "study.yaml").exists()
    assert (tmp_path / "there.yaml").read_text() == "mine\n"


def test_a_terminal_is_asked_what_was_not_said(tmp_path: Path, environment: dict[str, str]) -> None:
    answers(tmp_path)
    ours, theirs = pty.openpty()
    os.write(ours, b"planted/rater\nanswers.csv\n\ngate\n")
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "init"],
        cwd=tmp_path,
        env=environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stdout
    assert [line.partition(" (")[0] for line in done.stdout.split(": ")][:1] == ["Judge"]
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert body["data"]["path"] == "answers.csv"
    assert body["profile"] == "standard"


# A page for agents


def test_the_page_for_agents_names_commands_that_exist(command: Command) -> None:
    text = command("skill").out
    assert text.startswith("---\nname: steelyard\n")
    assert "Stop and ask" in text
    lines = re.findall(r"^    (steelyard .*?)(?:  #.*)?$", text, re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line)[1:]
        name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
        assert name in COMMANDS, line
        known = cli.get_command(click.Context(cli), name)
        assert known is not None
        options = {one for parameter in known.params for one in parameter.opts}
        given = {word for word in words if word.startswith("-")}
        assert given <= options, line
