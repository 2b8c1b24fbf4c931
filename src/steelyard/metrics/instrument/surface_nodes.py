"""Places and weights that integrate over the surface effects of pairs, in units of their spread.

The more often a pair was asked, the better its effect is known, and the narrower is what is integrated:
between nodes that lie too far apart it would fall through. Gauss–Hermite nodes draw together with the root
of their number alone. So where pairs have many calls, nodes stand at even distances, as many as calls and
spread need; a sum over even distances is as good as exact once they are below the width of a bell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.core.arrays import Floats, Ints

FEW_CALLS = 8
"""Calls to a pair up to which `NODES` Gauss–Hermite nodes are enough."""
NODES = 31
"""Gauss–Hermite nodes."""
_SIZES = np.array([45, 63, 89, 125, 177, 251, 355, 503, 709, 1003, 1419])
"""Numbers of even nodes, each two fifths above the one before."""
_REACH = 6.5
"""How many spreads to either side even nodes stand."""
_KNOWN = 0.45
"""What a call tells of its pair's effect, by the squared unit of the judge's noise."""
_PER_WIDTH = 13.5
"""Even nodes over the width of the narrowest bell."""


@dataclass(frozen=True, eq=False)
class SurfaceNodes:
    """Nodes of one kind and number."""

    places: Floats
    """Surface effects, in units of their spread."""
    weights: Floats
    """The share of each; they sum to 1."""
    negligible: float
    """Logarithm, against the likeliest node, below which a node adds nothing to a sum."""


def node_counts(calls: float, spread: Floats) -> Ints:
    """How many nodes each of these spreads takes where no pair has more than so many calls."""
    if calls <= FEW_CALLS:
        return np.full(len(spread), NODES)
    wanted = _PER_WIDTH * np.sqrt(1 + _KNOWN * calls * spread**2)
    return np.asarray(_SIZES[np.minimum(np.searchsorted(_SIZES, wanted), len(_SIZES) - 1)])


@cache
def surface_nodes(count: int) -> SurfaceNodes:
    """So many nodes: `NODES` are Gauss and Hermite's, all others even."""
    if count == NODES:
        points, weights = np.polynomial.hermite.hermgauss(NODES)
        return SurfaceNodes(np.sqrt(2) * points, weights / np.sqrt(np.pi), -150.0)
    places = np.linspace(-_REACH, _REACH, count)
    bell = np.exp(-(places**2) / 2)
    # The weights differ by exp(6.5² / 2), so that what is left out is below exp(-40) of the sum.
    return SurfaceNodes(places, bell / bell.sum(), -(_REACH**2) / 2 - 40)
