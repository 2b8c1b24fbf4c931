"""Shares of several probes, or of several judges, on the same clusters: they vary together.

Whatever is told over them is told from one table, clusters × shares × (events, trials), so that a cluster
brings all its shares along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.invariance import compare_items, unmoved


@dataclass(frozen=True, eq=False)
class ShareColumn:
    """The events behind one share, with the clusters and items they belong to."""

    clusters: tuple[str, ...]
    """Cluster of each entry."""
    items: tuple[str, ...]
    """Item of each entry."""
    events: Ints | Mask
    """Events of each entry."""
    trials: Ints | Mask
    """Trials of each entry."""


def accuracy_column(scores: Scores) -> ShareColumn:
    """Right calls among labelled ones with a verdict: on the edits, or on the items where there are none."""
    edits = ~scores.original if np.any(~scores.original) else scores.original
    rows = scores.where(edits & scores.labelled & scores.readable)
    right = rows.decided & np.equal(rows.score, rows.expected)
    clusters = tuple(map(rows.clusters.__getitem__, rows.cluster.tolist()))
    items = tuple(map(rows.items.__getitem__, rows.item.tolist()))
    return ShareColumn(clusters, items, right, rows.readable)


def kept_column(scores: Scores) -> ShareColumn:
    """Comparisons with the unchanged item that give the same verdict, item by item."""
    compared = compare_items(unmoved(scores, keep_label=True))
    cluster = np.zeros(len(scores.items), dtype=np.int64)
    cluster[scores.item] = scores.cluster
    made = compared.made > 0
    clusters = tuple(map(scores.clusters.__getitem__, cluster[made].tolist()))
    items = tuple(name for name, known in zip(scores.items, made, strict=True) if known)
    return ShareColumn(clusters, items, compared.equal[made], compared.made[made])


def share_table(columns: Sequence[ShareColumn]) -> Floats:
    """Events and trials by cluster and column; by item where there is one cluster only."""
    one_cluster = len({name for column in columns for name in column.clusters}) < 2
    units = [column.items if one_cluster else column.clusters for column in columns]
    numbers = {name: number for number, name in enumerate(sorted({n for names in units for n in names}))}
    table = np.zeros((len(numbers), len(columns), 2))
    for number, (column, names) in enumerate(zip(columns, units, strict=True)):
        where = [numbers[name] for name in names]
        np.add.at(table, (where, number), np.column_stack([column.events, column.trials]))
    return table


def sampling_sd(table: Floats) -> float | None:
    """The standard deviation that the shares would show among themselves were all true ones equal.

    The mean of their sampling variances less the mean of their covariances over clusters: a judge that
    answers alike whatever the probe has none, however few its items are. None for a single cluster of one
    item.
    """
    units, count, _ = table.shape
    if units < 2 or count < 2:
        return None
    events, trials = table[..., 0], table[..., 1]
    total = np.maximum(trials.sum(0), 1)
    residuals = (events - events.sum(0) / total * trials) / total
    covariance = residuals.T @ residuals * units / (units - 1)
    own = float(np.trace(covariance))
    shared = float(covariance.sum()) - own
    return sqrt(max(0.0, own / count - shared / (count * (count - 1))))
