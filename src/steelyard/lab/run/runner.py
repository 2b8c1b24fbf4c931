"""Run trials, judge by judge: every reply is on disk before it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from steelyard.lab.run.budget import cost
from steelyard.lab.run.control import RunControl
from steelyard.lab.run.judge_run import Agenda, JudgeRun
from steelyard.lab.run.limits import Limits
from steelyard.lab.run.prices import price_of
from steelyard.lab.run.progress import Progress
from steelyard.lab.run.sitting import Sitting
from steelyard.providers.provider import traits_of
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.exchange import Call, Exchange
from steelyard.trials.trial import Trial


class Runner:
    """Executes the open trials of a plan."""

    def __init__(
        self, store: RunStore, limits: Limits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        """`spent` is what the study has cost beside the trials that will be run here."""
        self.control = RunControl(store, limits, progress, spent)
        self.store = store

    @property
    def sitting(self) -> Sitting:
        """What has happened so far."""
        return self.control.sitting

    async def run(self, trials: Sequence[Trial]) -> Sitting:
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

    async def follow(self, agendas: Sequence[Agenda]) -> Sitting:
        """Run each judge's batches; judges that need every core in turn, all others side by side."""
        stored = self._stored([call for agenda in agendas for call in agenda.trials])
        lanes: dict[str, list[JudgeRun]] = {}
        for agenda in agendas:
            judge, price = agenda.judge, price_of(agenda.judge)
            paid = [trial for trial in agenda.trials if trial.key in stored]
            self.control.budget.spent += sum(cost(price, trial, stored[trial.key].reply) for trial in paid)
            lane = judge.provider if traits_of(judge.address).in_turn else f"judge {judge.name}"
            self.control.progress.begin(judge.name, len(agenda.trials), len(paid))
            lanes.setdefault(lane, []).append(JudgeRun(self.control, agenda, bool(paid)))
        async with asyncio.TaskGroup() as group:
            for runs in lanes.values():
                group.create_task(_in_turn(runs))
        self.sitting.dollars = self.control.budget.spent
        return self.sitting

    def _stored(self, calls: Sequence[Call]) -> dict[str, StoredReply]:
        """What was answered before; of the two kinds of calls only those that are wanted are read."""
        written = [call.key for call in calls if isinstance(call, Exchange)]
        found: dict[str, StoredReply] = dict(self.store.exchanges(written)) if written else {}
        return found if len(written) == len(calls) else {**found, **self.store.replies()}


async def _in_turn(runs: Iterable[JudgeRun]) -> None:
    for run in runs:
        await run.execute()
