"""The open calls of one judge through its vendor's batch API: about half the price, results within hours.

Preflight calls are made one by one: whether a judge can be parsed should not be learnt a day later.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.errors import ConfigError
from steelyard.providers.batch.batch_api import SupportsBatch, call_id
from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.batch_runner import BatchSitting
from steelyard.runner.budget import dearest_in_batch
from steelyard.runner.judge_run import Agenda, JudgeRun
from steelyard.runner.rate_limit import Throttle
from steelyard.runner.record import Stored
from steelyard.runner.session import RunControl
from steelyard.store.batches import SETTLED, StoredBatch
from steelyard.study.study import Study
from steelyard.trials.exchange import Call

FOLDER = "batches"
"""Where files of requests and results lie, in the run folder."""


def unbatched(study: Study) -> list[str]:
    """Judges whose calls can not be handed in together; baselines are not asked for it."""
    asked = (one for judge in study.judges if not judge.baseline for one in judge.asked)
    return list(dict.fromkeys(one.name for one in asked if not model_info(one.address).batch))


class BatchRun(JudgeRun):
    """Brings each open trial of a judge to a reply or a failure on disk, by batches.

    Without the wish for batches it brings in what was handed in before, and asks for the rest one by one.
    """

    def __init__(self, control: RunControl, agenda: Agenda, stored: Stored) -> None:
        """What earlier sittings handed in may still cost; it is set aside before any judge starts."""
        super().__init__(control, agenda, stored)
        waiting = {key for row in self._unsettled() for key in row.keys}
        out = (call for call in agenda.trials if call.key not in stored and call_id(call.key) in waiting)
        self._out = sum(dearest_in_batch(self.price, call) for call in out)
        control.budget.hold(self._out)

    async def execute(self) -> None:
        """As one by one; whatever happens, nobody waits for what stays out."""
        try:
            await super().execute()
        finally:
            await self._brought_in(self._out)

    async def _brought_in(self, left: float) -> None:
        """What was out has been paid for, but for what is left to another sitting."""
        out, self._out = self._out, 0.0
        self.control.budget.owe(left)
        await self.control.budget.free(out)

    def _connected(self) -> Provider:
        """From here, whatever the engine: what is handed in together is one call, and waits for nobody."""
        return connect(self.judge)

    def _unsettled(self) -> list[StoredBatch]:
        return [row for row in self.control.store.batches(self.judge.name) if row.state != SETTLED]

    async def _work(self, provider: Provider, throttle: Throttle, batch: Sequence[Call]) -> None:
        if not isinstance(provider, SupportsBatch):
            raise ConfigError(f"judge {self.judge.name}: its provider has no batches; leave --batch out.")
        vendor = provider.batch_api(self.control.store.path.parent / FOLDER)
        unsettled = self._unsettled()
        first = self._pilot.first(batch) if vendor.allows_single_calls and not unsettled else []
        if first and self.limits.batch:
            await super()._work(provider, throttle, [batch[place] for place in first])
            asked = set(first)
            batch = [call for place, call in enumerate(batch) if place not in asked]
        sitting = BatchSitting(self, provider, vendor, {call_id(call.key): call for call in batch})
        await sitting.collect(unsettled)
        await self._brought_in(sitting.owed)
        if self.limits.batch:
            await sitting.hand_in()
        elif sitting.open and not self.stopped.is_set():
            await super()._work(provider, throttle, sitting.open)
