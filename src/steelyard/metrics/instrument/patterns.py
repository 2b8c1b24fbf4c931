"""What the instrument model is fitted to: the answers to each pair, and equal ones counted together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.instrument.surface_nodes import FEW_CALLS
from steelyard.metrics.pairs.answer import as_tie, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.sensitivity import on_ladder

SAME = "same_subset"


@dataclass(frozen=True, eq=False)
class Rows:
    """What the model sees of each row: the better text's side first, at quality difference 0 content u."""

    delta: Floats
    """Quality difference."""
    pair: Ints
    """Pair number; rows of one pair share their surface effect."""
    cluster: Ints
    """Cluster number."""
    better_first: Ints
    """`Answer` with the better text in slot 1, never an abstention."""
    better_second: Ints
    """`Answer` with the better text in slot 2, never an abstention."""

    def __len__(self) -> int:
        return len(self.delta)

    def take(self, index: Ints) -> Rows:
        """The rows of this index."""
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
    """The quality differences that occur."""
    step: Ints
    """Of each pattern: an index into `deltas`."""
    counts: Floats
    """Of each pattern: answers 1, 2, tie with the better text first, then with it second."""
    by_cluster: Floats
    """Pairs of each cluster (rows) with each pattern (columns)."""

    @property
    def weights(self) -> Floats:
        """Pairs with each pattern."""
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
