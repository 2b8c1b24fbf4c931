"""What the judges of a run share while it goes on: store, limits, money, and the word to stop."""

from __future__ import annotations

import asyncio

from steelyard.errors import BudgetError, InterruptedRunError, SteelyardError, UnreachableError
from steelyard.lab.run.budget import Budget
from steelyard.lab.run.limits import RunLimits
from steelyard.lab.run.progress import Progress, Silent, Tick
from steelyard.lab.run.sitting import Sitting
from steelyard.store.run_store import RunStore
from steelyard.trials.judge import Judge


class RunControl:
    """One for all judges of a run."""

    def __init__(
        self, store: RunStore, limits: RunLimits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        """`spent` is what the study has cost beside the trials that will be run."""
        self.store = store
        self.limits = limits
        self.progress = progress or Silent()
        self.budget = Budget(limits.budget)
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
        self.sitting.given_up.add(judge.name)
        if isinstance(error, (UnreachableError, BudgetError)):
            self.sitting.stopped.append(error)
        else:
            self.stop(error)

    def replied(self, judge: Judge, dollars: float) -> None:
        """Count a trial whose reply is on disk."""
        self.sitting.calls += not judge.baseline
        self.progress.tick(Tick(judge.name, True, dollars))

    def failed(self, judge: Judge, reason: str) -> None:
        """Count a trial whose failure is on disk."""
        self.sitting.failed[reason] += 1
        self.progress.tick(Tick(judge.name, False, 0.0))
