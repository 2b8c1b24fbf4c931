"""Content identity: canonical JSON, hashes, and random streams that depend on names alone."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import fields, is_dataclass
from functools import cache
from json.encoder import encode_basestring_ascii
from typing import Any

_LEAVES = frozenset({str, int, float, bool, type(None)})
"""Types that are their own canonical form; most values are of these, so they are told first."""
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """Names of a dataclass's fields; reflection is paid once a type."""
    return tuple(field.name for field in fields(kind))


def plain(value: Any) -> Any:
    """Reduce dataclasses, mappings, tuples and sets to plain JSON values."""
    if type(value) in _LEAVES:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        body = {name: plain(getattr(value, name)) for name in _field_names(type(value))}
        return {"type": type(value).__name__, **body}
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(inner) for inner in value)
    if isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"no canonical form for {type(value).__name__}: {value!r}")


def canonical_json(value: Any) -> str:
    """One spelling per value: sorted keys, no spaces, ASCII only (lone surrogates survive), no NaN."""
    return canonical_text(plain(value))


def canonical_text(value: Any) -> str:
    """Canonical JSON of a value that is plain already."""
    return _CANONICAL.encode(value)


def content_hash(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical JSON."""
    return digest_of(canonical_json(value))


def digest_of(canonical: str) -> str:
    """`sha256:` and the hex digest of a text that is canonical JSON already."""
    return "sha256:" + hashlib.sha256(canonical.encode("ascii")).hexdigest()


class ListHash:
    """`content_hash` of a list that comes in parts."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._empty = True

    def add(self, items: bytes) -> None:
        """Further items, in canonical JSON, a comma before each."""
        self._hash.update(memoryview(items)[1:] if self._empty else items)
        self._empty = False

    def digest(self) -> str:
        """As `content_hash` writes it; nothing can be added afterwards."""
        self._hash.update(b"]")
        return "sha256:" + self._hash.hexdigest()


def short_hash(digest: str) -> str:
    """The first letters of a digest, for those who compare two by eye."""
    return digest.removeprefix("sha256:")[:12]


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
    """A random stream of its own for each combination of names."""
    return random.Random(seed_for(seed, *names))
