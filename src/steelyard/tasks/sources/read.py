"""Data files as tables: JSON, JSON lines, Parquet, XLSX; the reader of a file follows from its ending."""

from __future__ import annotations

import io
import json
import re
import reprlib
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from steelyard.core.files import check_archive, check_unpacked, unpacked_limit
from steelyard.errors import DataError
from steelyard.tasks.sources.delimited import read_bytes, read_csv, read_text
from steelyard.tasks.sources.inspect_log import is_log, read_inspect
from steelyard.tasks.sources.table import Lost, Table, TableRecord, table_of, table_of_objects


def read_jsonl(path: Path) -> Table:
    # Not `splitlines`: a line separator inside a JSON text does not end the line.
    lines = enumerate(read_text(path).split("\n"), start=1)
    filled = [(f"line {number}", line) for number, line in lines if line.strip()]
    bodies = [(where, _parsed(f"{path}, {where}", line)) for where, line in filled]
    for where, body in bodies:
        if not isinstance(body, dict):
            raise DataError(
                f"{path}, {where}: found a {type(body).__name__}, expected one object per line; correct it."
            )
    return table_of_objects(str(path), bodies)


def read_json(path: Path) -> Table:
    body = _parsed(str(path), read_text(path))
    if is_log(body):
        return read_inspect(path)
    rows, content = body, f"a {type(body).__name__}"
    if isinstance(body, dict):
        lists = [value for value in body.values() if isinstance(value, list)]
        rows, content = lists[0] if len(lists) == 1 else None, "an object without one list of rows"
    if not isinstance(rows, list):
        raise DataError(f"{path}: found {content}, expected a JSON list of objects; correct the file.")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(
                f"{path}, row {number}: found a {type(row).__name__}, expected an object; correct it."
            )
    return table_of_objects(str(path), [(f"row {number}", row) for number, row in enumerate(rows, start=1)])


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        line = f", line {number}" if (number := getattr(error, "lineno", 1)) > 1 else ""
        raise DataError(f"{where}{line}: not valid JSON ({reason}); correct it.") from error


def read_parquet(path: Path) -> Table:
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path}: Parquet needs pyarrow, which is not installed; run pip install pyarrow."
        ) from error
    data = read_bytes(path)
    try:
        rows = list(_parquet_rows(path, arrow.parquet.ParquetFile(arrow.BufferReader(data)), len(data)))
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"{path}: not a readable Parquet file ({str(error).splitlines()[0]}); fetch or write it again."
        ) from error
    return table_of_objects(str(path), [(f"row {number}", row) for number, row in enumerate(rows, start=1)])


def _parquet_rows(path: Path, file: Any, size: int) -> Iterator[dict[str, Any]]:
    """The rows, read a few at a time: one value may stand in any number of them and be stored once."""
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    limit = unpacked_limit(size)
    largest = max((group.total_byte_size for group in groups), default=1)
    unpacked = 0
    for batch in file.iter_batches(batch_size=min(8192, limit // (4 * max(largest, 1))) or 1):
        unpacked += batch.nbytes
        check_unpacked(path, unpacked, limit)
        yield from batch.to_pylist()


def read_xlsx(path: Path) -> Table:
    """The values of the first sheet; an empty cell is an empty text, for a sheet knows no other nothing."""
    rows = _sheet(path)
    header = tuple(str(name).strip() if _filled(name) else "" for name in rows[0]) if rows else ()
    while header and not header[-1]:
        header = header[:-1]
    records = [
        TableRecord(
            number, f"row {number}", dict(zip(header, ("" if c is None else c for c in row), strict=False))
        )
        for number, row in enumerate((row for row in rows[1:] if any(map(_filled, row))), start=1)
    ]
    return table_of(str(path), header, records)


def _sheet(path: Path) -> list[tuple[Any, ...]]:
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(
            f"{path}: XLSX needs openpyxl, which is not installed; run pip install openpyxl."
        ) from error
    data = read_bytes(path)
    check_archive(path)
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


def _calculated_on_opening(data: bytes) -> bool:
    """Whether values of formulas are stand-ins, left by a library that does not calculate."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        book = archive.read("xl/workbook.xml")
    return re.search(rb"""fullCalcOnLoad=["'](1|true)["']""", book) is not None


def _filled(cell: Any) -> bool:
    return cell is not None and cell != ""


Format: TypeAlias = Literal["csv", "tsv", "jsonl", "json", "parquet", "xlsx", "inspect"]

_READERS: dict[str, Callable[[Path], Table]] = {
    "csv": read_csv,
    "tsv": partial(read_csv, delimiter="\t"),
    "jsonl": read_jsonl,
    "json": read_json,
    "parquet": read_parquet,
    "xlsx": read_xlsx,
    "inspect": read_inspect,
}
_ENDINGS = {"tab": "tsv", "ndjson": "jsonl", "pq": "parquet", "xlsm": "xlsx", "eval": "inspect"}


def read_table(path: Path, format: Format | None = None) -> Table:
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
