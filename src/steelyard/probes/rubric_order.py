"""Rubric order: does the verdict stay when the points of the rubric change places?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.core.rng import rng_for
from steelyard.probes.edited import Edited
from steelyard.probes.probe import Design
from steelyard.stimuli.original import perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface.rubric_order import rubric_order
from steelyard.tasks.item import Item


class RubricOrder(Edited):
    """Every item under its rubric with the points in another order."""

    name = "rubric_order"
    title = "Rubric order"
    question = "Does the judge keep its verdict when the points of the rubric stand in another order?"
    edit = "points of the rubric in another order"
    needs = "a rubric with a list of points"

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The same response under the permuted rubric; none where the rubric has no list."""
        rubric = item.rubric or design.task.rubric
        scale = item.scale or design.task.scale
        permuted = rubric_order(rubric, rng_for(design.seed, self.name, rubric), scale)
        if permuted is not None:
            moved = replace(item, rubric=permuted)
            yield perturbed(moved, design.task, self.name, 0, item.responses[0], self.edit)
