"""Ballots from the scores of several judges: one answer per judge and input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.scores.columns import Ending, Scores
from steelyard.verdicts.verdict import Abstained, Decided, Unreadable, Verdict
from steelyard.verdicts.vote import plurality


@dataclass(frozen=True, eq=False)
class Ballots:
    """What each judge answered on each item."""

    votes: Floats
    """(items × judges) answers; NaN where there is none."""
    labels: Floats
    """Reference of each item; NaN where there is none."""
    cluster: Ints
    """Cluster of each item."""
    judges: tuple[str, ...]
    """Names of the columns."""
    scale: Ints
    """Number of each item's scale: a 1 of one scale is no 1 of another."""
    inputs: tuple[str, ...] = ()
    """Name of each item, where it is known."""

    def where(self, mask: Mask) -> Ballots:
        """The items that the mask keeps."""
        columns = self.votes[mask], self.labels[mask], self.cluster[mask]
        inputs = tuple(name for name, kept in zip(self.inputs, mask.tolist(), strict=False) if kept)
        return Ballots(*columns, self.judges, self.scale[mask], inputs)


def ballots(scores: Mapping[str, Scores]) -> Ballots:
    """Judges by name as columns, inputs that any of them saw as rows; repeats are put to the vote.

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
        votes[rows, column] = _answers(columns)
        labels[rows[columns.stimulus]] = columns.expected
        own[rows[columns.stimulus[columns.own_label]]] = True
        clusters[rows[columns.stimulus]] = np.array(columns.clusters, dtype=np.object_)[columns.cluster]
        ends[rows[columns.stimulus]] = np.stack([columns.low, columns.high], axis=1)
    scales = [f"{low}-{high}" for low, high in ends.tolist()]
    held = np.where(own, np.nan, labels)
    return Ballots(votes, held, _numbers(clusters.tolist()), judges, _numbers(scales), tuple(inputs))


def _numbers(names: Sequence[str]) -> Ints:
    """Equal names as equal numbers, in the order of the names."""
    order = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([order[name] for name in names], dtype=np.int64)


_UNASKED, _LOST, _ABSTAINED = -3, -2, -1
"""In the place of a score, which is never negative."""


def _answers(scores: Scores) -> Floats:
    """One answer per input, by the vote of its repeats; NaN where they give none."""
    repeats = int(scores.replicate.max()) + 1 if len(scores) else 1
    table = np.full((len(scores.stimuli), repeats), _UNASKED, dtype=np.int64)
    lost = np.where(scores.ending == Ending.ABSTAINED, _ABSTAINED, _LOST)
    table[scores.stimulus, scores.replicate] = np.where(scores.decided, scores.score, lost)
    lines, place = np.unique(table, axis=0, return_inverse=True)
    answers = [_vote(line) for line in lines.tolist()]
    return np.array(answers, dtype=np.float64)[place.reshape(-1)]


def _vote(line: Sequence[int]) -> float:
    verdicts: list[Verdict] = [
        Abstained() if code == _ABSTAINED else Unreadable("") if code == _LOST else Decided(str(code))
        for code in line
        if code != _UNASKED
    ]
    common = plurality(verdicts, False) if verdicts else None
    return float(common.value) if isinstance(common, Decided) else np.nan
