"""Natural pairs: two texts as they were met in use, with what people said of them."""

from __future__ import annotations

from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers, Unknown
from steelyard.stimuli.original import shown_item
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.item import Item

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
