"""Files: read problems in words, writes that are whole or not at all, packed ones, the folder of this user.

The folder holds weights, consents and the signing key: what somebody else wrote beside a run or a study
carries no signature with it. A packed file (XLSX, Inspect log, Parquet) that unpacks to far more than its
size is refused.
"""

from __future__ import annotations

import errno
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path
from secrets import token_bytes
from stat import S_ISREG

from steelyard.core.content_hash import canonical_json
from steelyard.errors import ConfigError, DataError, StoreError


def no_such(path: Path, kind: str = "file") -> str:
    """That there is none of this name; of a relative one, in which folder it was looked for."""
    return f"no such {kind}" + ("" if path.is_absolute() else f" in {Path.cwd()}")


def read_problem(path: Path, error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return "is not text in UTF-8"
    missing = error.errno == errno.ENOENT
    return no_such(path) if missing else f"cannot be read ({error.strerror or error})"


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def atomic_write_text(path: Path, text: str | Iterable[str]) -> None:
    """Whole or not at all: a reader never sees half a file; a long text may come in parts."""
    with atomic_write(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines([text] if isinstance(text, str) else text)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A file beside the wanted one to write to, which takes its place when all of it is on disk."""
    beside = path.with_name(path.name + ".part")
    try:
        yield beside
        with beside.open("rb+") as stream:
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):  # a file system that is read-only refuses this too
            beside.unlink(missing_ok=True)
        raise write_error(path, error, "make it writable, or write elsewhere, then run again") from error


def write_error(path: Path, error: OSError, cure: str = "choose another --out") -> StoreError:
    """The sentence about a file or folder that cannot be written; `cure` helps where there is room."""
    if error.errno in _NO_ROOM:
        cure = "free some space, then run again"
    elif error.errno == errno.EROFS:
        cure = "mount the disk for writing, or choose another --out"
    elif dangling := [one for one in (path, *path.parents) if one.is_symlink() and not one.exists()]:
        return StoreError(
            f"{dangling[-1]}: is a link that leads nowhere; correct the link, or choose another --out."
        )
    elif error.errno == errno.ENOENT and not path.parent.exists():
        cure = f"make the folder {path.parent} first"
    return StoreError(f"{path}: cannot be written ({error.strerror}); {cure}.")


def cache_folder() -> Path:
    if chosen := os.environ.get("STEELYARD_CACHE"):
        try:
            return Path(chosen).expanduser()
        except RuntimeError as error:
            raise ConfigError(
                f"STEELYARD_CACHE: {chosen} is in the home of an unknown user; set it to a folder."
            ) from error
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("steelyard", appauthor=False))


KEY_BYTES = 32


def signature(body: object) -> str:
    """Raises an OSError where the cache can not be used."""
    return blake2b(canonical_json(body).encode(), digest_size=16, key=_signing_key()).hexdigest()


def _signing_key() -> bytes:
    """32 bytes that this user alone can read, drawn at first use."""
    path = cache_folder() / "stamp.key"
    if not path.is_absolute():
        raise OSError(f"{path}: lies in the current folder, which somebody else may have written")
    key = b""
    with suppress(FileNotFoundError), open_file(path) as stream:
        found = os.fstat(stream.fileno())
        # No other user wrote the file or can read it; Windows has no such modes.
        is_private = os.name == "nt" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        key = stream.read() if is_private else b""
    if len(key) != KEY_BYTES:
        path.parent.mkdir(parents=True, exist_ok=True)
        key = token_bytes(KEY_BYTES)
        with atomic_write(path) as beside:
            beside.unlink(missing_ok=True)
            with open(beside, "xb", opener=partial(os.open, mode=0o600)) as new:
                new.write(key)
    return key


def open_file(path: Path) -> BufferedReader:
    """A pipe or a device in place of a file might never end."""
    if not S_ISREG(path.stat().st_mode):
        raise OSError(f"{path}: not a file")
    return path.open("rb")


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
