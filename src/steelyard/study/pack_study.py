"""Studies of single texts on the built-in pack, and of runs on the built-in runs of agents."""

from __future__ import annotations

from collections.abc import Hashable

from steelyard.errors import ConfigError
from steelyard.tasks.agent_pack import agent_pack
from steelyard.tasks.item import Item
from steelyard.tasks.pack import pack, pack_item, pack_items
from steelyard.tasks.scale import Binary, Scale, scale_name
from steelyard.tasks.sources.sampling import draw
from steelyard.tasks.task import Task

PACK_ITEMS = {"quick": 8, "standard": 24, "full": None}
"""Items of the pack per profile; None is all of them."""


def pack_scales() -> tuple[Scale, ...]:
    """Every scale of the pack, by name."""
    return tuple(sorted({task.scale for task in pack()}, key=scale_name))


RUNS = {"quick": 6, "standard": 10, "full": None}
"""Runs of agents per profile; None is all of them."""


def runs_draw(profile: str, seed: int) -> tuple[Item, ...]:
    """Built-in runs of agents, as many that pass as fail."""
    items = [run.item for run in agent_pack()]
    return tuple(draw(items, RUNS[profile], seed, name=lambda item: item.id, stratum=lambda item: item.label))


def pack_task(scale: Scale | None) -> Task:
    """The question of a study on the pack, whose items bring instruction, rubric and scale of their own."""
    return Task("Score the response to a request.", "The rubric of the item.", scale or Binary())


def pack_draw(scale: Scale | None, profile: str, seed: int) -> tuple[Item, ...]:
    """The items of a profile; without a scale, as many of each scale of the pack."""
    scales = pack_scales()
    if scale is not None and scale not in scales:
        known = ", ".join(map(scale_name, scales))
        raise ConfigError(
            f"scale {scale_name(scale)!r}: the built-in pack has no items on it, only on {known}; "
            "use one of those, or give data of your own."
        )
    wanted = scales if scale is None else (scale,)
    size = PACK_ITEMS[profile]
    return tuple(
        item
        for one in wanted
        for item in draw(
            pack_items(one),
            None if size is None else size // len(wanted),
            seed,
            name=lambda item: item.id,
            stratum=_kind,
        )
    )


def _kind(item: Item) -> Hashable:
    """Task, and whether a response is written for every level: a few items hold some of each."""
    entry = pack_item(item)
    return item.instruction, entry is not None and bool(entry.ordinal)
