"""Many tests at once: which of them may be believed together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(probabilities: Sequence[float]) -> list[float]:
    """The p of each test, corrected so that one false alarm among them is as rare as in a single test.

    With m tests sorted upward, the p at rank i becomes the largest p·(m + 1 − rank) up to i, at most 1.
    """
    count = len(probabilities)
    found, largest = [1.0] * count, 0.0
    for rank, index in enumerate(sorted(range(count), key=probabilities.__getitem__)):
        largest = max(largest, probabilities[index] * (count - rank))
        found[index] = min(1.0, largest)
    return found


def benjamini_hochberg(probabilities: Sequence[float]) -> list[float]:
    """The q of each test: the smallest false discovery rate at which it is among the discoveries.

    With m tests sorted upward, q at rank i is the least of p·m/rank over ranks i … m, at most 1.
    """
    count = len(probabilities)
    order = sorted(range(count), key=probabilities.__getitem__, reverse=True)
    found, least = [1.0] * count, 1.0
    for rank, index in zip(range(count, 0, -1), order, strict=True):
        least = min(least, probabilities[index] * count / rank)
        found[index] = least
    return found
