"""The open calls of one judge through its vendor's batch API: about half the price, results within hours.

Preflight calls are made one by one: whether a judge can be parsed should not be learnt a day later.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.errors import ConfigError
from steelyard.providers.batch.batch_api import SupportsBatch, call_id
from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.batch_runner import BatchRunner
from steelyard.runner.budget import max_batch_cost
from steelyard.runner.judge_run import JudgeQueue, JudgeRun
from steelyard.runner.rate_limit import Throttle
from steelyard.runner.record import StoredReplies
from steelyard.runner.session import RunControl
from steelyard.store.batches import SETTLED, StoredBatch
from steelyard.study.study import Study
from steelyard.trials.exchange import Call

FOLDER = "batches"


def judges_without_batches(study: Study) -> list[str]:
    asked = (one for judge in study.judges if not judge.baseline for one in judge.asked)
    return list(dict.fromkeys(one.name for one in asked if not model_info(one.address).batch))


class BatchJudgeRun(JudgeRun):
    """Brings each open call of a judge to a reply or a failure on disk, by batches.

    Without --batch it collects what was submitted before, and makes the other calls one by one.
    """

    def __init__(self, control: RunControl, queue: JudgeQueue, stored: StoredReplies) -> None:
        """Reserve what batches of earlier runs may still cost, before any judge starts."""
        super().__init__(control, queue, stored)
        waiting = {key for row in self._unsettled() for key in row.keys}
        submitted = (call for call in queue.trials if call.key not in stored and call_id(call.key) in waiting)
        self._submitted_cost = sum(max_batch_cost(self.price, call) for call in submitted)
        control.budget.set_aside(self._submitted_cost)

    async def execute(self) -> None:
        """As one by one; at the end nobody waits for batches that stay open."""
        try:
            await super().execute()
        finally:
            await self._release(self._submitted_cost)

    async def _release(self, remaining: float) -> None:
        """End the reservation for submitted calls; `remaining` is left to a later run."""
        submitted, self._submitted_cost = self._submitted_cost, 0.0
        self.control.budget.owe(remaining)
        await self.control.budget.release(submitted)

    def _connect(self) -> Provider:
        """In this process, whatever the engine: a batch is one request."""
        return connect(self.judge)

    def _unsettled(self) -> list[StoredBatch]:
        return [row for row in self.control.store.batches(self.judge.name) if row.state != SETTLED]

    async def _work(self, provider: Provider, throttle: Throttle, batch: Sequence[Call]) -> None:
        if not isinstance(provider, SupportsBatch):
            raise ConfigError(f"judge {self.judge.name}: its provider has no batch API; leave --batch out.")
        vendor = provider.batch_api(self.control.store.path.parent / FOLDER)
        unsettled = self._unsettled()
        preflight_rows = self._preflight.rows(batch) if vendor.allows_single_calls and not unsettled else []
        if preflight_rows and self.limits.batch:
            await super()._work(provider, throttle, [batch[row] for row in preflight_rows])
            asked = set(preflight_rows)
            batch = [call for row, call in enumerate(batch) if row not in asked]
        runner = BatchRunner(self, provider, vendor, {call_id(call.key): call for call in batch})
        await runner.collect(unsettled)
        await self._release(runner.open_cost)
        if self.limits.batch:
            await runner.submit_all()
        elif runner.open and not self.stopped.is_set():
            await super()._work(provider, throttle, runner.open)
