"""Ballots from the observations of several judges: one answer per judge and input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.arrays import Floats, Ints
from steelyard.metrics.panel.jury import Ballots, majority
from steelyard.metrics.scores.columns import Scores


def ballots(scores: Mapping[str, Scores], tie: str = "low") -> Ballots:
    """Judges by name as columns, inputs that any of them saw as rows; repeats go to their majority.

    An input whose label is the verdict of one of the judges has none among them: that judge is always right.
    """
    judges = tuple(sorted(scores))
    inputs = sorted({name for columns in scores.values() for name in columns.stimuli})
    number = {name: index for index, name in enumerate(inputs)}
    votes = np.full((len(inputs), len(judges)), np.nan)
    labels = np.full(len(inputs), np.nan)
    own = np.zeros(len(inputs), dtype=np.bool_)
    clusters = np.full(len(inputs), "", dtype=np.object_)
    ends = np.full((len(inputs), 2), -1, dtype=np.int64)
    for column, judge in enumerate(judges):
        columns = scores[judge]
        rows = np.array([number[name] for name in columns.stimuli], dtype=np.int64)
        votes[rows, column] = _answers(columns, tie)
        labels[rows[columns.stimulus]] = columns.expected
        own[rows[columns.stimulus[columns.own_label]]] = True
        clusters[rows[columns.stimulus]] = np.array(columns.clusters, dtype=np.object_)[columns.cluster]
        ends[rows[columns.stimulus]] = np.stack([columns.low, columns.high], axis=1)
    scales = ["" if high < 0 else f"{low}-{high}" for low, high in ends.tolist()]
    names = tuple(sorted(set(scales)))
    return Ballots(
        votes, np.where(own, np.nan, labels), _numbers(clusters.tolist()), judges, _numbers(scales), names
    )


def _numbers(names: Sequence[str]) -> Ints:
    """Equal names as equal numbers, in the order of the names."""
    order = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([order[name] for name in names], dtype=np.int64)


def _answers(scores: Scores, tie: str) -> Floats:
    """One answer per input: the majority of its repeats."""
    repeats = int(scores.replicate.max()) + 1 if len(scores) else 1
    table = np.full((len(scores.stimuli), repeats), np.nan)
    rows = scores.where(scores.decided)
    table[rows.stimulus, rows.replicate] = rows.score
    return majority(table, tie)
