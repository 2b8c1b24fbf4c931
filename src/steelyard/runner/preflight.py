"""Preflight: the first replies under each protocol decide whether a judge's replies can be parsed at all.

Preflight calls are ordinary trials, stored and counted like all others; they only come first. A call that
fails is replaced by another: failing servers are the business of `circuit_breaker` and `Refusals`. A protocol
that passed goes on at once, so one slow call does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from steelyard.core.content_hash import HashIndex
from steelyard.core.text import pluralize
from steelyard.errors import CallsRefusedError, PermanentError, PreflightError
from steelyard.providers.provider import model_info
from steelyard.runner.record import StoredReplies, keys_of
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
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
