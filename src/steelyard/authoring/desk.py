"""Where exchanges are made: through the judges' own runner, with its limits, budget and store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from steelyard.errors import SteelyardError
from steelyard.runner.judge_run import JudgeQueue
from steelyard.runner.run_messages import TRANSIENT_REASONS
from steelyard.runner.runner import Runner
from steelyard.store.replies import StoredFailure
from steelyard.trials.exchange import Exchange
from steelyard.trials.reply import Reply

Heard = Callable[[str, Reply], None]
"""Told the key of an exchange and its reply."""


class StoppedError(SteelyardError):
    """The runner has stopped; its sitting says why."""


class Desk:
    """Asks each exchange once, whoever wants it; every reply is on disk before it is handed out."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._store = runner.store
        self._seen: set[str] = set()
        self.waiting: dict[str, StoredFailure] = {}
        """Exchanges that failed in this sitting and may succeed in the next."""

    async def ask(self, exchanges: Iterable[Exchange], heard: Heard = lambda *_: None) -> Mapping[str, Reply]:
        """Replies by key; a key is missing where the call failed. `heard` is told of each as it comes in."""
        wanted = {exchange.key: exchange for exchange in exchanges}
        fresh = [exchange for key, exchange in wanted.items() if key not in self._seen]
        self._seen.update(wanted)
        if fresh:
            await self.runner.run_queues(self._agendas(fresh, heard))
        if self.runner.session.stop_errors:
            raise StoppedError("stopped")
        stored, failures = self._store.exchanges(wanted), self._store.exchange_failures()
        for key in wanted:
            if key in failures and failures[key].reason in TRANSIENT_REASONS:
                self.waiting[key] = failures[key]
        return {key: stored[key].reply for key in wanted if key in stored}

    def _agendas(self, exchanges: list[Exchange], heard: Heard) -> list[JudgeQueue]:
        answered = self._store.exchanges([exchange.key for exchange in exchanges])
        groups: dict[str, list[Exchange]] = {}
        for exchange in exchanges:
            groups.setdefault(exchange.judge.name, []).append(exchange)
        return [
            JudgeQueue(
                group[0].judge,
                group,
                [[e for e in group if e.key not in answered]],
                lambda call, reply: heard(call.key, reply),
            )
            for group in groups.values()
        ]
