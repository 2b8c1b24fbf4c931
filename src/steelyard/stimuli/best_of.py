"""Several responses of which one is the best, in every cyclic order: each text stands in each slot once."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.stimuli.expectation import Label, Unknown
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.scale import BestOf, scale_name

BEST_OF_PROBE = "best_of"
ROTATION = "rotation"


def response_in_slot(stimulus: Stimulus, slot: str) -> int:
    """The response that stands in a slot, by its number in the item: the same in every rotation."""
    return (int(slot) - 1 + int(stimulus.level or 0)) % len(stimulus.texts) + 1


def rotations(item: Item) -> Iterator[Stimulus]:
    """The item with response 1, 2, … in slot 1; `level` counts the responses that moved to the end."""
    count = len(item.responses)
    for turn in range(count):
        best = None if item.label is None else (int(item.label) - 1 - turn) % count + 1
        yield Stimulus(
            id=f"{item.id}/{BEST_OF_PROBE}/{turn}",
            probe=BEST_OF_PROBE,
            kind=ROTATION,
            cluster=item.cluster,
            stratum=item.stratum or "all",
            request=item.request,
            texts=item.responses[turn:] + item.responses[:turn],
            expectation=Unknown() if best is None else Label(str(best)),
            lineage=Lineage(
                parent=item.id, edit=f"response {turn + 1} in slot 1, the others follow", author="source"
            ),
            rubric=item.rubric,
            reference=item.reference,
            context=item.context,
            metadata=item.metadata,
            instruction=item.instruction,
            scale=scale_name(BestOf(count)),
            level=float(turn),
        )
