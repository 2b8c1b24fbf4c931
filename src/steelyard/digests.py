"""Content hashes in columns: 32 bytes each, found by bisection."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from steelyard.arrays import Digests, Ints

PREFIX = "sha256:"
WIDTH = 32
"""Bytes of a digest."""
_LETTERS = len(PREFIX) + 2 * WIDTH
NO_DIGESTS: Digests = np.empty(0, dtype=f"S{WIDTH}")


def digests_of(hashes: Sequence[str]) -> Digests:
    """Hashes as they are written, as a column; what is written otherwise has a digest of its own."""
    text = "".join(hashes)
    spelled = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    if len(spelled) == _LETTERS * len(hashes) and set(map(len, hashes)) <= {_LETTERS}:
        rows = spelled.reshape(-1, _LETTERS)
        if (rows[:, : len(PREFIX)] == np.frombuffer(PREFIX.encode(), dtype=np.uint8)).all():
            try:
                return column(bytes.fromhex(rows[:, len(PREFIX) :].tobytes().decode("utf-8", "replace")))
            except ValueError:
                pass
    return column(b"".join(map(_digest, hashes)))


def column(data: bytes) -> Digests:
    """Digests that stand one after the other."""
    return np.frombuffer(data, dtype=f"S{WIDTH}")


def hash_of(digest: bytes) -> str:
    """A digest as hashes are written; numpy leaves zeros at its end out."""
    return PREFIX + digest.ljust(WIDTH, b"\0").hex()


def places(sought: Digests, known: Digests, order: Ints) -> Ints:
    """Where each sought digest stands among those known, -1 where it does not; `order` sorts the known."""
    if not len(known):
        return np.full(len(sought), -1, dtype=np.int64)
    found = order[np.minimum(np.searchsorted(known, sought, sorter=order), len(known) - 1)]
    return np.where(known[found] == sought, found, -1)


def _digest(name: str) -> bytes:
    letters = name.removeprefix(PREFIX)
    if len(letters) == 2 * WIDTH and name.startswith(PREFIX):
        try:
            return bytes.fromhex(letters)
        except ValueError:
            pass
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
