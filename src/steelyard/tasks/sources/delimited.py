"""CSV and TSV (RFC 4180): quotes, line breaks and bare carriage returns inside fields survive exactly.

The parser is our own: the csv module limits the length of a field, with one limit for the whole process, and
ends a record at every bare CR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.tasks.sources.encoding import read_text
from steelyard.tasks.sources.table import Table, TableRecord, table_of

_DELIMITERS = (",", ";", "\t", "|")
_SNIFFED = 20


def read_csv(path: Path) -> Table:
    return _read(path, None)


def read_tsv(path: Path) -> Table:
    return _read(path, "\t")


def _read(path: Path, delimiter: str | None) -> Table:
    text = read_text(path)
    rows = _rows(text, delimiter or _delimiter(text), str(path))
    header = tuple(name.strip() for name in next(rows, ()))
    records = [_record(str(path), header, row, number) for number, row in enumerate(rows, start=1)]
    return table_of(str(path), header, records)


def _record(name: str, header: tuple[str, ...], row: list[str], number: int) -> TableRecord:
    if len(row) != len(header):
        raise DataError(
            f"{name}, row {number}: found {pluralize(len(row), 'cell')}, expected {len(header)} as in the "
            "header; put fields with delimiters or quotes in double quotes."
        )
    return TableRecord(number, f"row {number}", dict(zip(header, row, strict=True)))


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


def _delimiter(text: str) -> str:
    """The one that cuts the first rows into the most cells, the same number in each."""
    return max(_DELIMITERS, key=lambda sign: _fit(text, sign))


def _fit(text: str, delimiter: str) -> tuple[bool, int]:
    rows = list(islice(_rows(text, delimiter, "", strict=False), _SNIFFED))
    widths = {len(row) for row in rows}
    return len(widths) == 1 and max(widths) > 1, len(rows[0]) if rows else 0
