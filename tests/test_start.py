"""The first minutes: `demo`, `init` and `skill`, from nothing to a first decision."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest
import yaml

from commands import Command, run_command
from steelyard.cli.help import COMMANDS
from steelyard.cli.main import cli
from steelyard.commands import start
from steelyard.commands.report import publish
from steelyard.commands.start import PUBLISHED, unpack_demo

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


@pytest.mark.slow
def test_the_sheet_that_ships_is_what_its_record_says(tmp_path: Path) -> None:
    """`make docs` writes it again where words or figures have changed."""
    folder = unpack_demo(tmp_path / "demo")
    with zipfile.ZipFile(Path(start.__file__).with_name(PUBLISHED)) as archive:
        shipped = {name: archive.read(name) for name in archive.namelist()}
    publish(folder, anew=True)
    written = {name: (folder / name).read_bytes() for name in shipped}
    # Builds of NumPy differ in the last digit of an exponential.
    figures = [
        json.loads(each.pop("datasheet.json"), parse_float=lambda text: f"{float(text):.12g}")
        for each in (written, shipped)
    ]
    assert figures[0] == figures[1], "run `make docs`"
    assert written == shipped, "run `make docs`"


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
    assert body["task"]["scale"] == "binary"  # its words need no map
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


def test_odd_names_and_words_are_given_as_to_measure(command: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(
        "Frage;Bot-Antwort;Urteil\r\nq;x;ok\r\nq2;y;nicht ok\r\n".encode("utf-8-sig")
    )
    named = ("init", "-j", "planted/rater", "--data", "t.csv", "--columns")
    named += ("request=Frage,response=Bot-Antwort,label=Urteil",)
    done = command(*named)
    assert done.code == 2
    assert "say what they mean with --values 'nicht ok=NUMBER,ok=NUMBER'." in done.err
    done = command(*named, "--values", "ok=1,nicht ok=0")
    assert done.code == 0, done.err
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert body["task"]["scale"] == "binary"
    assert body["data"] == {
        "path": "t.csv",
        "columns": {"request": "Frage", "response": "Bot-Antwort", "label": "Urteil"},
        "labels": {"ok": "1", "nicht ok": "0"},
    }
    assert command("measure", "study.yaml", "--dry-run").code == 0


def test_a_prompt_that_shows_one_answer_scores_the_built_in_texts(command: Command, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("{request} {response} Is it right? Reply 1 or 0.\n")
    done = command("init", "-j", "planted/rater", "--prompt", "one.md")
    assert done.code == 0, done.err
    assert yaml.safe_load((tmp_path / "study.yaml").read_text())["task"] == {"scale": "binary"}


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
            "no column is the response for certain; found: 'a', 'b'",
        ),
        (("-j", "planted/rater", "--data", "odd/labels.csv"), "holds 'blue' and 'red', expected"),
        (("-j", "planted/probit", "--prompt", "nope.md"), "nope.md"),
        (("-j", "plantd/rater"), "did you mean"),
        (
            ("-j", "planted/probit", "--out", "there.yaml"),
            "there.yaml: is there already;",
        ),
    ],
)
def test_what_cannot_be_a_study_leaves_no_file(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "labels.csv").write_text("question,answer,label\nq,a,blue\nq2,b,red\n")
    (tmp_path / "there.yaml").write_text("mine\n")
    done = command("init", *arguments)
    assert done.code == 2, done.out
    assert said in done.err
    assert not (tmp_path / "study.yaml").exists()
    assert (tmp_path / "there.yaml").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("typed", "data"),
    [
        (("planted/rater", "answers.csv", "none", "gate"), "answers.csv"),
        (("planted/rater", "", "", "gate"), "answers.csv"),  # what lies there is the default
        (("planted/probit", "none", "", "gate"), None),
    ],
)
def test_a_terminal_is_asked_what_was_not_said(
    tmp_path: Path, environment: dict[str, str], typed: tuple[str, ...], data: str | None
) -> None:
    answers(tmp_path)
    ours, theirs = pty.openpty()
    asked = [sys.executable, "-m", "steelyard", "init"]
    answers_typed = iter(typed)
    seen = ""
    with subprocess.Popen(
        asked, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as run:
        os.close(theirs)
        with contextlib.suppress(OSError):  # the end of the process ends the terminal
            while piece := os.read(ours, 65536).decode():
                seen += piece
                if seen.endswith(": "):
                    os.write(ours, f"{next(answers_typed)}\n".encode())
    os.close(ours)
    assert run.returncode == 0, seen
    assert seen.startswith("Judge (such as openai/gpt-4o-mini")
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert body.get("data", {}).get("path") == data
    assert body["profile"] == "standard"


GRADER = "Question: {question}\nAnswer: {answer}\nReply PASS or FAIL.\n"


def test_the_files_of_the_folder_are_taken_where_they_are_certain(command: Command, tmp_path: Path) -> None:
    """A study on built-in texts beside a table of answers would be of another judge than the user's."""
    answers(tmp_path)
    (tmp_path / "grader.md").write_text(GRADER)
    (tmp_path / "README.md").write_text("# About {the project}\n")
    (tmp_path / "votes.csv").write_text("id,verdict\n1,good\n")
    done = command("init", "-j", "openai/gpt-4o-mini")
    assert done.code == 0, done.err
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert body["judges"] == [{"model": "openai/gpt-4o-mini", "prompt": "grader.md"}]
    assert body["data"]["path"] == "answers.csv"
    assert body["data"]["columns"]["response"] == "answer"
    assert "answers.csv lies here and is taken as --data; --no-files leaves it out." in done.err
    assert "grader.md lies here and is taken as --prompt; --no-files leaves it out." in done.err


def test_files_are_left_out_on_request_and_where_the_judge_takes_none(
    command: Command, tmp_path: Path
) -> None:
    answers(tmp_path)
    (tmp_path / "grader.md").write_text(GRADER)
    done = command("init", "-j", "openai/gpt-4o-mini", "--no-files")
    assert (done.code, done.err) == (0, "")
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert body["judges"] == ["openai/gpt-4o-mini"]
    assert "data" not in body
    done = command("init", "-j", "planted/rater", "--out", "other.yaml")
    assert done.code == 0, done.err
    assert yaml.safe_load((tmp_path / "other.yaml").read_text())["judges"] == ["planted/rater"]


def test_a_prompt_that_shows_two_answers_is_none_for_rows_of_one(command: Command, tmp_path: Path) -> None:
    answers(tmp_path)
    (tmp_path / "pairs.md").write_text("{question} A: {answer_a} B: {answer_b} Which is better, A or B?\n")
    done = command("init", "-j", "openai/gpt-4o-mini")
    assert done.code == 0, done.err
    assert yaml.safe_load((tmp_path / "study.yaml").read_text())["judges"] == ["openai/gpt-4o-mini"]


def test_of_several_tables_one_has_to_be_named(command: Command, tmp_path: Path) -> None:
    answers(tmp_path)
    (tmp_path / "older.csv").write_text("question,answer\nq,a\n")
    done = command("init", "-j", "planted/rater")
    assert done.code == 2
    assert done.err == (
        "steelyard: init: found answers.csv and older.csv, expected one data file; choose with --data, or "
        "take none with --no-files.\n"
    )
    assert not (tmp_path / "study.yaml").exists()


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
