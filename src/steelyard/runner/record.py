"""What a run file says of trials: replies become observations here, and only here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.runner.answers import Answers
from steelyard.runner.coverage import RunCoverage, covered
from steelyard.runner.observed import observed
from steelyard.runner.spending import AuthoringCost, authoring_cost
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.calls import Calls
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.readers import READERS, Reader
from steelyard.verdicts.verdict import Failed, Verdict

SHORT = 200
"""Characters of a reply that is likely to come again."""
REMEMBERED = 10_000
"""Short replies whose verdicts are kept at hand."""


@dataclass
class _Kept:
    """What was made last of some trials."""

    given: Sequence[Trial]
    """The trials as they were given."""
    trials: Trials
    calls: Calls
    answers: Answers
    version: tuple[int, ...] = ()
    """The run file as it was, and how many trials there were."""
    observations: Observations | None = None
    coverage: RunCoverage | None = None


class Record:
    """A run file that is read once: each reply is parsed and its verdict read when it is first wanted.

    Whoever works on an open run file is handed the same record, which may fall behind and never be wrong: a
    reply that is on disk does not change.
    """

    def __init__(self, store: RunStore, reference: str | None = None) -> None:
        """`reference` is the judge whose verdicts on the items are their labels."""
        self.store = store
        self._reference = reference
        self._single: dict[str, Observation] = {}
        self._readers: dict[tuple[str, str], Reader] = {}
        self._answers: dict[tuple[object, ...], Verdict] = {}
        self._last: _Kept | None = None

    def replies(self, trials: Iterable[Trial]) -> dict[str, StoredReply]:
        """By key, in the order given; a trial without a reply of its own is left out."""
        keys = [trial.key for trial in trials]
        replies = self.store.replies(keys) if keys else {}
        return {key: replies[key] for key in keys if key in replies}

    def observations(self, trials: Sequence[Trial]) -> Observations:
        """What was read; a trial that was never asked has no observation."""
        kept = self._kept(trials)
        if kept.observations is None:
            _, made = observed(kept.trials, kept.calls, kept.answers, self._reference)
            kept.observations = made.in_order()
        return kept.observations

    def coverage(self, trials: Sequence[Trial]) -> RunCoverage:
        """How much of the calls behind these trials was asked and answered."""
        kept = self._kept(trials)
        if kept.coverage is None:
            kept.coverage = covered(kept.trials, kept.calls, kept.answers.state)
        return kept.coverage

    def answers(self, trials: Sequence[Trial]) -> Answers:
        """What became of the calls behind these trials, each call once."""
        return self._kept(trials).answers

    def by_trial(self, trials: Sequence[Trial]) -> dict[str, Observation]:
        """By key, in the order given; a trial that was never asked has no observation."""
        single = {trial.key: self._single[trial.key] for trial in trials if trial.key in self._single}
        rest = Trials.of(trial for trial in trials if trial.key not in single)
        kept = self._made(rest)
        kept.answers.refresh(self.store)
        rows, made = observed(rest, kept.calls, kept.answers, self._reference)
        single |= {trial.key: one for trial, one in zip(rest.take(rows), made, strict=True)}
        self._single |= {key: one for key, one in single.items() if not isinstance(one.verdict, Failed)}
        return {trial.key: single[trial.key] for trial in trials if trial.key in single}

    def _kept(self, trials: Sequence[Trial]) -> _Kept:
        """What was made of the same trials, as long as the file stays as it is."""
        version = (*self.store.version, len(trials))
        if self._last is None or self._last.given is not trials or self._last.version[2:] != version[2:]:
            self._last = self._made(trials)
        if self._last.version != version:
            self._last.answers.refresh(self.store)
            self._last.version, self._last.observations, self._last.coverage = version, None, None
        return self._last

    def _made(self, trials: Sequence[Trial]) -> _Kept:
        columns = Trials.of(trials)
        calls = Calls.of(columns)
        return _Kept(trials, columns, calls, Answers(calls.trials, self.read))

    @cached_property
    def authoring(self) -> AuthoringCost:
        """What was paid to authors and validators, whose work ends before the record begins."""
        return authoring_cost(self.store)

    def read(self, trial: Trial, reply: Reply) -> Verdict:
        """What the reply to a trial amounts to.

        Answers are few and come often: a short text is read once under each protocol and scale.
        """
        scale = trial.asked.scale
        if reply.logprobs is not None or reply.scores is not None or len(reply.text) > SHORT:
            return self._reader(trial)(reply, scale)
        answer = trial.judge.name, trial.protocol, scale, reply.text, reply.finish
        verdict = self._answers.get(answer)
        if verdict is None:
            if len(self._answers) >= REMEMBERED:
                self._answers.clear()
            verdict = self._answers[answer] = self._reader(trial)(reply, scale)
        return verdict

    def _reader(self, trial: Trial) -> Reader:
        """One reader for all replies of a judge under a protocol."""
        place = trial.judge.name, trial.protocol
        if place not in self._readers:
            self._readers[place] = READERS.build(trial.judge.protocols[trial.protocol].reader)
        return self._readers[place]
