"""What calls of a run cost, by who is asked: for those that are still to be made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.core.content_hash import digests_of
from steelyard.runner.answers import Answers
from steelyard.runner.planner import foreseen
from steelyard.runner.prices import price_of
from steelyard.runner.spending import Costs
from steelyard.trials.judge import Judge

SAMPLE = 200
"""Calls of a judge whose prompts tell what a call costs before any was answered."""


@dataclass(frozen=True)
class Rates:
    """Dollars per call so far; of who has answered none, by the length of what will be asked."""

    answers: Answers
    """Every call of the plan."""
    batched: bool = False
    """True where further calls are handed in together; those of the pilot were made one by one."""
    _known: dict[str, float | None] = field(default_factory=dict, repr=False)
    """Judge to dollars per call, once they were counted."""

    def due(self, waiting: Collection[str]) -> float | None:
        """Dollars for the calls that have no reply and do not wait in batches; None without a price."""
        calls = self.answers.calls
        places = calls.lookup(digests_of(list(waiting)))
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
        calls = [np.flatnonzero(self.answers.calls.of_judge(name)) for name in asked]
        for (name, judge), rows in zip(asked.items(), calls, strict=True):
            if name not in self._known:
                self._known[name] = self._rate(judge, rows)
        rates = [self._known[name] for name in asked]
        known = [rate for rate in rates if rate is not None]
        many = sum(map(len, calls))
        if not many or len(known) < len(rates):
            return None
        return sum(rate * len(rows) for rate, rows in zip(known, calls, strict=True)) / many

    def _rate(self, judge: Judge, rows: Ints) -> float | None:
        """Dollars for a call of one judge, whose calls these are."""
        price = price_of(judge)
        if price is None:
            return None
        share = price.batch if self.batched else 1.0
        made = rows[self.answers.answered[rows]]
        if len(made):
            batched = np.array([usage.batched for usage in self.answers.usages.values], dtype=np.bool_)
            alone = ~batched[self.answers.usage[made]]
            dollars = Costs.of(self.answers, made).dollars
            return float(np.where(alone, share * dollars, dollars).mean())
        ahead = [self.answers.calls[row] for row in rows[:SAMPLE].tolist()]
        told = foreseen(ahead) if ahead else 0.0
        return None if told is None else share * told / max(1, len(ahead))
