"""One run session: where calls are made, shared state of judges, progress, result, withdrawn replies."""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple, Protocol

import numpy as np

from steelyard.core.content_hash import PREFIX, digests_of
from steelyard.core.text import plural, pluralize
from steelyard.errors import (
    BudgetError,
    ConfigError,
    InterruptedRunError,
    PreflightError,
    SteelyardError,
    UnreachableError,
)
from steelyard.providers.provider import KeepsConnections, Provider, SupportsLabels, SupportsReplay, connect
from steelyard.runner.costs import Budget
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import PriceClock
from steelyard.runner.rate_limit import Endpoints
from steelyard.runner.record import RunRecord, keys_of
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Call, Trial
from steelyard.trials.trials import Trials
from steelyard.verdicts.verdict import Unreadable, Verdict


class Tick(NamedTuple):
    judge: str
    ok: bool
    dollars: float = 0.0
    unreadable: bool = False
    calls: int = 1
    """Below 0 for replies that were withdrawn, whose calls are made again."""


class Progress(Protocol):
    def begin(self, judge: str, total: int, done: int) -> None:
        """A judge starts with this many trials, some of them answered before."""

    def tick(self, tick: Tick) -> None:
        """A trial ended; baselines, which never start, are heard of only where one fails."""

    def say(self, message: str) -> None:
        """Something worth a line."""


class NullProgress:
    def begin(self, judge: str, total: int, done: int) -> None:
        """Nothing."""

    def tick(self, tick: Tick) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""


class LineProgress:
    INTERVAL = 0.2
    """Seconds between two writes, so that a fast judge does not flood a notebook."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._total: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._dollars = 0.0
        self._written = (0.0, 0)

    def begin(self, judge: str, total: int, done: int) -> None:
        if done < total:
            self._total[judge], self._done[judge] = total, done

    def tick(self, tick: Tick) -> None:
        if tick.judge not in self._total:
            return
        self._done[tick.judge] += tick.calls
        self._lost["failed"] += not tick.ok
        self._lost["unreadable"] += tick.unreadable
        self._dollars += tick.dollars
        if self._done == self._total or monotonic() - self._written[0] >= self.INTERVAL:
            self._write(self._line())

    def say(self, message: str) -> None:
        self._write(f"steelyard: {message}")
        print(file=self._stream)

    def end(self) -> None:
        if self._total:
            self._write(self._line())
            print(file=self._stream, flush=True)

    def _line(self) -> str:
        parts = [
            f"{judge} {self._done[judge]:,}/{pluralize(total, 'call')}"
            for judge, total in self._total.items()
        ]
        parts += [f"{count:,} {word}" for word, count in self._lost.items() if count]
        return " · ".join([*parts, *([f"${self._dollars:.4f}"] if self._dollars else [])])

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._written[1]))
        self._stream.flush()
        self._written = monotonic(), len(text)


@contextmanager
def progress_line(is_shown: bool) -> Iterator[Progress]:
    if not is_shown:
        yield NullProgress()
        return
    line = LineProgress()
    try:
        yield line
    finally:
        line.end()


def is_watched() -> bool:
    return sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")


LOCAL = "local"
RAY = "ray"
"""A Ray cluster: `ray` is one on this machine or the one that RAY_ADDRESS names, `ray:ADDRESS` another."""


Connect = Callable[[Judge], Provider]
"""Gives the provider of a judge, not yet open; everything else about a run stays with the driver."""


def engine_of(name: str, call_timeout: float, say: Callable[[str], None]) -> Connect:
    """How judges are connected on the engine of this name; a call may take so many seconds.

    Nothing is started yet. `say` is called with what a user should know of where calls are made.
    """
    kind, _, address = name.partition(":")
    if kind == LOCAL and not address:
        return connect
    if kind != RAY:
        raise ConfigError(
            f"engine: found {name!r}, expected '{LOCAL}', '{RAY}' or '{RAY}:ADDRESS'; correct it."
        )
    from steelyard.runner.ray_engine import RayEngine

    return RayEngine(address or None, call_timeout, say).connect


def prime_provider(provider: Provider, calls: Sequence[Call]) -> None:
    """Hand those that know labels theirs, and those that replay their answers; models get nothing."""
    if isinstance(provider, SupportsLabels):
        asked = calls.distinct_trials if isinstance(calls, Trials) else calls
        provider.set_labels(call.stimulus for call in asked if isinstance(call, Trial))
    if isinstance(provider, SupportsReplay) and (
        trials := [call for call in calls if isinstance(call, Trial)]
    ):
        from steelyard.importing.replay import recorded_answers

        provider.set_replies(recorded_answers(trials[0].judge, trials))


@dataclass
class RunSession:
    calls: int = 0
    """Trials of measured judges that got a reply; baselines are not counted."""
    failures: Counter[str] = field(default_factory=Counter)
    """Trials without a reply, by reason."""
    stop_errors: list[SteelyardError] = field(default_factory=list)
    aborted_judges: dict[str, SteelyardError] = field(default_factory=dict)
    dollars: float = 0.0
    """Spent on the study, earlier runs included."""

    @property
    def stopped(self) -> bool:
        return bool(self.stop_errors or self.aborted_judges)


@dataclass(frozen=True)
class RunResult:
    session: RunSession
    errors: tuple[SteelyardError, ...]
    warnings: tuple[str, ...]


class RunControl:
    def __init__(
        self, record: RunRecord, limits: RunLimits, progress: Progress | None = None, spent: float = 0.0
    ) -> None:
        self.store = record.store
        self.parse_verdict = record.parse_verdict
        self.forget = record.forget
        self.limits = limits
        self.progress = progress or NullProgress()
        self.budget = Budget(limits.budget)
        self.connect = engine_of(limits.engine, limits.call_timeout, self.progress.say)
        self.endpoints = Endpoints(limits.concurrency)
        self.budget.spent = spent
        self.session = RunSession()
        if lost := self.store.collect_lost():
            self.progress.say(
                f"{pluralize(lost, 'call')} had been sent when the last run broke off; the vendor may bill "
                f"{plural(lost, 'it', 'them')}, and {plural(lost, 'it is', 'they are')} made again"
            )
        self.lost_before = self.store.lost_calls()
        """Calls of earlier runs whose reply was lost, and how often: `spent` has the most they can cost."""
        self.answering: set[str] = set()
        """Fingerprints of judges that have replied, in this run or before."""
        self._signals: list[asyncio.Event] = []
        self._stopped = False

    def stop_signal(self) -> asyncio.Event:
        signal = asyncio.Event()
        if self._stopped:
            signal.set()
        self._signals.append(signal)
        return signal

    def stop(self, reason: SteelyardError | None = None) -> None:
        """Make no further call; calls in flight are finished and stored."""
        if not self._stopped:
            self._stopped = True
            self.session.stop_errors.append(reason or InterruptedRunError("interrupted"))
            for signal in self._signals:
                signal.set()

    def abort_judge(self, judge: Judge, error: SteelyardError) -> None:
        """Record that a judge was stopped; an error of this judge alone lets the others go on."""
        self.session.aborted_judges[judge.name] = error
        if isinstance(error, (UnreachableError, BudgetError, PreflightError)):
            self.session.stop_errors.append(error)
        else:
            self.stop(error)

    def count_reply(self, judge: Judge, dollars: float, verdict: Verdict | None) -> None:
        self.session.calls += 1
        self.progress.tick(Tick(judge.name, True, dollars, isinstance(verdict, Unreadable)))

    def count_withdrawn(self, judge: Judge, calls: int, earlier: int) -> None:
        """Replies that are no longer on disk; those of earlier runs were not counted in this one."""
        if not judge.baseline:
            self.session.calls -= calls - earlier
            self.progress.tick(Tick(judge.name, True, calls=-calls))

    def count_failure(self, judge: Judge, reason: str) -> None:
        self.session.failures[reason] += 1
        self.progress.tick(Tick(judge.name, False))


class Withdrawals:
    """Replies that turn out to be those to other calls: off the disk, on the bill, and asked again.

    A reply is in doubt until a rest of its connection, or its own id, has shown it to be right. What was in
    doubt when a run was killed is suspect in the next: it is withdrawn as soon as the server repeats a
    response, and trusted once as many later replies are found right. Until then the run file keeps it as
    unchecked.
    """

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
        condemned, trials = self._provider.take_checks()
        self._condemned.update(PREFIX + trial for trial in condemned)  # first: what is taken is told once
        if trials:
            checked = self._doubted.intersection(PREFIX + trial for trial in trials)
            self._checked += len(checked)
            self._trust(checked)
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
