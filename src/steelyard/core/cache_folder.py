"""Files of this user: the folder of weights, consents and the signing key, and signatures with that key.

What somebody else wrote beside a run or a study carries no signature.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path
from secrets import token_bytes
from stat import S_ISREG

from steelyard.core.atomic_write import atomic_write
from steelyard.core.content_hash import canonical_json
from steelyard.errors import ConfigError


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
