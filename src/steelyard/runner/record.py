"""The record of a run: replies become observations here, and only here; how much of the plan was asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.arrays import Digests, Ints, Mask
from steelyard.core.content_hash import PREFIX, digests_of, hash_of
from steelyard.runner.answers import ANSWERED, PENDING, Answers, build_observations
from steelyard.runner.costs import AuthoringCost, Costs, authoring_cost, lost_cost, stored_cost
from steelyard.store.run_store import RunStore
from steelyard.store.trials import StoredReply
from steelyard.trials.judge import Reply
from steelyard.trials.trial import Call, Trial
from steelyard.trials.trials import Calls, Trials
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.readers import READERS, Confidence, Reader, confidence_of
from steelyard.verdicts.verdict import Failed, Verdict


@dataclass(frozen=True)
class Coverage:
    planned: int
    asked: int
    """Calls that ended in a reply, or failed for good."""
    answered: int

    @property
    def partial(self) -> bool:
        return self.asked < self.planned


@dataclass(frozen=True)
class RunCoverage:
    judges: Mapping[str, Coverage]
    """By the name of the judge, baselines included; a call that two judges rest on counts for both."""
    own: Coverage
    """Of the judges under test, each call once; of the baselines where there are no others."""
    every: Coverage
    """With the baselines."""

    @property
    def headline(self) -> Coverage:
        """What reports speak of: the judges under test; with the baselines where only those are behind."""
        return self.every if self.every.partial and not self.own.partial else self.own

    def to_json(self) -> dict[str, Any]:
        behind = {
            name: {"asked": one.asked, "planned": one.planned}
            for name, one in self.judges.items()
            if one.partial
        }
        whole = self.headline
        body = {"partial": whole.partial, "asked": whole.asked, "planned": whole.planned}
        return {**body, "unfinished": behind} if behind else body


def coverage_of(trials: Trials, calls: Calls, state: Ints) -> RunCoverage:
    mine = {
        judge.name: calls.of_judge(judge, np.flatnonzero(trials.of_judge(judge.name)))
        for judge in trials.judges
    }
    own = [mine[judge.name] for judge in trials.judges if not judge.baseline]

    def count(parts: Iterable[Ints]) -> Coverage:
        counts = np.zeros(len(state), dtype=np.bool_)
        for part in parts:
            counts[part] = True
        asked, answered = state[counts] != PENDING, state[counts] == ANSWERED
        return Coverage(int(counts.sum()), int(asked.sum()), int(answered.sum()))

    return RunCoverage(
        {name: count([part]) for name, part in mine.items()},
        count(own or mine.values()),
        count(mine.values()),
    )


class StoredReplies:
    """Replies of earlier runs by the keys of their calls; parsed one by one, counted from columns."""

    def __init__(
        self, store: RunStore, answers: Answers | None, exchanges: Mapping[str, StoredReply] | None = None
    ) -> None:
        self._store = store
        self._answers = answers
        self._exchanges = exchanges or {}

    def __getitem__(self, key: str) -> StoredReply:
        return self._exchanges[key] if key in self._exchanges else self._store.replies([key])[key]

    def __contains__(self, key: str) -> bool:
        return key in self._exchanges or key in self._answered_keys

    @cached_property
    def _answered_keys(self) -> set[str]:
        if self._answers is None:
            return set()
        return set(map(hash_of, self._answers.calls.key[self._answers.answered].tolist()))

    def of(self, calls: Sequence[Call]) -> Mask:
        if self._answers is None:
            return np.array([call.key in self._exchanges for call in calls], dtype=np.bool_)
        rows = self._answers.calls.lookup(keys_of(calls))
        answered: Mask = (rows >= 0) & self._answers.answered[rows]
        return answered

    def cost(self, calls: Sequence[Call]) -> float:
        """Dollars for the replies, and for calls of earlier runs whose reply was lost."""
        _, lost = lost_cost(calls, self._store)
        if self._answers is None:
            return stored_cost(calls, self._exchanges) + lost
        rows = self._answers.calls.lookup(keys_of(calls))[self.of(calls)]
        return float(sum(Costs.of(self._answers, rows).dollars.tolist())) + lost


def keys_of(calls: Sequence[Call]) -> Digests:
    return calls.key if isinstance(calls, Trials) else digests_of([call.key for call in calls])


SHORT_REPLY = 200
CACHED_VERDICTS = 10_000


@dataclass
class _Cached:
    source: Sequence[Trial]
    trials: Trials
    calls: Calls
    answers: Answers
    version: tuple[int, ...] = ()
    """The run file as it was, and how many trials there were."""
    observations: Observations | None = None
    coverage: RunCoverage | None = None


class RunRecord:
    """A run file that is read once: each reply is parsed and its verdict read when it is first wanted.

    Whoever works on an open run file shares one record, which may fall behind but is never wrong: a
    reply that is on disk does not change, unless it is withdrawn, of which the record is told.
    """

    def __init__(self, store: RunStore, reference: str | None = None) -> None:
        self.store = store
        self._reference = reference
        self.withdrawn = 0
        """Replies that were on disk and are not any more."""
        self._single: dict[str, Observation] = {}
        self._readers: dict[tuple[str, str], Reader] = {}
        self._answers: dict[tuple[object, ...], Verdict] = {}
        self._last: _Cached | None = None

    def replies(self, trials: Iterable[Trial]) -> dict[str, StoredReply]:
        keys = [trial.key for trial in trials]
        replies = self.store.replies(keys) if keys else {}
        return {key: replies[key] for key in keys if key in replies}

    def observations(self, trials: Sequence[Trial]) -> Observations:
        cached = self._cached(trials)
        if cached.observations is None:
            _, made = build_observations(cached.trials, cached.calls, cached.answers, self._reference)
            cached.observations = made.in_order()
        return cached.observations

    def coverage(self, trials: Sequence[Trial]) -> RunCoverage:
        cached = self._cached(trials)
        if cached.coverage is None:
            cached.coverage = coverage_of(cached.trials, cached.calls, cached.answers.state)
        return cached.coverage

    def answers(self, trials: Sequence[Trial]) -> Answers:
        return self._cached(trials).answers

    def by_trial(self, trials: Sequence[Trial]) -> dict[str, Observation]:
        single = {trial.key: self._single[trial.key] for trial in trials if trial.key in self._single}
        rest = Trials.of(trial for trial in trials if trial.key not in single)
        cached = self._build(rest)
        cached.answers.refresh(self.store)
        rows, made = build_observations(rest, cached.calls, cached.answers, self._reference)
        single |= {trial.key: one for trial, one in zip(rest.take(rows), made, strict=True)}
        self._single |= {key: one for key, one in single.items() if not isinstance(one.verdict, Failed)}
        return {trial.key: single[trial.key] for trial in trials if trial.key in single}

    def forget(self, keys: Collection[str]) -> None:
        """The replies to these calls are withdrawn."""
        self.withdrawn += len(keys)
        for key in keys:
            self._single.pop(key, None)

    def release(self) -> None:
        """Let go of the columns that were read; a record and its answers hold each other."""
        self._last = None

    def _cached(self, trials: Sequence[Trial]) -> _Cached:
        version = (*self.store.version, len(trials))
        if self._last is None or self._last.source is not trials or self._last.version[2:] != version[2:]:
            self._last = self._build(trials)
        if self._last.version != version:
            self._last.answers.refresh(self.store)
            self._last.version, self._last.observations, self._last.coverage = version, None, None
        return self._last

    def _build(self, trials: Sequence[Trial]) -> _Cached:
        columns = Trials.of(trials)
        calls = Calls.of(columns)
        return _Cached(trials, columns, calls, Answers(calls.trials, self._read))

    @cached_property
    def authoring(self) -> AuthoringCost:
        return authoring_cost(self.store)

    def parse_verdict(self, trial: Trial, reply: Reply) -> Verdict:
        """What the reply to a trial amounts to.

        Answers are few and come often: a short text is read once under each protocol and scale.
        """
        scale = trial.effective_task.scale
        if reply.logprobs is not None or reply.scores is not None or len(reply.text) > SHORT_REPLY:
            return self._reader(trial)(reply, scale)
        answer = trial.judge.name, trial.protocol, scale, reply.text, reply.finish
        verdict = self._answers.get(answer)
        if verdict is None:
            if len(self._answers) >= CACHED_VERDICTS:
                self._answers.clear()
            verdict = self._answers[answer] = self._reader(trial)(reply, scale)
        return verdict

    def _read(self, trial: Trial, reply: Reply) -> tuple[Verdict, str | None, Confidence | None]:
        """The verdict, the answer that the reason ends with, and how sure the judge was."""
        reader, scale = self._reader(trial), trial.effective_task.scale
        verdict = self.parse_verdict(trial, reply)
        return verdict, reader.named(reply, scale), confidence_of(reader, reply, scale)

    def _reader(self, trial: Trial) -> Reader:
        place = trial.judge.name, trial.protocol
        if place not in self._readers:
            self._readers[place] = READERS.build(trial.judge.protocols[trial.protocol].reader)
        return self._readers[place]


def submitted(store: RunStore) -> set[str]:
    """Keys of calls that are in a submitted batch and have no reply yet: paid for, not to be made again."""
    waiting = {PREFIX + call for call in store.submitted_calls()}
    return waiting - store.answered() if waiting else waiting
