"""What some providers must know beside the prompts, before they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.providers.provider import Keyed, Provider, Replaying
from steelyard.trials.exchange import Call
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials


def impart(provider: Provider, calls: Sequence[Call]) -> None:
    """Hand those that know labels theirs, and those that replay their answers; models get nothing."""
    if isinstance(provider, Keyed):
        asked = calls.asked if isinstance(calls, Trials) else calls
        provider.learn(call.stimulus for call in asked if isinstance(call, Trial))
    if isinstance(provider, Replaying) and (trials := [call for call in calls if isinstance(call, Trial)]):
        from steelyard.lab.recorded.replay import recorded_answers

        provider.recall(recorded_answers(trials[0].judge, trials))
