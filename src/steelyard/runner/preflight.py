"""Preflight: the first replies under each protocol decide whether a judge's replies can be parsed at all.

Preflight calls are ordinary trials, stored and counted like all others; they only come first. A call that
fails is replaced by another: failing servers are the business of `circuit_breaker`. A protocol that passed
goes on at once, so one slow call does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from steelyard.core.content_hash import HashIndex
from steelyard.core.text import pluralize
from steelyard.errors import PilotError
from steelyard.runner.record import Stored, keys_of
from steelyard.trials.exchange import Call
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials
from steelyard.verdicts.advice import advice, reasons_of
from steelyard.verdicts.verdict import Unreadable, Verdict

PILOT = 8
"""Replies per protocol by which a judge shows whether it can be read."""

Read = Callable[[Trial, Reply], Verdict]
"""What a reply to a trial amounts to."""


@dataclass
class Arm:
    """The pilot of one protocol."""

    size: int
    """Replies that decide it."""
    in_flight: int = 0
    """Calls under way."""
    replies: list[tuple[Trial, Reply]] = field(default_factory=list)
    """In the order in which they came."""
    verdicts: list[Verdict] = field(default_factory=list)
    """What each reply was read as."""

    @property
    def readable(self) -> int:
        """Replies that are a verdict."""
        return sum(not isinstance(verdict, Unreadable) for verdict in self.verdicts)

    @property
    def passed(self) -> bool:
        """Half of the replies can be read, whatever the others say."""
        return 2 * self.readable >= self.size

    @property
    def lost(self) -> bool:
        """All replies are there, and fewer than half can be read."""
        return len(self.verdicts) >= self.size and not self.passed

    @property
    def full(self) -> bool:
        """No further call before one that is under way has ended."""
        return not self.passed and len(self.verdicts) + self.in_flight >= self.size

    def hear(self, trial: Trial, reply: Reply, verdict: Verdict) -> None:
        """Take a reply, unless enough are there."""
        if len(self.verdicts) < self.size and not self.passed:
            self.replies.append((trial, reply))
            self.verdicts.append(verdict)


class Pilot:
    """The pilots of a judge's protocols; without any, every call is admitted."""

    def __init__(self, judge: Judge, trials: Iterable[Trial] = ()) -> None:
        """`trials` are all that the judge is asked; a plan that is no longer than its pilot needs none."""
        trials = Trials.of(trials)
        self._judge = judge
        self._ranked = ranked(trials)
        arms = {name: Arm(min(PILOT, len(mine))) for name, mine in self._ranked.items()}
        self._arms = arms if sum(arm.size for arm in arms.values()) < len(trials) else {}
        self._settled = False

    def recall(self, stored: Stored, read: Read) -> PilotError | None:
        """Take the replies of earlier sittings; the error where they settle it."""
        for protocol, arm in self._arms.items():
            mine = self._ranked[protocol]
            for trial in mine.take(stored.of(mine))[: arm.size]:
                reply = stored[trial.key].reply
                arm.hear(trial, reply, read(trial, reply))
        return next((error for name in self._arms if (error := self._verdict(name))), None)

    def first(self, batch: Sequence[Call]) -> list[int]:
        """Places in a batch of the calls that the pilots want."""
        index = HashIndex(keys_of(batch))
        first: list[int] = []
        for protocol, arm in self._arms.items():
            rows = index.lookup(self._ranked[protocol].key)
            first += [] if arm.passed else rows[rows >= 0][: arm.size - len(arm.verdicts)].tolist()
        return first

    def in_order(self, batch: Sequence[Call]) -> list[int]:
        """Places of the calls that the pilots want, then of all others; prompts that begin alike together."""
        first = self.first(batch)
        wanted = set(first)
        return [*first, *(place for place in _by_prefix(batch) if place not in wanted)]

    @property
    def settled(self) -> bool:
        """Every protocol is passed, and stays so: calls need no leave."""
        self._settled = self._settled or all(arm.passed for arm in self._arms.values())
        return self._settled

    def admits(self, protocol: str) -> bool:
        """Whether a call under a protocol may be made at this moment."""
        arm = self._arms.get(protocol)
        return arm is None or not arm.full

    def begin(self, call: Call) -> None:
        """A call is under way."""
        if arm := self._arms.get(call.protocol):
            arm.in_flight += 1

    def end(self, call: Call) -> None:
        """A call came to a reply, to a failure or to nothing."""
        if arm := self._arms.get(call.protocol):
            arm.in_flight -= 1

    def hear(self, call: Call, reply: Reply, verdict: Verdict | None) -> PilotError | None:
        """Take a reply; the error where it settles that the judge cannot be read."""
        arm = None if self.settled else self._arms.get(call.protocol)
        if arm is None or verdict is None or not isinstance(call, Trial):
            return None
        arm.hear(call, reply, verdict)
        return self._verdict(call.protocol)

    def _verdict(self, protocol: str) -> PilotError | None:
        arm = self._arms[protocol]
        if not arm.lost:
            return None
        spec = self._judge.protocols[protocol].reader
        scale = arm.replies[0][0].asked.scale
        readings = zip(arm.replies, arm.verdicts, strict=True)
        shown = [reply for (_, reply), verdict in readings if isinstance(verdict, Unreadable)]
        lost = f"of which {arm.readable} could be read ({reasons_of(arm.verdicts)})"
        return PilotError(
            f"judge {self._judge.name}: left after the first {pluralize(arm.size, 'reply', 'replies')} under "
            f"protocol {protocol}, {lost}; {advice(spec, scale, shown)}"
        )


def _by_prefix(batch: Sequence[Call]) -> list[int]:
    if isinstance(batch, Trials):
        return list(map(int, batch.by_prefix))
    return sorted(range(len(batch)), key=lambda place: batch[place].prefix)


def ranked(trials: Iterable[Trial]) -> dict[str, Trials]:
    """Trials by protocol, each with the most telling first.

    Repeats come last. Stimuli of the probes take turns, each probe's in the order of their hashes, and both
    orders of a pair stand together: the first eight are of every probe and of either order.
    """
    every = Trials.of(trials)
    protocols, codes = every.coded(attrgetter("protocol"))
    return {
        protocol: _ranked(every.take(codes[every.question] == code))
        for code, protocol in enumerate(protocols)
    }


def _ranked(trials: Trials) -> Trials:
    shown: dict[str, set[str]] = {}
    for asked in trials.asked:
        shown.setdefault(asked.stimulus.probe, set()).add(asked.stimulus.hash)
    turn = {
        (probe, stimulus): place
        for probe, stimuli in shown.items()
        for place, stimulus in enumerate(sorted(stimuli))
    }

    def rank(asked: Trial) -> tuple[int, str, str, str]:
        stimulus = asked.stimulus
        return turn[stimulus.probe, stimulus.hash], stimulus.probe, stimulus.hash, asked.order

    return trials.take(np.lexsort((trials.ranks(rank), trials.replicate)))
