"""Agreement with labels held against a floor: what lost calls leave of a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import INCONCLUSIVE, Beyond, by_loss
from steelyard.metrics.metric import Limit
from steelyard.metrics.proportions import join
from steelyard.metrics.reasons import Reason
from steelyard.metrics.scores.columns import Ending, Scores
from steelyard.metrics.scores.resampled import Sums
from steelyard.metrics.stats import agreement
from steelyard.metrics.stats.intervals import AGREEMENT

CONSTANT_LABELS = Reason("same_label", "every item has the same label")

Formula = Callable[[Floats, Floats], Floats]
"""A figure of a table labels × scores and the values of its levels."""
BY_RATES = (agreement.kappa, agreement.balanced_accuracy)
"""Figures of two labels whose limits are made from the rates of both."""


def label_table(scores: Scores, values: Ints) -> Sums:
    """Calls per label and score within each resampling unit."""
    labelled = scores.where(scores.labelled)
    rows = labelled.where(labelled.decided)
    units = numbered(rows.unit)[1] if len(rows) else rows.item
    levels, count = len(values), int(units.max()) + 1 if len(rows) else 0
    labels, given = np.searchsorted(values, rows.expected), np.searchsorted(values, rows.score)
    cell = (units * levels + labels) * levels + given
    table = np.bincount(cell, minlength=count * levels * levels).astype(np.float64)
    return Sums(table.reshape(count, levels, levels), labelled, len(rows), rows.n_items)


def held_to(figure: Estimate, limit: Limit, rows: Scores, formula: Formula) -> Estimate:
    """The figure with the word that it may have; `rows` are all labelled calls, lost ones included."""
    if rows.readable.all():
        return figure
    words = {_word(_filled(rows, right=right), limit, formula) for right in (False, True)}
    word = figure.finding if words == {figure.finding} else INCONCLUSIVE
    note = join([figure.note, by_loss(figure.finding, word)])
    return replace(figure, finding=word, missing_decides=figure.finding != word, note=note)


def _word(rows: Scores, limit: Limit, formula: Formula) -> str:
    scored = rows.where(rows.decided)
    values = np.union1d(scored.score, scored.expected.astype(np.int64))
    sums = label_table(rows, values)
    levels = values.astype(np.float64)
    return Beyond(
        sums.table, lambda table: formula(table, levels), AGREEMENT, sums.n_calls, formula in BY_RATES
    ).word(limit)


def _filled(rows: Scores, *, right: bool) -> Scores:
    """The rows as if every missing verdict had been the label, or as far from it as the scale allows."""
    upper = rows.expected - rows.low < rows.high - rows.expected
    worst = np.where(upper, rows.high, rows.low)
    other = rows.expected.astype(np.int64) if right else worst
    return replace(
        rows,
        score=np.where(rows.readable, rows.score, other),
        ending=np.where(rows.readable, rows.ending, np.int64(Ending.SCORED)),
    )
