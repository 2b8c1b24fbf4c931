"""Collapsible sections of the page: rows that some judge has, and one line on those that nobody has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    shown = _shown(section.rows, judges)
    kept = tuple(row for row, is_shown in zip(section.rows, shown, strict=True) if is_shown)
    absent: dict[str, list[str]] = {}
    for row, is_shown in zip(section.rows, shown, strict=True):
        if not is_shown:
            absent.setdefault(_reason(row, judges), []).append(row.name)
    cells = [row.cells[judge] for row in kept for judge in judges if judge in row.cells]
    words = Counter(summary.status(cell) for cell in cells if numbers.defined(cell))
    return CollapsibleSection(
        replace(section, rows=kept),
        {word: words[word] for word in MARKS if words[word]},
        {reason: tuple(labels) for reason, labels in absent.items()},
    )


def _shown(rows: Sequence[FigureRow], judges: Sequence[str]) -> list[bool]:
    """Whether each row has a figure, or stands above a part that has one."""
    shown = [any(numbers.defined(row.cells.get(judge)) for judge in judges) for row in rows]
    for number in range(len(rows) - 2, -1, -1):
        parts = rows[number + 1].depth > rows[number].depth
        below = [n for n in _parts(rows, number) if shown[n]] if parts else []
        shown[number] = shown[number] or bool(below)
    return shown


def _parts(rows: Sequence[FigureRow], above: int) -> list[int]:
    """Places of the rows below one that are parts of it."""
    places: list[int] = []
    for number in range(above + 1, len(rows)):
        if rows[number].depth <= rows[above].depth:
            break
        places.append(number)
    return places


def _reason(row: FigureRow, judges: Sequence[str]) -> str:
    """Why nobody has the figure; where judges differ in it, the first reason."""
    cells = [row.cells[judge] for judge in judges if judge in row.cells]
    return numbers.reason(cells[0]) if cells else numbers.NOT_MEASURED
