"""Random streams that depend on the study's seed and on names alone, never on call order."""

from __future__ import annotations

import hashlib
import random
from json.encoder import encode_basestring_ascii


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
