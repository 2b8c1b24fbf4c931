"""What the judges of a run share while it goes on: store, limits, money, and the word to stop."""

from __future__ import annotations

import asyncio

from steelyard.errors import (
    BudgetError,
    InterruptedRunError,
    PilotError,
    SteelyardError,
    UnreachableError,
)
from steelyard.runner.budget import Budget
from steelyard.runner.endpoints import Endpoints
from steelyard.runner.engine import engine_of
from steelyard.runner.limits import RunLimits
from steelyard.runner.progress import Progress, Silent, Tick
from steelyard.runner.record import Record
from steelyard.runner.sitting import Sitting
from steelyard.trials.judge import Judge
from steelyard.verdicts.verdict import Unreadable, Verdict


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
