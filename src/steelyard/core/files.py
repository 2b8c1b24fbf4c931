"""Words on a file or folder that is not there, or cannot be read."""

from __future__ import annotations

import errno
from pathlib import Path


def no_such(path: Path, kind: str = "file") -> str:
    """That there is none of this name; of a relative one, in which folder it was looked for."""
    return f"no such {kind}" + ("" if path.is_absolute() else f" in {Path.cwd()}")


def read_problem(path: Path, error: OSError) -> str:
    missing = error.errno == errno.ENOENT
    return no_such(path) if missing else f"cannot be read ({error.strerror or error})"
