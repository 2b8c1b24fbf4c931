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
