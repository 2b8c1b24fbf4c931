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
    clusters, scales = [""] * len(inputs), [""] * len(inputs)
    for column, judge in enumerate(judges):
        columns = scores[judge]
        rows = np.array([number[name] for name in columns.stimuli], dtype=np.int64)
        votes[rows, column] = _answers(columns, tie)
        labels[rows[columns.stimulus]] = columns.expected
        own[rows[columns.stimulus[columns.own_label]]] = True
        ends = zip(columns.low.tolist(), columns.high.tolist(), strict=True)
        for row, cluster, scale in zip(rows[columns.stimulus], columns.cluster, ends, strict=True):
            clusters[row], scales[row] = columns.clusters[cluster], f"{scale[0]}-{scale[1]}"
    names = tuple(sorted(set(scales)))
    return Ballots(votes, np.where(own, np.nan, labels), _numbers(clusters), judges, _numbers(scales), names)


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
