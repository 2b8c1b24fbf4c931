"""Verdicts in tables as people keep them: CSV, TSV, Excel, Parquet or JSON, by a map of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from steelyard.core.validation import checked, parse_map
from steelyard.errors import ConfigError, DataError
from steelyard.importing.jsonl import Body
from steelyard.tasks.scale import BINARY_WORDS, parse_scale
from steelyard.tasks.sources.cells import is_missing, normal, plain_text
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import TableRecord

SCORED = ("item", "score", "expected", "scale")
COMPARED = ("pair", "answer", "first", "better")
UNCHANGED = {"probe": "stochastic_stability", "variant": "original"}
NATURAL = {"probe": "position", "kind": "natural"}
WINNERS = {"1": "1", "2": "2", "a": "1", "b": "2", "first": "1", "second": "2", "tie": "tie"}
BETTER = {"1": "u", "2": "v", "tie": "tie"}
"""The text that is better, by its number; the first text is u."""


class RecordedColumns(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    item: str | None = Field(default=None, min_length=1)
    """Name of the item; without it rows are numbered, and a repeat is not known as one."""
    score: str | None = Field(default=None, min_length=1)
    expected: str | None = Field(default=None, min_length=1)
    pair: str | None = Field(default=None, min_length=1)
    answer: str | None = Field(default=None, min_length=1)
    """The slot that won: 1, 2 or tie; A and B are understood."""
    first: str | None = Field(default=None, min_length=1)
    """Number of the text that stood in slot 1; without it, always text 1."""
    better: str | None = Field(default=None, min_length=1)
    """Number of the text that people found better, or tie; empty cells have none."""
    judge: str | None = Field(default=None, min_length=1)
    """Name of the judge; without it, the file is of one judge."""
    task: str | None = Field(default=None, min_length=1)
    stratum: str | None = Field(default=None, min_length=1)
    protocol: str | None = Field(default=None, min_length=1)
    replicate: str | None = Field(default=None, min_length=1)
    """0, 1, … for repeats; without it, repeats are numbered as they come."""

    def used(self) -> dict[str, str]:
        return {part: column for part, column in self.model_dump().items() if column is not None}


def parse_recorded_columns(text: str) -> RecordedColumns:
    """The map as the command line writes it: `item=id,score=verdict,expected=human`."""
    pairs = parse_map(text, "columns", "PART=COLUMN", "item=id,score=verdict,expected=human")
    columns = checked(RecordedColumns, pairs, "columns")
    parts = set(columns.used())
    scored, compared = parts & set(SCORED), parts & set(COMPARED)
    if scored and compared:
        raise ConfigError(
            f"columns: found {sorted(scored)[0]} of scores and {sorted(compared)[0]} of pairs, expected "
            "parts of one; import them apart."
        )
    for needed in ("score",) if not compared else ("pair", "answer"):
        if needed not in parts:
            raise ConfigError(f"columns: {needed} is not mapped, expected it; name the column.")
    return columns


@dataclass(frozen=True)
class MappedTable:
    columns: RecordedColumns
    judge: str | None = None
    """The judge of rows that name none; that of the file unless given."""
    scale: str | None = None
    """`binary` or a range such as `1-6`; taken from the scores unless given."""
    remarks: ClassVar[tuple[str, ...]] = ()
    baselines: ClassVar[tuple[str, ...]] = ()

    @property
    def scores(self) -> bool:
        return self.columns.score is not None

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        if self.scale is not None:
            parse_scale(self.scale)
        table = read_table(path)
        for part, column in self.columns.used().items():
            table.require(column, part)
        repeats: Counter[tuple[object, ...]] = Counter()
        for record in table.records:
            where = f"{table.name}, {record.where}"
            body = self._scored(record, where) if self.scores else self._compared(record, where)
            body["judge"] = self._text("judge", record) or self.judge or Path(table.name).stem
            for part in ("task", "stratum", "protocol"):
                if text := self._text(part, record):
                    body[part] = text
            key = tuple(body.get(part) for part in ("judge", "protocol", "item", "pair", "first"))
            number = self._text("replicate", record)
            body["replicate"] = (
                repeats[key] if number is None else _whole(number, where, self.columns.replicate)
            )
            repeats[key] += 1
            yield where, body

    def _scored(self, record: TableRecord, where: str) -> Body:
        score = self._number("score", record, where)
        verdict: Body = {"score": score} if score is not None else {"score": None, "outcome": "unreadable"}
        scale = {} if self.scale is None else {"scale": self.scale}
        item = self._text("item", record) or str(record.number)
        return {
            **UNCHANGED,
            **verdict,
            **scale,
            "item": item,
            "expected": self._number("expected", record, where),
        }

    def _compared(self, record: TableRecord, where: str) -> Body:
        first = self._slot("first", record, where) or "1"
        better = self._slot("better", record, where)
        return {
            **NATURAL,
            "pair": self._text("pair", record) or str(record.number),
            "first": BETTER[first],
            "answer": self._slot("answer", record, where) or "unreadable",
            "better": None if better is None else BETTER[better],
        }

    def _cell(self, part: str, record: TableRecord) -> Any:
        column = getattr(self.columns, part)
        cell = None if column is None else record.values.get(column)
        return None if is_missing(cell) else cell

    def _text(self, part: str, record: TableRecord) -> str | None:
        cell = self._cell(part, record)
        return None if cell is None else plain_text(cell).strip() or None

    def _number(self, part: str, record: TableRecord, where: str) -> int | None:
        cell = self._cell(part, record)
        if cell is None:
            return None
        return _whole(cell, where, getattr(self.columns, part))

    def _slot(self, part: str, record: TableRecord, where: str) -> str | None:
        cell = self._cell(part, record)
        if cell is None:
            return None
        slot = WINNERS.get(normal(cell))
        if slot is None or (part == "first" and slot == "tie"):
            expected = "1 or 2" if part == "first" else "1, 2 or tie"
            raise _strange(cell, where, getattr(self.columns, part), expected)
        return slot


def _whole(cell: Any, where: str, column: str | None) -> int:
    text = normal(cell)
    word = BINARY_WORDS.get(text, text)
    if not word.isdigit() or not word.isascii():
        raise _strange(cell, where, column, "a whole number, or a word such as yes, no, true or false")
    return int(word)


def _strange(cell: Any, where: str, column: str | None, expected: str) -> DataError:
    content = plain_text(cell)[:60]
    return DataError(f"{where}: column {column!r} holds {content!r}, expected {expected}; correct the row.")
