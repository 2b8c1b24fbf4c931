"""How alike two texts are, without a model: cosines of vectors that count short runs of signs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from steelyard.stimuli.authored.checks import words

Vector: TypeAlias = NDArray[np.float64]
Crowd: TypeAlias = Mapping[int, NDArray[np.float64]]

RUNS = (3, 4, 5)
DIMENSIONS = 8192
LOCAL_LIMIT = 0.92
"""Cosine of two local vectors above which texts are one text twice; levels of one pack item reach 0.89."""
EMBEDDED_LIMIT = 0.97
"""The same for vectors of an embedding model, where any two answers to one request lie close together."""


def local_vector(text: str) -> Vector:
    """Square roots of counts, of length one; of length zero where there are no words."""
    spelled = f" {' '.join(words(text))} ".encode()
    counts = np.zeros(DIMENSIONS)
    for size in RUNS:
        for start in range(len(spelled) - size + 1):
            counts[zlib.crc32(spelled[start : start + size]) % DIMENSIONS] += 1
    return unit(np.sqrt(counts))


def unit(numbers: Sequence[float] | Vector) -> Vector:
    """The vector of length one in the same direction; zero stays zero."""
    vector = np.asarray(numbers, dtype=float)
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def crowd(vectors: Iterable[Vector]) -> Crowd:
    by_length: dict[int, list[Vector]] = {}
    for vector in vectors:
        by_length.setdefault(len(vector), []).append(vector)
    return {length: np.stack(rows) for length, rows in by_length.items()}


def closest(vector: Vector, others: Crowd) -> float:
    """The largest cosine between a vector of length one and others; 0 where there are none."""
    rows = others.get(len(vector))
    return 0.0 if rows is None else float(np.max(rows @ vector))
