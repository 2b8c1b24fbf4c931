"""Clusters drawn again: however the draws are cut into pieces, they are the draws of one stream."""

from __future__ import annotations

import numpy as np
import pytest

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
