"""An item as it is: the one stimulus that every pointwise probe compares with."""

from __future__ import annotations

from steelyard.stimuli.expectation import Expectation, Label, Unknown
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.scale import scale_name
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.changes import TurnChange, changes
from steelyard.tasks.transcripts.transcript import Transcript

ORIGINAL = "original"
PERTURBED = "perturbed"


def original_of(item: Item, task: Task) -> Stimulus:
    """The item as a stimulus, the same for every probe, so that one call serves them all."""
    return pointwise_stimulus(
        item,
        task,
        name=f"{item.id}/{ORIGINAL}",
        probe=ORIGINAL,
        kind=ORIGINAL,
        text=item.responses[0],
        expectation=reference_of(item),
        lineage=Lineage(parent=item.id, edit="none", author="source"),
        authors=item.authors,
        transcript=item.transcript,
    )


def edited_stimulus(
    item: Item,
    task: Task,
    probe: str,
    number: int,
    text: str,
    edit: str,
    *,
    label: str | None = None,
    labelled: bool = True,
    level: float | None = None,
    author: str = "deterministic edit",
    transcript: Transcript | None = None,
) -> Stimulus:
    """The item after an edit; `label` is its new reference, `labelled` says whether it has one at all.

    `transcript` is the edited run, where the text is its rendering.
    """
    expectation = reference_of(item) if label is None else Label(label)
    return pointwise_stimulus(
        item,
        task,
        name=f"{item.id}/{probe}/{number}",
        probe=probe,
        kind=PERTURBED,
        text=text,
        expectation=expectation if labelled else Unknown(),
        lineage=Lineage(parent=item.id, edit=edit, author=author),
        level=level,
        transcript=transcript,
    )


def pointwise_stimulus(
    item: Item,
    task: Task,
    *,
    name: str,
    probe: str,
    kind: str,
    text: str,
    expectation: Expectation,
    lineage: Lineage,
    level: float | None = None,
    authors: tuple[str, ...] | None = None,
    transcript: Transcript | None = None,
) -> Stimulus:
    return Stimulus(
        id=name,
        probe=probe,
        kind=kind,
        cluster=item.cluster,
        stratum=item.stratum or "all",
        request=item.request,
        texts=(text,),
        expectation=expectation,
        lineage=lineage,
        rubric=item.rubric,
        reference=item.reference,
        instruction=item.instruction,
        scale=scale_name(item.scale or task.scale),
        level=level,
        authors=authors,
        failing=item.failing,
        transcript=transcript,
        changes=_changes(item, transcript),
    )


def _changes(item: Item, transcript: Transcript | None) -> tuple[TurnChange, ...] | None:
    if item.transcript is None or transcript is None or transcript is item.transcript:
        return None
    return changes(item.transcript, transcript)


def reference_of(item: Item) -> Expectation:
    return Unknown() if item.label is None else Label(item.label)
