"""The list of behaviours of AgentHarm: what was asked of an agent, without what it did."""

from __future__ import annotations

from steelyard.tasks.adapters.filled import require_filled
from steelyard.tasks.item import Item
from steelyard.tasks.sources.cells import is_missing, long_text, plain_text
from steelyard.tasks.sources.table import Record, Table

_COLUMNS = ("id", "prompt", "category")


def behaviours(table: Table) -> tuple[Item, ...]:
    """One item per behaviour, with no response; the variants of one behaviour share a cluster."""
    require_filled(table, _COLUMNS)
    return tuple(_item(table.name, record) for record in table.records)


def _item(name: str, record: Record) -> Item:
    own, original = record.values.get("id"), record.values.get("id_original")
    return Item(
        id=plain_text(own),
        request=long_text(record.values.get("prompt"), f"{name}, {record.where}"),
        responses=(),
        cluster=plain_text(own if is_missing(original) else original),
        stratum=plain_text(record.values.get("category")),
    )
