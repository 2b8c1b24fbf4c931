"""A run's pairwise observations in the format that `import` and recorded judges read."""

from __future__ import annotations

import json
from collections.abc import Iterable

from steelyard.importing.call import Call, Pair
from steelyard.importing.styles import KINDS
from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Tie, Unreadable, Verdict


def recording_of(observations: Iterable[Observation]) -> str:
    """JSONL, one line per call, sorted; probes that the format does not know are left out."""
    calls = [_call(o) for o in observations if o.stimulus.kind in KINDS.get(o.stimulus.probe, ())]
    return "".join(json.dumps(call.to_json()) + "\n" for call in sorted(calls, key=lambda call: call.key))


def _call(observation: Observation) -> Call:
    stimulus = observation.stimulus
    pair = Pair(
        probe=stimulus.probe,
        pair=stimulus.id,
        kind=stimulus.kind,
        task=stimulus.cluster,
        stratum=stimulus.stratum,
        delta=stimulus.delta,
        base_level=stimulus.base_level,
        better=_better(stimulus.expectation, natural=stimulus.probe == "position"),
    )
    first = observation.order[0]
    answer = _answer(observation.verdict)
    return Call(observation.judge, observation.protocol, pair, first, answer, observation.replicate, "")


def _better(expectation: Expectation, *, natural: bool) -> str | None:
    """Pairs of equals have no better text; a natural pair says `tie` where people found neither better."""
    if isinstance(expectation, Prefers):
        return expectation.content
    return "tie" if natural and isinstance(expectation, NoPreference) else None


def _answer(verdict: Verdict) -> str:
    match verdict:
        case Decided(value=value):
            return value
        case Tie():
            return "tie"
        case Abstained():
            return "abstain"
        case Unreadable():
            return "unreadable"
        case _:
            return "failed"
