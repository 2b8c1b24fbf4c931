"""XLSX, by openpyxl where it is installed: the first sheet, whose first row is the header."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.tasks.sources.encoding import read_bytes
from steelyard.tasks.sources.table import Record, Table, table_of


def read_xlsx(path: Path) -> Table:
    """The values of the first sheet; an empty cell is an empty text, for a sheet knows no other nothing."""
    rows = _sheet(path)
    header = _header(rows[0]) if rows else ()
    records = [
        Record(number, f"row {number}", dict(zip(header, map(_cell, row), strict=False)))
        for number, row in enumerate((row for row in rows[1:] if any(map(_filled, row))), start=1)
    ]
    return table_of(str(path), header, records)


def _sheet(path: Path) -> list[tuple[Any, ...]]:
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(
            f"{path}: XLSX needs openpyxl, which is not installed; run pip install 'steelyard[xlsx]'."
        ) from error
    data = io.BytesIO(read_bytes(path))
    try:
        with warnings.catch_warnings():
            # What openpyxl warns of (styles, validation, extensions) does not touch the values.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(data, read_only=True, data_only=True)
            return [tuple(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception as error:  # a damaged file makes openpyxl, zlib and the XML parser raise nearly anything
        reason = str(error).split("\n")[0] or type(error).__name__
        raise DataError(f"{path}: not a readable XLSX file ({reason}); save it again as .xlsx.") from error


def _header(row: tuple[Any, ...]) -> tuple[str, ...]:
    names = [str(name).strip() if _filled(name) else "" for name in row]
    while names and not names[-1]:
        names.pop()
    return tuple(names)


def _filled(cell: Any) -> bool:
    return cell is not None and cell != ""


def _cell(cell: Any) -> Any:
    return "" if cell is None else cell
