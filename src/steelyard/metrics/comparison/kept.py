"""Verdicts on edited items beside those on the items as they are: kept or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from steelyard.metrics.comparison.question import Key, Question, UnitEvent, loss_of, question_of
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.invariance import INVARIANCE
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observation import Observation


def kept_events(
    scores: Sequence[Observation],
    identity: Callable[[Stimulus], str],
    metrics_of: Callable[[str], Sequence[Metric]],
) -> Iterator[tuple[Question, Key, UnitEvent]]:
    """Every edit that keeps the label beside every call on the item, of probes that report invariance."""
    originals: dict[tuple[str, str], list[Observation]] = {}
    for observation in scores:
        if observation.stimulus.kind == ORIGINAL:
            originals.setdefault(_item(observation), []).append(observation)
    for edit in scores:
        if edit.stimulus.kind != PERTURBED or INVARIANCE not in metrics_of(edit.stimulus.probe):
            continue
        place = metrics_of(edit.stimulus.probe).index(INVARIANCE)
        for own in originals.get(_item(edit), ()):
            if keeps_label(edit.stimulus, own.stimulus):
                key = (identity(edit.stimulus), f"beside {own.replicate}", edit.replicate)
                loss = loss_of((edit.verdict, own.verdict))
                event = None if loss else edit.verdict == own.verdict
                question = question_of(edit.stimulus.probe, edit.protocol, INVARIANCE, {}, place)
                yield question, key, UnitEvent(event, loss, edit.stimulus.id, edit.stimulus.cluster)


def _item(observation: Observation) -> tuple[str, str]:
    return observation.protocol, observation.stimulus.lineage.parent


def keeps_label(edited: Stimulus, original: Stimulus) -> bool:
    """The edit expects the label of the unchanged item, or has none of its own."""
    mine = edited.expectation
    return mine == original.expectation or not isinstance(mine, Label)
