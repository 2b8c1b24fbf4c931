"""The terminal report."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from typing import Literal

import pytest
from rich.console import Console

from example_datasheet import (
    FAILING,
    NO_STRICT,
    REASON,
    crowd,
    example,
    pointwise,
    renamed,
    without_estimates,
)
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import terminal


def printed(datasheet: Datasheet, width: int = 80, *, colour: bool = False) -> str:
    stream = io.StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    terminal.render(datasheet, Console(file=stream, width=width, force_terminal=colour, color_system=system))
    return stream.getvalue()


@cache
def example_text() -> str:
    """What a console of 80 columns shows of the example."""
    return printed(example())


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    assert max(len(line) for line in printed(example(), width).splitlines()) <= width


def test_the_first_screen_names_every_finding() -> None:
    screen = example_text().splitlines()[:24]
    words = " ".join(" ".join(screen).split())
    assert "Judge Datasheet: Llama8B, Qwen14B and 2 others" in words
    assert "reacts to nothing too high fine" in words
    assert "reacts to nothing 0.67! [0.56, 0.76] 80/120 0.00 [0.00, 0.04] 0/120" in words


def test_every_judge_and_baseline_is_a_column() -> None:
    text = example_text()
    for judge in example().judges:
        assert judge.name in text


def test_three_judges_stand_side_by_side_in_80_columns() -> None:
    full = example()
    three = replace(full, judges=tuple(judge for judge in full.judges if judge.name != FAILING))
    header = next(line for line in printed(three).splitlines() if line.split()[:1] == ["Llama8B"])
    assert header.split() == ["Llama8B", "Qwen14B", "Qwen32B"]


def test_undefined_figures_carry_their_reason() -> None:
    text = " ".join(example_text().split())
    assert f"(a) undefined: {REASON}" in text
    assert f"undefined: {NO_STRICT}" in text
    assert "undefined (a)" in text


def test_findings_are_understandable_without_colour() -> None:
    text = example_text()
    assert "\x1b" not in text
    assert "0.97! [0.87, 0.99]" in text
    assert "! beyond its limit · ? undecided" in text


def test_findings_are_coloured_on_a_terminal() -> None:
    assert "\x1b[1;31mtoo high" in printed(example(), colour=True)


def test_thresholds_show_their_censoring() -> None:
    text = example_text()
    assert "≤ 1 (0, 1]" in text
    assert "> 5 [5, ∞)" in text


def test_a_section_that_nobody_has_is_one_line() -> None:
    lines = example_text().splitlines()
    assert any(line.split() == ["Strict", "protocol", "not", "measured", "not", "measured"] for line in lines)


def test_the_basis_of_each_section_is_printed() -> None:
    assert "120/60/10 deff 1.1" in example_text()


def test_the_basis_is_that_of_the_first_figure_that_is_defined() -> None:
    sheet = example()
    gone = {"value": None, "intervals": (), "n_calls": 0, "n_units": 0, "n_clusters": 0, "note": "not told"}
    pooled = {"probe": "vacuum", "metric": "dark_current"}
    estimates = tuple(
        replace(e, **gone)
        if {"probe": e.probe, "metric": e.metric} == pooled and "kind" not in e.group
        else e
        for e in sheet.estimates
    )
    assert estimates != sheet.estimates
    zero_point = printed(replace(sheet, estimates=estimates)).partition("Dark current  ")[2]
    assert "0/0/0" not in zero_point.partition("calls/pairs/clusters")[2].splitlines()[0]


def test_an_output_without_unicode_gets_ascii() -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii", errors="strict")
    terminal.render(renamed(example(), "Qwen14B", "判定"), Console(file=stream, width=80))
    stream.flush()
    assert "<= 1 (0, 1]" in buffer.getvalue().decode("ascii")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["[red]no[/red]", "[/]", "\x1b[31mred\x1b[0m", "two\nlines", "\u202eflip", "\ud800"]
)
def test_hostile_names_stay_text(name: str) -> None:
    text = printed(renamed(example(), "Llama8B", name))
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")
    if name.startswith("["):
        assert name in text


@pytest.mark.parametrize(
    "datasheet", [without_estimates(), pointwise(), replace(example(), judges=()), crowd(9)]
)
def test_unusual_datasheets_are_rendered(datasheet: Datasheet) -> None:
    assert "Judge Datasheet" in printed(datasheet)


def test_other_probes_are_listed_as_they_come() -> None:
    text = " ".join(printed(pointwise(), 100).split())
    assert "Reliability label flip not measured 0.90 [0.66, 0.98]" in text
    assert "every score is the same: no variance" in text
    assert "3.25 (no interval)" in text
