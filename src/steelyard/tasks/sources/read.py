"""Which reader a file needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from steelyard.errors import DataError
from steelyard.tasks.sources.delimited import read_csv, read_tsv
from steelyard.tasks.sources.inspect_log import read_inspect
from steelyard.tasks.sources.objects import read_json, read_jsonl
from steelyard.tasks.sources.parquet import read_parquet
from steelyard.tasks.sources.spreadsheet import read_xlsx
from steelyard.tasks.sources.table import Table

Format: TypeAlias = Literal["csv", "tsv", "jsonl", "json", "parquet", "xlsx", "inspect"]
"""Every format that can be read."""

_READERS: dict[str, Callable[[Path], Table]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "json": read_json,
    "parquet": read_parquet,
    "xlsx": read_xlsx,
    "inspect": read_inspect,
}
_ENDINGS = {"tab": "tsv", "ndjson": "jsonl", "pq": "parquet", "xlsm": "xlsx", "eval": "inspect"}


def read_table(path: Path, format: Format | None = None) -> Table:
    """Read a file in the given format, or in the one its name ends with."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder, expected a data file; name a file in it.")
    ending = path.suffix.removeprefix(".").lower()
    name = format or _ENDINGS.get(ending, ending)
    if name not in _READERS:
        raise DataError(
            f"{path}: the ending {path.suffix!r} names no known format, expected one of "
            f"{', '.join(get_args(Format))}; rename the file or say the format."
        )
    return _READERS[name](path)
