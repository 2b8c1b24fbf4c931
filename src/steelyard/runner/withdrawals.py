"""Replies that turn out to be those to other calls: off the disk, on the bill, and asked again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.content_hash import PREFIX, digests_of
from steelyard.providers.provider import KeepsConnections, Provider
from steelyard.runner.record import keys_of
from steelyard.runner.session import RunControl
from steelyard.trials.exchange import Call
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial


class Withdrawals:
    def __init__(self, control: RunControl, judge: Judge, batch: Sequence[Call], *, billed: bool) -> None:
        self._control = control
        self._judge = judge
        self._batch = batch
        self._billed = billed
        self._condemned: set[str] = set()
        self.under_way: set[str] = set()
        """Keys of calls whose replies are not on disk yet: they are withdrawn when they are."""
        self.again: list[Call] = []

    async def collect(self, provider: Provider) -> None:
        if not isinstance(provider, KeepsConnections):
            return
        self._condemned.update(PREFIX + trial for trial in provider.take_condemned())
        if ready := self._condemned - self.under_way:
            self._condemned -= ready
            rows = np.flatnonzero(np.isin(keys_of(self._batch), digests_of(sorted(ready))))
            calls = [call for call in (self._batch[row] for row in rows.tolist()) if isinstance(call, Trial)]
            answered = self._control.store.replies([call.key for call in calls])
            await self._withdraw([call for call in calls if call.key in answered])

    async def _withdraw(self, calls: Sequence[Trial]) -> None:
        await self._control.store.save_repeated(calls, billed=self._billed)
        self._control.count_withdrawn(self._judge, len(calls))
        self.again += calls
