"""Parquet, by pyarrow where it is installed."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import DataError
from steelyard.tasks.sources.encoding import read_bytes
from steelyard.tasks.sources.table import Table, table_of_objects


def read_parquet(path: Path) -> Table:
    """All rows of one Parquet file."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path}: Parquet needs pyarrow, which is not installed; run pip install 'steelyard[parquet]'."
        ) from error
    data = read_bytes(path)
    try:
        rows = arrow.parquet.read_table(arrow.BufferReader(data)).to_pylist()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"{path}: not a readable Parquet file ({str(error).splitlines()[0]}); fetch or write it again."
        ) from error
    return table_of_objects(str(path), [(f"row {number}", row) for number, row in enumerate(rows, start=1)])
