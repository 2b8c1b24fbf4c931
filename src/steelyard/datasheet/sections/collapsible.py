"""Collapsible sections of the page: rows that some judge has, and one line on those that nobody has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from steelyard.datasheet.sections.rows import FigureRow, Section
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import MARKS


@dataclass(frozen=True)
class CollapsibleSection:
    section: Section
    """With the rows in which at least one judge under test has a figure."""
    words: Mapping[str, int]
    """Words that are told beside figures, with how many figures have them."""
    absent: Mapping[str, tuple[str, ...]]
    """Reason to the labels of the rows that no judge under test has a figure in."""


def collapsible_sections(summary: Summary) -> tuple[CollapsibleSection, ...]:
    return tuple(_collapsible(summary, section) for section in summary.sections)


def _collapsible(summary: Summary, section: Section) -> CollapsibleSection:
    judges = [judge.name for judge in summary.measured]
    rows: list[FigureRow] = []
    absent: dict[str, list[str]] = {}
    for number, row in enumerate(section.rows):
        cells = [row.cells[judge] for judge in judges if judge in row.cells]
        if _has_figure(section.rows, number, judges):
            rows.append(row)
        else:  # where judges differ in the reason, the first is given
            reason = numbers.reason(cells[0]) if cells else numbers.NOT_MEASURED
            absent.setdefault(reason, []).append(row.name)
    shown = [row.cells[judge] for row in rows for judge in judges if judge in row.cells]
    words = Counter(summary.status(cell) for cell in shown if numbers.defined(cell))
    return CollapsibleSection(
        replace(section, rows=tuple(rows)),
        {word: words[word] for word in MARKS if words[word]},
        {reason: tuple(labels) for reason, labels in absent.items()},
    )


def _has_figure(rows: Sequence[FigureRow], number: int, judges: Sequence[str]) -> bool:
    """Whether some judge has a figure in a row, or in a part of it further down."""
    parts = takewhile(lambda row: row.depth > rows[number].depth, rows[number + 1 :])
    return any(numbers.defined(row.cells.get(judge)) for row in (rows[number], *parts) for judge in judges)
