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
