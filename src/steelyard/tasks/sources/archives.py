"""Packed files (XLSX, Inspect logs, Parquet): one that unpacks to far more than its size is refused."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from steelyard.errors import DataError

MAX_UNPACKED = 200_000_000
"""Bytes that any archive may unpack to."""
MAX_RATIO = 100
"""Times its own size that a larger archive may unpack to; text packs to a tenth."""


def check_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            limit = unpacked_limit(path.stat().st_size)
            # Reads no more than the stated sizes: a member that holds more has another checksum.
            wrong = archive.testzip() if unpacked <= limit else None
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return  # whoever reads the file says what is wrong with it
    if wrong is not None:
        raise DataError(f"{path}: {wrong} is not what the archive states of it; get the file again.")
    check_unpacked(path, unpacked, limit)


def unpacked_limit(size: int) -> int:
    return max(MAX_UNPACKED, MAX_RATIO * size)


def check_unpacked(path: Path, unpacked: int, limit: int) -> None:
    if unpacked > limit:
        raise DataError(
            f"{path}: unpacks to {unpacked / 1e6:,.0f} MB, expected at most {limit / 1e6:,.0f} MB for its "
            "size; split the file if it is sound."
        )
