"""The datasheet on one screen of a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from example_datasheet import FAILING, crowd, example, pointwise, renamed, without_estimates
from said import decision, fact
from steelyard.cli.output import print_page_path
from steelyard.datasheet import numbers
from steelyard.datasheet.conclusion import CARE, UNFIT, Conclusion, NextStep
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.render import terminal
from steelyard.datasheet.render.clauses import lead
from test_first_screen import one_judge as decided_judge

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


def one_judge() -> Datasheet:
    sheet = two_judges()
    name = sheet.judges[0].name
    why = fact("Position", "favours the first text", ": same slot for 25 pairs, 0.2 [0.1, 0.3]")
    step = NextStep("measure again", "steelyard x")
    verdict = Conclusion(name, CARE, (why,), Advice.BOTH_ORDERS, next=step)
    return replace(sheet, judges=sheet.judges[:1], verdicts=(verdict,))


def test_one_judge_is_word_reason_figures_and_advice_in_25_lines() -> None:
    lines = printed(one_judge()).splitlines()
    assert len(lines) <= 22
    at = lines.index("Llama8B: usable with care")
    assert lines[at + 1] == "It favours the first text."
    assert (
        lines.index(Advice.BOTH_ORDERS.value)
        < lines.index("Next: measure again:")
        < lines.index("steelyard x")
    )


def test_a_key_figure_has_value_interval_limit_and_word() -> None:
    sheet = one_judge()
    found = sheet.find("Llama8B", "dark_current", "vacuum", protocol="base")
    assert found is not None
    lines = [line.split() for line in printed(sheet).splitlines()]
    value, interval = numbers.value(found), numbers.interval(found).split()
    word = {"flagged": ["too", "high"], "clear": ["fine"], "inconclusive": ["undecided"]}[found.status or ""]
    assert ["reacts", "to", "nothing", value, *interval, "at", "most", "0.10", *word] in lines


@pytest.mark.parametrize(("width", "names"), [(80, 1), (70, 2)])
def test_a_row_is_one_line_of_80_columns_and_a_longer_name_hangs(width: int, names: int) -> None:
    lines = [line.rstrip() for line in printed(decided_judge(), width).splitlines()]
    at = next(place for place, line in enumerate(lines) if line.startswith("  better text,"))
    assert lines[at].endswith("  0.61   [0.50, 0.71]    at least 0.80  too low")
    told = [lines[at].partition("  0.61")[0].strip(), *lines[at + 1 : at + names]]
    assert all(line.startswith("    ") for line in told[1:])
    assert " ".join(line.strip() for line in told) == "better text, one step apart"
    assert lines[at + names] == ""


def test_on_60_columns_a_limit_takes_two_lines_and_a_name_has_room() -> None:
    lines = [line.rstrip() for line in printed(decided_judge(), 60).splitlines()]
    at = next(place for place, line in enumerate(lines) if line.startswith("  better text,"))
    assert lines[at].endswith("  0.61   [0.50, 0.71]    at least  too low")
    assert lines[at + 1].split() == ["one", "step", "0.80"]
    assert [line.strip() for line in lines[at + 2 : at + 4]] == ["apart", ""]


def test_every_judge_of_several_has_a_value_for_every_key_figure() -> None:
    sheet = two_judges()
    lines = [line.split() for line in printed(sheet).splitlines()]
    assert ["1", "2"] in lines
    found = [sheet.find(name, "dark_current", "vacuum", protocol="base") for name in ("Llama8B", "Qwen14B")]
    marks = {"flagged": "↑", "inconclusive": "?"}
    values = [numbers.value(e) + marks.get(e.status or "", "") for e in found if e is not None]
    assert ["reacts", "to", "nothing", *" ".join(values).split()] in lines


def test_what_is_undecided_is_one_line() -> None:
    sheet = one_judge()
    told = tuple(decision("Llama8B", title, "inconclusive") for title in ("One", "Two"))
    verdict = replace(sheet.verdicts[0], undecided=told)
    text = printed(replace(sheet, findings=told, verdicts=(verdict,)))
    assert "\n2 questions are undecided at this size: one, two.\n" in text


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_long_name_is_never_broken(width: int) -> None:
    text = printed(renamed(example(), "Llama8B", LONG), width)
    assert any(line.split()[1:] == [LONG] for line in text.splitlines())
    numbers = [line.split() for line in text.splitlines() if line.split() and line.split()[0] in "1234"]
    assert ["1", LONG] in numbers


def test_one_judge_with_a_long_name_needs_no_number() -> None:
    text = printed(renamed(one_judge(), "Llama8B", LONG), 60)
    assert f"\n{LONG}" in text


def test_many_judges_are_told_in_groups_that_fit() -> None:
    text = printed(crowd(9))
    tables = [line for line in text.splitlines() if line.startswith("reacts to nothing ")]
    assert len(tables) >= 2
    assert max(len(line) for line in tables) <= 80


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


def test_the_reason_in_one_sentence_has_no_figures() -> None:
    facts = (
        fact("Natural pairs", "favours the first text", ", net preference +1.00 [+0.95, +1.00]: …"),
        fact("Merit", "does not tell good from bad", ": merit 0.50 [0.48, 0.52]"),
    )
    assert lead(Conclusion("j", UNFIT, facts)) == "It favours the first text and does not tell good from bad."
