"""Numbers that occur in a column: the same as numpy's, whether they lie close together or far apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.arrays import distinct, numbered

CLOSE = st.lists(st.integers(0, 40), max_size=60)
FAR = st.lists(st.integers(-(2**62), 2**62), max_size=20)


@given(CLOSE | FAR)
def test_distinct_numbers_are_those_of_numpy(values: list[int]) -> None:
    column = np.array(values, dtype=np.int64)
    known, place = numbered(column)
    expected, expected_place = np.unique(column, return_inverse=True)
    assert distinct(column).tolist() == known.tolist() == expected.tolist()
    assert place.tolist() == expected_place.tolist()
    assert known.dtype == place.dtype == distinct(column).dtype == np.int64


def test_a_column_without_rows_has_no_numbers() -> None:
    nothing = np.array([], dtype=np.int64)
    assert len(distinct(nothing)) == 0
    assert [len(part) for part in numbered(nothing)] == [0, 0]


def test_broadcast_columns_are_numbered_too() -> None:
    assert distinct(np.broadcast_to(np.int64(0), 5)).tolist() == [0]
