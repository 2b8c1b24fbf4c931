"""Hands a provider what it needs beside the prompts: labels to planted raters, replies to recordings."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.providers.provider import Provider, SupportsLabels, SupportsReplay
from steelyard.trials.exchange import Call
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials


def prime_provider(provider: Provider, calls: Sequence[Call]) -> None:
    """Hand those that know labels theirs, and those that replay their answers; models get nothing."""
    if isinstance(provider, SupportsLabels):
        asked = calls.asked if isinstance(calls, Trials) else calls
        provider.set_labels(call.stimulus for call in asked if isinstance(call, Trial))
    if isinstance(provider, SupportsReplay) and (
        trials := [call for call in calls if isinstance(call, Trial)]
    ):
        from steelyard.importing.replay import recorded_answers

        provider.set_replies(recorded_answers(trials[0].judge, trials))
