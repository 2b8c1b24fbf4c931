"""Scores of an Inspect log by a map of columns: verdicts and references by the score's history.

`--columns score=score.NAME,stratum=category` reads one scorer as `InspectScores` does, so that the first
value is the judge's and a person's edit the reference, and takes what else is mapped from the log's columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.importing.inspect_scores import InspectScores, grade
from steelyard.importing.lines import Body
from steelyard.importing.mapped_columns import RecordedColumns
from steelyard.tasks.sources.cells import is_missing, plain_text
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import TableRecord

SCORE = "score"
"""Column of the only scorer; those of several are `score.NAME`."""


@dataclass(frozen=True)
class MappedLog:
    """Rows of a log as lines of recorded scores."""

    columns: RecordedColumns
    """Which column plays which part; `score` is one of the log's scores."""
    judge: str | None = None
    """Name of the judge; the scorer's unless given."""
    scale: str | None = None
    """Scale of the scores; taken from them unless given."""
    remarks: list[str] = field(default_factory=list)
    """What was left out, in sentences."""
    baselines: tuple[str, ...] = ()
    """None: whose score is named is who is measured."""
    scores: bool = True
    """Logs hold scores of single runs, never verdicts on pairs."""

    @classmethod
    def fits(cls, columns: RecordedColumns) -> bool:
        """Whether the map names a score of a log as the verdict."""
        return columns.score == SCORE or (columns.score or "").startswith(f"{SCORE}.")

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        """One line for each sample that has the score, with what else is mapped."""
        table = read_table(path)
        for part, column in self.columns.used().items():
            table.require(column, part)
        records = {(str(r.values["sample"]), r.values["epoch"]): r for r in table.records}
        scorer = (self.columns.score or "").removeprefix(SCORE).removeprefix(".") or None
        for (sample, epoch), where, body in InspectScores(scorer, self.scale, self.remarks).rows(path):
            yield where, {**body, **self._mapped(records[sample, epoch], where, body)}

    def _mapped(self, record: TableRecord, where: str, body: Body) -> dict[str, Any]:
        given = {
            part: text
            for part in ("item", "task", "stratum", "protocol", "judge")
            if (text := self._text(part, record)) is not None
        }
        if self.judge is not None:
            given.setdefault("judge", self.judge)
        if self.columns.expected not in (None, self.columns.score):
            given |= self._reference(record, where, body)
        return given

    def _reference(self, record: TableRecord, where: str, body: Body) -> dict[str, Any]:
        """The reference of a column of its own, in the place of a person's edit; letters as of the score."""
        cell = record.values.get(self.columns.expected or "")
        if is_missing(cell):
            return {"expected": None}
        number = grade(cell, body.get("scale"))
        if number is None:
            raise DataError(
                f"{where}: column {self.columns.expected!r} holds {plain_text(cell)[:60]!r}, expected a "
                "whole number or a letter of the scale; correct the map of columns."
            )
        return {"expected": number}

    def _text(self, part: str, record: TableRecord) -> str | None:
        column = getattr(self.columns, part)
        cell = None if column is None else record.values.get(column)
        return None if is_missing(cell) else plain_text(cell).strip() or None
