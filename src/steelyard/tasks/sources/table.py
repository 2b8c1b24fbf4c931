"""Rows of a file, whatever its format; filter and join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, TypeAlias, overload

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.tasks.sources.cells import is_missing, normal, plain_text


@dataclass(frozen=True, slots=True)
class Lost:
    reason: str


@dataclass(frozen=True, slots=True)
class TableRecord:
    number: int
    """1 for the first row after the header; blank rows are not counted."""
    where: str
    """Where it stands in the file, in words: `row 3`, `line 12`."""
    values: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class CellRows(Sequence[TableRecord]):
    """Rows of cells under one header. A record is made when it is read: a dict for each takes much memory."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TableRecord]:
        for number, row in enumerate(self.rows, start=1):
            yield TableRecord(number, f"row {number}", dict(zip(self.columns, row, strict=True)))

    @overload
    def __getitem__(self, place: int) -> TableRecord: ...

    @overload
    def __getitem__(self, place: slice) -> list[TableRecord]: ...

    def __getitem__(self, place: int | slice) -> TableRecord | list[TableRecord]:
        numbers = range(len(self.rows))[place]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        values = dict(zip(self.columns, self.rows[numbers], strict=True))
        return TableRecord(numbers + 1, f"row {numbers + 1}", values)


@dataclass(frozen=True)
class Table:
    """A file that was read: never empty."""

    name: str
    columns: tuple[str, ...]
    records: Sequence[TableRecord]
    parts: Mapping[str, str] = field(default_factory=dict)
    """Part to column, where the format itself says what its columns hold."""

    def require(self, column: str, role: str) -> None:
        if column not in self.columns:
            folded = {name.strip().casefold(): name for name in self.columns}
            close = get_close_matches(column.strip().casefold(), folded, n=1)
            hint = f"did you mean {folded[close[0]]!r}? " if close else ""
            names = ", ".join(repr(name) for name in self.columns[:30])
            more = f" and {len(self.columns) - 30} more" if len(self.columns) > 30 else ""
            raise DataError(
                f"{self.name}: no column {column!r} for {role}; {hint}found: {names}{more}; "
                "correct the map of columns."
            )
        if self.columns.count(column) > 1:
            raise DataError(
                f"{self.name}: column {column!r}, used for {role}, stands there "
                f"{self.columns.count(column)} times; give each column a name of its own."
            )
        for record in self.records:
            cell = record.values.get(column)
            if isinstance(cell, Lost):
                raise DataError(
                    f"{self.name}, {record.where}: column {column!r}, used for {role}, holds {cell.reason} "
                    "without its value; save the file in a spreadsheet, or write the column as text."
                )


@dataclass(frozen=True)
class TableParts:
    """Cells of a table by the part that they play, in the column that a map names for it."""

    table: Table
    columns: Mapping[str, str]

    @classmethod
    def required(cls, table: Table, columns: Mapping[str, str]) -> TableParts:
        for part, column in columns.items():
            table.require(column, part)
        return cls(table, columns)

    def where(self, record: TableRecord) -> str:
        return f"{self.table.name}, {record.where}"

    def cell(self, record: TableRecord, part: str) -> Any:
        """None where the part has no column, or the cell is empty."""
        cell = record.values.get(self.columns[part]) if part in self.columns else None
        return None if is_missing(cell) else cell

    def odds(self, record: TableRecord) -> float | None:
        """The item's chance of being drawn for its label; None where it is not said."""
        text = self.text(record, "p_drawn")
        if not text:
            return None
        try:
            odds = float(text)
        except ValueError:
            odds = 0.0
        if not 0 < odds <= 1:
            raise DataError(
                f"{self.where(record)}: p_drawn is {text!r}, expected the item's chance of being "
                "drawn, above 0 and at most 1; correct it."
            )
        return odds

    def text(self, record: TableRecord, part: str) -> str:
        cell = self.cell(record, part)
        return cell.strip() if isinstance(cell, str) else "" if cell is None else plain_text(cell).strip()


def table_of(name: str, columns: tuple[str, ...], records: Sequence[TableRecord]) -> Table:
    if not records:
        content = "only a header" if columns else "no rows"
        raise DataError(f"{name}: {content} found, expected one row per item; add rows or name another file.")
    return Table(name, columns, records)


def table_of_objects(name: str, bodies: list[tuple[str, dict[str, Any]]]) -> Table:
    columns = tuple(dict.fromkeys(key for _, body in bodies for key in body))
    records = [TableRecord(number, where, body) for number, (where, body) in enumerate(bodies, start=1)]
    return table_of(name, columns, records)


Value: TypeAlias = str | int | float | bool
Where: TypeAlias = Mapping[str, Value | list[Value]]


def filter_rows(table: Table, where: Where) -> Table:
    """The rows that fit; values are compared as labels are, so `4.0`, `4` and `"4"` are the same."""
    wanted: dict[str, set[str]] = {}
    for column, values in where.items():
        table.require(column, "where")
        wanted[column] = {normal(value) for value in (values if isinstance(values, list) else [values])}
    records = []
    for record in table.records:
        cells = {column: record.values.get(column) for column in wanted}
        if all(normal("" if cell is None else cell) in wanted[column] for column, cell in cells.items()):
            records.append(record)
    if not records:
        condition = ", ".join(f"{column}: {value!r}" for column, value in where.items())
        raise DataError(
            f"{table.name}: none of {pluralize(len(table.records), 'row')} fits where {{{condition}}}; "
            "correct the condition."
        )
    return replace(table, records=tuple(records))


def join_tables(prompts: Table, responses: Table, key: str) -> Table:
    """One row per response, with the cells of its prompt beside it.

    A response without a prompt is refused. A prompt without a response has nothing to be judged and is left
    out. Where both files have a column of one name, the prompt's counts.
    """
    prompts.require(key, "the key of both files")
    responses.require(key, "the key of both files")
    by_key = _by_key(prompts, key)
    records = []
    for number, record in enumerate(responses.records, start=1):
        name = _join_key(responses, record, key)
        if name not in by_key:
            raise DataError(
                f"{responses.name}, {record.where}: no row of {prompts.name} has {key} {name!r}; "
                "correct the key or remove the row."
            )
        values = {**record.values, **by_key[name].values}
        records.append(TableRecord(number, f"{record.where} of {responses.name}", values))
    columns = (*prompts.columns, *(name for name in responses.columns if name not in prompts.columns))
    return table_of(prompts.name, columns, records)


def _by_key(table: Table, key: str) -> dict[str, TableRecord]:
    by_key: dict[str, TableRecord] = {}
    for record in table.records:
        name = _join_key(table, record, key)
        if name in by_key:
            raise DataError(
                f"{table.name}: {by_key[name].where} and {record.where} have the same {key} {name!r}, "
                "expected one row per prompt; remove one."
            )
        by_key[name] = record
    return by_key


def _join_key(table: Table, record: TableRecord, key: str) -> str:
    cell = record.values.get(key)
    if is_missing(cell):
        raise DataError(f"{table.name}, {record.where}: {key} is empty, expected a key; fill it.")
    return plain_text(cell)
