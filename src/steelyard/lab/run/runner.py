"""Run trials, judge by judge: every reply is on disk before it counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from steelyard.errors import InterruptedRunError, SteelyardError
from steelyard.lab.run.budget import Budget, cost
from steelyard.lab.run.judge_run import JudgeRun
from steelyard.lab.run.limits import Limits
from steelyard.lab.run.prices import price_of
from steelyard.lab.run.progress import Progress, Silent, Tick
from steelyard.providers.provider import traits_of
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.exchange import Call, Exchange
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial


@dataclass
class Outcome:
    """What happened to a run's open trials in this sitting."""

    calls: int = 0
    """Trials of measured judges that got a reply; baselines are not counted."""
    failed: Counter[str] = field(default_factory=Counter)
    """Trials without a reply, by reason."""
    stopped: list[SteelyardError] = field(default_factory=list)
    """Why some trials were never tried."""
    given_up: set[str] = field(default_factory=set)
    """Judges that were left before all their trials were tried."""
    dollars: float = 0.0
    """Spent on the study, earlier sittings included."""


@dataclass(frozen=True)
class Agenda:
    """What one judge may have to do."""

    judge: Judge
    trials: Sequence[Call]
    """Every trial that may be run, the answered ones included."""
    batches: Iterable[Sequence[Call]]
    """Open trials; a batch is taken when the one before it is settled."""


class Runner:
    """Executes the open trials of a plan."""

    def __init__(
        self, store: RunStore, limits: Limits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        """`spent` is what the study has cost beside the trials that will be run here."""
        self.store = store
        self.limits = limits
        self.progress = progress or Silent()
        self.budget = Budget(limits.budget)
        self.budget.spent = spent
        self.outcome = Outcome()
        self._runs: list[JudgeRun] = []
        self._stopped = False

    def stop(self, reason: SteelyardError | None = None) -> None:
        """Start no further call; what is in flight is finished and kept."""
        if not self._stopped:
            self._stopped = True
            self.outcome.stopped.append(reason or InterruptedRunError("interrupted"))
            for run in self._runs:
                run.stopped.set()

    async def run(self, trials: Sequence[Trial]) -> Outcome:
        """Run what has no reply yet; judges that need every core in turn, all others side by side."""
        by_judge: dict[str, list[Trial]] = {}
        for trial in trials:
            by_judge.setdefault(trial.judge.name, []).append(trial)
        answered = self.store.answered()
        agendas = []
        for mine in by_judge.values():
            still = [trial for trial in mine if trial.key not in answered]
            agendas.append(Agenda(mine[0].judge, mine, [still]))
        return await self.follow(agendas)

    async def follow(self, agendas: Sequence[Agenda]) -> Outcome:
        """Run each judge's batches; judges that need every core in turn, all others side by side."""
        stored = self._stored([call for agenda in agendas for call in agenda.trials])
        lanes: dict[str, list[JudgeRun]] = {}
        for agenda in agendas:
            judge, price = agenda.judge, price_of(agenda.judge)
            paid = [trial for trial in agenda.trials if trial.key in stored]
            self.budget.spent += sum(cost(price, trial, stored[trial.key].reply) for trial in paid)
            lane = judge.provider if traits_of(judge.address).in_turn else f"judge {judge.name}"
            run = JudgeRun(self, agenda, bool(paid))
            self._runs.append(run)
            self.progress.begin(judge.name, len(agenda.trials), len(paid))
            lanes.setdefault(lane, []).append(run)
        async with asyncio.TaskGroup() as group:
            for runs in lanes.values():
                group.create_task(_in_turn(runs))
        self.outcome.dollars = self.budget.spent
        return self.outcome

    def _stored(self, calls: Sequence[Call]) -> dict[str, StoredReply]:
        """What was answered before; of the two kinds of calls only those that are wanted are read."""
        written = [call.key for call in calls if isinstance(call, Exchange)]
        found: dict[str, StoredReply] = dict(self.store.exchanges(written)) if written else {}
        return found if len(written) == len(calls) else {**found, **self.store.replies()}

    def replied(self, judge: Judge, dollars: float) -> None:
        """Count a trial whose reply is on disk."""
        self.outcome.calls += not judge.baseline
        self.progress.tick(Tick(judge.name, True, dollars))

    def failed(self, judge: Judge, reason: str) -> None:
        """Count a trial whose failure is on disk."""
        self.outcome.failed[reason] += 1
        self.progress.tick(Tick(judge.name, False, 0.0))


async def _in_turn(runs: Iterable[JudgeRun]) -> None:
    for run in runs:
        await run.execute()
