"""Which column plays which part: by its name, where that is certain and its cells do not contradict."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from shlex import quote
from typing import Any

from steelyard.core.field_names import known, words_of
from steelyard.errors import DataError
from steelyard.tasks.sources.table import (
    LOST,
    SLOTS,
    Table,
    TableRecord,
    is_missing,
    is_number,
    normal,
    plain_text,
)
from steelyard.tasks.task import BINARY_WORDS

ANY, FILLED, TEXT, VERDICT = "any", "filled", "text", "verdict"
"""What the cells of a part hold: anything, something in every row, texts, or verdicts."""
_LOOKED_AT = 2_000
"""Rows whose cells tell what a column holds."""
_MOST_WORDS, _LONGEST_WORD = 12, 40
"""A column of more or longer words than these holds no verdicts."""
_DEEPEST = 3
_USUAL_WORDS = {*BINARY_WORDS, *SLOTS, *LOST}
NAMES_OF_PEOPLE = ("human", "humans", "people", "person", "annotator", "expert")
"""Words of which a column has one that people wrote; a label may be a model's."""


PREFERENCE = {"chosen": 1.0, "rejected": 2.0}
"""Names of the texts of a preference, the better one first, to the number of each."""


@dataclass(frozen=True)
class ColumnPart:
    name: str
    noun: str
    """What the column is, for messages: `the judge's verdict`."""
    fields: tuple[str, ...] = ()
    """Fields of `core/field_names`, whose names a column may have beside that of the part; or other names."""
    holds: str = ANY

    def names(self, column: str) -> bool:
        return "_".join(words_of(column)) in (self.name, *self.fields) or known(column) in self.fields


def is_preference(columns: Iterable[str]) -> bool:
    """Whether columns say by their names which of two texts is the better one."""
    return {"_".join(words_of(name)) for name in columns} >= PREFERENCE.keys()


def names_better(first: str | None, second: str | None) -> bool:
    """Whether the columns of two texts say by their names that the first is better."""
    return ["_".join(words_of(name or "")) for name in (first, second)] == [*PREFERENCE]


def as_judges(columns: Iterable[str]) -> str:
    return " ".join(f"--judge {quote(name)}" for name in columns)


def text_parts(part: str, noun: str, columns: Iterable[str]) -> tuple[ColumnPart, ...]:
    """The two texts of a pair; columns called chosen and rejected hold them where both are there."""
    names = [(name,) if is_preference(columns) else () for name in PREFERENCE]
    return tuple(
        ColumnPart(f"{part}_{n}", f"{noun} {n}", (f"response_{n}", *name), TEXT)
        for n, name in zip("12", names, strict=True)
    )


class ColumnFinder:
    """The map of a table's columns: what was given, and what names tell of the rest."""

    def __init__(
        self,
        table: Table,
        given: Mapping[str, str],
        words: Collection[str] = (),
        option: str = "--columns",
        taken: Sequence[str] = (),
    ) -> None:
        """`words` have a value of their own; columns that are `taken` play another part."""
        self.table, self.words, self.option = table, words, option
        self.columns = dict(given)
        self.found: dict[str, str] = {}
        self._taken = {*given.values(), *taken}
        # A row is made when it is read, of all its columns: once for all of them.
        self._first = list(islice(table.records, _LOOKED_AT))
        self._rows = self._first if len(self._first) == len(table.records) else table.records
        for part, column in given.items():
            table.require(column, part)

    def candidates(self, part: ColumnPart) -> list[str]:
        """Columns that may be the part; several where names and cells leave it open."""
        fit = [name for name in self._free if part.names(name) and self.holds(name, part.holds)]
        if part.holds == VERDICT:
            return [name for name in fit if self.is_readable(name)] or fit
        return [name for name in fit if "_".join(words_of(name)) == part.name] or fit

    def take(self, *parts: ColumnPart) -> None:
        """Map each part that one column is for certain; two that may be the same part are refused."""
        for part in parts:
            found = [] if part.name in self.columns else self.candidates(part)
            if len(found) > 1:
                names = ", ".join(map(repr, found[:-1])) + f" and {found[-1]!r}"
                paste = self.paste({part.name: found[0]})
                raise DataError(
                    f"{self.table.name}: columns {names} could each be {part.noun}, expected one; say which, "
                    f"as in {paste}."
                )
            if found:
                self.assign(part.name, found[0])

    def assign(self, part: str, column: str) -> None:
        self.table.require(column, part)
        self.columns[part] = self.found[part] = column
        self._taken.add(column)

    def group_rows_by(self, part: str, group: str, *others: str) -> None:
        """Where several rows have the same id, its column says which rows belong together, and names none."""
        if part in self.found and not self.is_unique(
            *(self.columns[p] for p in (part, *others) if p in self.columns)
        ):
            del self.columns[part]
            column = self.found.pop(part)
            if group not in self.columns:
                self.columns[group] = self.found[group] = column

    def paste(self, more: Mapping[str, str], judges: Sequence[str] = ()) -> str:
        """The options with the map, as a shell takes them; columns of several judges are named apart."""
        parts = {part: name for part, name in {**self.columns, **more}.items() if name not in judges}
        mapped = f"{self.option} {quote(','.join(f'{part}={name}' for part, name in parts.items()))}"
        return " ".join([*([mapped] if parts else []), *([as_judges(judges)] if judges else [])])

    def missing(self, *parts: ColumnPart, more: str = "") -> DataError:
        """What to say where no column is the first of the parts; the others are guessed beside it.

        `more` is another way out.
        """
        self.check_header()
        names = ", ".join(map(repr, self.table.columns[:12]))
        rest = f" and {len(self.table.columns) - 12} more" if len(self.table.columns) > 12 else ""
        lacking = [part for part in parts if part.name not in self.columns]
        empty = [name for name in self._free if lacking[0].names(name) and not self.cells(name)]
        if empty:
            raise DataError(
                f"{self.table.name}: column {empty[0]!r} is empty, expected {lacking[0].noun}; fill it, or "
                f"name another, as in {self.paste({lacking[0].name: 'COLUMN'})}."
            )
        texts = [name for name in self._free if lacking[0].names(name)]
        if texts and lacking[0].holds == VERDICT:
            held = plain_text(self.cells(texts[0])[0]).strip()[:_LONGEST_WORD]
            raise DataError(
                f"{self.table.name}: column {texts[0]!r} holds {held!r} and other texts, expected "
                f"{lacking[0].noun} in numbers or in a few words; correct it, or name another, as in "
                f"{self.paste({lacking[0].name: 'COLUMN'})}."
            )
        paste = self.paste({part.name: self.guess(part) or "COLUMN" for part in lacking})
        return DataError(
            f"{self.table.name}: no column is {lacking[0].noun} for certain; found: {names}{rest}; name it, "
            f"as in {paste}{more}."
        )

    def check_words(self, *columns: str) -> None:
        """Refuse several words without a value at once, so that one map names them all."""
        for column in columns:
            words = sorted({normal(cell) for cell in self.cells(column) if not self._has_value(cell)})
            told = not any(word[:1].isdigit() for word in words)  # of a number the cell says what is wrong
            if told and 1 < len(words) <= _MOST_WORDS and self.holds(column, VERDICT):
                raise DataError(
                    f"{self.table.name}: column {column!r} holds {', '.join(map(repr, words))}, expected "
                    "numbers or words such as pass and fail; say what these mean with --values "
                    f"{quote(','.join(f'{word}=NUMBER' for word in words))}."
                )

    @property
    def lacks_header(self) -> bool:
        """Whether no name is known, and one is a sentence or a verdict that stands below it as well."""
        names = self.table.columns
        return not any(map(known, names)) and any(
            (len(name.split()) > 2 and name.endswith((".", "?", "!")))
            or (normal(name) in map(normal, self.cells(name)) and self.holds(name, VERDICT))
            for name in names
        )

    def check_header(self) -> None:
        if self.lacks_header:
            names = ", ".join(map(repr, self.table.columns[:6]))
            raise DataError(
                f"{self.table.name}: the first row looks like data ({names}), expected the names of the "
                "columns; write them in a line above it, such as id,question,answer,verdict,label."
            )

    def guess(self, part: ColumnPart) -> str | None:
        """A column that its cells alone make likely, which must be said and never assumed."""
        if part.holds == VERDICT:
            likely = self.verdict_columns()
        else:
            likely = [name for name in self._free if part.holds == FILLED and self.is_unique(name)]
        return likely[0] if len(likely) == 1 or (likely and part.holds == FILLED) else None

    @property
    def _free(self) -> list[str]:
        return [name for name in dict.fromkeys(self.table.columns) if name not in self._taken]

    def line(self, used: Container[str] = (), judges: Sequence[str] = ()) -> str:
        """What was taken by name; empty where all was given. `used` are columns that are no part."""
        if not self.found:
            return ""
        free = [name for name in self._free if name not in used]
        left = f"; not used: {', '.join(map(repr, free[:6]))}" if free else ""
        header = "; the first row, read as their names, looks like data" if self.lacks_header else ""
        return f"{self.table.name}: columns taken by name: {self.paste({}, judges)}{left}{header}."

    def holds(self, column: str, kind: str) -> bool:
        if kind == ANY:
            return True
        if kind == FILLED:
            return not any(is_missing(record.values.get(column)) for record in self._rows)
        cells = self.cells(column)
        if kind == TEXT:
            return bool(cells)
        words = {normal(cell) for cell in cells}
        few = len(words) <= _MOST_WORDS and all(len(word) <= _LONGEST_WORD for word in words)
        return bool(words - {*LOST}) and (few or self.is_readable(column))

    def cells(self, column: str) -> list[Any]:
        """What the first rows hold, without empty cells."""
        return [
            cell
            for row in self._first
            if not is_missing(cell := row.values.get(column)) and plain_text(cell).strip()
        ]

    def is_readable(self, column: str) -> bool:
        """Numbers, usual words and those that have a value, and nothing else."""
        return all(map(self._has_value, self.cells(column)))

    def _has_value(self, cell: Any) -> bool:
        word = normal(cell)
        return word in _USUAL_WORDS or word in self.words or is_number(word)

    def is_binary(self, column: str) -> bool:
        """Whether every cell is 0, 1, one of their usual words, or a word that has a value."""
        return all(
            (word := normal(cell)) in BINARY_WORDS or word in ("0", "1") or word in self.words
            for cell in self.cells(column)
        )

    def names_slots(self, column: str) -> bool:
        """Whether the verdicts say which of two is better."""
        words = {normal(cell) for cell in self.cells(column)} - {*LOST}
        return bool(words) and words <= SLOTS.keys() and not words <= {"0", "1", "2"}

    def is_unique(self, *columns: str) -> bool:
        """Whether no two rows have the same in all these columns."""
        keys = {tuple(plain_text(row.values.get(name)) for name in columns) for row in self._rows}
        return len(keys) == len(self.table.records)

    @property
    def has_one_text(self) -> bool:
        """Whether names tell of one response in each row."""
        names = {known(column) for column in self.table.columns}
        return "response" in names and "response_1" not in names and not is_preference(self.table.columns)

    def verdict_columns(self) -> list[str]:
        """Columns whose names say nothing, and whose cells look like verdicts: on one text no `A` or `B`."""
        return [
            name
            for name in self._free
            if known(name) is None
            and not (len(self.table.records) > 2 and self.is_unique(name))
            and self.holds(name, VERDICT)
            and self.is_readable(name)
            and len({normal(cell) for cell in self.cells(name)}) <= _MOST_WORDS
            and not (self.has_one_text and self.names_slots(name))
        ]


def flattened(table: Table) -> Table:
    """Objects inside a row as columns of their own: `labels.human`."""
    nested = {
        name
        for row in islice(table.records, _LOOKED_AT)
        for name, cell in row.values.items()
        if isinstance(cell, dict)
    }
    if not nested:
        return table
    records = [replace(row, values={**row.values, **_inner(row, nested)}) for row in table.records]
    columns = dict.fromkeys(name for row in records for name in row.values if name not in nested)
    return replace(table, columns=tuple(columns), records=records)


def _inner(row: TableRecord, nested: Container[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [(name, cell, 1) for name, cell in row.values.items() if name in nested]
    for name, cell, depth in waiting:
        for key, inner in cell.items() if isinstance(cell, dict) else ():
            if isinstance(inner, dict) and depth < _DEEPEST:
                waiting.append((f"{name}.{key}", inner, depth + 1))
            else:
                found[f"{name}.{key}"] = inner
    return found
