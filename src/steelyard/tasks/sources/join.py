"""Two files to one table: prompts in the first, responses in the second."""

from __future__ import annotations

from steelyard.errors import DataError
from steelyard.tasks.sources.cells import is_missing, plain_text
from steelyard.tasks.sources.table import Record, Table, table_of


def join(prompts: Table, responses: Table, key: str) -> Table:
    """One row per response, with the cells of its prompt beside it.

    A response without a prompt is refused. A prompt without a response has nothing to be judged and is left
    out. Where both files have a column of one name, the prompt's counts.
    """
    prompts.require(key, "the key of both files")
    responses.require(key, "the key of both files")
    by_key = _by_key(prompts, key)
    records = []
    for number, record in enumerate(responses.records, start=1):
        name = _key(responses, record, key)
        if name not in by_key:
            raise DataError(
                f"{responses.name}, {record.where}: no row of {prompts.name} has {key} {name!r}; "
                "correct the key or remove the row."
            )
        values = {**record.values, **by_key[name].values}
        records.append(Record(number, f"{record.where} of {responses.name}", values))
    columns = (*prompts.columns, *(name for name in responses.columns if name not in prompts.columns))
    return table_of(prompts.name, columns, records)


def _by_key(table: Table, key: str) -> dict[str, Record]:
    by_key: dict[str, Record] = {}
    for record in table.records:
        name = _key(table, record, key)
        if name in by_key:
            raise DataError(
                f"{table.name}: {by_key[name].where} and {record.where} have the same {key} {name!r}, "
                "expected one row per prompt; remove one."
            )
        by_key[name] = record
    return by_key


def _key(table: Table, record: Record, key: str) -> str:
    cell = record.values.get(key)
    if is_missing(cell):
        raise DataError(f"{table.name}, {record.where}: {key} is empty, expected a key; fill it.")
    return plain_text(cell)
