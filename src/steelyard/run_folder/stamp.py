"""The stamp of a published run: digests of its files and of this program, which tell `report` what changed.

Where not a byte differs, every figure would come out as it was published, and need not be computed again.
Where plug-ins are installed, nothing is stamped: their code may change, and every page has their charts. A
stamp is sealed with a secret of this user: one that came with somebody else's folder counts for nothing.
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
from secrets import token_bytes
from tempfile import NamedTemporaryFile
from typing import Any

from steelyard.core.atomic_write import atomic_write_text
from steelyard.core.content_hash import canonical_json
from steelyard.errors import StoreError
from steelyard.providers.embedded.weights import cache_folder
from steelyard.run_folder.run_folder import RESULTS, SHEETS, RunFolder

STAMP = ".published.json"
LIBRARIES = ("numpy", "pyarrow", "genai-prices")
"""What else figures, files and prices come from."""

SECRET_BYTES = 32

Digests = dict[str, str | None]
"""By the name of a file; None where there is none."""


def stored_digests(run: RunFolder) -> Digests | None:
    """Digests of what is stored; None while a database has changes that lie beside it, as in a run now."""
    stored = (run.study, run.stimuli, run.database, run.columns, run.decisions, run.reviews)
    try:
        at_work = any(_size(path.with_name(f"{path.name}-wal")) for path in stored)
        return None if at_work else {path.name: _digest(path) for path in stored}
    except OSError:
        return None


def save_stamp(run: RunFolder, stored: Digests, losses: Sequence[str]) -> None:
    """Stamp what was just published from what was `stored` before it was read."""
    if plug_ins_installed():
        return
    with suppress(OSError, StoreError):  # without a stamp the next report computes
        body = {**_circumstances(run), "files": stored | _published_digests(run), "losses": list(losses)}
        sealed = {**body, "seal": _seal(body, _secret())}
        atomic_write_text(run.path / STAMP, json.dumps(sealed, indent=1) + "\n")


def losses_if_unchanged(run: RunFolder, stored: Digests | None) -> tuple[str, ...] | None:
    """What a report warns of beside the published figures; None where a file or the program changed."""
    if stored is None:
        return None
    try:
        body = json.loads((run.path / STAMP).read_text(encoding="utf-8"))
        seal, losses = str(body.pop("seal")), tuple(map(str, body["losses"]))
        if plug_ins_installed() or any(body[name] != value for name, value in _circumstances(run).items()):
            return None
        if not compare_digest(seal, _seal(body, _secret())):
            return None
        unchanged = body["files"] == stored | _published_digests(run)
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    return losses if unchanged else None


def _seal(body: dict[str, Any], secret: bytes) -> str:
    return blake2b(canonical_json(body).encode(), digest_size=16, key=secret).hexdigest()


def _secret() -> bytes:
    """32 bytes that this user alone can read, drawn at first use."""
    path = cache_folder() / "stamp.key"
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        path.parent.mkdir(parents=True, exist_ok=True)
        secret = token_bytes(SECRET_BYTES)
        with NamedTemporaryFile(dir=path.parent, delete=False) as stream:  # readable by its owner alone
            stream.write(secret)
        Path(stream.name).replace(path)
    return secret


@cache
def plug_ins_installed() -> bool:
    return any(group.startswith("steelyard.") for group in entry_points().groups)


def _circumstances(run: RunFolder) -> dict[str, str]:
    """What a report rests on beside its files: commands that it prints name the folder as it was named."""
    return {"folder": str(run.path), "program": _program()}


def _published_digests(run: RunFolder) -> Digests:
    return {name: _digest(run.path / name) for name in (*SHEETS, *RESULTS)}


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
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
def _program() -> str:
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
