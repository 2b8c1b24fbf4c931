"""Data files as tables: JSON, JSON lines, Parquet, XLSX, CSV, TSV; the ending of a file tells its reader.

CSV and TSV are read by RFC 4180: nothing inside a field is translated. The parser is our own: the csv module
limits the length of a field, with one limit for the whole process, and ends a record at every bare CR.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import reprlib
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from steelyard.core.files import check_archive, check_unpacked, read_problem, unpacked_limit
from steelyard.core.foreign_code import import_problem
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.tasks.sources.inspect_log import is_log, read_inspect
from steelyard.tasks.sources.table import CellRows, Lost, Table, TableRecord, table_of, table_of_objects

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PROBED, _MANY, _FEW = 4096, 0.4, 0.1


def read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {read_problem(path, error)}; expected a data file.") from error
    if not data.strip():
        raise _empty(path)
    return data


def _empty(path: Path) -> DataError:
    return DataError(f"{path}: the file is empty, expected rows with a header; name another file.")


def read_text(path: Path) -> str:
    data = read_bytes(path)
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: begins as {encoding} and is damaged at byte {error.start}; save it as UTF-8."
        ) from error
    if not text.strip():
        raise _empty(path)
    return text


def encoding_of(data: bytes) -> str:
    """The byte-order mark decides; else zero bytes tell UTF-16; else UTF-8; else Windows, else Latin-1.

    Every byte string is Latin-1, and old spreadsheets nearly always wrote Windows-1252: these come last.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if wide := _wide(data[:_PROBED]):
        return wide
    if _decodes(data, "utf-8") or _damaged_utf8(data):
        return "utf-8"
    return "cp1252" if _decodes(data, "cp1252") else "latin-1"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _damaged_utf8(data: bytes) -> bool:
    """Whether most signs beyond ASCII are sound UTF-8: read as Windows text they would all be rubbish."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    sound = sum(sign > "\x7f" for sign in text) - broken
    return sound > broken


def _wide(start: bytes) -> str | None:
    """UTF-16 without a mark: in western text one byte of every two is zero, and always the same one."""
    pairs = max(1, len(start) // 2)
    even, odd = start[0::2].count(0) / pairs, start[1::2].count(0) / pairs
    if odd > _MANY > _FEW > even:
        return "utf-16-le"
    return "utf-16-be" if even > _MANY > _FEW > odd else None


_DELIMITERS, _SNIFFED = (",", ";", "\t", "|"), 20
_SHARED = 10_000
"""Different cells that are looked for again, so that equal ones are one text in memory."""


def _csv_text(path: Path) -> str:
    """The text without the line `sep=;`, which spreadsheets put before the header."""
    return re.sub(r'\A"?sep=."?(?:\r\n|\r|\n)', "", read_text(path), flags=re.IGNORECASE)


def read_csv(path: Path, delimiter: str | None = None) -> Table:
    text = _csv_text(path)
    sign = delimiter or _find_delimiter(text)
    rows = _rows(text, sign, str(path)) if '"' in text or _ends_with_cr(text) else _lines(text, sign)
    header = tuple(name.strip() for name in next(rows, ()))
    return table_of(str(path), header, CellRows(header, list(_shared_cells(str(path), len(header), rows))))


def csv_header(path: Path) -> tuple[str, ...]:
    """The names of the columns, without the rows."""
    text = _csv_text(path)
    return tuple(name.strip() for name in next(_rows(text, _find_delimiter(text), "", strict=False), ()))


def _shared_cells(name: str, width: int, rows: Iterator[list[str]]) -> Iterator[tuple[str, ...]]:
    """Each row with as many cells as the header; a cell that occurred before is the same object."""
    known: dict[str, str] = {}
    last: tuple[str, ...] = ("",) * width
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise DataError(
                f"{name}, row {number}: found {pluralize(len(row), 'cell')}, expected {width} as in the "
                "header; put fields with delimiters or quotes in double quotes."
            )
        share = known.setdefault if len(known) < _SHARED else known.get
        last = tuple([old if cell == old else share(cell, cell) for cell, old in zip(row, last, strict=True)])
        yield last


def _lines(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of a text without quotes, whose lines end with LF or CR LF."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        line = text[start:] if end < 0 else text[start : end - (text[end - 1 : end] == "\r")]
        if line:
            yield line.split(delimiter)
        start = len(text) if end < 0 else end + 1


def _rows(text: str, delimiter: str, name: str, *, strict: bool = True) -> Iterator[list[str]]:
    """Every row that is not blank, the header first (row 0 in messages)."""
    cell, place, number = _cell(delimiter, _ends_with_cr(text)), 0, 0
    row: list[str] = []
    while place < len(text) or row:
        match = cell.match(text, place)
        assert match is not None  # every part of the pattern may be empty
        if strict and (match["unclosed"] is not None or (match["quoted"] is not None and match["plain"])):
            fault = (
                "unexpected end of data"
                if match["unclosed"] is not None
                else f"{delimiter!r} expected after '\"'"
            )
            raise DataError(
                f"{name}, row {number}: not valid CSV ({fault}); put the field in "
                "double quotes and double every quote inside it."
            )
        quoted = match["quoted"] if match["unclosed"] is None else match["unclosed"]
        value = match["plain"] if quoted is None else quoted.replace('""', '"') + match["plain"]
        place = match.end()
        if match["end"] == delimiter:
            row.append(value)
            continue
        if row or value or quoted is not None:
            number += 1
            yield [*row, value]
        row = []


@cache
def _cell(delimiter: str, cr_ends: bool) -> re.Pattern[str]:
    """One cell and what ends it.

    A bare CR ends a record in old Mac files alone; in a file whose records end with LF it is a character of
    its field, quoted or not: common writers do not quote it.
    """
    sign = re.escape(delimiter)
    letters = rf"[^{sign}\r\n]*+"
    plain = letters if cr_ends else rf"{letters}(?:\r(?!\n){letters})*+"
    quoted = r'[^"]*+(?:""[^"]*+)*+'
    ends = r"\r\n|\r|\n" if cr_ends else r"\r\n|\n"
    return re.compile(
        rf'(?:"(?P<quoted>{quoted})"|"(?P<unclosed>{quoted}))?(?P<plain>{plain})(?P<end>{sign}|{ends}|\Z)'
    )


def _ends_with_cr(text: str) -> bool:
    """Whether the header ends with a bare CR: the first line break outside quotes tells."""
    quoted = False
    for place, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif not quoted and sign in "\r\n":
            return sign == "\r" and text[place + 1 : place + 2] != "\n"
    return False


def _find_delimiter(text: str) -> str:
    """The one that cuts the first rows into the most cells, the same number in each."""

    def fit(delimiter: str) -> tuple[bool, int]:
        rows = list(islice(_rows(text, delimiter, "", strict=False), _SNIFFED))
        widths = {len(row) for row in rows}
        return len(widths) == 1 and max(widths) > 1, len(rows[0]) if rows else 0

    return max(_DELIMITERS, key=fit)


def read_jsonl(path: Path) -> Table:
    # Not `splitlines`: a line separator inside a JSON text does not end the line.
    lines = enumerate(read_text(path).split("\n"), start=1)
    filled = ((f"line {number}", line) for number, line in lines if line.strip())
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
    if _is_split(body):
        rows = [dict(zip(map(str, body["columns"]), row, strict=True)) for row in body["data"]]
    elif isinstance(body, dict):
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


def _is_split(body: Any) -> bool:
    """Whether names and rows stand apart, as pandas and the result tables of MLflow 2 have them."""
    if not isinstance(body, dict) or not all(isinstance(body.get(key), list) for key in ("columns", "data")):
        return False
    return all(isinstance(row, list) and len(row) == len(body["columns"]) for row in body["data"])


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
    except Exception as error:  # of a damaged installation, nearly anything
        raise DataError(
            f"{path}: Parquet needs pyarrow, which {import_problem('pyarrow', error)}."
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
    except Exception as error:  # as above
        raise DataError(f"{path}: XLSX needs openpyxl, which {import_problem('openpyxl', error)}.") from error
    data = read_bytes(path)
    check_archive(path)
    try:
        with warnings.catch_warnings():
            # What openpyxl warns of (styles, validation, extensions) does not touch the values.
            warnings.simplefilter("ignore")
            return _workbook_rows(openpyxl.load_workbook, data)
    except Exception as error:  # a damaged file makes openpyxl, zlib and the XML parser raise nearly anything
        reason = str(error).split("\n")[0] or type(error).__name__
        raise DataError(f"{path}: not a readable XLSX file ({reason}); save it again as .xlsx.") from error


def _workbook_rows(load: Callable[..., Any], data: bytes) -> list[tuple[Any, ...]]:
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
            f"{', '.join(get_args(Format))}; rename the file, or say format under data."
        )
    return _READERS[name](path)
