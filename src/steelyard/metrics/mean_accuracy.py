"""The interval of a mean accuracy over probes: tasks are drawn again with all their probes together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.metrics.clusters import ratio
from steelyard.metrics.heading import Heading
from steelyard.metrics.intervals import Limits
from steelyard.metrics.pairs import Floats
from steelyard.metrics.pointwise import probe_scores
from steelyard.metrics.resampled import interval
from steelyard.metrics.scores import Scores
from steelyard.verdicts.observation import Observation


def mean_limits(
    heading: Heading, probes: Sequence[str], observations: Sequence[Observation]
) -> Limits | None:
    """Limits of the mean over probes of their accuracies, each counted once; None without spread.

    Each of these probes has an accuracy: one without edits shows items as they are.
    """
    protocol = str(heading.group["protocol"])
    rows = [_verdicts(probe_scores(probe, protocol, observations, unchanged=True)) for probe in probes]
    one_task = len({name for scores in rows for name in scores.clusters}) < 2
    units = [_items(scores) if one_task else _tasks(scores) for scores in rows]
    numbers = {name: number for number, name in enumerate(sorted({n for names in units for n in names}))}
    table = np.zeros((len(numbers), len(probes), 2))
    for probe, (scores, names) in enumerate(zip(rows, units, strict=True)):
        where = [numbers[name] for name in names]
        right = scores.decided & np.equal(scores.score, scores.expected)
        np.add.at(table, (where, probe), np.column_stack([right, np.ones(len(scores))]))
    return interval(table, _mean, heading.bootstrap_seed("accuracy_mean"))[0]


def _verdicts(scores: Scores) -> Scores:
    """Labelled calls with a verdict: on the edits, or on the items where there are none."""
    edits = ~scores.original if np.any(~scores.original) else scores.original
    return scores.where(edits & scores.labelled & scores.readable)


def _tasks(scores: Scores) -> list[str]:
    return [scores.clusters[number] for number in scores.cluster]


def _items(scores: Scores) -> list[str]:
    return [scores.items[number] for number in scores.item]


def _mean(sums: Floats) -> Floats:
    """Mean over the probes that a draw has verdicts of."""
    shares = ratio(sums[..., 0], sums[..., 1])
    known = np.isfinite(shares)
    return ratio(np.where(known, shares, 0.0).sum(-1), known.sum(-1).astype(np.float64))
