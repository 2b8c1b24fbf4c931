"""How much of a plan was asked: a call that was never made is no failure, and is in no figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.runner.answers import ANSWERED, UNASKED
from steelyard.trials.calls import Calls
from steelyard.trials.trials import Trials


@dataclass(frozen=True)
class Coverage:
    """Calls of one judge or of several, from the plan to the replies."""

    planned: int
    """Calls that the plan asks for."""
    asked: int
    """Calls that ended in a reply, or failed for good."""
    answered: int
    """Calls that have a reply."""

    @property
    def partial(self) -> bool:
        """Some calls were never asked."""
        return self.asked < self.planned


@dataclass(frozen=True)
class RunCoverage:
    """The judges of a run, one by one and together."""

    judges: Mapping[str, Coverage]
    """By the name of the judge, baselines included; a call that two judges rest on counts for both."""
    own: Coverage
    """Of the judges under test, each call once; of the baselines where there are no others."""
    every: Coverage
    """With the baselines."""

    @property
    def headline(self) -> Coverage:
        """What reports speak of: the judges under test; with the baselines where only those are behind."""
        return self.every if self.every.partial and not self.own.partial else self.own

    def to_json(self) -> dict[str, Any]:
        """What the datasheet says of it under `run`."""
        behind = {
            name: {"asked": one.asked, "planned": one.planned}
            for name, one in self.judges.items()
            if one.partial
        }
        body = {
            "partial": self.headline.partial,
            "asked": self.headline.asked,
            "planned": self.headline.planned,
        }
        return {**body, "unfinished": behind} if behind else body


def covered(trials: Trials, calls: Calls, state: Ints) -> RunCoverage:
    """Count the calls of these trials, given what became of each call."""
    mine = {
        judge.name: calls.of_judge(judge, np.flatnonzero(trials.of_judge(judge.name)))
        for judge in trials.judges
    }
    own = [mine[judge.name] for judge in trials.judges if not judge.baseline]

    def counted(parts: Iterable[Ints]) -> Coverage:
        counts = np.zeros(len(state), dtype=np.bool_)
        for part in parts:
            counts[part] = True
        asked, answered = state[counts] != UNASKED, state[counts] == ANSWERED
        return Coverage(int(counts.sum()), int(asked.sum()), int(answered.sum()))

    return RunCoverage(
        {name: counted([part]) for name, part in mine.items()},
        counted(own or mine.values()),
        counted(mine.values()),
    )
