"""The open trials of one judge, handed in together: at a lower price, and answered later.

The pilot is asked call by call: whether a judge can be read should not be learnt a day later.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.errors import ConfigError
from steelyard.lab.run.batch_sitting import BatchSitting
from steelyard.lab.run.judge_run import JudgeRun
from steelyard.lab.run.throttle import Throttle
from steelyard.lab.study.study import Study
from steelyard.providers.batch.batches import Batching, call_id
from steelyard.providers.provider import Provider, traits_of
from steelyard.store.batches import SETTLED
from steelyard.trials.exchange import Call

FOLDER = "batches"
"""Where files of requests and results lie, in the run folder."""


def unbatched(study: Study) -> list[str]:
    """Judges whose calls can not be handed in together; baselines are not asked for it."""
    asked = (one for judge in study.judges if not judge.baseline for one in judge.asked)
    return list(dict.fromkeys(one.name for one in asked if not traits_of(one.address).batch))


class BatchRun(JudgeRun):
    """Brings each open trial of a judge to a reply or a failure on disk, by batches.

    Without the wish for batches it brings in what was handed in before, and asks for the rest one by one.
    """

    async def _work(self, provider: Provider, throttle: Throttle, batch: Sequence[Call]) -> None:
        if not isinstance(provider, Batching):
            raise ConfigError(f"judge {self.judge.name}: its provider has no batches; leave --batch out.")
        vendor = provider.batches(self.control.store.path.parent / FOLDER)
        unsettled = [row for row in self.control.store.batches(self.judge.name) if row.state != SETTLED]
        first = self._pilot.first(batch) if vendor.single and not unsettled else []
        if first and self.limits.batch:
            await super()._work(provider, throttle, first)
            asked = {call.key for call in first}
            batch = [call for call in batch if call.key not in asked]
        sitting = BatchSitting(self, provider, vendor, {call_id(call.key): call for call in batch})
        await sitting.collect(unsettled)
        if self.limits.batch:
            await sitting.hand_in()
        elif sitting.open and not self.stopped.is_set():
            await super()._work(provider, throttle, sitting.open)
