"""Scores given on another range of numbers, brought back to the range of the unchanged item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import distinct
from steelyard.stimuli.expectation import Expectation, Label
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface.score_range import rescale
from steelyard.tasks.scale import Ordinal, parse_scale
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided


def on_original_range(observations: Iterable[Observation]) -> Observations:
    """Every call as if it had been made on the range of its unchanged item, where that was shown."""
    seen = Observations.of(observations)
    if _on_one_range(seen):
        return seen
    plain = {s.lineage.parent: s for s in seen.stimuli_seen if s.kind == ORIGINAL}
    return Observations.of(brought_back(o, plain.get(o.stimulus.lineage.parent, o.stimulus)) for o in seen)


def _on_one_range(seen: Observations) -> bool:
    """Every text was shown on the range of its unchanged item, where that was shown."""
    shown, mine = seen.shown, distinct(seen.stimulus)
    scale, item, plain = shown.scales.codes[mine], shown.item[mine], shown.original[mine]
    of_item = np.full(len(shown.items), -1, dtype=np.int64)
    of_item[item[plain]] = scale[plain]
    return bool(np.all((of_item[item] < 0) | (of_item[item] == scale)))


def brought_back(observation: Observation, original: Stimulus) -> Observation:
    """The observation as if it had been made on the range of the unchanged item."""
    shown = observation.stimulus
    if shown.scale == original.scale:
        return observation
    source, target = parse_scale(original.scale or ""), parse_scale(shown.scale or "")
    if not isinstance(source, Ordinal) or not isinstance(target, Ordinal):
        return observation  # nothing on the one lies where something on the other does
    verdict = observation.verdict
    if isinstance(verdict, Decided):
        verdict = Decided(rescale(verdict.value, target, source))
    moved = replace(shown, scale=original.scale, expectation=_label(shown, original, target, source))
    return replace(observation, stimulus=moved, verdict=verdict)


def _label(shown: Stimulus, original: Stimulus, target: Ordinal, source: Ordinal) -> Expectation:
    """The label of the unchanged item where it was renumbered; where an edit changes it, its place."""
    own, plain = shown.expectation, original.expectation
    if not isinstance(own, Label):
        return own
    if isinstance(plain, Label) and own.value == rescale(plain.value, source, target):
        return plain
    return Label(rescale(own.value, target, source))
