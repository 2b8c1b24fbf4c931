"""Scores given on another range of numbers, brought back to the range of the unchanged item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface.score_range import rescale
from steelyard.tasks.scale import Ordinal, parse_scale
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Decided


def on_original_range(observations: Iterable[Observation]) -> Observations:
    """Every call as if it had been made on the range of its unchanged item, where that was shown."""
    seen = Observations.of(observations)
    stimuli = seen.stimuli_seen
    plain = {s.lineage.parent: s for s in stimuli if s.kind == ORIGINAL}
    if all(plain.get(s.lineage.parent, s).scale == s.scale for s in stimuli):
        return seen
    return Observations.of(brought_back(o, plain.get(o.stimulus.lineage.parent, o.stimulus)) for o in seen)


def brought_back(observation: Observation, original: Stimulus) -> Observation:
    """The observation as if it had been made on the range of the unchanged item."""
    shown = observation.stimulus
    if shown.scale == original.scale:
        return observation
    source, target = parse_scale(original.scale or ""), parse_scale(shown.scale or "")
    verdict = observation.verdict
    if isinstance(verdict, Decided) and isinstance(source, Ordinal) and isinstance(target, Ordinal):
        verdict = Decided(rescale(verdict.value, target, source))
    moved = replace(shown, scale=original.scale, expectation=original.expectation)
    return replace(observation, stimulus=moved, verdict=verdict)
