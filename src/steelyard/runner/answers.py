"""Replies of a run file in columns, joined with trials to observations; each reply is parsed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np

from steelyard.core.arrays import Ints, Mask, compact
from steelyard.core.content_hash import hash_of
from steelyard.stimuli.original import ORIGINAL
from steelyard.store.run_store import RunStore
from steelyard.store.trials import ReplyColumns
from steelyard.tasks.task import Pairwise
from steelyard.trials.judge import CommonUsage, Judge, Reply, Usage
from steelyard.trials.trial import ORDERS, Trial, members_of
from steelyard.trials.trials import Calls, Composed, Trials
from steelyard.verdicts.majority_vote import RULES, swap_slots
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.readers import Confidence
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Failed, Verdict

PENDING, FAILED, ANSWERED = range(3)
"""State of a call: not made, failed for good, answered."""
MAX_LOOKUPS = 1000
"""Calls up to which replies are looked up one by one; for more the whole file is read."""
REFUSABLE = ("temperature", "seed", "logprobs")

Value = TypeVar("Value", bound=Hashable)
Read = Callable[[Trial, Reply], tuple[Verdict, str | None, Confidence | None]]
"""From a trial and its reply to the verdict, the answer that the reason ends with, and how sure it is."""


class Interner(Generic[Value]):
    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        known = self._numbers.setdefault(value, len(self.values))
        if known == len(self.values):
            self.values.append(value)
        return known


@dataclass(frozen=True)
class ServerInfo:
    model: str | None
    refused: tuple[str, ...]
    struck: tuple[str, ...] = ()
    """Variables whose values were struck from what was sent."""

    @classmethod
    def of(cls, reply: Reply) -> ServerInfo:
        effective = reply.effective
        refused = tuple(name for name in REFUSABLE if name in effective and effective[name] is None)
        return cls(reply.served_model, refused, tuple(map(str, effective.get("struck", ()))))


class Answers:
    def __init__(self, calls: Trials, read: Read) -> None:
        self.calls = calls
        self.state: Ints = cast(Ints, np.full(len(calls), PENDING, dtype=np.int8))
        self.verdicts: Interner[Verdict] = Interner()
        self.names: Interner[str | None] = Interner()
        self.names.number(None)
        self.confidences: Interner[Confidence | None] = Interner()
        self.confidences.number(None)
        self.usages: Interner[Usage] = Interner()
        self.services: Interner[ServerInfo] = Interner()
        self.verdict, self.named, self.confidence, self.usage, self.service, self.letters = compact(
            np.zeros((6, len(calls)), dtype=np.int64)
        )
        self.latency_ms, self.received = np.zeros((2, len(calls)), dtype=np.float64)
        """Wall time of the call, and when its reply came."""
        self._read = read
        arms, self._arm = calls.coded(
            lambda asked: (asked.judge.name, asked.protocol, asked.effective_task.scale)
        )
        first = {code: number for number, code in reversed(list(enumerate(self._arm.tolist())))}
        self._arms = [calls.questions[first[code]] for code in range(len(arms))]
        """A question for each way of reading a reply."""
        self._complete = False

    @property
    def answered(self) -> Mask:
        return np.asarray(self.state == ANSWERED)

    def refresh(self, store: RunStore) -> None:
        unread = np.flatnonzero(self.state != ANSWERED)
        if not len(unread):
            return
        few = len(unread) <= MAX_LOOKUPS or (self._complete and 5 * len(unread) < len(self.calls))
        keys = [hash_of(key) for key in self.calls.key[unread].tolist()] if few else None
        for part in store.reply_columns(keys):
            self._add_replies(part)
        self._complete = True
        self._add_failures(store)

    def _add_replies(self, part: ReplyColumns) -> None:
        rows = self.calls.lookup(part.key)
        mine = np.flatnonzero((rows >= 0) & (self.state[rows] != ANSWERED))
        rows, content = rows[mine], part.content[mine]
        many = len(part.contents)
        ways, way = np.unique(self._arm[self.calls.question[rows]] * many + content, return_inverse=True)
        read = [
            self._read(self._arms[arm], part.contents[number])
            for arm, number in (divmod(code, many) for code in ways.tolist())
        ]
        codes = [
            (self.verdicts.number(verdict), self.names.number(name), self.confidences.number(sure))
            for verdict, name, sure in read
        ]
        facts = [
            (self.usages.number(reply.usage), self.services.number(ServerInfo.of(reply)), reply.letters)
            for reply in part.contents
        ]
        columns = np.array(facts, dtype=np.int64).reshape(-1, 3)[content]
        found = np.array(codes, dtype=np.int64).reshape(-1, 3)[way.reshape(-1)]
        self.verdict[rows], self.named[rows], self.confidence[rows] = found.T
        self.usage[rows], self.service[rows], self.letters[rows] = columns.T
        self.latency_ms[rows], self.received[rows] = part.latency_ms[mine], part.received[mine]
        self.state[rows] = ANSWERED

    def _add_failures(self, store: RunStore) -> None:
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


def build_observations(
    trials: Trials, calls: Calls, answers: Answers, reference: str | None
) -> tuple[Ints, Observations]:
    """Trials that were asked, and what was read of each, in their order.

    `reference` is the judge whose verdicts on the items are their labels.
    """
    seen = np.zeros(len(trials), dtype=np.bool_)
    verdict, usage, named, sure = compact(np.zeros((4, len(trials)), dtype=np.int64))
    own = np.flatnonzero(calls.row >= 0)
    call = calls.row[own]
    seen[own] = answers.state[call] != PENDING
    verdict[own], usage[own] = answers.verdict[call], answers.usage[call]
    named[own], sure[own] = answers.named[call], answers.confidence[call]
    paired = trials.where(lambda asked: isinstance(asked.effective_task.scale, Pairwise))
    for composed in calls.composed:
        asked = (answers.state[composed.calls] != PENDING).all(axis=1)
        rows = composed.rows[asked]
        seen[rows] = True
        verdict[rows] = _verdicts(composed, composed.calls[asked], answers, paired[rows])
        usage[rows] = _usages(composed, composed.calls[asked], answers)
    rows = np.flatnonzero(seen)
    if len(rows) == len(trials):
        return rows, _join_columns(trials, (verdict, usage, named, sure), answers, reference)
    parts = verdict[rows], usage[rows], named[rows], sure[rows]
    return rows, _join_columns(trials.take(rows), parts, answers, reference)


def _join_columns(
    trials: Trials, codes: tuple[Ints, Ints, Ints, Ints], answers: Answers, reference: str | None
) -> Observations:
    """`codes` are those of verdicts, usages, answers that reasons end with, and confidences."""
    judges, judge = _sort_values(*trials.coded(lambda asked: asked.judge.name))
    protocols, protocol = _sort_values(*trials.coded(lambda asked: asked.protocol))
    prompts, prompt = _sort_values(*trials.coded(lambda asked: asked.unseeded_prompt_hash))
    ids, stimulus = _sort_values(*trials.coded(lambda asked: asked.stimulus.id))
    shown = {trials.questions[number].stimulus.id: number for number in trials.numbers}
    verdicts, verdict = _drop_unused(answers.verdicts.values, codes[0])
    usages, usage = _drop_unused(answers.usages.values, codes[1])
    names, named = _drop_unused(answers.names.values, codes[2])
    confidences, confidence = _drop_unused(answers.confidences.values, codes[3])
    resting = {judge.name for judge in trials.judges if judge.rests_on(reference)}
    return Observations(
        judges=judges,
        protocols=protocols,
        verdicts=verdicts,
        usages=usages,
        prompts=prompts,
        names=names,
        confidences=confidences,
        shown=StimulusColumns(tuple(trials.questions[shown[name]].stimulus for name in ids)),
        symmetric=frozenset(judge.name for judge in trials.judges if judge.symmetric),
        judge=compact(judge)[trials.question],
        protocol=compact(protocol)[trials.question],
        stimulus=compact(stimulus)[trials.question],
        order=compact(trials.where(lambda asked: asked.order == ORDERS[1]).astype(np.int64)),
        replicate=compact(trials.replicate),
        verdict=verdict,
        usage=usage,
        prompt=compact(prompt)[trials.question],
        own_label=trials.where(lambda asked: asked.judge.name in resting and asked.stimulus.kind == ORIGINAL),
        named=named,
        confidence=confidence,
    )


def _sort_values(values: Sequence[Value], codes: Ints) -> tuple[tuple[Value, ...], Ints]:
    order = sorted(range(len(values)), key=lambda number: str(values[number]))
    rank = compact(np.empty(len(values), dtype=np.int64))
    rank[order] = np.arange(len(values))
    return tuple(values[number] for number in order), rank[codes] if len(values) else codes


def _drop_unused(values: Sequence[Value], codes: Ints) -> tuple[tuple[Value, ...], Ints]:
    used = np.bincount(codes, minlength=len(values)) > 0
    place = compact(np.cumsum(used) - 1)
    return _sort_values([values[number] for number in np.flatnonzero(used).tolist()], place[codes])


def _verdicts(composed: Composed, calls: Ints, answers: Answers, paired: Mask) -> Ints:
    known = answers.verdicts
    ways, way = np.unique(np.column_stack([paired, answers.verdict[calls]]), axis=0, return_inverse=True)
    common = [
        known.number(_combine(composed.judge, (known.values[code] for code in codes), bool(pairwise)))
        for pairwise, *codes in ways.tolist()
    ]
    return np.array(common, dtype=np.int64)[way.reshape(-1)]


def _combine(judge: Judge, asked: Iterator[Verdict], pairwise: bool) -> Verdict:
    if judge.composition is None:
        return next(asked)
    first = ORDERS[0]
    verdicts = [
        verdict if order == first else swap_slots(verdict)
        for member, order, _ in members_of(judge, first, 0)
        for verdict in (_combine(member, asked, pairwise),)
    ]
    return RULES[judge.composition.rule](verdicts, pairwise)


def _usages(composed: Composed, calls: Ints, answers: Answers) -> Ints:
    known, names = answers.usages, composed.member_names
    ways, way = np.unique(answers.usage[calls], axis=0, return_inverse=True)
    common = [
        known.number(CommonUsage.of(zip(names, (known.values[code] for code in codes), strict=True)))
        for codes in ways.tolist()
    ]
    return np.array(common, dtype=np.int64)[way.reshape(-1)]
