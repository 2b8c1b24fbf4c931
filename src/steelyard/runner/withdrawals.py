"""Replies that turn out to be those to other calls: off the disk, on the bill, and asked again.

A reply is in doubt until a rest of its connection, or its own id, has shown it to be right. What was in doubt
when a run was killed is suspect in the next: it is withdrawn as soon as the server repeats a response, and
trusted once as many later replies are found right. Until then the run file keeps it as unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.content_hash import PREFIX, digests_of
from steelyard.providers.provider import KeepsConnections
from steelyard.runner.prices import PriceClock
from steelyard.runner.record import keys_of
from steelyard.runner.session import RunControl
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Call, Trial


class Withdrawals:
    def __init__(self, control: RunControl, judge: Judge, calls: Sequence[Call], prices: PriceClock) -> None:
        """`calls` are all that may be made, the answered ones included."""
        self._control = control
        self._store = control.store
        self._judge = judge
        self._calls = calls
        self._prices = prices
        self._provider: KeepsConnections | None = None
        self._condemned: set[str] = set()
        self._doubted: set[str] = set()
        self._checked = 0
        self._suspects: set[str] = set()
        self.under_way: set[str] = set()
        """Keys of calls whose replies are not on disk yet: they are withdrawn when they are."""
        self.again: list[Call] = []

    def start(self, provider: KeepsConnections) -> None:
        self._provider = provider
        self._suspects = {call.key for call in self._those(self._store.unchecked())}
        provider.keep_connections([key.removeprefix(PREFIX) for key in sorted(self._suspects)])

    def doubt(self, call: Call) -> None:
        """Its reply has come; to be said before anybody else can look at the connection."""
        if self._provider is not None:
            self._doubted.add(call.key)
            self._store.in_flight.doubt(call.key)

    async def collect(self) -> None:
        if self._provider is None:
            return
        if trials := self._provider.take_checked():
            checked = self._doubted.intersection(PREFIX + trial for trial in trials)
            self._checked += len(checked)
            self._trust(checked)
        self._condemned.update(PREFIX + trial for trial in self._provider.take_condemned())
        if self._condemned and (ready := self._condemned - self.under_way):
            self._condemned -= ready
            calls = self._those(ready)
            answered = self._store.replies([call.key for call in calls])
            calls = [call for call in calls if call.key in answered]
            await self._store.save_repeated(calls, billed=not self._prices.is_free)
            self._control.forget([call.key for call in calls])
            earlier = self._suspects & ready
            self._control.count_withdrawn(self._judge, len(calls), len(earlier))
            self._forget(earlier)
            self._trust(ready)
            self.again += calls

    def end(self) -> None:
        """After the last rest: what nothing speaks against is right."""
        self._trust(set(self._doubted))
        if self._checked >= len(self._suspects):
            self._forget(set(self._suspects))

    def _trust(self, keys: set[str]) -> None:
        self._doubted -= keys
        self._store.in_flight.trust(keys)

    def _forget(self, keys: set[str]) -> None:
        if keys:
            self._suspects -= keys
            self._store.save_unchecked(set(self._store.unchecked()) - keys)

    def _those(self, keys: Sequence[str] | set[str]) -> list[Trial]:
        if not keys:
            return []
        rows = np.flatnonzero(np.isin(keys_of(self._calls), digests_of(sorted(keys))))
        return [call for call in (self._calls[row] for row in rows.tolist()) if isinstance(call, Trial)]
