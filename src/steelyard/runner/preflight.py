"""Which open calls of a judge may be made, in which order, and what stops it: preflight, refusals, breaker.

In the preflight the first replies under each protocol decide whether a judge's replies can be parsed at all.
Preflight calls are ordinary trials, stored and counted like all others; they only come first. A call that
fails is replaced by another: failing servers are the business of `CircuitBreaker` and `Refusals`. A protocol
that passed goes on at once, so one slow call does not hold up the others.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from steelyard.core.content_hash import HashIndex
from steelyard.core.text import pluralize
from steelyard.errors import (
    CallsRefusedError,
    PermanentError,
    PreflightError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.provider import model_info
from steelyard.runner.record import StoredReplies, keys_of
from steelyard.trials.judge import Judge, Reply
from steelyard.trials.trial import Call, Trial
from steelyard.trials.trials import Trials
from steelyard.verdicts.advice import advice, reasons_of
from steelyard.verdicts.verdict import Unreadable, Verdict

PREFLIGHT_CALLS = 8

Read = Callable[[Trial, Reply], Verdict]


@dataclass
class ProtocolPreflight:
    size: int
    in_flight: int = 0
    replies: list[tuple[Trial, Reply]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    failures: int = 0

    @property
    def readable(self) -> int:
        return sum(not isinstance(verdict, Unreadable) for verdict in self.verdicts)

    @property
    def passed(self) -> bool:
        """Half of the replies could be parsed, whatever the others say."""
        return 2 * self.readable >= self.size

    @property
    def failed(self) -> bool:
        return len(self.verdicts) >= self.size and not self.passed

    @property
    def full(self) -> bool:
        return not self.passed and len(self.verdicts) + self.in_flight >= self.size

    def record(self, trial: Trial, reply: Reply, verdict: Verdict) -> None:
        if len(self.verdicts) < self.size and not self.passed:
            self.replies.append((trial, reply))
            self.verdicts.append(verdict)


class Preflight:
    def __init__(self, judge: Judge, trials: Iterable[Trial] = ()) -> None:
        """`trials` are all that the judge is asked; a plan no longer than its preflight needs none."""
        trials = Trials.of(trials)
        self._judge = judge
        self._ranking = rank_trials(trials)
        protocols = {
            name: ProtocolPreflight(min(PREFLIGHT_CALLS, len(mine))) for name, mine in self._ranking.items()
        }
        self._protocols = protocols if sum(check.size for check in protocols.values()) < len(trials) else {}
        self._passed = False

    def restore(self, stored: StoredReplies, read: Read) -> PreflightError | None:
        for protocol, check in self._protocols.items():
            mine = self._ranking[protocol]
            for trial in mine.take(stored.of(mine))[: check.size]:
                reply = stored[trial.key].reply
                check.record(trial, reply, read(trial, reply))
        return next((error for name in self._protocols if (error := self._error(name))), None)

    def rows(self, batch: Sequence[Call]) -> list[int]:
        index = HashIndex(keys_of(batch))
        first: list[int] = []
        for protocol, check in self._protocols.items():
            rows = index.lookup(self._ranking[protocol].key)
            first += [] if check.passed else rows[rows >= 0][: check.size - len(check.verdicts)].tolist()
        return first

    def order(self, batch: Sequence[Call]) -> list[int]:
        first = self.rows(batch)
        wanted = set(first)
        if isinstance(batch, Trials):
            by_prefix = batch.by_prefix.tolist()
        else:
            by_prefix = sorted(range(len(batch)), key=lambda place: batch[place].prefix)
        return [*first, *(place for place in by_prefix if place not in wanted)]

    @property
    def passed(self) -> bool:
        self._passed = self._passed or all(check.passed for check in self._protocols.values())
        return self._passed

    def allows(self, protocol: str) -> bool:
        check = self._protocols.get(protocol)
        return check is None or not check.full

    def begin(self, call: Call) -> None:
        if check := self._protocols.get(call.protocol):
            check.in_flight += 1

    def end(self, call: Call) -> None:
        if check := self._protocols.get(call.protocol):
            check.in_flight -= 1

    def record(self, call: Call, reply: Reply, verdict: Verdict | None) -> PreflightError | None:
        check = None if self.passed else self._protocols.get(call.protocol)
        if check is None or verdict is None or not isinstance(call, Trial):
            return None
        check.record(call, reply, verdict)
        return self._error(call.protocol)

    def fail(self, call: Call, error: PermanentError) -> PreflightError | None:
        """A call of the user's own code failed for good: as many as a preflight has, without a reply, do."""
        check = None if self.passed else self._protocols.get(call.protocol)
        if check is None or check.verdicts:
            return None
        check.failures += 1
        if check.failures < check.size:
            return None
        return PreflightError(
            f"judge {self._judge.name}: stopped after {pluralize(check.size, 'call')} under protocol "
            f"{call.protocol}, which all failed; the last: {error}"
        )

    def _error(self, protocol: str) -> PreflightError | None:
        check = self._protocols[protocol]
        if not check.failed:
            return None
        spec = self._judge.protocols[protocol].reader
        scale = check.replies[0][0].effective_task.scale
        readings = zip(check.replies, check.verdicts, strict=True)
        unreadable = [reply for (_, reply), verdict in readings if isinstance(verdict, Unreadable)]
        return PreflightError(
            f"judge {self._judge.name}: stopped after {pluralize(check.size, 'reply', 'replies')} under "
            f"protocol {protocol}; {check.readable} could be parsed ({reasons_of(check.verdicts)}); "
            f"{advice(spec, scale, unreadable)}"
        )


def rank_trials(trials: Iterable[Trial]) -> dict[str, Trials]:
    """Trials by protocol, each with the most informative first.

    Repeats come last. Stimuli of the probes take turns, each probe's in the order of their hashes, and both
    orders of a pair stand together: the first eight are of every probe and of either order.
    """
    every = Trials.of(trials)
    protocols, codes = every.coded(attrgetter("protocol"))
    return {
        protocol: _rank(every.take(codes[every.question] == code)) for code, protocol in enumerate(protocols)
    }


def _rank(trials: Trials) -> Trials:
    hashes: dict[str, set[str]] = {}
    for asked in trials.distinct_trials:
        hashes.setdefault(asked.stimulus.probe, set()).add(asked.stimulus.hash)
    turn = {
        (probe, stimulus): place
        for probe, stimuli in hashes.items()
        for place, stimulus in enumerate(sorted(stimuli))
    }

    def rank(asked: Trial) -> tuple[int, str, str, str]:
        stimulus = asked.stimulus
        return turn[stimulus.probe, stimulus.hash], stimulus.probe, stimulus.hash, asked.order

    return trials.take(np.lexsort((trials.ranks(rank), trials.replicate)))


BAD_REQUEST = "bad_request"


class Refusals:
    """A server that refuses the first calls of a judge, all alike, refuses the judge: the rest is not sent.

    So with an unknown model or a wrong key of which the server says only that the request is bad. A refusal
    that names its item, such as a prompt that is too long, is no such case, and neither is one of a judge
    that has replied before.
    """

    def __init__(self, judge: Judge, calls: int, has_answered: bool) -> None:
        """`calls` are all that may be made; user code that raises is the business of `Preflight`."""
        self._judge = judge
        self._undecided = (
            calls > PREFLIGHT_CALLS and not has_answered and not model_info(judge.address).is_code
        )
        self._in_flight = 0
        self._kinds: list[tuple[str, int | None]] = []

    @property
    def allows(self) -> bool:
        """False while the calls that decide are all made and none has a reply."""
        return not self._undecided or self._in_flight + len(self._kinds) < PREFLIGHT_CALLS

    def begin(self) -> None:
        self._in_flight += 1

    def end(self) -> None:
        self._in_flight -= 1

    def record_reply(self) -> None:
        self._undecided = False

    def record(self, error: PermanentError) -> CallsRefusedError | None:
        if not self._undecided:
            return None
        self._kinds.append((error.reason, error.status))
        alike = len(set(self._kinds)) == 1
        self._undecided = alike and error.reason == BAD_REQUEST
        if not self._undecided or len(self._kinds) < PREFLIGHT_CALLS:
            return None
        calls = pluralize(len(self._kinds), "call")
        return CallsRefusedError(
            f"judge {self._judge.name}: stopped after {calls}, which the server refused alike; "
            f"the last: {str(error).rstrip('.')}"
        )


PROVEN_FACTOR = 4
"""The threshold is so many times higher for a judge that has answered before."""


class CircuitBreaker:
    """Stop calling a judge whose server answers nothing, whatever it is asked about.

    One call that used up its retries proves little: a single text may be too much for a server that answers
    all others. After a failed call the circuit is half-open: the next calls are drawn at random from all open
    work. It opens when so many different items in a row, all drawn while half-open, have failed that a server
    which still answers some of them would hardly ever look like that.
    """

    def __init__(self, failure_threshold: int, items: int, has_answered: bool) -> None:
        self._base_threshold = failure_threshold
        self._items = items
        self._has_answered = has_answered
        self._failed_items: set[str] = set()
        self._reasons: Counter[str] = Counter()

    @property
    def half_open(self) -> bool:
        return bool(self._reasons)

    @property
    def threshold(self) -> int:
        """Different items that must fail in a row; no more than there are."""
        return min(self._base_threshold * (PROVEN_FACTOR if self._has_answered else 1), self._items)

    def record_reply(self) -> None:
        """Close the circuit: failures before this reply were due to their items."""
        self._has_answered = True
        self._failed_items.clear()
        self._reasons.clear()

    def record_failure(
        self, call: Call, error: TransientError, was_half_open: bool
    ) -> UnreachableError | None:
        self._reasons[error.reason] += 1
        if was_half_open:
            self._failed_items.add(call.item)
        if len(self._failed_items) < self.threshold:
            return None
        reasons = ", ".join(f"{reason} {number}" for reason, number in self._reasons.most_common())
        return UnreachableError(
            f"judge {call.judge.name}: stopped after {pluralize(self._reasons.total(), 'call')} in a row "
            f"without a reply ({reasons}), on {pluralize(len(self._failed_items), 'different item')} or "
            f"more; last error: {error}"
        )


class CallQueue:
    """The open calls of a batch: in order, at random while the circuit is half-open, as the preflight allows.

    Each call that is taken has to be ended.
    """

    def __init__(
        self,
        batch: Sequence[Call],
        preflight: Preflight,
        breaker: CircuitBreaker,
        refusals: Refusals,
        stopped: asyncio.Event,
    ) -> None:
        self._batch = batch
        self._protocols = _protocols(batch)
        self._waiting = deque(preflight.order(batch))
        self._open_calls = Counter(self._protocols)
        self._preflight = preflight
        self._breaker = breaker
        self._refusals = refusals
        self._stopped = stopped
        self._ended = asyncio.Event()
        self._random = random.Random()

    async def take(self) -> Call | None:
        """The next call; None if none is open, or none may be made.

        A protocol is full only while a call of it is in flight, and refusals hold up others only while some
        are in flight, so whoever waits here is woken.
        """
        while self._waiting and not self._stopped.is_set():
            if self._breaker.half_open:
                self._waiting.rotate(-self._random.randrange(len(self._waiting)))
            if (turn := self._next_allowed()) is not None:
                call = self._batch[self._waiting[turn]]
                del self._waiting[turn]
                self._open_calls[call.protocol] -= 1
                self._preflight.begin(call)
                self._refusals.begin()
                return call
            self._ended.clear()
            await self._ended.wait()
        return None

    def end(self, call: Call) -> None:
        self._preflight.end(call)
        self._refusals.end()
        self._ended.set()

    def _next_allowed(self) -> int | None:
        if not self._refusals.allows:
            return None
        if self._preflight.passed:
            return 0
        allowed = {
            protocol
            for protocol, count in self._open_calls.items()
            if count and self._preflight.allows(protocol)
        }
        if not allowed:
            return None
        return next(turn for turn, row in enumerate(self._waiting) if self._protocols[row] in allowed)


def _protocols(batch: Sequence[Call]) -> list[str]:
    if not isinstance(batch, Trials):
        return [call.protocol for call in batch]
    names, codes = batch.coded(attrgetter("protocol"))
    return [names[code] for code in codes[batch.question].tolist()]
