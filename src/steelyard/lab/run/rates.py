"""What calls of a run cost, by who is asked: for those that are still to be made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.arrays import Ints
from steelyard.digests import digests_of
from steelyard.lab.run.answers import Answers
from steelyard.lab.run.planner import foreseen
from steelyard.lab.run.prices import price_of
from steelyard.lab.run.spending import Costs
from steelyard.trials.judge import Judge

SAMPLE = 200
"""Calls of a judge whose prompts tell what a call costs before any was answered."""


@dataclass(frozen=True)
class Rates:
    """Dollars per call so far; of who has answered none, by the length of what will be asked."""

    answers: Answers
    """Every call of the plan."""

    def due(self, waiting: Collection[str]) -> float | None:
        """Dollars for the calls that have no reply and do not wait in batches; None without a price."""
        calls = self.answers.calls
        places = calls.places(digests_of(list(waiting)))
        out = ~self.answers.answered
        out[places[places >= 0]] = False
        dollars = 0.0
        for judge in calls.judges:
            many = int(np.count_nonzero(out & calls.of_judge(judge.name)))
            if judge.baseline or not many:
                continue
            rate = self.per_call([judge])
            if rate is None:
                return None
            dollars += many * rate
        return round(dollars, 6)

    def per_call(self, judges: Iterable[Judge]) -> float | None:
        """Dollars for a call of these judges in the mean; None where a price is not known."""
        asked = {one.name: one for judge in judges for one in judge.asked}
        if any(price_of(judge) is None for judge in asked.values()):
            return None
        rows = self._rows(asked)
        made = rows[self.answers.answered[rows]]
        if len(made):
            return float(Costs.of(self.answers, made).dollars.mean())
        ahead = [self.answers.calls[row] for row in rows[:SAMPLE].tolist()]
        dollars = foreseen(ahead) if ahead else None
        return None if dollars is None else dollars / len(ahead)

    def _rows(self, names: Collection[str]) -> Ints:
        calls = self.answers.calls
        return np.flatnonzero(np.any([calls.of_judge(name) for name in names], axis=0))
