"""A benchmark that is a folder of files, one folder per subset."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import DataError
from steelyard.tasks.sources.read import Format, read_table
from steelyard.tasks.sources.table import Record, Table, table_of

FILE = "dataset.json"


def read_folders(path: Path, format: Format | None = None) -> Table:
    """One file, or every `dataset.json` in a folder; columns `folder` and `row` say where a row stood."""
    if not path.is_dir():
        return _joined(str(path), [(path.parent.name, read_table(path, format))])
    files = sorted(path.rglob(FILE))
    if not files:
        raise DataError(
            f"{path}: no {FILE} found in the folder, expected one per subset; name another folder."
        )
    return _joined(
        str(path), [(file.parent.relative_to(path).as_posix(), read_table(file)) for file in files]
    )


def _joined(name: str, tables: list[tuple[str, Table]]) -> Table:
    records: list[Record] = []
    for folder, table in tables:
        for record in table.records:
            values = {**record.values, "folder": folder, "row": record.number}
            records.append(Record(len(records) + 1, f"{record.where} of {folder}", values))
    columns = tuple(dict.fromkeys(column for _, table in tables for column in table.columns))
    return table_of(name, (*columns, "folder", "row"), records)
