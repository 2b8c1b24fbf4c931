"""Where calls are made: in this process or by workers of a cluster; what a provider needs beside prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steelyard.errors import ConfigError
from steelyard.providers.provider import Provider, SupportsLabels, SupportsReplay, connect
from steelyard.trials.exchange import Call
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials

LOCAL = "local"
RAY = "ray"
"""A Ray cluster: `ray` is one on this machine or the one that RAY_ADDRESS names, `ray:ADDRESS` another."""


Connect = Callable[[Judge], Provider]
"""Gives the provider of a judge, not yet open; everything else about a run stays with the driver."""


def engine_of(name: str, call_timeout: float, say: Callable[[str], None]) -> Connect:
    """How judges are connected on the engine of this name; a call may take so many seconds.

    Nothing is started yet. `say` is called with what a user should know of where calls are made.
    """
    kind, _, address = name.partition(":")
    if kind == LOCAL and not address:
        return connect
    if kind != RAY:
        raise ConfigError(
            f"engine: found {name!r}, expected '{LOCAL}', '{RAY}' or '{RAY}:ADDRESS'; correct it."
        )
    from steelyard.runner.ray_engine import RayEngine

    return RayEngine(address or None, call_timeout, say).connect


def prime_provider(provider: Provider, calls: Sequence[Call]) -> None:
    """Hand those that know labels theirs, and those that replay their answers; models get nothing."""
    if isinstance(provider, SupportsLabels):
        asked = calls.distinct_trials if isinstance(calls, Trials) else calls
        provider.set_labels(call.stimulus for call in asked if isinstance(call, Trial))
    if isinstance(provider, SupportsReplay) and (
        trials := [call for call in calls if isinstance(call, Trial)]
    ):
        from steelyard.importing.replay import recorded_answers

        provider.set_replies(recorded_answers(trials[0].judge, trials))
