"""What prompts show of the rows of the data: further columns, and parts that no row has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import ConfigError
from steelyard.study.study import Study
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.task import Item
from steelyard.trials.judge import Judge
from steelyard.trials.prompt import undeclared_variables
from steelyard.trials.template_reader import LABEL, DataColumns, metadata_keys

_FILLED = ("request", "reference", "context")
"""Parts of an item that a prompt can show and data can lack."""


def data_columns(data: DataConfig | None, folder: Path) -> DataColumns:
    if data is None:
        return DataColumns()
    mapped = {} if data.columns is None else {column: part for part, column in data.columns.used()}
    return DataColumns(mapped, lambda: data.columns_of(folder))


def shown_columns(judges: Iterable[Judge], columns: DataColumns) -> tuple[str, ...]:
    """Columns of the data that prompts show beside the parts of an item, in the order of the file."""
    keys = metadata_keys(text for judge in judges for text in _templates(judge))
    for key in sorted(keys):
        if columns.part(key) == LABEL:
            raise ConfigError(
                f"prompts: found column {key!r}, which holds the labels, expected a prompt without them; "
                "remove it."
            )
    return tuple(name for name in columns.names if name in keys) if keys else ()


def check_filled(study: Study) -> None:
    """Refuse a prompt of the user's that shows a part of the items which no row of the user's data has."""
    asked = (one for judge in study.judges for one in judge.leaf_judges if one.name in study.prompts)
    for judge in asked if study.source is not None else ():
        for part in (part for text in _templates(judge) for part in _empty_parts(text, study.items)):
            raise ConfigError(
                f"judge {judge.name!r}: its prompt shows {{{{ {part} }}}}, which no row of the data has; map "
                f"a column to it ({part}=COLUMN in --columns), or take it out of the prompt."
            )


def _empty_parts(text: str, items: Iterable[Item]) -> Iterator[str]:
    named = undeclared_variables(text)
    for part in _FILLED:
        optional = re.search(rf"\{{%-?\s*if\b[^%]*\b{part}\b", text)
        if part in named and not optional and not any(getattr(item, part) for item in items):
            yield part


def _templates(judge: Judge) -> Iterator[str]:
    for one in judge.leaf_judges:
        for protocol in one.protocols.values():
            yield from (text for text in (protocol.user, protocol.system) if text)
