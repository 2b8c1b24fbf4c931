"""Several responses of which one is the best, in every cyclic order: each text stands in each slot once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.stimuli.expectation import Label, Unknown
from steelyard.stimuli.original import shown_item
from steelyard.stimuli.stimulus import Stimulus
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
        best = None if item.label is None else Label(str((int(item.label) - 1 - turn) % count + 1))
        edit = f"response {turn + 1} in slot 1, the others follow"
        yield replace(
            shown_item(item, f"{BEST_OF_PROBE}/{turn}", BEST_OF_PROBE, ROTATION, best or Unknown(), edit),
            texts=item.responses[turn:] + item.responses[:turn],
            scale=scale_name(BestOf(count)),
            level=float(turn),
            authors=None,
        )
