"""Content hashes in columns: 32 bytes each, found by bisection."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Digests, Ints

PREFIX = "sha256:"
WIDTH = 32
"""Bytes of a digest."""
_LETTERS = len(PREFIX) + 2 * WIDTH
NO_DIGESTS: Digests = np.empty(0, dtype=f"S{WIDTH}")


def digests_of(hashes: Sequence[str]) -> Digests:
    """Hashes as they are written, as a column; what is written otherwise has a digest of its own."""
    plain = set(map(len, hashes)) <= {_LETTERS}
    joined = digests_in("".join(hashes), len(hashes)) if plain else None
    return column(b"".join(map(_digest, hashes))) if joined is None else joined


def digests_in(text: str, count: int) -> Digests | None:
    """So many hashes that are written one after the other; None where one is written otherwise."""
    spelled = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    if len(spelled) != _LETTERS * count:
        return None
    rows = spelled.reshape(-1, _LETTERS)
    if not (rows[:, : len(PREFIX)] == np.frombuffer(PREFIX.encode(), dtype=np.uint8)).all():
        return None
    try:
        return column(bytes.fromhex(rows[:, len(PREFIX) :].tobytes().decode("utf-8", "replace")))
    except ValueError:
        return None


def column(data: bytes) -> Digests:
    """Digests that stand one after the other."""
    return np.frombuffer(data, dtype=f"S{WIDTH}")


def hash_of(digest: bytes) -> str:
    """A digest as hashes are written; numpy leaves zeros at its end out."""
    return PREFIX + digest.ljust(WIDTH, b"\0").hex()


class DigestIndex:
    """Where digests stand in a column."""

    def __init__(self, digests: Digests) -> None:
        self._digests, heads = digests, _heads(digests)
        order = np.argsort(heads, kind="stable")
        self._heads = heads[order]
        # Two digests with one head are rare; only where there are any is more looked at than heads.
        self._distinct = bool((self._heads[1:] != self._heads[:-1]).all())
        self.order: Ints = order if self._distinct else np.argsort(digests, kind="stable")
        """Places in the order of the digests."""

    def places(self, sought: Digests) -> Ints:
        """Where each sought digest stands; -1 where it does not."""
        known, order = self._digests, self.order
        if not len(known):
            return np.full(len(sought), -1, dtype=np.int64)
        if self._distinct:
            at = np.searchsorted(self._heads, _heads(sought))
        else:
            at = np.searchsorted(known, sought, sorter=order)
        found = order[np.minimum(at, len(known) - 1)]
        return np.where(known[found] == sought, found, -1)


def _heads(digests: Digests) -> NDArray[np.uint64]:
    """The first eight bytes of each, as a number that sorts as they do."""
    words = np.ascontiguousarray(digests).view(">u8").reshape(-1, WIDTH // 8)
    return words[:, 0].astype(np.uint64)


def _digest(name: str) -> bytes:
    letters = name.removeprefix(PREFIX)
    if len(letters) == 2 * WIDTH and name.startswith(PREFIX):
        try:
            return bytes.fromhex(letters)
        except ValueError:
            pass
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
