"""The calls of one judge under one protocol, and what stands for a prompt that nobody knows: their hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.core.content_hash import ContentHasher
from steelyard.core.dictionary_encoding import DictionaryWriter, Part, fixed, members

Arm = tuple[str, str, slice]
"""Judge, protocol, and the rows of their calls."""


def arms_of(judges: Sequence[str], protocols: Sequence[str], judge: Ints, protocol: Ints) -> list[Arm]:
    """The arms of calls that are sorted by judge and protocol, in order."""
    starts = np.flatnonzero(np.diff(judge * len(protocols) + protocol)) + 1
    ends = [0, *starts.tolist(), len(judge)] if len(judge) else []
    return [
        (judges[judge[start]], protocols[protocol[start]], slice(start, end)) for start, end in pairwise(ends)
    ]


def hashes_of(parts: Mapping[str, Part], arms: Sequence[Arm]) -> tuple[str, dict[tuple[str, str], str]]:
    """Content hash of a list of calls, and of each arm's, from the members of the calls."""
    rows = len(parts["judge"][1])
    lines = DictionaryWriter([fixed(",{", rows), *members(parts, "judge"), fixed("}", rows)])
    whole, each = ContentHasher(), {}
    for judge, protocol, part in arms:
        arm = ContentHasher()
        for text in lines.chunks(part.start, part.stop):
            items = text.encode("ascii")
            arm.update(items)
            whole.update(items)
        each[judge, protocol] = arm.digest()
    return whole.digest(), each
