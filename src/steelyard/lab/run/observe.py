"""From stored replies to observations: reading happens here, and only here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from steelyard.lab.run.planner import Plan
from steelyard.stimuli.original import ORIGINAL
from steelyard.store.replies import StoredFailure, StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.reply import Usage
from steelyard.trials.trial import Trial
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Failed, Verdict


def observe(plan: Plan, store: RunStore) -> Observations:
    """One observation per trial that was asked."""
    observed = observe_trials(plan.trials, store).values()
    reference = plan.study.reference
    return Observations.of(replace(o, own_label=True) if _own(o, reference) else o for o in observed)


def observe_trials(trials: Iterable[Trial], store: RunStore) -> dict[str, Observation]:
    """By trial key, in the order given; a trial that was never asked has no observation."""
    replies, failures = store.replies(), store.failures()
    observed: dict[str, Observation] = {}
    for trial in trials:
        verdict = _verdict(trial, replies.get(trial.key), failures.get(trial.key))
        if verdict is not None:
            observed[trial.key] = _observation(trial, replies.get(trial.key), verdict)
    return observed


def _own(observation: Observation, reference: str | None) -> bool:
    """The label of this text is what this judge said of it."""
    return observation.judge == reference and observation.stimulus.kind == ORIGINAL


def _observation(trial: Trial, stored: StoredReply | None, verdict: Verdict) -> Observation:
    return Observation(
        judge=trial.judge.name,
        protocol=trial.protocol,
        stimulus=trial.stimulus,
        order=trial.order,
        replicate=trial.replicate,
        verdict=verdict,
        usage=stored.reply.usage if stored else Usage(),
        prompt=trial.wording_hash,
    )


def _verdict(trial: Trial, stored: StoredReply | None, failure: StoredFailure | None) -> Verdict | None:
    if stored is None:
        return Failed(failure.reason) if failure else None
    reader = READERS.build(trial.judge.protocols[trial.protocol].reader)
    return reader(stored.reply, trial.asked.scale)
