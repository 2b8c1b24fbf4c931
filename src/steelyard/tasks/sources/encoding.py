"""Bytes to text: the encoding is found, and no line ending is translated."""

from __future__ import annotations

import codecs
from pathlib import Path

from steelyard.errors import DataError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PROBED = 4096
_ZEROS = 0.4


def read_bytes(path: Path) -> bytes:
    """The whole file, or one sentence."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path}: cannot be read ({reason}); expected a data file.") from error
    if not data.strip():
        raise DataError(f"{path}: the file is empty, expected rows with a header; name another file.")
    return data


def read_text(path: Path) -> str:
    """The text of a file in the encoding that `encoding_of` finds."""
    data = read_bytes(path)
    encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: begins as {encoding} and is damaged at byte {error.start}; save it as UTF-8."
        ) from error


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
    for encoding in ("utf-8", "cp1252"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _wide(start: bytes) -> str | None:
    """UTF-16 without a mark: in western text every other byte is zero, and hardly any of the rest."""
    even, odd = start[0::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    if half and odd / half > _ZEROS and even / half < 1 - _ZEROS and even * 4 < odd:
        return "utf-16-le"
    if half and even / half > _ZEROS and odd * 4 < even:
        return "utf-16-be"
    return None
