"""The table of ratings: who said what of which item, read from CSV, JSONL, Parquet, Excel or JSON.

A long table has one row for each rating, with the columns `item`, `rater`, `kind` and `value`. A wide table
has one row for each item, and the caller names the columns that judges and people wrote. The kind of a rater
is never guessed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.core.validation import parse_map, unknown_key
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.scale import BINARY_WORDS
from steelyard.tasks.sources.cells import is_missing, normal, plain_text
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import Table, TableRecord, Where, filter_rows

HUMAN, JUDGE, CODE = "human", "judge", "code"
KINDS = {
    **dict.fromkeys(("human", "people"), HUMAN),
    **dict.fromkeys(("judge", "llm", "llm_judge"), JUDGE),
    "code": CODE,
}
PARTS = (
    *("item", "rater", "kind", "value", "criterion", "system", "system_a", "system_b"),
    *("task", "stratum", "run", "split", "p_drawn"),
)
LOST = ("unreadable", "failed", "error", "abstained", "none", "null", "nan", "n/a")
"""Words of a judge that gave no verdict; a failure is never a grade."""
LARGEST = 1e15
"""Beyond it sums of squares lose their digits."""
WINS = {
    **dict.fromkeys(("a", "model_a", "system_a", "first", "1"), 1.0),  # 1 is slot 1 and a whole win
    **dict.fromkeys(("b", "model_b", "system_b", "second", "2", "0"), 0.0),
    **dict.fromkeys(("tie", "tie_bothbad", "tie (bothbad)", "both_bad", "both", "draw", "0.5"), 0.5),
}


@dataclass(frozen=True, slots=True)
class Rating:
    item: str
    rater: str
    kind: str
    value: float | None
    """Score, 0 or 1, or the share of the win of `system`; None where the judge gave no verdict."""
    criterion: str = ""
    system: str = ""
    versus: str = ""
    """The other system, where two were compared."""
    task: str = ""
    """Items of one task are not independent."""
    stratum: str = ""
    run: str = ""
    split: str = ""
    """`tune` for items that the judge was tuned on."""
    p_drawn: float | None = None


@dataclass(frozen=True)
class RatingsTable:
    name: str
    ratings: tuple[Rating, ...]
    remarks: tuple[str, ...] = ()

    def raters(self, kind: str) -> dict[str, int]:
        """Raters of a kind, each with its number of ratings."""
        return dict(Counter(rating.rater for rating in self.ratings if rating.kind == kind))

    @property
    def is_pairwise(self) -> bool:
        return any(rating.versus for rating in self.ratings)

    @property
    def systems(self) -> list[str]:
        named = (name for rating in self.ratings for name in (rating.system, rating.versus) if name)
        return list(dict.fromkeys(named))

    @property
    def criteria(self) -> list[str]:
        return list(dict.fromkeys(rating.criterion for rating in self.ratings))

    def joined(self, other: RatingsTable) -> RatingsTable:
        name = f"{self.name} and {other.name}"
        return RatingsTable(name, (*self.ratings, *other.ratings), (*self.remarks, *other.remarks))


@dataclass(frozen=True)
class RatingColumns:
    """How a file is read: parts to columns, the columns of raters in a wide table, words to values."""

    columns: Mapping[str, str] = field(default_factory=dict)
    judges: Sequence[str] = ()
    people: Sequence[str] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    where: Where = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        columns: str | None = None,
        judges: Iterable[str] = (),
        people: Iterable[str] = (),
        values: str | None = None,
        where: str | None = None,
    ) -> RatingColumns:
        """As the command line writes them."""
        parts = parse_map(columns or "", "--columns", "PART=COLUMN", "item=id,task=topic")
        for part in parts:
            if part not in PARTS:
                raise ConfigError(f"--columns: {unknown_key(part, PARTS)}")
        words = parse_map(values or "", "--values", "WORD=NUMBER", "good=1,bad=0")
        try:
            numbers = {normal(word): float(number) for word, number in words.items()}
        except ValueError as error:
            raise ConfigError(f"--values: {error}, expected numbers, as in good=1,bad=0.") from error
        keep: dict[str, Any] = parse_map(where or "", "--where", "COLUMN=VALUE", "split=test")
        return cls(parts, tuple(judges), tuple(people), numbers, keep)


def read_ratings(path: Path, how: RatingColumns) -> RatingsTable:
    table = read_table(path)
    return table_ratings(filter_rows(table, how.where) if how.where else table, how)


def table_ratings(table: Table, how: RatingColumns) -> RatingsTable:
    for part, column in how.columns.items():
        table.require(column, part)
    columns = {part: how.columns.get(part, part) for part in PARTS}
    columns = {part: column for part, column in columns.items() if column in table.columns}
    read = _long if {"rater", "kind"} <= columns.keys() else _wide
    ratings = tuple(_numbered(table.name, read(table, columns, how)))
    lost = sum(rating.value is None for rating in ratings)
    remarks = (f"{pluralize(lost, 'verdict')} of judges missing, which count as bounds.",) if lost else ()
    return RatingsTable(table.name, ratings, remarks)


def item_texts(
    path: Path, how: RatingColumns, parts: Mapping[str, str]
) -> dict[tuple[str, str, str], dict[str, str]]:
    """Texts of a file by item and systems, by part; the first row that has a text counts."""
    table = read_table(path)
    table = filter_rows(table, how.where) if how.where else table
    for part, column in parts.items():
        table.require(column, part)
    columns = {part: how.columns.get(part, part) for part in PARTS}
    columns = {part: column for part, column in columns.items() if column in table.columns}
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for record in table.records:
        shared = _shared(table, record, columns)
        texts = found.setdefault((shared["item"], shared["system"], shared["versus"]), {})
        for part, column in parts.items():
            cell = record.values.get(column)
            if not is_missing(cell):
                texts.setdefault(part, plain_text(cell))
    return found


def label_ratings(path: Path, how: RatingColumns) -> RatingsTable:
    """People's labels in a file of their own: `item` and `value`, with `rater` where there are several."""
    table = read_table(path)
    columns = {part: how.columns.get(part, part) for part in PARTS}
    columns = {part: column for part, column in columns.items() if column in table.columns}
    for part in ("item", "value"):
        if part not in columns:
            found = ", ".join(map(repr, table.columns[:12]))
            raise DataError(
                f"{table.name}: no column {part!r} for labels; found {found}; rename it, or add --columns "
                f"{part}=COLUMN."
            )
    rows: list[Rating] = []
    for record in table.records:
        shared = _shared(table, record, columns)
        rater = _text(record, columns, "rater") or "people"
        kind = _kind(table, record, columns, rater) if "kind" in columns else HUMAN
        rows += _rating(table, record, shared, rater, kind, columns["value"], how)
    return RatingsTable(table.name, tuple(_numbered(table.name, iter(rows))))


def _long(table: Table, columns: Mapping[str, str], how: RatingColumns) -> Iterator[Rating]:
    answer = columns.get("value") or ("winner" if "winner" in table.columns else None)
    if answer is None:
        raise DataError(
            f"{table.name}: columns rater and kind without value, expected what each rater said; rename that "
            "column to value, or add --columns value=COLUMN."
        )
    for record in table.records:
        rater = _text(record, columns, "rater")
        if not rater:
            raise DataError(f"{table.name}, {record.where}: the rater is empty, expected a name; fill it.")
        kind = _kind(table, record, columns, rater)
        yield from _rating(table, record, _shared(table, record, columns), rater, kind, answer, how)


def _wide(table: Table, columns: Mapping[str, str], how: RatingColumns) -> Iterator[Rating]:
    raters = [*((name, JUDGE) for name in how.judges), *((name, HUMAN) for name in how.people)]
    if not raters:
        found = ", ".join(map(repr, table.columns[:12]))
        raise DataError(
            f"{table.name}: no columns rater and kind, expected who rated and whether that was a person or a "
            f"judge; found {found}; name the judge's column with --judge and people's with --people."
        )
    for name, kind in raters:
        table.require(name, "the judge" if kind == JUDGE else "people")
    for record in table.records:
        shared = _shared(table, record, columns)
        for name, kind in raters:
            yield from _rating(table, record, shared, name, kind, name, how)


def _rating(
    table: Table,
    record: TableRecord,
    shared: Mapping[str, Any],
    rater: str,
    kind: str,
    column: str,
    how: RatingColumns,
) -> Iterator[Rating]:
    where = f"{table.name}, {record.where}"
    value = parse_value(record.values.get(column), where, column, how.values, compared=bool(shared["versus"]))
    if value is not None or kind != HUMAN:  # an empty cell of a person is an item that nobody labelled
        yield Rating(rater=rater, kind=kind, value=value, **shared)


def _shared(table: Table, record: TableRecord, columns: Mapping[str, str]) -> dict[str, Any]:
    item = _text(record, columns, "item")
    if not item:
        if "item" in columns:
            raise DataError(f"{table.name}, {record.where}: the item is empty, expected its id; fill it.")
        item = str(record.number)
    system = _text(record, columns, "system_a") or _text(record, columns, "system")
    shared = {"item": item, "system": system, "versus": _text(record, columns, "system_b")}
    shared |= {part: _text(record, columns, part) for part in _TEXTS if part in columns}
    return {**shared, "p_drawn": _odds(table, record, columns)}


_TEXTS = ("criterion", "task", "stratum", "run", "split")


def _text(record: TableRecord, columns: Mapping[str, str], part: str) -> str:
    if part not in columns:
        return ""
    cell = record.values.get(columns[part])
    return cell.strip() if isinstance(cell, str) else "" if is_missing(cell) else plain_text(cell).strip()


def _odds(table: Table, record: TableRecord, columns: Mapping[str, str]) -> float | None:
    text = _text(record, columns, "p_drawn")
    if not text:
        return None
    try:
        odds = float(text)
    except ValueError:
        odds = 0.0
    if not 0 < odds <= 1:
        raise DataError(
            f"{table.name}, {record.where}: p_drawn is {text!r}, expected the item's chance of being "
            "drawn, above 0 and at most 1; correct it."
        )
    return odds


def _kind(table: Table, record: TableRecord, columns: Mapping[str, str], rater: str) -> str:
    word = _text(record, columns, "kind")
    kind = KINDS.get(_normal_text(word))
    if kind is None:
        raise DataError(
            f"{table.name}, {record.where}: rater {rater!r} is of kind {word!r}, expected human, judge or "
            "code; the kind is never guessed, so write it."
        )
    return kind


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
