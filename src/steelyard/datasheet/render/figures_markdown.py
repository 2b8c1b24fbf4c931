"""Sections of figures as Markdown tables, judges as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.markdown_text import escape, table
from steelyard.datasheet.sections.rows import Row, Section
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.signs import MARKS
from steelyard.metrics.estimate import Estimate


def figure_tables(summary: Summary, judges: Sequence[JudgeEntry]) -> Iterator[str]:
    """A table for each section, under its question."""
    for section in summary.sections:
        yield f"### {escape(section.title)}"
        if section.question:
            yield escape(section.question)
        yield _section_table(summary, section, judges)


def _section_table(summary: Summary, section: Section, judges: Sequence[JudgeEntry]) -> str:
    rows = [_row(summary, row, judges) for row in section.rows]
    behind = f"*calls/{summary.datasheet.units}/clusters*"
    rows.append([behind, *(_basis(section.basis(judge.name)) for judge in judges)])
    return table(["", *(escape(judge.name) for judge in judges)], rows)


def _row(summary: Summary, row: Row, judges: Sequence[JudgeEntry]) -> list[str]:
    label = "– " * row.depth + escape(row.name)
    return [label, *(cell(summary, row.cells.get(judge.name)) for judge in judges)]


def cell(summary: Summary, estimate: Estimate | None) -> str:
    """A figure for a table cell; the reason of an undefined one is a lettered note."""
    if not numbers.defined(estimate):
        return escape(summary.absence(estimate))
    parts = [escape(numbers.figure(estimate)), numbers.counts(estimate)]
    word = summary.finding(estimate)
    if word in MARKS:
        parts.append(f"**{word}**" if word == "flagged" else f"*{word}*")
    return " ".join(part for part in parts if part)


def _basis(estimate: Estimate | None) -> str:
    return numbers.NOT_MEASURED if estimate is None else numbers.short_basis(estimate)
