"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard.errors import StoreError

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
