"""Which rows of a table a study uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.tasks.sources.labels import normal
from steelyard.tasks.sources.table import Table

Value: TypeAlias = str | int | float | bool
Where: TypeAlias = Mapping[str, Value | list[Value]]
"""Column to the value, or the values, that its rows must hold; all columns must fit."""


def keep(table: Table, where: Where) -> Table:
    """The rows that fit; values are compared as labels are, so `4.0`, `4` and `"4"` are the same."""
    wanted: dict[str, set[str]] = {}
    for column, values in where.items():
        table.require(column, "where")
        wanted[column] = {normal(value) for value in (values if isinstance(values, list) else [values])}
    records = [
        record
        for record in table.records
        if all(normal(_cell(record.values.get(column))) in values for column, values in wanted.items())
    ]
    if not records:
        shown = ", ".join(f"{column}: {value!r}" for column, value in where.items())
        raise DataError(
            f"{table.name}: none of {pluralize(len(table.records), 'row')} fits where {{{shown}}}; "
            "correct the condition."
        )
    return replace(table, records=tuple(records))


def _cell(cell: object) -> object:
    return "" if cell is None else cell
