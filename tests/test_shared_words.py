"""What every renderer says in the same words: bases of sections, findings, groups of judges."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from example_datasheet import FAILING, example
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import interval_meanings, metric_meanings
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render import html, markdown, terminal
from steelyard.datasheet.sections.sections import FigureRow, Section
from steelyard.datasheet.sections.summary import even_groups, summarise
from steelyard.metrics.estimate import Estimate


def row(metric: str, value: float | None, calls: int, judge: str = "J") -> Estimate:
    note = None if value is not None else "no call ended in a verdict"
    return Estimate(
        judge, "warmth", metric, {"protocol": "base"}, "call", value, n_calls=calls, n_units=3, note=note
    )


def sheet(*estimates: Estimate) -> Datasheet:
    names = dict.fromkeys(estimate.judge for estimate in estimates)
    judges = tuple(JudgeEntry(name, name, name == "baseline", {}) for name in names)
    return Datasheet("s", 1, "sha256:0", "0", "quick", judges, estimates)


def test_a_section_stands_on_its_first_defined_figure() -> None:
    lost, seen, later = row("lost", None, 0), row("seen", 0.5, 8), row("later", 0.5, 9)
    section = Section("s", "", tuple(FigureRow(e.metric, {"J": e}) for e in (lost, seen, later)))
    assert section.basis("J") == seen
    assert replace(section, rows=section.rows[:1]).basis("J") == lost
    assert section.basis("nobody") is None


def test_every_report_names_the_same_basis() -> None:
    found = sheet(row("lost", None, 0), row("seen", 0.5, 8))
    console = Console(file=StringIO(), width=100, color_system=None)
    terminal.render(found, console)
    assert isinstance(console.file, StringIO)
    for text in (markdown.render(found), html.render(found), console.file.getvalue()):
        assert "8/3/0 deff ?" in text
    assert "| *calls/pairs/clusters* | 8/3/0 deff ? |" in markdown.render(found)


def test_baselines_are_held_against_no_limit() -> None:
    flagged = replace(row("seen", 0.5, 8), status="flagged")
    summary = summarise(sheet(flagged, replace(flagged, judge="baseline")))
    assert [summary.status(e) for e in summary.datasheet.estimates] == ["flagged", ""]
    assert summary.status(row("seen", 0.5, 8)) == ""


def test_what_stands_in_the_place_of_a_figure() -> None:
    summary = summarise(example())
    lost = summary.datasheet.find(FAILING, "dark_current", "vacuum", protocol="base")
    assert summary.absence(None) == "not measured"
    assert summary.absence(lost) == "undefined (a)"


@pytest.mark.parametrize(
    ("judges", "most", "sizes"),
    [(0, 3, []), (1, 3, [1]), (3, 3, [3]), (4, 3, [2, 2]), (7, 3, [2, 2, 3]), (5, 1, [1] * 5)],
)
def test_groups_are_even_and_keep_the_order(judges: int, most: int, sizes: list[int]) -> None:
    names = [JudgeEntry(str(number), "", False, {}) for number in range(judges)]
    groups = even_groups(names, most)
    assert [len(group) for group in groups] == sizes
    assert [judge for group in groups for judge in group] == names


def test_meanings_stand_once_each_and_only_where_there_are_any() -> None:
    assert metric_meanings(["accuracy", "of_a_plugin", "accuracy"])[0].label == "accuracy"
    assert len(metric_meanings(["accuracy", "of_a_plugin", "accuracy"])) == 1
    assert [name for name, _ in interval_meanings(["wilson", "own", "wilson"])] == ["wilson", "own"]
