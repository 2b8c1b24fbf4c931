"""Confusion matrices as tables that every renderer shares: labels as rows, answers as columns."""

from __future__ import annotations

from steelyard.datasheet.confusion import Confusion
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.together import TogetherTable

TITLE = "Confusion"
QUESTION = "Which answers did each label get? Calls on unchanged items or natural pairs, labels as rows."


def confusion_tables(summary: Summary) -> list[tuple[TogetherTable, list[TogetherTable]]]:
    """The matrix of each measured judge under the base protocol, each with those of its strata."""
    tables: list[tuple[TogetherTable, list[TogetherTable]]] = []
    for judge in summary.measured:
        mine = [c for c in summary.datasheet.confusion if (c.judge, c.protocol) == (judge.name, "base")]
        for whole in (c for c in mine if c.stratum is None):
            strata = [c for c in mine if c.stratum is not None and c.scale == whole.scale]
            several = len({c.scale for c in mine}) > 1
            name = f"{judge.name}, {whole.scale}" if several else judge.name
            tables.append((_table(whole, name), [_table(part, str(part.stratum)) for part in strata]))
    return tables


def _table(matrix: Confusion, title: str) -> TogetherTable:
    rows = tuple(
        (label, *(f"{calls:,}" for calls in row))
        for label, row in zip(matrix.labels, matrix.calls, strict=True)
    )
    return TogetherTable(title, "", ("label / answer", *matrix.answers), rows)
