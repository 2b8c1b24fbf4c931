"""Examples of a score, from other items of the same data."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.identity import rng_for
from steelyard.stimuli.authored.brief import Brief
from steelyard.tasks.item import Item

EXAMPLES = 2
"""Examples in one prompt, at most."""


def exemplars(brief: Brief, items: Sequence[Item], seed: int) -> tuple[tuple[str, str], ...]:
    """Requests and responses that were given the wanted score by the same rubric; never the item itself."""
    mine = brief.item
    fitting = sorted(
        (
            item
            for item in items
            if item.label == brief.expected
            and item.id != mine.id
            and item.responses != mine.responses
            and (item.rubric, item.scale, item.instruction) == (mine.rubric, mine.scale, mine.instruction)
        ),
        key=lambda item: item.id,
    )
    chosen = rng_for(seed, "exemplars", brief.name).sample(fitting, min(EXAMPLES, len(fitting)))
    return tuple((item.request, item.responses[0]) for item in chosen)
