"""From stored replies to observations: reading happens here, and only here."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.lab.planner import Plan
from steelyard.store.replies import StoredFailure, StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.reply import Usage
from steelyard.trials.trial import Trial
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import NOT_RUN, Failed, Verdict


def observe(plan: Plan, store: RunStore) -> list[Observation]:
    """One observation per planned trial, in the plan's order."""
    return observe_trials(plan.trials, store)


def observe_trials(trials: Iterable[Trial], store: RunStore) -> list[Observation]:
    """One observation per trial, in the order given."""
    replies, failures = store.replies(), store.failures()
    return [_observation(trial, replies.get(trial.key), failures.get(trial.key)) for trial in trials]


def _observation(trial: Trial, stored: StoredReply | None, failure: StoredFailure | None) -> Observation:
    return Observation(
        judge=trial.judge.name,
        protocol=trial.protocol,
        stimulus=trial.stimulus,
        order=trial.order,
        replicate=trial.replicate,
        verdict=_verdict(trial, stored, failure),
        usage=stored.reply.usage if stored else Usage(),
        prompt=trial.prompt_hash,
    )


def _verdict(trial: Trial, stored: StoredReply | None, failure: StoredFailure | None) -> Verdict:
    if stored is None:
        return Failed(failure.reason if failure else NOT_RUN)
    reader = READERS.build(trial.judge.protocols[trial.protocol].reader)
    return reader(stored.reply, trial.asked.scale)
