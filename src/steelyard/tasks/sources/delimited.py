"""CSV and TSV (RFC 4180), and the encoding of text files: nothing inside a field is translated.

The parser is our own: the csv module limits the length of a field, with one limit for the whole process, and
ends a record at every bare CR.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from steelyard.core.files import read_problem
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.tasks.sources.table import CellRows, Table, table_of

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PROBED = 4096
_MANY, _FEW = 0.4, 0.1


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
    wide = _wide(data[:_PROBED])
    if wide:
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


_DELIMITERS = (",", ";", "\t", "|")
_SNIFFED = 20


_SHARED = 10_000
"""Different cells that are looked for again, so that equal ones are one text in memory."""


def read_csv(path: Path, delimiter: str | None = None) -> Table:
    text = read_text(path)
    sign = delimiter or _find_delimiter(text)
    rows = _rows(text, sign, str(path)) if '"' in text or _ends_with_cr(text) else _lines(text, sign)
    header = tuple(name.strip() for name in next(rows, ()))
    return table_of(str(path), header, CellRows(header, list(_shared_cells(str(path), len(header), rows))))


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
