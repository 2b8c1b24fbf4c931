"""Sections as folds: what some judge has, and a line on what nobody has."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from example_datasheet import crowd, example, pointwise, without_estimates
from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import html
from steelyard.datasheet.render.html.drawing.forest_plot import interval_bar
from steelyard.datasheet.sections.summary import collapsible_sections, summarise

GONE = "too little of it"


def undefined(metric: str, **parts: object) -> Datasheet:
    """The example without any value of a metric, for judges under test."""
    sheet = example()
    tested = {judge.name for judge in sheet.judges if not judge.baseline}
    estimates = tuple(
        replace(e, value=None, intervals=(), note=GONE)
        if e.metric == metric and e.judge in tested and parts.items() <= e.group.items()
        else e
        for e in sheet.estimates
    )
    assert estimates != sheet.estimates
    return replace(sheet, estimates=estimates)


@pytest.mark.slow
def test_a_row_that_nobody_has_is_left_out_and_told_once() -> None:
    summary = summarise(undefined("delta75"))
    (fold,) = [fold for fold in collapsible_sections(summary) if fold.section.title == "Sensitivity"]
    assert "75 % threshold" not in [row.label for row in fold.section.rows]
    assert fold.absent == {GONE: ("smallest step seen (75 % threshold)",)}
    words = " ".join(re.sub(r"<[^>]+>", " ", html.render(undefined("delta75"))).split())
    assert (
        words.count(f"Left out, undefined for every judge: smallest step seen (75 % threshold) ({GONE}).")
        >= 1
    )


def test_a_row_with_parts_that_somebody_has_stays() -> None:
    sheet = undefined("dark_current")
    estimates = tuple(
        replace(e, value=0.5, note=None)
        if e.metric == "dark_current" and e.group.get("kind") == "blank"
        else e
        for e in sheet.estimates
    )
    (fold,) = [
        f
        for f in collapsible_sections(summarise(replace(sheet, estimates=estimates)))
        if f.section.title == "Dark current"
    ]
    assert [row.label for row in fold.section.rows][:2] == ["dark current", "blank"]
    assert set(fold.absent[GONE]) == {"empty", "identical texts"}


@pytest.mark.parametrize("sheet", [example(), pointwise(), crowd(7), undefined("target_sensitivity")])
def test_every_row_is_shown_or_left_out(sheet: Datasheet) -> None:
    summary = summarise(sheet)
    judges = [judge.name for judge in summary.measured]
    for section, fold in zip(summary.sections, collapsible_sections(summary), strict=True):
        told = [label for labels in fold.absent.values() for label in labels]
        assert len(fold.section.rows) + len(told) == len(section.rows)
        for row in section.rows:
            if any(numbers.defined(row.cells.get(judge)) for judge in judges):
                assert row in fold.section.rows


def test_a_fold_counts_the_words_of_its_figures() -> None:
    summary = summarise(example())
    (fold,) = [fold for fold in collapsible_sections(summary) if fold.section.title == "Dark current"]
    cells = [
        row.cells[judge.name]
        for row in fold.section.rows
        for judge in summary.measured
        if judge.name in row.cells
    ]
    flagged = sum(cell.status == "flagged" and cell.value is not None for cell in cells)
    assert fold.words["flagged"] == flagged > 0
    assert "clear" not in fold.words


def test_a_sheet_without_figures_says_so() -> None:
    assert collapsible_sections(summarise(without_estimates())) == ()
    assert "No figures were measured." in html.render(without_estimates())


def test_a_bar_shows_the_limit_and_the_word() -> None:
    sheet = example()
    dark = next(e for e in sheet.estimates if e.metric == "dark_current" and e.status == "flagged")
    drawn = interval_bar(dark, "flagged")
    assert 'class="bar flagged"' in drawn
    assert '<path class="limit" d="M10.0 0V8"/>' in drawn
    assert "limit" not in interval_bar(dark)  # a baseline is held against none
    free = next(e for e in sheet.estimates if e.metric == "raw_false_preference" and e.value)
    assert "limit" not in interval_bar(free, "")


@pytest.mark.slow
@pytest.mark.parametrize("sheet", [example(), pointwise(), crowd(2)])
def test_navigation_and_headings_have_the_same_words(sheet: Datasheet) -> None:
    page = html.render(sheet)
    nav = page.partition('<nav class="side"')[2].partition("</nav>")[0]
    links = dict(re.findall(r'<a href="#([\w-]+)">([^<]+)</a>', nav))
    headings = dict(re.findall(r'<h2 id="([\w-]+)-h">([^<]+)</h2>', page))
    assert links == headings
    assert list(links) == list(headings)


@pytest.mark.slow
def test_figures_that_nobody_can_be_drawn_in_are_one_fold() -> None:
    sheet = example()
    vacuum = replace(sheet, estimates=tuple(e for e in sheet.estimates if e.probe == "vacuum"))
    page = html.render(vacuum)
    blank = page.partition('<details class="fold blank">')[2].partition("</details>")[0]
    assert "Slot or text" in blank
    assert "Psychometric curves" in blank
    assert "was not measured" in blank
    assert '<figure id="fig-psychometric"' not in page
    assert '<details class="fold blank">' not in html.render(sheet)
