"""What a fixed layout must hold."""

from __future__ import annotations

from steelyard.errors import DataError
from steelyard.tasks.sources.cells import is_missing
from steelyard.tasks.sources.table import Table


def require_filled(table: Table, columns: tuple[str, ...]) -> None:
    """Refuse a table that lacks one of the columns, or a row that leaves one empty."""
    for column in columns:
        table.require(column, column)
        for record in table.records:
            if is_missing(record.values.get(column)):
                raise DataError(
                    f"{table.name}, {record.where}: {column} is empty, expected a value; fill it."
                )
