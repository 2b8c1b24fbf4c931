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
_MANY, _FEW = 0.4, 0.1


def read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{path}: cannot be read ({reason}); expected a data file.") from error
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
