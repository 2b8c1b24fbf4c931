"""The tests between equals as one family, declared before the data.

Each of them holds its level of .05, and a judge without any preference would be flagged by one of three in a
sheet of eight. Holm's correction over the family keeps that to one sheet in twenty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.metrics.heading import Heading
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.decomposition import decompose
from steelyard.metrics.pairs.flip_estimates import order_test
from steelyard.metrics.pairs.slot_test import position_test, two_sided_counts
from steelyard.metrics.tested import Tested, family_of

POSITION, STABLE, ORDER = "position", "stable", "order"


def equals_tests(
    heading: Heading, pairs: Pairs, members: Sequence[str] = (POSITION, STABLE, ORDER)
) -> Mapping[str, Tested]:
    """The position test, the test for stable preferences, and with replicates order against noise.

    A test that has nothing to count is none: stable preferences need a pair that was decided in both orders.
    """
    parts = decompose(pairs)
    if not parts.complete.any():
        return {}
    position = position_test(parts)
    stable = position.stable_p if any(two_sided_counts(parts.pairs.where(parts.complete))) else None
    found = {POSITION: position.p, STABLE: stable, ORDER: order_test(heading, pairs)}
    return family_of({name: p for name in members if (p := found[name]) is not None})
