"""An item as it is: the one stimulus that every pointwise probe compares with."""

from __future__ import annotations

from dataclasses import replace

from steelyard.stimuli.expectation import Expectation, Label, Unknown
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.scale import scale_name
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.transcript import Transcript, changes

ORIGINAL = "original"
PERTURBED = "perturbed"


def shown_item(
    item: Item, name: str, probe: str, kind: str, expectation: Expectation, edit: str = "none"
) -> Stimulus:
    """What a stimulus has of the item that it shows; all its responses are its texts."""
    return Stimulus(
        id=f"{item.id}/{name}",
        probe=probe,
        kind=kind,
        cluster=item.cluster,
        stratum=item.stratum or "all",
        request=item.request,
        texts=item.responses,
        expectation=expectation,
        lineage=Lineage(parent=item.id, edit=edit, author="source"),
        rubric=item.rubric,
        reference=item.reference,
        context=item.context,
        metadata=item.metadata,
        instruction=item.instruction,
        authors=item.authors,
    )


def original_of(item: Item, task: Task) -> Stimulus:
    """The item as a stimulus, the same for every probe, so that one call serves them all."""
    expectation = Unknown() if item.label is None else Label(item.label)
    return replace(
        shown_item(item, ORIGINAL, ORIGINAL, ORIGINAL, expectation),
        texts=(item.responses[0],),
        scale=scale_name(item.scale or task.scale),
        failing=item.failing,
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
    original, run = original_of(item, task), item.transcript
    expectation = original.expectation if label is None else Label(label)
    return replace(
        original,
        id=f"{item.id}/{probe}/{number}",
        probe=probe,
        kind=PERTURBED,
        texts=(text,),
        expectation=expectation if labelled else Unknown(),
        lineage=Lineage(parent=item.id, edit=edit, author=author),
        level=level,
        authors=None,
        transcript=transcript,
        changes=changes(run, transcript) if run and transcript and transcript is not run else None,
    )
