"""Content hash, SHA-256 of canonical JSON, as text or in columns of 32 bytes with an index; and seeds.

Random streams depend on the study's seed and on names alone, never on the order of calls.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from json.encoder import encode_basestring_ascii
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Digests, Ints

PREFIX = "sha256:"
WIDTH = 32
"""Bytes of a digest."""
_LETTERS = len(PREFIX) + 2 * WIDTH
NO_DIGESTS: Digests = np.empty(0, dtype=f"S{WIDTH}")
_LEAVES = frozenset({str, int, float, bool, type(None)})
"""Types that are their own canonical form; most values are of these, so they are told first."""
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """Names of a dataclass's fields, None for any other type; reflection is paid once a type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def plain(value: Any) -> Any:
    """What is hashed of a value: of a dataclass its fields and its class name.

    The name is part of every hash: who renames a dataclass changes all keys that it enters, and recorded
    replies are not found again.
    """
    kind: type = type(value)
    if kind in _LEAVES:
        return value
    names = _field_names(kind)
    if names is not None:
        body: dict[str, Any] = {"type": kind.__name__}
        for name in names:
            inner = getattr(value, name)
            body[name] = inner if type(inner) in _LEAVES else plain(inner)
        return body
    if isinstance(value, dict):
        return {str(key): inner if type(inner) in _LEAVES else plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [inner if type(inner) in _LEAVES else plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(inner) for inner in value)
    if isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"no canonical form for {kind.__name__}: {value!r}")


def canonical_json(value: Any) -> str:
    """One spelling per value: sorted keys, no spaces, ASCII only (lone surrogates survive), no NaN."""
    return encode_basestring_ascii(value) if type(value) is str else _CANONICAL.encode(plain(value))


def content_hash(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical JSON."""
    return hash_json(canonical_json(value))


def hash_json(canonical: str) -> str:
    return PREFIX + hashlib.sha256(canonical.encode("ascii")).hexdigest()


class ContentHasher:
    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._empty = True

    def update(self, items: bytes) -> None:
        """Further items, in canonical JSON, a comma before each."""
        self._hash.update(memoryview(items)[1:] if self._empty else items)
        self._empty = False

    def digest(self) -> str:
        """As `content_hash` writes it; nothing can be added afterwards."""
        self._hash.update(b"]")
        return PREFIX + self._hash.hexdigest()


def short_hash(digest: str) -> str:
    return digest.removeprefix(PREFIX)[:12]


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


def column(data: bytes | bytearray) -> Digests:
    return np.frombuffer(data, dtype=f"S{WIDTH}")


def hash_of(digest: bytes) -> str:
    """A digest as hashes are written; numpy leaves zeros at its end out."""
    return PREFIX + digest.ljust(WIDTH, b"\0").hex()


class HashIndex:
    def __init__(self, digests: Digests) -> None:
        self._digests, heads = digests, _heads(digests)
        order = np.argsort(heads, kind="stable")
        self._heads = heads[order]
        # Two digests with one head are rare; only where there are any is more looked at than heads.
        self._distinct = bool((self._heads[1:] != self._heads[:-1]).all())
        self.order: Ints = order if self._distinct else np.argsort(digests, kind="stable")

    def lookup(self, sought: Digests) -> Ints:
        """Row of each sought digest; -1 where it is not there."""
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


def seed_for(seed: int, *names: object) -> int:
    """A 64-bit seed that depends on the study's seed and on names, never on call order."""
    text = f"[{','.join([str(seed), *(encode_basestring_ascii(str(name)) for name in names)])}]"
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "big")


def shuffled(rng: random.Random, count: int) -> list[int]:
    """The numbers below `count` as `rng.shuffle` leaves them, without a call for each."""
    places, bits = list(range(count)), rng.getrandbits
    for last in range(count - 1, 0, -1):
        wide = (last + 1).bit_length()
        while (place := bits(wide)) > last:
            pass
        places[last], places[place] = places[place], places[last]
    return places


def rng_for(seed: int, *names: object) -> random.Random:
    return random.Random(seed_for(seed, *names))
