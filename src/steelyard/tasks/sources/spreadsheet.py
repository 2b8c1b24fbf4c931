"""XLSX, by openpyxl where it is installed: the first sheet, whose first row is the header."""

from __future__ import annotations

import io
import re
import reprlib
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.tasks.sources.encoding import read_bytes
from steelyard.tasks.sources.table import Lost, Record, Table, table_of


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
    data = read_bytes(path)
    try:
        with warnings.catch_warnings():
            # What openpyxl warns of (styles, validation, extensions) does not touch the values.
            warnings.simplefilter("ignore")
            return _rows(openpyxl.load_workbook, data)
    except Exception as error:  # a damaged file makes openpyxl, zlib and the XML parser raise nearly anything
        reason = str(error).split("\n")[0] or type(error).__name__
        raise DataError(f"{path}: not a readable XLSX file ({reason}); save it again as .xlsx.") from error


def _rows(load: Callable[..., Any], data: bytes) -> list[tuple[Any, ...]]:
    """Every cell's value; formulas by the values that the program which saved the file gave them."""
    rows, written = _cells(load(io.BytesIO(data), read_only=True))
    if not written:
        return rows
    values, _ = _cells(load(io.BytesIO(data), read_only=True, data_only=True))
    trusted = not _calculated_on_opening(data)
    for (row, column), formula in written.items():
        if not trusted or values[row][column] is None:
            cells = values[row]
            values[row] = (*cells[:column], Lost(f"the formula {formula}"), *cells[column + 1 :])
    return values


def _cells(book: Any) -> tuple[list[tuple[Any, ...]], dict[tuple[int, int], str]]:
    """The first sheet's values, and where its formulas stand."""
    rows: list[tuple[Any, ...]] = []
    formulas: dict[tuple[int, int], str] = {}
    for number, row in enumerate(book.worksheets[0].iter_rows()):
        # Read without formulas, one whose value is an empty text has its type alone to say so.
        rows.append(
            tuple("" if cell.value is None and cell.data_type == "str" else cell.value for cell in row)
        )
        for column, cell in enumerate(row):
            if cell.data_type == "f":
                formulas[number, column] = reprlib.repr(getattr(cell.value, "text", cell.value))
    return rows, formulas


def _value(cell: Any) -> Any:
    """Of a formula whose value is an empty text, the type alone says so."""
    return "" if cell.value is None and cell.data_type == "str" else cell.value


def _calculated_on_opening(data: bytes) -> bool:
    """Whether values of formulas are stand-ins, left by a library that does not calculate."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        book = archive.read("xl/workbook.xml")
    return re.search(rb"""fullCalcOnLoad=["'](1|true)["']""", book) is not None


def _header(row: tuple[Any, ...]) -> tuple[str, ...]:
    names = [str(name).strip() if _filled(name) else "" for name in row]
    while names and not names[-1]:
        names.pop()
    return tuple(names)


def _filled(cell: Any) -> bool:
    return cell is not None and cell != ""


def _cell(cell: Any) -> Any:
    return "" if cell is None else cell
