"""CSV and TSV: quotes, line breaks and bare carriage returns inside fields survive exactly."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.tasks.sources.encoding import read_text
from steelyard.tasks.sources.table import Record, Table, table_of

_DELIMITERS = (",", ";", "\t", "|")
_SNIFFED = 20


def read_csv(path: Path) -> Table:
    """A table with one header row; the delimiter is found in the first rows."""
    return _read(path, None)


def read_tsv(path: Path) -> Table:
    """A table whose delimiter is the tabulator."""
    return _read(path, "\t")


def _read(path: Path, delimiter: str | None) -> Table:
    text = _Text.of(read_text(path))
    with _huge_fields():
        rows = text.rows(delimiter or _delimiter(text), str(path))
        header = tuple(name.strip() for name in next(rows))
        records = [_record(str(path), header, row, number) for number, row in enumerate(rows, start=1)]
    return table_of(str(path), header, records)


def _record(name: str, header: tuple[str, ...], row: list[str], number: int) -> Record:
    if len(row) != len(header):
        raise DataError(
            f"{name}, row {number}: found {pluralize(len(row), 'cell')}, expected {len(header)} as in the "
            "header; put fields with delimiters or quotes in double quotes."
        )
    return Record(number, f"row {number}", dict(zip(header, row, strict=True)))


@dataclass(frozen=True)
class _Text:
    """A file's text, made ready for the csv module.

    The csv module ends a record at a bare CR outside quotes. That is right for old Mac files, whose records
    end so; in a file whose records end with LF a bare CR is a character of its field, quoted or not (common
    writers do not quote it), so a stand-in takes its place while the file is parsed.
    """

    body: str
    """The text, bare CRs replaced where they are data."""
    stand_in: str
    """What replaced them; empty where nothing had to be replaced."""

    @classmethod
    def of(cls, text: str) -> _Text:
        if text.count("\r") == text.count("\r\n") or _ends_with_cr(text):
            return cls(text, "")
        unused = next(sign for sign in map(chr, range(0xE000, 0xF8FF)) if sign not in text)
        return cls(re.sub(r"\r(?!\n)", unused, text), unused)

    def rows(self, delimiter: str, name: str, *, strict: bool = True) -> Iterator[list[str]]:
        """Every row that is not blank, the header first (row 0 in messages)."""
        reader = csv.reader(io.StringIO(self.body, newline=""), delimiter=delimiter, strict=strict)
        number = 0
        try:
            for row in reader:
                if row:
                    number += 1
                    yield [cell.replace(self.stand_in, "\r") for cell in row] if self.stand_in else row
        except csv.Error as error:
            raise DataError(
                f"{name}, row {number}: not valid CSV ({error}); put the field in "
                "double quotes and double every quote inside it."
            ) from error


def _ends_with_cr(text: str) -> bool:
    """Whether the header ends with a bare CR: the first line break outside quotes tells."""
    quoted = False
    for place, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif not quoted and sign in "\r\n":
            return sign == "\r" and text[place + 1 : place + 2] != "\n"
    return False


def _delimiter(text: _Text) -> str:
    """The one that cuts the first rows into the most cells, the same number in each."""
    return max(_DELIMITERS, key=lambda sign: _fit(text, sign))


def _fit(text: _Text, delimiter: str) -> tuple[bool, int]:
    rows = list(islice(text.rows(delimiter, "", strict=False), _SNIFFED))
    widths = {len(row) for row in rows}
    return len(widths) == 1 and max(widths) > 1, len(rows[0]) if rows else 0


@contextmanager
def _huge_fields() -> Iterator[None]:
    """A field may be as long as the file; the limit of the csv module is one for the whole process."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)
