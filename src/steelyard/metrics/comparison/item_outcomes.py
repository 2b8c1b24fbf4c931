"""Scores of single texts as events: right, above the lowest where nothing was said, kept after an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from steelyard.metrics.comparison.question import Key, Outcome, Question, outcome_of, question_of
from steelyard.metrics.scores.border import BORDER
from steelyard.metrics.scores.original_range import on_original_range
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.scale import parse_scale
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Decided

VACUUM = "vacuum"
NEW_TEXTS = (BORDER, "synthetic_ordinal")
"""Probes whose texts are no edits of the item, so there is no verdict to be kept."""
Events = Iterator[tuple[Question, Key, Outcome]]
Originals = Mapping[tuple[str, str], Sequence[Observation]]
"""Protocol and item to the calls on the item as it is."""


def item_outcomes(observations: Sequence[Observation], identity: Callable[[Stimulus], str]) -> Events:
    """Every event of the calls on single texts."""
    scores = on_original_range([o for o in observations if len(o.stimulus.texts) == 1])
    originals: dict[tuple[str, str], list[Observation]] = {}
    for observation in scores:
        if observation.stimulus.kind == ORIGINAL:
            originals.setdefault(_item(observation), []).append(observation)
    for observation in scores:
        name = identity(observation.stimulus)
        if observation.stimulus.probe == VACUUM:
            yield _above_lowest(observation, name)
        elif observation.stimulus.probe != BORDER:
            yield from _right(observation, name)
        if observation.stimulus.kind == PERTURBED and observation.stimulus.probe not in NEW_TEXTS:
            yield from _kept(observation, name, originals)


def _item(observation: Observation) -> tuple[str, str]:
    return observation.protocol, observation.stimulus.lineage.parent


def _above_lowest(observation: Observation, name: str) -> tuple[Question, Key, Outcome]:
    verdict = observation.verdict
    lowest = parse_scale(observation.stimulus.scale or "").answers[0]
    event = isinstance(verdict, Decided) and int(verdict.value) > int(lowest)
    key = (name, observation.order, observation.replicate)
    question = question_of(observation, "dark_current", {}, "call")
    return question, key, outcome_of(observation.stimulus, [verdict], event)


def _right(observation: Observation, name: str) -> Events:
    """The call gives the expected label, which somebody other than the judge gave."""
    stimulus, verdict = observation.stimulus, observation.verdict
    if isinstance(stimulus.expectation, Label) and not observation.own_label:
        right = verdict == Decided(stimulus.expectation.value)
        key = (name, observation.order, observation.replicate)
        outcome = outcome_of(stimulus, [verdict], right, labelled=True)
        yield question_of(observation, "accuracy", {}, "call"), key, outcome


def _kept(observation: Observation, name: str, originals: Originals) -> Events:
    """An edit that keeps the label beside every call on the item as it is."""
    stimulus, verdict = observation.stimulus, observation.verdict
    for own in originals.get(_item(observation), ()):
        if keeps_label(stimulus, own.stimulus):
            key = (name, f"beside {own.replicate}", observation.replicate)
            outcome = outcome_of(stimulus, [verdict, own.verdict], verdict == own.verdict)
            yield question_of(observation, "invariance", {}, "comparison"), key, outcome


def keeps_label(edited: Stimulus, original: Stimulus) -> bool:
    """The edit expects the label of the unchanged item; without a label on either side it is taken to."""
    mine, own = edited.expectation, original.expectation
    return mine == own or not (isinstance(mine, Label) and isinstance(own, Label))
