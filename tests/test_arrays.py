"""Numbers that occur in a column: the same as numpy's, whether they lie close together or far apart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.arrays import chosen_rows, distinct, in_order, numbered

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


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-1, 3)), max_size=30))
def test_rows_are_ordered_as_by_sorting(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)] or [
        np.zeros(0, np.int64)
    ]
    assert in_order(columns).tolist() == sorted(range(len(rows)), key=rows.__getitem__)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60, unique=True))
def test_rows_of_which_no_two_are_equal_are_ordered_alike(rows: list[tuple[int, int]]) -> None:
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)] or [
        np.zeros(0, np.int64)
    ]
    assert in_order(columns).tolist() == sorted(range(len(rows)), key=rows.__getitem__)


def test_numbers_that_lie_far_apart_are_sorted() -> None:
    far = np.array([2**62, 5, 2**61, 5], dtype=np.int64)
    assert in_order([far, np.array([0, 2, 0, 1], dtype=np.int64)]).tolist() == [3, 1, 2, 0]


@given(st.lists(st.booleans(), max_size=12))
def test_chosen_rows_are_taken_without_a_copy_where_they_lie_together(mask: list[bool]) -> None:
    column, wanted = np.arange(len(mask)), [row for row, there in enumerate(mask) if there]
    taken = column[chosen_rows(np.array(mask, dtype=np.bool_))]
    together = "10" in "".join(map(str, map(int, mask))).strip("0")
    assert taken.tolist() == wanted
    assert np.shares_memory(taken, column) is (bool(wanted) and not together)
