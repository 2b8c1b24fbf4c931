"""The stamp of a published run: digests of its files and of this program, which tell `report` what changed.

Where not a byte differs, every figure would come out as it was published, and need not be computed again.
Where plug-ins are installed, nothing is stamped: their code may change, and every page has their charts. A
stamp is signed with a key of this user: one that came with somebody else's folder counts for nothing.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b, file_digest
from hmac import compare_digest
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path

from steelyard.core.files import atomic_write_text, open_file, signature
from steelyard.errors import SteelyardError
from steelyard.run_folder.run_folder import RESULTS, SHEETS, RunFolder

STAMP = ".published.json"
LIBRARIES = ("numpy", "pyarrow", "genai-prices")
"""What else figures, files and prices come from."""

MAX_STAMP = 1 << 20
_NO_STAMP = (OSError, ValueError, TypeError, KeyError, RecursionError, SteelyardError)
"""What a stamp of any content, and a cache that cannot be used, may raise."""

Digests = dict[str, str | None]
"""By the name of a file; None where there is none."""


def stored_digests(run: RunFolder) -> Digests | None:
    """Digests of what is stored; None while a database has changes that lie beside it, as in a run now."""
    stored = (run.study, run.stimuli, run.database, run.columns, run.decisions, run.reviews, *run.imported)
    try:
        at_work = any(_size(path.with_name(f"{path.name}-wal")) for path in stored)
        return None if at_work else {path.name: _digest(path) for path in stored}
    except OSError:
        return None


def save_stamp(run: RunFolder, stored: Digests, losses: Sequence[str]) -> None:
    """Stamp what was just published from what was `stored` before it was read."""
    if plug_ins_installed():
        return
    with suppress(*_NO_STAMP):  # without a stamp the next report computes
        name = str(run.path)
        body = {"folder": name, "losses": list(losses), "signature": _signature(run, name, stored, losses)}
        atomic_write_text(run.path / STAMP, json.dumps(body, indent=1) + "\n")


def losses_if_unchanged(run: RunFolder, stored: Digests | None) -> tuple[str, ...] | None:
    """What a report warns of beside the published figures; None where a file or the program changed.

    The warnings name the folder as it was named, so that they hold under that name alone.
    """
    name, losses = _unchanged(run, stored) or ("", ())
    return losses if name == str(run.path) else None


def is_unchanged(run: RunFolder, stored: Digests | None) -> bool:
    """Whether the published figures are those of the record, whatever the folder is named by."""
    return _unchanged(run, stored) is not None


def _unchanged(run: RunFolder, stored: Digests | None) -> tuple[str, tuple[str, ...]] | None:
    """The name that the folder was published under, and what was warned of."""
    if stored is None or plug_ins_installed():
        return None
    try:
        with open_file(run.path / STAMP) as stream:
            body = json.loads(stream.read(MAX_STAMP))
        name, losses = str(body["folder"]), tuple(map(str, body["losses"]))
        signed = compare_digest(str(body["signature"]), _signature(run, name, stored, losses))
        return (name, losses) if signed else None
    except _NO_STAMP:
        return None


def _signature(run: RunFolder, name: str, stored: Digests, losses: Sequence[str]) -> str:
    """Of all that a report rests on."""
    published = {name: _digest(run.path / name) for name in (*SHEETS, *RESULTS)}
    return signature([name, program_digest(), stored | published, list(losses)])


@cache
def plug_ins_installed() -> bool:
    return any(group.startswith("steelyard.") for group in entry_points().groups)


def _digest(path: Path) -> str | None:
    try:
        with open_file(path) as stream:
            return file_digest(stream, _short).hexdigest()
    except FileNotFoundError:
        return None


def _short() -> blake2b:
    return blake2b(digest_size=16)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@cache
def program_digest() -> str:
    """Digest of the code and data of this package, and the versions below it."""
    found = _short()
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            found.update(f"{library} {version(library)}\n".encode())
    found.update(f"{platform.python_version()} {platform.machine()}\n".encode())
    root = str(Path(__file__).parents[1])
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(names):
            path = f"{folder}{os.sep}{name}"
            with open(path, "rb") as stream:
                found.update(path.removeprefix(root).encode() + b"\n" + stream.read())
    return found.hexdigest()
