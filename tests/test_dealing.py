from __future__ import annotations

from math import comb

import numpy as np
import pytest

from steelyard.core.arrays import Mask
from steelyard.metrics.run.strata import LEAST, chance_of_any


def nobody(size: int) -> Mask:
    return np.zeros(size + 1, dtype=np.bool_)


def test_one_part_is_hypergeometric() -> None:
    """Of 12 pieces 5 are marked, and 4 are dealt to the part: P(k) = C(5, k) C(7, 4 - k) / C(12, 4)."""
    for least in range(5):
        chance = sum(comb(5, k) * comb(7, 4 - k) for k in range(least, 5)) / comb(12, 4)
        asked = np.arange(5) >= least
        assert chance_of_any([asked, nobody(8)], 5) == pytest.approx(chance, rel=1e-12)


def test_two_parts_are_counted_together() -> None:
    """Three marked of nine, three parts of three: all in one part is 3 of C(9, 3) = 84 ways, of any part."""
    everything = np.arange(4) == 3
    assert chance_of_any([everything] * 3, 3) == pytest.approx(3 / 84, rel=1e-12)
    assert chance_of_any([everything, everything, nobody(3)], 3) == pytest.approx(2 / 84, rel=1e-12)
    # None in a part leaves the three to six pieces; in two parts at once there is one way for each pair.
    nothing = np.arange(4) == 0
    assert chance_of_any([nothing] * 3, 3) == pytest.approx((3 * comb(6, 3) - 3) / 84, rel=1e-12)


@pytest.mark.parametrize("marked", [0, 6])
def test_pieces_of_one_kind_leave_nothing_to_chance(marked: int) -> None:
    every = [np.arange(size + 1) == (size if marked else 0) for size in (1, 2, 3)]
    assert chance_of_any(every, marked) == pytest.approx(1.0)
    assert chance_of_any([~asked for asked in every], marked) == LEAST


def test_a_part_without_pieces_and_many_pieces() -> None:
    """Of two parts of 100,000 one has the larger half of 100,001 marked pieces, never both."""
    half = np.arange(100_001) > 50_000
    assert chance_of_any([half, nobody(0), ~half], 100_001) == pytest.approx(0.5, rel=1e-6)
    assert chance_of_any([half, half], 100_001) == pytest.approx(1.0)
    assert chance_of_any([np.arange(100_001) > 90_000, nobody(100_000)], 100_001) == LEAST
