"""Studies of single texts on the built-in pack."""

from __future__ import annotations

from steelyard.errors import ConfigError
from steelyard.tasks.item import Item
from steelyard.tasks.pack import pack, pack_items
from steelyard.tasks.scale import Scale, scale_name
from steelyard.tasks.sources.items import drawn
from steelyard.tasks.task import Task

PACK_ITEMS = {"quick": 8, "standard": 24, "full": None}
"""Items of the pack per profile; None is all of them."""


def pack_task(scale: Scale) -> Task:
    """The question of a study on the pack; every item of it has an instruction and a rubric of its own."""
    return Task("Score the response to a request.", "The rubric of the item.", scale)


def pack_draw(scale: Scale, profile: str, seed: int) -> tuple[Item, ...]:
    """The items of a profile, spread over domains."""
    items = pack_items(scale)
    if not items:
        known = ", ".join(sorted({scale_name(task.scale) for task in pack()}))
        raise ConfigError(
            f"scale {scale_name(scale)!r}: the built-in pack has no items on it, only on {known}; "
            "use one of those, or give data of your own."
        )
    return drawn(items, PACK_ITEMS[profile], seed)
