"""Rows of a file, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from steelyard.errors import DataError


@dataclass(frozen=True, slots=True)
class Lost:
    """A cell whose content the file does not hold."""

    reason: str
    """What stands there instead, in words."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row."""

    number: int
    """1 for the first row after the header; blank rows are not counted."""
    where: str
    """Where it stands in the file, in words: `row 3`, `line 12`."""
    values: Mapping[str, Any]
    """Cell of each column, as the format gives it; `Lost` where it gives none."""


@dataclass(frozen=True)
class Table:
    """A file that was read: never empty."""

    name: str
    """The path, for messages."""
    columns: tuple[str, ...]
    """Names in the order in which they were found."""
    records: tuple[Record, ...]
    """Rows in the order of the file."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Part to column, where the format itself says what its columns hold."""

    def require(self, column: str, role: str) -> None:
        """Refuse a column that is not there, is there twice, or has lost the content of a cell."""
        if column not in self.columns:
            raise DataError(
                f"{self.name}: no column {column!r} for {role}; {self._hint(column)}found: {self._listed()}; "
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

    def _hint(self, column: str) -> str:
        folded = {name.strip().casefold(): name for name in self.columns}
        close = get_close_matches(column.strip().casefold(), folded, n=1)
        return f"did you mean {folded[close[0]]!r}? " if close else ""

    def _listed(self) -> str:
        shown = ", ".join(repr(name) for name in self.columns[:30])
        return shown + (f" and {len(self.columns) - 30} more" if len(self.columns) > 30 else "")


def table_of(name: str, columns: tuple[str, ...], records: list[Record]) -> Table:
    """The table, or one sentence when it holds nothing."""
    if not records:
        content = "only a header" if columns else "no rows"
        raise DataError(f"{name}: {content} found, expected one row per item; add rows or name another file.")
    return Table(name, columns, tuple(records))


def table_of_objects(name: str, bodies: list[tuple[str, dict[str, Any]]]) -> Table:
    """Rows that bring their own keys: the columns are all keys, in the order in which they appear."""
    columns = tuple(dict.fromkeys(key for _, body in bodies for key in body))
    records = [Record(number, where, body) for number, (where, body) in enumerate(bodies, start=1)]
    return table_of(name, columns, records)
