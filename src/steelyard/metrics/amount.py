"""What each unit adds to a figure that is a mean and no share of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints

Texts = Sequence[tuple[str, ...]]
"""The texts of each row, as far as they are known."""
LEFT_OUT = -1
"""Side of a row that does not count."""


def both_sides(side: Ints) -> Floats:
    """Weights by which sides 1 and 2 count alike, however many units each has; side 0 counts as it is.

    NaN where one side alone is there: errors to the other can not be seen.
    """
    sided = side > 0
    counts = np.array([np.count_nonzero(side == each) for each in (1, 2)], dtype=np.float64)
    shares = np.divide(counts.sum(), 2 * counts, out=np.full(2, np.nan), where=counts > 0)
    if sided.any() and np.isnan(shares).any():
        return np.full(len(side), np.nan)
    return np.where(sided, shares[np.where(sided, side - 1, 0)], 1.0)


@dataclass(frozen=True)
class Amount:
    """What a unit adds: a paired quantity on which two judges can be compared."""

    of: Callable[[Any, Texts], Floats] | None
    """Columns and texts to one value a row, or for calls on pairs one for each order; NaN where the judge
    abstained and has none. None where units rest on several stimuli, and are made apart."""
    ends: tuple[float, float] = (-1.0, 1.0)
    """Least and most that a unit can add; shares of the scale where values are levels."""
    side: Callable[[Any, Texts], Ints] | None = None
    """The same to the side of a balance that each row stands on, `LEFT_OUT` where it does not count."""
    weigh: Callable[[Ints], Floats] = both_sides
    """Sides of the units to their weights: the figure is the mean of value times weight."""
    in_levels: bool = False
    """True where values are levels of a scale."""
    labelled: bool = False
    """True where the value is held against a reference; stimuli without one do not count."""
