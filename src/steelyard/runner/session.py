"""One run session: shared state of its judges, counts, progress events, and the result it ends with."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from steelyard.errors import (
    BudgetError,
    InterruptedRunError,
    PilotError,
    SteelyardError,
    UnreachableError,
    exit_code,
)
from steelyard.runner.budget import Budget
from steelyard.runner.engine import engine_of
from steelyard.runner.limits import RunLimits
from steelyard.runner.progress import Progress, Silent, Tick
from steelyard.runner.rate_limit import Endpoints
from steelyard.runner.record import Record
from steelyard.trials.judge import Judge
from steelyard.verdicts.verdict import Unreadable, Verdict


@dataclass
class Sitting:
    """Calls, losses and money from the start of the program to its end."""

    calls: int = 0
    """Trials of measured judges that got a reply; baselines are not counted."""
    failed: Counter[str] = field(default_factory=Counter)
    """Trials without a reply, by reason."""
    stopped: list[SteelyardError] = field(default_factory=list)
    """Why some trials were never tried."""
    given_up: dict[str, SteelyardError] = field(default_factory=dict)
    """Judges that were left before all their trials were tried, and why."""
    dollars: float = 0.0
    """Spent on the study, earlier sittings included."""


@dataclass(frozen=True)
class Ending:
    """What every sitting ends with, whatever it was for."""

    sitting: Sitting
    """What happened."""
    errors: tuple[SteelyardError, ...]
    """Why the work is not finished; empty when it is."""
    warnings: tuple[str, ...]
    """Single failures, in sentences; none where no call was answered, which is an error."""

    @property
    def exit_code(self) -> int:
        """0 or 1, as the contract says; what would be 2 is raised."""
        return exit_code(self.errors)


class RunControl:
    """One for all judges of a run."""

    def __init__(
        self, record: Record, limits: RunLimits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        """`spent` is what the study has cost beside the trials that will be run."""
        self.store = record.store
        self.read = record.read
        self.limits = limits
        self.progress = progress or Silent()
        self.budget = Budget(limits.budget)
        self.engine = engine_of(limits.engine, limits.call_timeout, self.progress.say)
        self.endpoints = Endpoints(limits.concurrency)
        self.budget.spent = spent
        self.sitting = Sitting()
        self._signals: list[asyncio.Event] = []
        self._stopped = False

    def signal(self) -> asyncio.Event:
        """The sign for one judge to start no further call; a stop of the run gives it to all."""
        signal = asyncio.Event()
        if self._stopped:
            signal.set()
        self._signals.append(signal)
        return signal

    def stop(self, reason: SteelyardError | None = None) -> None:
        """Start no further call; what is in flight is finished and kept."""
        if not self._stopped:
            self._stopped = True
            self.sitting.stopped.append(reason or InterruptedRunError("interrupted"))
            for signal in self._signals:
                signal.set()

    def give_up(self, judge: Judge, error: SteelyardError) -> None:
        """Count a judge that was left; what concerns this judge alone lets the others go on."""
        self.sitting.given_up[judge.name] = error
        if isinstance(error, (UnreachableError, BudgetError, PilotError)):
            self.sitting.stopped.append(error)
        else:
            self.stop(error)

    def replied(self, judge: Judge, dollars: float, verdict: Verdict | None) -> None:
        """Count a call of a measured judge whose reply is on disk; of a trial with what was read."""
        self.sitting.calls += 1
        self.progress.tick(Tick(judge.name, True, dollars, isinstance(verdict, Unreadable)))

    def failed(self, judge: Judge, reason: str) -> None:
        """Count a trial whose failure is on disk."""
        self.sitting.failed[reason] += 1
        self.progress.tick(Tick(judge.name, False))
