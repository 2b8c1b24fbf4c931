"""Ballots from the observations of several judges: one answer per judge and input."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.metrics.jury import Ballots, majority
from steelyard.metrics.pairs import Floats
from steelyard.metrics.scores import Scores


def ballots(scores: Mapping[str, Scores], tie: str = "low") -> Ballots:
    """Judges by name as columns, inputs that any of them saw as rows; repeats go to their majority."""
    judges = tuple(sorted(scores))
    inputs = sorted({name for columns in scores.values() for name in columns.stimuli})
    number = {name: index for index, name in enumerate(inputs)}
    votes = np.full((len(inputs), len(judges)), np.nan)
    labels = np.full(len(inputs), np.nan)
    clusters = [""] * len(inputs)
    for column, judge in enumerate(judges):
        columns = scores[judge]
        rows = np.array([number[name] for name in columns.stimuli], dtype=np.int64)
        votes[rows, column] = _answers(columns, tie)
        labels[rows[columns.stimulus]] = columns.expected
        for row, cluster in zip(rows[columns.stimulus], columns.cluster, strict=True):
            clusters[row] = columns.clusters[cluster]
    return Ballots(votes, labels, np.unique(clusters, return_inverse=True)[1].astype(np.int64), judges)


def _answers(scores: Scores, tie: str) -> Floats:
    """One answer per input: the majority of its repeats."""
    repeats = int(scores.replicate.max()) + 1 if len(scores) else 1
    table = np.full((len(scores.stimuli), repeats), np.nan)
    rows = scores.where(scores.decided)
    table[rows.stimulus, rows.replicate] = rows.score
    return majority(table, tie)
