"""What a run file says of calls, in columns: each reply is parsed and read when first met, then let go."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from steelyard.core.arrays import Ints, Mask
from steelyard.core.content_hash import hash_of
from steelyard.store.replies import ReplyColumns
from steelyard.store.run_store import RunStore
from steelyard.trials.reply import Reply, Usage
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials
from steelyard.verdicts.verdict import Failed, Verdict

UNASKED, FAILED, ANSWERED = range(3)
"""What became of a call: nothing, a failure for good, a reply."""
FEW = 1000
"""Calls that are looked up one by one; for more the file is read from end to end."""
REFUSABLE = ("temperature", "seed", "logprobs")
"""Fields of a request whose absence a reader of the figures must know of."""

Value = TypeVar("Value", bound=Hashable)
Read = Callable[[Trial, Reply], Verdict]
"""What a reply to a trial amounts to."""


class Pool(Generic[Value]):
    """Distinct values, numbered as they are first met."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        """The number of a value."""
        known = self._numbers.setdefault(value, len(self.values))
        if known == len(self.values):
            self.values.append(value)
        return known


@dataclass(frozen=True)
class Service:
    """What a server says of itself with a reply."""

    model: str | None
    """The model that it says it used."""
    refused: tuple[str, ...]
    """Sampling fields that it would not take."""

    @classmethod
    def of(cls, reply: Reply) -> Service:
        """From a reply."""
        effective = reply.effective
        refused = tuple(name for name in REFUSABLE if name in effective and effective[name] is None)
        return cls(reply.served_model, refused)


class Answers:
    """Columns of equal length, one row for each call."""

    def __init__(self, calls: Trials, read: Read) -> None:
        """Nothing is known before `refresh`."""
        self.calls = calls
        """Whose rows these are."""
        self.state: Ints = np.full(len(calls), UNASKED, dtype=np.int64)
        """`UNASKED`, `FAILED` or `ANSWERED`."""
        self.verdicts: Pool[Verdict] = Pool()
        """What `verdict` is an index into."""
        self.usages: Pool[Usage] = Pool()
        """What `usage` is an index into."""
        self.services: Pool[Service] = Pool()
        """What `service` is an index into."""
        self.verdict, self.usage, self.service, self.letters = np.zeros((4, len(calls)), dtype=np.int64)
        """What was read, tokens, what the server said of itself, and letters of the text."""
        self.latency_ms, self.received = np.zeros((2, len(calls)), dtype=np.float64)
        """Wall time of the call, and when its reply came."""
        self._read = read
        arms, self._arm = calls.coded(lambda asked: (asked.judge.name, asked.protocol, asked.asked.scale))
        first = {code: number for number, code in reversed(list(enumerate(self._arm.tolist())))}
        self._arms = [calls.questions[first[code]] for code in range(len(arms))]
        """A question for each way of reading a reply."""
        self._complete = False

    @property
    def answered(self) -> Mask:
        """Calls that have a reply."""
        return np.asarray(self.state == ANSWERED)

    def refresh(self, store: RunStore) -> None:
        """Take what has come since the last time."""
        unread = np.flatnonzero(self.state != ANSWERED)
        if not len(unread):
            return
        few = len(unread) <= FEW or (self._complete and 5 * len(unread) < len(self.calls))
        keys = [hash_of(key) for key in self.calls.key[unread].tolist()] if few else None
        for part in store.reply_columns(keys):
            self._take(part)
        self._complete = True
        self._lose(store)

    def _take(self, part: ReplyColumns) -> None:
        rows = self.calls.lookup(part.key)
        mine = np.flatnonzero((rows >= 0) & (self.state[rows] != ANSWERED))
        rows, content = rows[mine], part.content[mine]
        many = len(part.contents)
        ways, way = np.unique(self._arm[self.calls.question[rows]] * many + content, return_inverse=True)
        verdicts = [
            self.verdicts.number(self._read(self._arms[arm], part.contents[number]))
            for arm, number in (divmod(code, many) for code in ways.tolist())
        ]
        said = [
            (
                self.usages.number(reply.usage),
                self.services.number(Service.of(reply)),
                len(reply.text),
            )
            for reply in part.contents
        ]
        facts = np.array(said, dtype=np.int64).reshape(-1, 3)[content]
        self.verdict[rows] = np.array(verdicts, dtype=np.int64)[way.reshape(-1)]
        self.usage[rows], self.service[rows], self.letters[rows] = facts.T
        self.latency_ms[rows], self.received[rows] = part.latency_ms[mine], part.received[mine]
        self.state[rows] = ANSWERED

    def _lose(self, store: RunStore) -> None:
        """The last failure of a call without a reply is what became of it."""
        failures = store.failure_columns()
        rows = self.calls.lookup(failures.key)
        mine = rows >= 0
        verdicts = [self.verdicts.number(Failed(reason)) for reason in failures.reasons]
        nothing = self.usages.number(Usage())
        rows, reason = rows[mine], failures.reason[mine]
        last = len(rows) - 1 - np.unique(rows[::-1], return_index=True)[1]
        self.state[rows], self.usage[rows] = FAILED, nothing
        self.verdict[rows[last]] = np.array(verdicts, dtype=np.int64)[reason[last]]
