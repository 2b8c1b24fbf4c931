"""Merit call by call: what two judges can be paired on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics import common
from steelyard.metrics.amount import LEFT_OUT, Amount, Texts
from steelyard.metrics.pairs.answer import neither
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.scores.columns import Scores
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

PROBES = ("ladder", NATURAL_PROBE, ORIGINAL)
"""Probes whose calls tell whether a judge tells good from bad."""


def _scored(columns: Pairs | Scores, _: Texts) -> Floats:
    """1 for the better text, ½ for a tie, 0 for the worse; of yes/no verdicts 1 for right, −1 for wrong."""
    if isinstance(columns, Scores):
        return np.where(columns.decided, 2.0 * columns.right - 1, np.nan)
    return np.where(neither(columns.calls), 0.5, columns.right.astype(np.float64))


def _side(columns: Pairs | Scores, _: Texts) -> Ints:
    """Both labels of yes/no verdicts weigh alike, which makes Youden's J; ranks have no calls to pair."""
    if isinstance(columns, Scores):
        return np.where(columns.binary, np.where(columns.expected == 0, 1, 2), LEFT_OUT)
    return np.where(columns.better > 0, 0, LEFT_OUT)


MERIT = replace(common.MERIT, amount=Amount(_scored, side=_side, labelled=True))
"""The metric of the datasheet, with what each call adds to it."""
