"""The datasheet on one screen of a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from example_datasheet import FAILING, crowd, example, pointwise, renamed, without_estimates
from steelyard.cli.output import print_page_path
from steelyard.datasheet.conclusion import Finding
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import terminal

LONG = "planted/probit?s=1.2&beta=0&tau=0.3&sigma=0.2&lapse=0.02&seed=12&noise=0.25&more=yes"


def printed(datasheet: Datasheet, width: int = 80) -> str:
    stream = io.StringIO()
    terminal.render_brief(datasheet, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def two_judges() -> Datasheet:
    kept = ("Llama8B", "Qwen14B")
    sheet = example()
    judges = tuple(judge for judge in sheet.judges if judge.baseline or judge.name in kept)
    readings = tuple(reading for reading in sheet.findings if reading.judge in kept)
    return replace(sheet, judges=judges, findings=readings)


def test_two_judges_fit_one_screen() -> None:
    assert len(printed(two_judges()).splitlines()) <= 22  # The command adds three lines below it.


def test_every_judge_has_a_word_for_every_question_with_a_limit() -> None:
    sheet = two_judges()
    lines = [line.split() for line in printed(sheet).splitlines()]
    assert ["Llama8B", "Qwen14B"] in lines
    for title in dict.fromkeys(reading.title for reading in sheet.findings):
        words = [reading.status for reading in sheet.findings if reading.title == title]
        if set(words) != {"measured"}:
            assert [*title.split(), *words] in lines


def test_questions_without_a_limit_are_one_line() -> None:
    sheet = two_judges()
    told = tuple(
        Finding(judge.name, title, "measured", "is so")
        for judge in sheet.judges[:2]
        for title in ("One", "Two")
    )
    text = printed(replace(sheet, findings=(*sheet.findings, *told)))
    assert ", One, Two.\n" in text.partition("Measured, without a limit: ")[2]
    assert "\nOne " not in text


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_long_name_is_never_broken(width: int) -> None:
    text = printed(renamed(example(), "Llama8B", LONG), width)
    assert any(line.split()[1:] == [LONG] for line in text.splitlines())
    numbers = [line.split() for line in text.splitlines() if line.split() and line.split()[0] in "1234"]
    assert ["1", LONG] in numbers


def test_one_judge_with_a_long_name_needs_no_number() -> None:
    sheet = two_judges()
    one = replace(sheet, judges=sheet.judges[:1])
    text = printed(renamed(one, "Llama8B", LONG), 60)
    assert f"\n{LONG}\nMerit" in text


def test_many_judges_are_told_in_groups_that_fit() -> None:
    text = printed(crowd(9))
    tables = [line for line in text.splitlines() if line.startswith("Dark current ")]
    assert len(tables) >= 2
    assert max(len(line) for line in tables) <= 80


def test_a_judge_without_a_reading_is_told() -> None:
    assert "not measured" in printed(replace(example(), findings=example().findings[:3]))


@pytest.mark.parametrize(
    "datasheet",
    [without_estimates(), pointwise(), replace(example(), judges=()), replace(example(), findings=())],
)
def test_unusual_datasheets_are_rendered(datasheet: Datasheet) -> None:
    assert "Judge Datasheet" in printed(datasheet)


def test_hostile_names_stay_text() -> None:
    text = printed(renamed(example(), FAILING, "\x1b[31m[red]\u202e"))
    assert "\x1b" not in text
    assert "[red]" in text


# The last line


@pytest.mark.parametrize("name", ["a" * 200, "x[/]y  z", "ü\x1b[2J"])
def test_the_path_is_last_and_whole(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_page_path(tmp_path / name / "datasheet.html", "3 calls.", full=False)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Page: ")
    assert last.endswith("/datasheet.html")
    assert name.replace("\x1b", "\\x1b") in last


def test_the_path_is_a_link_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_page_path(tmp_path / "a b\x1b\\" / "datasheet.html", full=True)
    seen = capsys.readouterr().out
    uri = (tmp_path / "a%20b%1B%5C" / "datasheet.html").as_posix()
    assert seen.startswith("Page: \x1b]8;id=")
    assert f"file://{uri}\x1b\\" in seen
    assert seen.count("\x1b") == 4
