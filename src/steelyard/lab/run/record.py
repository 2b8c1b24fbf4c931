"""What a run file says of trials: replies become observations here, and only here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.lab.run.coverage import RunCoverage, covered
from steelyard.lab.run.spending import AuthoringCost, authoring_cost
from steelyard.stimuli.original import ORIGINAL
from steelyard.store.replies import StoredFailure, StoredReply
from steelyard.store.run_store import RunStore
from steelyard.tasks.scale import Pairwise
from steelyard.trials.judge import Composition
from steelyard.trials.reply import CommonUsage, Reply, Usage
from steelyard.trials.trial import Trial
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.readers import READERS, Reader
from steelyard.verdicts.verdict import Failed, Verdict
from steelyard.verdicts.vote import RULES, turned

SHORT = 200
"""Characters of a reply that is likely to come again."""
REMEMBERED = 10_000
"""Short replies whose verdicts are kept at hand."""


@dataclass
class _Kept:
    """What was made last of some trials."""

    trials: Sequence[Trial]
    version: tuple[int, ...]
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
        self._replies: dict[str, StoredReply] = {}
        self._observations: dict[str, Observation] = {}
        self._readers: dict[tuple[str, str], Reader] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._answers: dict[tuple[object, ...], Verdict] = {}
        self._last: _Kept | None = None

    def replies(self, trials: Iterable[Trial]) -> dict[str, StoredReply]:
        """By key, in the order given; a trial without a reply of its own is left out."""
        keys = [trial.key for trial in trials]
        unread = [key for key in keys if key not in self._replies]
        if unread:
            self._replies |= self.store.replies(unread)
        return {key: self._replies[key] for key in keys if key in self._replies}

    def observations(self, trials: Sequence[Trial]) -> Observations:
        """What was read; a trial that was never asked has no observation."""
        kept = self._kept(trials)
        if kept.observations is None:
            kept.observations = Observations.of(self.by_trial(trials).values())
        return kept.observations

    def by_trial(self, trials: Sequence[Trial]) -> dict[str, Observation]:
        """By key, in the order given; a trial that was never asked has no observation."""
        replies, failures = self.replies(_calls(trials)), self.store.failures()
        observations: dict[str, Observation] = {}
        for trial in trials:
            observation = self._seen(trial, replies, failures)
            if observation is not None:
                observations[trial.key] = observation
        return observations

    def coverage(self, trials: Sequence[Trial]) -> RunCoverage:
        """How much of the calls behind these trials was asked and answered."""
        kept = self._kept(trials)
        if kept.coverage is None:
            kept.coverage = covered(trials, self.replies(_calls(trials)).keys(), self.store.failures().keys())
        return kept.coverage

    def _kept(self, trials: Sequence[Trial]) -> _Kept:
        """What was made of the same trials, as long as the file stays as it is."""
        version = (*self.store.version, len(trials))
        if self._last is None or self._last.trials is not trials or self._last.version != version:
            self._last = _Kept(trials, version)
        return self._last

    @cached_property
    def authoring(self) -> AuthoringCost:
        """What was paid to authors and validators, whose work ends before the record begins."""
        return authoring_cost(self.store)

    def read(self, trial: Trial, reply: Reply) -> Verdict:
        """What the reply to a trial amounts to; each is read once."""
        if trial.key not in self._verdicts:
            self._verdicts[trial.key] = self._reading(trial, reply)
        return self._verdicts[trial.key]

    def _reading(self, trial: Trial, reply: Reply) -> Verdict:
        """Answers are few and come often: a short text is read once under each protocol and scale."""
        scale, reader = trial.asked.scale, self._reader(trial)
        if reply.logprobs is not None or reply.scores is not None or len(reply.text) > SHORT:
            return reader(reply, scale)
        answer = trial.judge.name, trial.protocol, scale, reply.text, reply.finish
        if answer not in self._answers:
            if len(self._answers) >= REMEMBERED:
                self._answers.clear()
            self._answers[answer] = reader(reply, scale)
        return self._answers[answer]

    def _seen(
        self, trial: Trial, replies: Mapping[str, StoredReply], failures: Mapping[str, StoredFailure]
    ) -> Observation | None:
        if trial.judge.composition is not None:
            return self._common(trial, trial.judge.composition, replies, failures)
        if trial.key in replies:
            return self._answered(trial, replies[trial.key])
        if trial.key in failures:
            return self._observation(trial, Failed(failures[trial.key].reason), Usage())
        return None

    def _common(
        self,
        trial: Trial,
        made: Composition,
        replies: Mapping[str, StoredReply],
        failures: Mapping[str, StoredFailure],
    ) -> Observation | None:
        """The verdict that the members' make, each on the order of this trial; None where one is not in."""
        members = [self._seen(member, replies, failures) for member in trial.members]
        seen = [member for member in members if member is not None]
        if len(seen) < len(members):
            return None
        verdicts = [one.verdict if one.order == trial.order else turned(one.verdict) for one in seen]
        verdict = RULES[made.rule](verdicts, isinstance(trial.asked.scale, Pairwise))
        used = (call for one in seen for call in one.usage.each(one.judge))
        return self._observation(trial, verdict, CommonUsage.of(used))

    def _answered(self, trial: Trial, stored: StoredReply) -> Observation:
        if trial.key not in self._observations:
            verdict = self.read(trial, stored.reply)
            self._observations[trial.key] = self._observation(trial, verdict, stored.reply.usage)
        return self._observations[trial.key]

    def _reader(self, trial: Trial) -> Reader:
        """One reader for all replies of a judge under a protocol."""
        place = trial.judge.name, trial.protocol
        if place not in self._readers:
            self._readers[place] = READERS.build(trial.judge.protocols[trial.protocol].reader)
        return self._readers[place]

    def _observation(self, trial: Trial, verdict: Verdict, usage: Usage) -> Observation:
        return Observation(
            judge=trial.judge.name,
            protocol=trial.protocol,
            stimulus=trial.stimulus,
            order=trial.order,
            replicate=trial.replicate,
            verdict=verdict,
            usage=usage,
            prompt=trial.wording_hash,
            own_label=trial.judge.name == self._reference and trial.stimulus.kind == ORIGINAL,
            mirrored=trial.judge.symmetric,
        )


def _calls(trials: Iterable[Trial]) -> Iterator[Trial]:
    return (call for trial in trials for call in trial.calls)
