"""Recorded calls as single observations, made one by one: what the columns are compared with."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.importing.call import VERDICTS, Call
from steelyard.importing.observations import stimulus_of
from steelyard.trials.reply import Usage
from steelyard.verdicts.observation import Observation


def observations_of(calls: Iterable[Call]) -> list[Observation]:
    """One observation per call."""
    return [
        Observation(
            judge=call.judge,
            protocol=call.protocol,
            stimulus=stimulus_of(call.pair),
            order=call.order,
            replicate=call.replicate,
            verdict=VERDICTS[call.answer],
            usage=Usage(),
            prompt="",
        )
        for call in calls
    ]
