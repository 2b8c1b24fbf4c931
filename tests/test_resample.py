"""Clusters drawn again: however the draws are cut into pieces, they are the draws of one stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.metrics.stats.clusters import REPLICATES, resample


@pytest.mark.parametrize("clusters", [2, 37, 500, 40_000])
def test_draws_in_pieces_are_those_of_one_stream(clusters: int) -> None:
    table = np.random.default_rng(3).normal(size=(clusters, 3))
    replicates = REPLICATES if clusters < 1000 else 3
    drawn = np.random.default_rng(11).integers(0, clusters, (replicates, clusters))
    counts = np.stack([np.bincount(row, minlength=clusters) for row in drawn]).astype(np.float64)
    assert np.allclose(resample(table, 11, replicates), counts @ table, rtol=0, atol=1e-9)


def test_equal_clusters_are_drawn_by_kind_whatever_the_sign_of_nothing() -> None:
    table = np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 2.0]] * 40)
    _, sizes = np.unique(table + 0.0, axis=0, return_counts=True)
    weights = np.random.default_rng(5).multinomial(len(table), sizes / len(table), REPLICATES)
    kinds = np.array([[0.0, 2.0], [1.0, 0.0]])
    assert np.array_equal(resample(table, 5), weights @ kinds)


@given(
    st.lists(
        st.tuples(st.integers(-(10**4), 10**4), st.integers(-3, 10**4)), min_size=2, max_size=90, unique=True
    ),
    st.integers(0, 9),
)
def test_whole_numbers_are_drawn_as_all_others(rows: list[tuple[int, int]], seed: int) -> None:
    table = np.array(rows, dtype=np.int64)
    beside = np.column_stack([table, np.linspace(0.1, 0.9, len(rows))])
    assert np.array_equal(resample(table, seed, 20), resample(beside, seed, 20)[:, :2])


def test_large_numbers_are_drawn_without_loss() -> None:
    table = np.array([[2**40, 1], [3, -(2**45)], [5, 7]], dtype=np.int64)
    beside = np.column_stack([table, [0.5, 0.25, 0.125]])
    assert np.array_equal(resample(table, 3, 50), resample(beside, 3, 50)[:, :2])
