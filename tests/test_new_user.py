"""Messages that a new user meets: each names the place, what was found and the way out."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import steelyard
from commands import Command
from steelyard.errors import SteelyardError

ROWS = ("--columns", "request=q,response=a", "--scale", "binary")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "nope"), 2, "nope: no such folder in {cwd}, expected a run folder that `measure` wrote."),
        (("report", "empty"), 2, "empty: no study.yaml found, expected a run folder that `measure` wrote."),
        (
            ("measure", "-j", "planted/tie", "--budget", "five"),
            2,
            "--budget: found 'five', expected a number of at least 0; see `steelyard measure --help`.",
        ),
        (
            ("measure", "-j", "planted/tie", "--budget", "-1"),
            2,
            "--budget: found '-1', expected a number of at least 0; see `steelyard measure --help`.",
        ),
        (
            ("measure", "-j", "planted/tie", "--sample", "1.5"),
            2,
            "--sample: found '1.5', expected a whole number of at least 1; see `steelyard measure --help`.",
        ),
        (
            ("measure", "-j", "python:judge.py"),
            2,
            "judge 'python:judge.py': found no '/', expected python/FILE.py:FUNCTION or "
            "python/MODULE:FUNCTION.",
        ),
        (
            ("measure", "-j", "judge.py:judge"),
            2,
            "judge 'judge.py:judge': found no '/', expected python/FILE.py:FUNCTION or "
            "python/MODULE:FUNCTION.",
        ),
        (("measure", "-j", "gpt-4o"), 2, "found no '/', expected provider/model such as openai/gpt-4o."),
        (
            ("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "/proc/x"),
            1,
            "/proc/x: cannot be written (No such file or directory); choose another --out.",
        ),
        (
            ("measure", "-j", "planted/rater", "--data", "nope.csv", *ROWS),
            2,
            "nope.csv: no such file in {cwd}; expected a data file.",
        ),
        (("measure", "nope.yaml"), 2, "nope.yaml: no such file in {cwd}; expected a study file."),
        (("import", "nope.jsonl", "--out", "i"), 2, "nope.jsonl: no such file in {cwd}; expected "),
        (
            ("measure", "-j", "planted/tie", "--format", "xml"),
            2,
            "no option '--format', which `report` has; see `steelyard measure --help`.",
        ),
        (
            ("report", "run", "--format", "xml"),
            2,
            "--format: found 'xml', expected one of html, md, json, csv;",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_message_names_the_place_and_the_way_out(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = command(*arguments)
    assert done.code == code, done.err
    assert said.format(cwd=tmp_path) in done.err
    assert len(done.err.splitlines()) == 1


JUDGE = '''
def judge(request, first, second):
    """Fails at its third line."""
    return {}["missing"]


def prose(request, first, second):
    return "I would say that the first is better."
'''


def test_a_function_that_raises_is_told_with_its_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(JUDGE)
    done = command("measure", "-j", "python/own.py:judge", "-p", "vacuum", "--out", "run")
    assert done.code == 1
    assert "raised KeyError: 'missing' (own.py, line 4)" in done.err


def test_a_function_of_python_is_told_without_options_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_judges_of_mine.py").write_text(JUDGE)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own_judges_of_mine")

    with pytest.raises(SteelyardError, match=r"raised KeyError: 'missing' \(own_judges_of_mine.py, line 4\)"):
        steelyard.measure(own.judge, probes=["vacuum"], out="raises")
    with pytest.raises(SteelyardError, match="wants just the answer") as told:
        steelyard.measure(own.prose, probes=["vacuum"], out="prose")
    assert not re.search("--[a-z]", str(told.value)), told.value
