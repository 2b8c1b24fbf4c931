"""The reader of ratings: who said what of which item, in tables, exports of tools and Inspect logs.

A long table has one row for each rating, with the columns `item`, `rater`, `kind` and `value`. A wide table
has one row for each item, and the caller names the columns that judges and people wrote. The kind of a rater
is never guessed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from steelyard.core.field_names import words_of
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.importing.inspect_scores import holds_log, inspect_rows
from steelyard.importing.rating_exports import export_of
from steelyard.importing.ratings import (
    HUMAN,
    JUDGE,
    KINDS,
    PARTS,
    Categories,
    Rating,
    RatingColumns,
    RatingRow,
    RatingsTable,
    value_of,
)
from steelyard.tasks.sources.found_columns import (
    FILLED,
    NAMES_OF_PEOPLE,
    VERDICT,
    ColumnFinder,
    ColumnPart,
    flattened,
)
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import (
    Table,
    TableParts,
    TableRecord,
    Where,
    filter_rows,
    is_missing,
    normal,
    plain_text,
)
from steelyard.tasks.task import BINARY_WORDS


def read_ratings(path: Path, how: RatingColumns) -> RatingsTable:
    log, export = holds_log(path), export_of(path)
    if not log and export is None:
        rows = _TableRows.of(read_flattened(path, how.where), how)
        return replace(_ratings(rows.table.name, rows, rows.how), mapping=rows.mapping)
    if how.where or (how.columns and not log):
        raise ConfigError(
            f"{path}: {'--where' if how.where else '--columns'} found, expected none for the export of a "
            "tool, whose columns are known; remove it, or write the ratings as a table."
        )
    told = inspect_rows(path, how) if export is None else export.rows(path)
    return _ratings(str(path), told, how, tool="Inspect" if export is None else export.tool)


def label_ratings(path: Path, how: RatingColumns, own: Mapping[str, str] | None = None) -> RatingsTable:
    """People's labels in a file of their own: `item` and `value`, with `rater` where there are several.

    `own` maps parts to its columns; a part without one has the column of the verdicts' file, where there is
    such a column, or its usual name.
    """
    table = flattened(read_table(path))
    shared = {part: column for part, column in how.columns.items() if column in table.columns}
    finder = ColumnFinder(table, {**shared, **(own or {})}, how.values, "--label-columns")
    finder.take(_ITEM, _LABEL, _ANNOTATOR, *map(_exact, PARTS))
    if not {"item", "value"} <= finder.columns.keys():
        raise finder.missing(_ITEM, _LABEL)
    columns = {part: column for part, column in finder.columns.items() if part in PARTS}
    return _ratings(table.name, _TableRows(table, how, columns).long(labels=True), how)


def item_texts(
    path: Path, how: RatingColumns, parts: Mapping[str, str]
) -> dict[tuple[str, str, str], dict[str, str]]:
    """Texts of a file by item and systems, by part; the first row that has a text counts."""
    table = read_flattened(path, how.where)
    texts, rows = TableParts.required(table, parts), _TableRows.of(table, how)
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for record in table.records:
        about = rows.about(record)
        own = found.setdefault((about["item"], about["system"], about["versus"]), {})
        for part in parts:
            if (cell := texts.cell(record, part)) is not None:
                own.setdefault(part, plain_text(cell))
    return found


def read_flattened(path: Path, where: Where) -> Table:
    table = flattened(read_table(path))
    return filter_rows(table, where) if where else table


_ITEM = ColumnPart("item", "the id", ("id",), FILLED)
_JUDGE = ColumnPart("score", "the judge's verdict", ("verdict", "score"), VERDICT)
_PEOPLE = ColumnPart("expected", "people's label", ("label", *NAMES_OF_PEOPLE), VERDICT)
_LABEL = ColumnPart("value", "the label", ("label", "verdict", "score"), VERDICT)
_ANNOTATOR = ColumnPart("rater", "who labelled", ("annotator",))
_SYSTEM = ColumnPart("system", "the system", ("system",), FILLED)
_SYSTEMS = (
    ColumnPart("system_a", "the first system", ("system_1",), FILLED),
    ColumnPart("system_b", "the second system", ("system_2",), FILLED),
)


def _exact(part: str) -> ColumnPart:
    return ColumnPart(part, f"the {part}")


class _TableRows:
    """The rows of a table as ratings, long where it has the columns `rater` and `kind`."""

    def __init__(
        self, table: Table, how: RatingColumns, columns: Mapping[str, str], mapping: str = ""
    ) -> None:
        self.table, self.how, self.columns, self.mapping = table, how, columns, mapping
        self.parts = TableParts(table, columns)

    @classmethod
    def of(cls, table: Table, how: RatingColumns) -> _TableRows:
        """By the columns that the caller names, and those whose names are certain."""
        finder = ColumnFinder(table, how.columns, how.values, taken=(*how.judges, *how.people))
        finder.take(*map(_exact, PARTS))
        finder.found.clear()
        finder.take(_ITEM, *_SYSTEMS)
        if how.ranks and "system_a" not in finder.columns:
            finder.take(_SYSTEM)
        if not {"rater", "kind"} <= finder.columns.keys():
            how = _with_raters(finder, how)
            finder.group_rows_by("item", "task", "system", "system_a", "system_b", "criterion", "run")
            if "system_a" not in finder.columns and not isinstance(how.values, Categories):
                finder.check_words(*how.judges, *how.people)
        columns = {part: name for part, name in finder.columns.items() if part in PARTS}
        return cls(table, how, columns, finder.line())

    def __iter__(self) -> Iterator[RatingRow]:
        return self.long() if {"rater", "kind"} <= self.columns.keys() else self._wide()

    def long(self, *, labels: bool = False) -> Iterator[RatingRow]:
        """One rating a row; `labels` are of people where nothing else is said."""
        column = self.columns.get("value") or ("winner" if "winner" in self.table.columns else None)
        if column is None:
            raise DataError(
                f"{self.table.name}: columns rater and kind without value, expected what each rater said; "
                "rename that column to value, or add --columns value=COLUMN."
            )
        for record in self.table.records:
            where, rater = self.parts.where(record), self.parts.text(record, "rater")
            if not rater and not labels:
                raise DataError(f"{where}: the rater is empty, expected a name; fill it.")
            rater = rater or "people"
            kind = HUMAN if labels and "kind" not in self.columns else self._kind(record, rater)
            yield RatingRow(where, rater, kind, self.about(record), record.values.get(column), column)

    def _wide(self) -> Iterator[RatingRow]:
        raters = [*((name, JUDGE) for name in self.how.judges), *((name, HUMAN) for name in self.how.people)]
        for name, kind in raters:
            self.table.require(name, "the judge" if kind == JUDGE else "people")
        for record in self.table.records:
            where, about = self.parts.where(record), self.about(record)
            for name, kind in raters:
                yield RatingRow(where, name, kind, about, record.values.get(name), name)

    def about(self, record: TableRecord) -> dict[str, Any]:
        """What every rating of a row has: its item, systems, task and the like."""
        text = self.parts.text
        item = text(record, "item")
        if not item:
            if "item" in self.columns:
                raise DataError(f"{self.parts.where(record)}: the item is empty, expected its id; fill it.")
            item = str(record.number)
        system = text(record, "system_a") or text(record, "system")
        shared = {"item": item, "system": system, "versus": text(record, "system_b")}
        shared |= {part: text(record, part) for part in _TEXTS if part in self.columns}
        return {**shared, "p_drawn": self.parts.odds(record)}

    def _kind(self, record: TableRecord, rater: str) -> str:
        word = self.parts.text(record, "kind")
        kind = KINDS.get(normal(word))
        if kind is None:
            raise DataError(
                f"{self.parts.where(record)}: rater {rater!r} is of kind {word!r}, expected human, judge or "
                "code; the kind is never guessed, so write it."
            )
        return kind


def _with_raters(finder: ColumnFinder, how: RatingColumns) -> RatingColumns:
    """Columns of a judge and of people, where the caller names none and their names say it."""
    table = finder.table
    judges = how.judges or finder.candidates(_JUDGE)
    people: Sequence[str] = how.people
    if not people and how.finds_people:  # a label may be a model's: the name has to say that people wrote it
        people = [name for name in finder.candidates(_PEOPLE) if {*words_of(name)} & {*NAMES_OF_PEOPLE}]
    for likely, given, option, noun in (
        (judges, how.judges, "--judge", "the judge's"),
        (people, how.people, "--people", "people's"),
    ):
        if len(likely) > 1 and not given:
            listed = ", ".join(map(repr, likely[:-1])) + f" and {likely[-1]!r}"
            raise DataError(
                f"{table.name}: columns {listed} could each be {noun}, expected one; say which with "
                f"{option} {quote(likely[0])}."
            )
    if not judges and not people:
        finder.check_header()
        listed = ", ".join(map(repr, table.columns[:12]))
        guess = (finder.verdict_columns() or ["COLUMN"])[0]
        raise DataError(
            f"{table.name}: no columns rater and kind, expected who rated and whether that was a person or a "
            f"judge; found: {listed}; name the judge's column and people's, as in --judge "
            f"{quote(guess)} --people COLUMN."
        )
    for part, likely, given in ((_JUDGE, judges, how.judges), (_PEOPLE, people, how.people)):
        if likely and not given:
            finder.assign(part.name, likely[0])
    return replace(how, judges=tuple(judges), people=tuple(people))


_TEXTS = ("criterion", "task", "stratum", "run", "split")


def _ratings(name: str, rows: Iterable[RatingRow], how: RatingColumns, tool: str = "") -> RatingsTable:
    """The rows as ratings; `tool` is what wrote the file, where it may leave open who rated."""
    found: list[Rating] = []
    left: Counter[str] = Counter()
    scales: defaultdict[tuple[str, str], dict[bool, str]] = defaultdict(dict)
    for row in rows:
        kind, about = row.kind, row.about
        if not kind and row.rater in (*how.judges, *how.people):
            kind = JUDGE if row.rater in how.judges else HUMAN
            about = {**about, "criterion": ""}  # the caller matched these names
        elif not kind:
            left[row.rater] += 1
            continue
        compared = bool(about.get("versus"))
        cell = row.passed if how.verdicts and row.passed is not None else row.cell
        value = value_of(cell, row.where, row.column, how.values, compared=compared)
        if isinstance(how.values, Categories):
            if value is None and kind == HUMAN and not is_missing(cell):
                raise DataError(
                    f"{row.where}: column {row.column!r} holds {plain_text(cell)!r} of a person, expected a "
                    "category; leave the cell empty where nobody rated, or make the word a category with "
                    "--values WORD=NUMBER."
                )
        elif value is not None and not compared:
            _refuse_two_scales(
                name, row.rater, cell, value, how, scales[row.rater, about.get("criterion", "")]
            )
        if value is not None or kind != HUMAN:  # an empty cell of a person is an item that nobody labelled
            found.append(Rating(rater=row.rater, kind=kind, value=value, **about))
    if tool and not found:
        names = ", ".join(map(repr, left)) or "none"
        raise DataError(
            f"{name}: {tool} does not say whether judges, people or code gave the scores {names}; name those "
            "of judges with --judge and those of people with --people."
        )
    remarks = [
        f"{pluralize(count, 'rating')} {rater!r} left out: neither --judge nor --people names it."
        for rater, count in left.items()
    ]
    ratings = list(_numbered(name, found, tool=bool(tool)))
    kept = tuple(row for row in ratings if not row.versus or row.versus != row.system)
    alone = len({(row.item, row.system) for row in ratings}) - len({(row.item, row.system) for row in kept})
    if alone:
        remarks.append(f"{pluralize(alone, 'comparison')} of a system with itself left out.")
    return RatingsTable(name, kept, tuple(remarks))


def _refuse_two_scales(
    name: str, rater: str, cell: Any, value: float, how: RatingColumns, seen: dict[bool, str]
) -> None:
    """`pass` is 1 on a scale of yes and no; beside a 4 nobody knows what it is."""
    word = normal(cell) if isinstance(cell, str) else ""
    is_word = word in BINARY_WORDS and word not in how.values
    if not is_word and (value in (0.0, 1.0) or word in how.values):
        return
    seen.setdefault(is_word, repr(word) if is_word else f"{value:g}")
    if len(seen) > 1:
        raise DataError(
            f"{name}: rater {rater!r} gave {seen[True]} and {seen[False]}, expected words or scores; say "
            "what the words mean with --values WORD=NUMBER, or correct the rows."
        )


def _numbered(name: str, rows: Iterable[Rating], *, tool: bool) -> Iterator[Rating]:
    """Repeats of a judge are numbered; a person who rated an item twice is refused.

    A tool keeps what a person corrected: there the last rating counts. It may also have a judge and a person
    of one name.
    """
    if tool:
        last = {_place(row): row for row in rows if row.kind == HUMAN}
        rows = [row for row in rows if row.kind != HUMAN or last[_place(row)] is row]
    kinds: dict[str, str] = {}
    seen: defaultdict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for row in rows:
        if not tool and kinds.setdefault(row.rater, row.kind) != row.kind:
            raise DataError(
                f"{name}: rater {row.rater!r} is of kind {kinds[row.rater]} and of kind {row.kind}, expected "
                "one kind; give one of the two another name."
            )
        items = seen[row.system, row.versus, row.criterion, row.rater, row.kind, row.run]
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


def _place(row: Rating) -> tuple[str, ...]:
    return row.item, row.system, row.criterion, row.rater
