"""Examples of a score, from other items of the same data, drawn or not."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.identity import rng_for
from steelyard.lab.study.study import Study
from steelyard.stimuli.authored.brief import ORDINAL, Brief
from steelyard.tasks.item import Item

EXAMPLES = 2
"""Examples in one prompt, at most, where the author's settings say nothing else."""


def exemplars(brief: Brief, study: Study, count: int) -> tuple[tuple[str, str], ...]:
    """Requests and responses that were given the wanted score by the same rubric; never the item itself.

    All items of the data may serve, drawn or not: few are drawn, and the ends of a scale are rare.
    """
    if brief.goal != ORDINAL:
        return ()
    return _chosen(brief, (*study.items, *study.undrawn), study.seed, count)


def _chosen(brief: Brief, items: Sequence[Item], seed: int, count: int) -> tuple[tuple[str, str], ...]:
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
    chosen = rng_for(seed, "exemplars", brief.name).sample(fitting, min(count, len(fitting)))
    return tuple((item.request, item.responses[0]) for item in chosen)
