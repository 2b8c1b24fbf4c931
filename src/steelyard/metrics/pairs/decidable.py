"""Figures that can be decided against a limit: what each pair contributes, as a number in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.answer import decided, neither, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_calls
from steelyard.metrics.pairs.decomposition import CELLS, decompose
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.sensitivity import MISS_BY_TIE, TARGET_SENSITIVITY, WRONG_CHOICE, outcomes
from steelyard.metrics.stats.arrays import Floats, Mask


@dataclass(frozen=True)
class Decidable:
    """A proportion whose unit is the pair."""

    probe: str
    """Probe whose stimuli it is about."""
    kinds: tuple[str, ...]
    """Kinds of pairs that count."""
    share: Callable[[Pairs], Floats]
    """What each complete row contributes; rows without both verdicts are not asked for."""
    by_step: bool = False
    """True where the figure is one of a quality step."""


def complete(pairs: Pairs) -> Mask:
    """Rows with a verdict in both orders."""
    return readable(pairs.u_first) & readable(pairs.v_first)


def _calls(test: Callable[[Pairs], Floats]) -> Callable[[Pairs], Floats]:
    return lambda pairs: test(pairs) / 2


def _cell(metric: Metric) -> Callable[[Pairs], Floats]:
    return lambda pairs: decompose(pairs).cell(metric).astype(np.float64)


_committed = _calls(lambda pairs: count_calls(pairs, decided).astype(np.float64))
_tied = _calls(lambda pairs: count_calls(pairs, neither).astype(np.float64))
_correct = _calls(lambda pairs: outcomes(pairs).correct.astype(np.float64))
_wrong = _calls(lambda pairs: (outcomes(pairs).decided - outcomes(pairs).correct).astype(np.float64))

SAME = ("same_subset",)
STEP = ("prefix",)

DECIDABLE: dict[str, Decidable] = {
    DARK_CURRENT.id: Decidable("vacuum", ("empty", "blank", "identical"), _committed),
    RAW_FALSE_PREFERENCE.id: Decidable("ladder", SAME, _committed),
    **{metric.id: Decidable("ladder", SAME, _cell(metric)) for metric in CELLS},
    TARGET_SENSITIVITY.id: Decidable("ladder", STEP, _correct, by_step=True),
    MISS_BY_TIE.id: Decidable("ladder", STEP, _tied, by_step=True),
    WRONG_CHOICE.id: Decidable("ladder", STEP, _wrong, by_step=True),
}
"""By metric id; each is the figure of the datasheet, averaged over pairs drawn at random."""
