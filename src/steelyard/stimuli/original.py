"""An item as it is: the stimulus that probes of single texts compare with, a natural pair, a best-of set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.stimuli.stimulus import Expectation, Label, Lineage, NoPreference, Prefers, Stimulus, Unknown
from steelyard.tasks.task import BestOf, Item, Task, scale_name
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


NATURAL = "natural"
NATURAL_PROBE = "position"

_EXPECTED: dict[str | None, Expectation] = {
    "1": Prefers("u"),
    "2": Prefers("v"),
    "tie": NoPreference(),
    None: Unknown(),
}


def natural_pair(item: Item, probe: str) -> Stimulus:
    """An item of two responses as a pair; response 1 is u."""
    return shown_item(item, probe, probe, NATURAL, _EXPECTED[item.label])


BEST_OF_PROBE = "best_of"
ROTATION = "rotation"


def response_in_slot(stimulus: Stimulus, slot: str) -> int:
    """The response that stands in a slot, by its number in the item: the same in every rotation."""
    return (int(slot) - 1 + int(stimulus.level or 0)) % len(stimulus.texts) + 1


def rotations(item: Item) -> Iterator[Stimulus]:
    """The item with response 1, 2, … in slot 1; `level` counts the responses that moved to the end."""
    count = len(item.responses)
    for turn in range(count):
        best = None if item.label is None else Label(str((int(item.label) - 1 - turn) % count + 1))
        edit = f"response {turn + 1} in slot 1, the others follow"
        yield replace(
            shown_item(item, f"{BEST_OF_PROBE}/{turn}", BEST_OF_PROBE, ROTATION, best or Unknown(), edit),
            texts=item.responses[turn:] + item.responses[:turn],
            scale=scale_name(BestOf(count)),
            level=float(turn),
            authors=None,
        )
