"""Ratings read from CSV, JSONL, Parquet, Excel or JSON.

A long table has one row for each rating, with the columns `item`, `rater`, `kind` and `value`. A wide table
has one row for each item, and the caller names the columns that judges and people wrote. The kind of a rater
is never guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.importing.ratings import (
    HUMAN,
    JUDGE,
    KINDS,
    LARGEST,
    PARTS,
    Categories,
    Rating,
    RatingColumns,
    RatingsTable,
)
from steelyard.tasks.scale import BINARY_WORDS
from steelyard.tasks.sources.cells import is_missing, normal, plain_text
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import Table, TableRecord, filter_rows

LOST = ("unreadable", "failed", "error", "abstained", "none", "null", "nan", "n/a")
"""Words of a judge that gave no verdict; a failure is never a grade."""
WINS = {
    **dict.fromkeys(("a", "model_a", "system_a", "first", "1"), 1.0),  # 1 is slot 1 and a whole win
    **dict.fromkeys(("b", "model_b", "system_b", "second", "2", "0"), 0.0),
    **dict.fromkeys(("tie", "tie_bothbad", "tie (bothbad)", "both_bad", "both", "draw", "0.5"), 0.5),
}


def read_ratings(path: Path, how: RatingColumns) -> RatingsTable:
    table = read_table(path)
    return table_ratings(filter_rows(table, how.where) if how.where else table, how)


def table_ratings(table: Table, how: RatingColumns) -> RatingsTable:
    for part, column in how.columns.items():
        table.require(column, part)
    return _Reader(table, how).ratings()


def item_texts(
    path: Path, how: RatingColumns, parts: Mapping[str, str]
) -> dict[tuple[str, str, str], dict[str, str]]:
    """Texts of a file by item and systems, by part; the first row that has a text counts."""
    table = read_table(path)
    table = filter_rows(table, how.where) if how.where else table
    for part, column in parts.items():
        table.require(column, part)
    reader = _Reader(table, how)
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for record in table.records:
        shared = reader.shared(record)
        texts = found.setdefault((shared["item"], shared["system"], shared["versus"]), {})
        for part, column in parts.items():
            cell = record.values.get(column)
            if not is_missing(cell):
                texts.setdefault(part, plain_text(cell))
    return found


LABEL_NAMES = {"value": ("label",), "rater": ("annotator",)}
"""Other names of columns in a file of labels: those that Steelyard writes."""


def label_ratings(path: Path, how: RatingColumns, own: Mapping[str, str] | None = None) -> RatingsTable:
    """People's labels in a file of their own: `item` and `value`, with `rater` where there are several.

    `own` maps parts to its columns; a part without one has the column of the verdicts' file, where there is
    such a column, or its usual name.
    """
    table = read_table(path)
    own = own or {}
    for part, column in own.items():
        table.require(column, part)
    columns: dict[str, str] = {}
    for part in PARTS:
        usual = (how.columns.get(part, part), part, *LABEL_NAMES.get(part, ()))
        for name in (own[part],) if part in own else usual:
            if name in table.columns:
                columns.setdefault(part, name)
    for part in ("item", "value"):
        if part not in columns:
            found = ", ".join(map(repr, table.columns[:12]))
            raise DataError(
                f"{table.name}: no column {part!r} for labels; found {found}; rename it, or add "
                f"--label-columns {part}=COLUMN."
            )
    reader = _Reader(table, how, columns)
    return reader.ratings(reader.label_rows())


class _Reader:
    """The rows of one file as ratings."""

    def __init__(self, table: Table, how: RatingColumns, columns: Mapping[str, str] | None = None) -> None:
        self.table, self.how = table, how
        if columns is None:
            columns = {part: how.columns.get(part, part) for part in PARTS}
        self.columns = {part: column for part, column in columns.items() if column in table.columns}
        self._scales: defaultdict[tuple[str, str], dict[bool, str]] = defaultdict(dict)

    def ratings(self, rows: Iterator[Rating] | None = None) -> RatingsTable:
        if rows is None:
            rows = self._long() if {"rater", "kind"} <= self.columns.keys() else self._wide()
        ratings = list(_numbered(self.table.name, rows))
        kept = tuple(row for row in ratings if not row.versus or row.versus != row.system)
        alone = len({(row.item, row.system) for row in ratings}) - len(
            {(row.item, row.system) for row in kept}
        )
        told = f"{pluralize(alone, 'comparison')} of a system with itself left out."
        return RatingsTable(self.table.name, kept, (told,) if alone else ())

    def label_rows(self) -> Iterator[Rating]:
        for record in self.table.records:
            rater = self._text(record, "rater") or "people"
            kind = self._kind(record, rater) if "kind" in self.columns else HUMAN
            yield from self._rating(record, self.shared(record), rater, kind, self.columns["value"])

    def _long(self) -> Iterator[Rating]:
        table = self.table
        answer = self.columns.get("value") or ("winner" if "winner" in table.columns else None)
        if answer is None:
            raise DataError(
                f"{table.name}: columns rater and kind without value, expected what each rater said; rename "
                "that column to value, or add --columns value=COLUMN."
            )
        for record in table.records:
            rater = self._text(record, "rater")
            if not rater:
                raise DataError(
                    f"{table.name}, {record.where}: the rater is empty, expected a name; fill it."
                )
            yield from self._rating(record, self.shared(record), rater, self._kind(record, rater), answer)

    def _wide(self) -> Iterator[Rating]:
        table = self.table
        raters = [*((name, JUDGE) for name in self.how.judges), *((name, HUMAN) for name in self.how.people)]
        if not raters:
            found = ", ".join(map(repr, table.columns[:12]))
            raise DataError(
                f"{table.name}: no columns rater and kind, expected who rated and whether that was a person "
                f"or a judge; found {found}; name the judge's column with --judge and people's with --people."
            )
        for name, kind in raters:
            table.require(name, "the judge" if kind == JUDGE else "people")
        for record in table.records:
            shared = self.shared(record)
            for name, kind in raters:
                yield from self._rating(record, shared, name, kind, name)

    def _rating(
        self, record: TableRecord, shared: Mapping[str, Any], rater: str, kind: str, column: str
    ) -> Iterator[Rating]:
        where, words, cell = f"{self.table.name}, {record.where}", self.how.values, record.values.get(column)
        value = parse_value(cell, where, column, words, compared=bool(shared["versus"]))
        if isinstance(words, Categories):
            if value is None and kind == HUMAN and not is_missing(cell):
                raise DataError(
                    f"{where}: column {column!r} holds {plain_text(cell)!r} of a person, expected a "
                    "category; leave the cell empty where nobody rated, or make the word a category with "
                    "--values WORD=NUMBER."
                )
        elif value is not None and not shared["versus"]:
            self._refuse_two_scales(rater, str(shared.get("criterion", "")), cell, value)
        if value is not None or kind != HUMAN:  # an empty cell of a person is an item that nobody labelled
            yield Rating(rater=rater, kind=kind, value=value, **shared)

    def _refuse_two_scales(self, rater: str, criterion: str, cell: Any, value: float) -> None:
        """`pass` is 1 on a scale of yes and no; beside a 4 nobody knows what it is."""
        word = _normal_text(cell) if isinstance(cell, str) else ""
        is_word = word in BINARY_WORDS and word not in self.how.values
        if not is_word and (value in (0.0, 1.0) or word in self.how.values):
            return
        seen = self._scales[rater, criterion]
        seen.setdefault(is_word, repr(word) if is_word else f"{value:g}")
        if len(seen) > 1:
            raise DataError(
                f"{self.table.name}: rater {rater!r} gave {seen[True]} and {seen[False]}, expected words or "
                "scores; say what the words mean with --values WORD=NUMBER, or correct the rows."
            )

    def shared(self, record: TableRecord) -> dict[str, Any]:
        """What every rating of a row has: its item, systems, task and the like."""
        item = self._text(record, "item")
        if not item:
            if "item" in self.columns:
                where = f"{self.table.name}, {record.where}"
                raise DataError(f"{where}: the item is empty, expected its id; fill it.")
            item = str(record.number)
        system = self._text(record, "system_a") or self._text(record, "system")
        shared = {"item": item, "system": system, "versus": self._text(record, "system_b")}
        shared |= {part: self._text(record, part) for part in _TEXTS if part in self.columns}
        return {**shared, "p_drawn": self._odds(record)}

    def _text(self, record: TableRecord, part: str) -> str:
        if part not in self.columns:
            return ""
        cell = record.values.get(self.columns[part])
        return cell.strip() if isinstance(cell, str) else "" if is_missing(cell) else plain_text(cell).strip()

    def _odds(self, record: TableRecord) -> float | None:
        text = self._text(record, "p_drawn")
        if not text:
            return None
        try:
            odds = float(text)
        except ValueError:
            odds = 0.0
        if not 0 < odds <= 1:
            raise DataError(
                f"{self.table.name}, {record.where}: p_drawn is {text!r}, expected the item's chance of "
                "being drawn, above 0 and at most 1; correct it."
            )
        return odds

    def _kind(self, record: TableRecord, rater: str) -> str:
        word = self._text(record, "kind")
        kind = KINDS.get(_normal_text(word))
        if kind is None:
            raise DataError(
                f"{self.table.name}, {record.where}: rater {rater!r} is of kind {word!r}, expected human, "
                "judge or code; the kind is never guessed, so write it."
            )
        return kind


_TEXTS = ("criterion", "task", "stratum", "run", "split")
_normal_text = lru_cache(4096)(normal)
"""Of texts: the words and scores of a file are few."""


def parse_value(
    cell: Any, where: str, column: str, words: Mapping[str, float], *, compared: bool
) -> float | None:
    if is_missing(cell):
        return None
    text = _normal_text(cell) if isinstance(cell, str) else normal(cell)
    if text in words:
        return words[text]
    if compared and text in WINS:
        return WINS[text]
    if text in LOST:
        return None
    if not compared:
        try:
            number = float(BINARY_WORDS.get(text, text))
        except ValueError:
            number = float("nan")
        if isfinite(number) and abs(number) <= LARGEST:
            return number
        if isinstance(words, Categories):
            return words.code(text, plain_text(cell).strip())
    expected = "a, b or tie" if compared else f"a number up to {LARGEST:g}, or a word such as pass or fail"
    raise DataError(
        f"{where}: column {column!r} holds {plain_text(cell)[:60]!r}, expected {expected}; correct the "
        "row, or say what the word means with --values WORD=NUMBER."
    )


def _numbered(name: str, rows: Iterator[Rating]) -> Iterator[Rating]:
    """Repeats of a judge are numbered; a person who rated an item twice is refused."""
    kinds: dict[str, str] = {}
    seen: defaultdict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for row in rows:
        if kinds.setdefault(row.rater, row.kind) != row.kind:
            raise DataError(
                f"{name}: rater {row.rater!r} is of kind {kinds[row.rater]} and of kind {row.kind}, expected "
                "one kind; give one of the two another name."
            )
        items = seen[row.system, row.versus, row.criterion, row.rater, row.run]
        times = items.get(row.item, 0)
        if times and row.kind == HUMAN:
            raise DataError(
                f"{name}: {row.rater} rated item {row.item!r} twice, expected once; keep the rating that "
                "counts."
            )
        if times and not row.run:
            yield replace(row, run=str(times))
        elif times:
            raise DataError(
                f"{name}: {row.rater} rated item {row.item!r} twice in run {row.run!r}, expected once; "
                "remove one."
            )
        else:
            yield row
        items[row.item] = times + 1
