"""What a jury gets right and wrong, counted as for any judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import join
from steelyard.metrics.scores import shares
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.shares import score_tally, share

JURY_FALSE_POSITIVE_RATE = Metric(
    "jury_false_positive_rate",
    "jury false positives",
    "Yes/no inputs of the label 0 that the judges' common verdict calls 1.",
)
JURY_FALSE_NEGATIVE_RATE = Metric(
    "jury_false_negative_rate",
    "jury false negatives",
    "Yes/no inputs of the label 1 that the judges' common verdict calls 0.",
)
JURY_ERROR_RATE = Metric(
    "jury_error_rate",
    "jury errors",
    "Yes/no inputs on which the judges' common verdict is the wrong one; a split vote is none.",
)
METRICS = (JURY_FALSE_POSITIVE_RATE, JURY_FALSE_NEGATIVE_RATE, JURY_ERROR_RATE)

INPUT = "input"
"""What a jury's figures count: a common verdict stands for one call of each member."""


def accuracy(context: EstimateContext, metric: Metric, jury: Scores, *notes: str) -> Estimate:
    """Inputs whose verdict is the label; a split vote is not right."""
    return _named(metric, shares.accuracy(context, jury), notes)


def error_rates(context: EstimateContext, jury: Scores, *notes: str) -> list[Estimate]:
    """Wrong verdicts on inputs of the label 0, of the label 1, and on all; nothing without yes/no inputs."""
    rows = jury.where(jury.labelled & jury.binary)
    if not len(rows):
        return []
    wrong = score_tally(rows, rows.decided & np.not_equal(rows.score, rows.expected), rows.readable)
    every = [*shares.false_rates(context, rows), share(context, JURY_ERROR_RATE, rows, wrong)]
    return [_named(metric, estimate, notes) for metric, estimate in zip(METRICS, every, strict=True)]


def _named(metric: Metric, estimate: Estimate, notes: Sequence[str]) -> Estimate:
    """The same figure, of a jury."""
    note = estimate.note if estimate.value is None else join([*notes, estimate.note])
    return replace(estimate, metric=metric.id, unit=INPUT, finding=None, calls_needed=None, note=note)
