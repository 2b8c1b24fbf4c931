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
    """By the name of the judge, baselines included."""
    baselines: Collection[str]
    """Judges that are asked beside those under test."""

    @property
    def own(self) -> Coverage:
        """Of the judges under test; of the baselines where there are no others."""
        under_test = [one for name, one in self.judges.items() if name not in self.baselines]
        return _together(under_test or self.judges.values())

    @property
    def headline(self) -> Coverage:
        """What reports speak of: the judges under test; with the baselines where only those are behind."""
        every = _together(self.judges.values())
        return every if every.partial and not self.own.partial else self.own

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
    """Count these trials, given the keys of those that have a reply and of those that failed for good."""
    keys: dict[str, list[str]] = {}
    for trial in trials:
        keys.setdefault(trial.judge.name, []).append(trial.key)
    judges = {
        name: Coverage(
            len(mine),
            sum(key in answered or key in failed for key in mine),
            sum(key in answered for key in mine),
        )
        for name, mine in keys.items()
    }
    return RunCoverage(judges, {trial.judge.name for trial in trials if trial.judge.baseline})


def _together(parts: Iterable[Coverage]) -> Coverage:
    listed = list(parts)
    return Coverage(
        sum(part.planned for part in listed),
        sum(part.asked for part in listed),
        sum(part.answered for part in listed),
    )
