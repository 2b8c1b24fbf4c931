"""How much of a plan was asked: a call that was never made is no failure, and is in no figure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.trials.trial import Trial


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


def covered(trials: Sequence[Trial], answered: Collection[str], failed: Collection[str]) -> RunCoverage:
    """Count the calls of these trials, given the keys of those with a reply and of those failed for good."""
    keys: dict[str, dict[str, None]] = {}
    for trial in trials:
        keys.setdefault(trial.judge.name, {}).update(dict.fromkeys(call.key for call in trial.calls))
    baselines = {trial.judge.name for trial in trials if trial.judge.baseline}
    under_test = [mine for name, mine in keys.items() if name not in baselines]

    def counted(parts: Iterable[Collection[str]]) -> Coverage:
        calls = {key for part in parts for key in part}
        heard = sum(key in answered for key in calls)
        lost = sum(key in failed and key not in answered for key in calls)
        return Coverage(len(calls), heard + lost, heard)

    return RunCoverage(
        {name: counted([mine]) for name, mine in keys.items()},
        counted(under_test or keys.values()),
        counted(keys.values()),
    )
