"""Answer patterns of pairs that the instrument model is fitted to, and the quadrature over surface effects.

The more often a pair was asked, the better its effect is known, and the narrower is what is integrated:
between nodes that lie too far apart it would fall through. Gauss–Hermite nodes draw together with the root
of their number alone. So where pairs have many calls, nodes stand at even distances, as many as calls and
spread need; a sum over even distances is as good as exact once they are below the width of a bell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.pairs.columns import Pairs, as_tie, readable
from steelyard.metrics.pairs.sensitivity import on_ladder

FEW_CALLS = 8
"""Calls to a pair up to which `NODES` Gauss–Hermite nodes are enough."""
NODES = 31
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


SAME = "same_subset"


@dataclass(frozen=True, eq=False)
class Rows:
    """What the model sees of each row: the better text's side first, at quality difference 0 content u."""

    delta: Floats
    pair: Ints
    """Pair number; rows of one pair share their surface effect."""
    cluster: Ints
    better_first: Ints
    """`Answer` with the better text in slot 1, never an abstention."""
    better_second: Ints
    """`Answer` with the better text in slot 2, never an abstention."""

    def __len__(self) -> int:
        return len(self.delta)

    def take(self, index: Ints) -> Rows:
        return Rows(
            self.delta[index],
            self.pair[index],
            self.cluster[index],
            self.better_first[index],
            self.better_second[index],
        )

    def first(self, count: int) -> Rows:
        """The first so many rows of each pair."""
        order = np.argsort(self.pair, kind="stable")
        _, start, size = np.unique(self.pair[order], return_index=True, return_counts=True)
        turn = np.arange(len(order)) - np.repeat(start, size)
        return self.take(np.sort(order[turn < count]))


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct answers to a pair, sorted by quality difference."""

    deltas: Floats
    step: Ints
    """Of each pattern: an index into `deltas`."""
    counts: Floats
    """Of each pattern: answers 1, 2, tie with the better text first, then with it second."""
    by_cluster: Floats
    """Pairs of each cluster (rows) with each pattern (columns)."""

    @property
    def weights(self) -> Floats:
        return np.asarray(self.by_cluster.sum(axis=0))

    @cached_property
    def calls(self) -> float:
        """Most calls to a pair."""
        return float(self.counts.sum(axis=1).max(initial=0.0))

    @property
    def many(self) -> bool:
        """Pairs were asked so often that few nodes do not integrate over what is known of them."""
        return self.calls > FEW_CALLS


def rows_of(pairs: Pairs) -> Rows:
    """Same-subset pairs and ladder pairs with at least one verdict; abstained is tie."""
    equal = pairs.where(~(pairs.delta > 0) & (pairs.kind == SAME))
    climb = on_ladder(pairs)
    u, v = as_tie(climb.u_first), as_tie(climb.v_first)
    rows = Rows(
        delta=np.concatenate([np.zeros(len(equal)), climb.delta]),
        pair=np.concatenate([equal.pair, climb.pair]),
        cluster=np.concatenate([equal.cluster, climb.cluster]),
        better_first=np.concatenate([as_tie(equal.u_first), np.where(climb.better == 1, u, v)]),
        better_second=np.concatenate([as_tie(equal.v_first), np.where(climb.better == 1, v, u)]),
    )
    seen = readable(rows.better_first) | readable(rows.better_second)
    return rows.take(np.flatnonzero(seen))


def patterns_of(rows: Rows) -> Patterns:
    """Bring the rows of each pair together and count equal answers."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    answers = np.zeros((len(first), 7))
    answers[:, 0] = rows.delta[first]
    for start, codes in ((1, rows.better_first), (4, rows.better_second)):
        seen = readable(codes)
        np.add.at(answers, (pair[seen], start + codes[seen]), 1)
    kinds, kind = np.unique(answers, axis=0, return_inverse=True)
    clusters, cluster = numbered(rows.cluster[first])
    by_cluster = np.zeros((len(clusters), len(kinds)))
    np.add.at(by_cluster, (cluster, kind.reshape(-1)), 1)
    deltas, step = np.unique(kinds[:, 0], return_inverse=True)
    return Patterns(deltas, step, kinds[:, 1:], by_cluster)
