"""Excess flips of edits in the worst and best case over missing calls."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.stats.arrays import Floats, Ints
from steelyard.metrics.stats.intervals import Limits


def excess_bounds(edited: Ints, plain: Ints, lost_edited: Ints, lost_plain: Ints) -> Limits | None:
    """Bounds of the mean excess over items, from verdicts (items × verdicts) and lost calls of each item.

    A missing call may have given a verdict that nobody else gave, an abstention for one. The excess is convex
    in the missing calls of the unchanged item, so it is greatest where they agree. The lower bound takes the
    fewest flips of edits and the most of repeats, which no single way to fill in the calls may reach.
    """
    edits, repeats = edited.sum(axis=1) + lost_edited, plain.sum(axis=1) + lost_plain
    asked = (edits > 0) & (repeats > 1)
    if not asked.any():
        return None
    edits, repeats = edits[asked], repeats[asked]
    edited, plain = _with_another(edited[asked]), _with_another(plain[asked])
    flips = (edited.sum(axis=1) * plain.sum(axis=1) - (edited * plain).sum(axis=1)) / (edits * repeats)
    low = flips - 1 + _alike(plain, repeats)
    corners = []
    for verdict in range(plain.shape[1]):
        filled = plain.copy()
        filled[:, verdict] += lost_plain[asked]
        corners.append(_alike(filled, repeats) - (edited * filled).sum(axis=1) / (edits * repeats))
    return float(low.mean()), float(np.max(corners, axis=0).mean())


def _with_another(counts: Ints) -> Ints:
    """The same with a verdict that was not seen."""
    return np.pad(counts, ((0, 0), (0, 1)))


def _alike(counts: Ints, repeats: Ints) -> Floats:
    """Share of pairs of repeats with the same verdict."""
    return np.asarray((counts * (counts - 1)).sum(axis=1) / (repeats * (repeats - 1)))
