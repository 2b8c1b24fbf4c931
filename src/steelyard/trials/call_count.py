"""Calls that judges would make, counted without building them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.trials.calls import repeats_behind
from steelyard.trials.judge import Judge
from steelyard.trials.trial import calls_behind

Shown = tuple[str, str, str]
"""Protocol, name of the stimulus, order."""


class CallCount:
    """How many calls; one that several verdicts rest on counts once."""

    def __init__(self) -> None:
        self._known: dict[Shown, int] = {}
        self._calls: Ints = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, judge: Judge, shown: Sequence[Shown], number: Ints, replicate: Ints) -> None:
        """The calls behind a judge's verdicts on what is shown, each by its number and its repeat."""
        parts = [self._calls]
        for place, repeat in enumerate(repeats_behind(judge, replicate)):
            behind = {order: list(calls_behind(judge, order, 0))[place] for _, _, order in shown}
            asked = [
                (behind[order][0].fingerprint(protocol), stimulus, behind[order][1])
                for protocol, stimulus, order in shown
            ]
            codes = [self._known.setdefault(each, len(self._known)) for each in asked]
            parts.append((np.array(codes, dtype=np.int64)[number] << 32) + repeat)
        self._calls = np.unique(np.concatenate(parts))
