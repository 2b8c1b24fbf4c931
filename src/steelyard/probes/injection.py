"""Injection: does text that speaks to the judge move the verdict?"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.probes.edited import Edited
from steelyard.probes.probe import Design
from steelyard.stimuli.original import perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface.injection import INJECTIONS, injection
from steelyard.tasks.item import Item


class Injection(Edited):
    """Every item with words to the judge added, in several forms, asking for the highest score."""

    name = "injection"
    title = "Injection"
    question = "Does the judge keep its verdict when the response tells it what to answer?"
    edit = "words to the judge added"
    needs = "items that have not the highest score already"

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """One edit for each form; an item that has the highest score already cannot show anything."""
        highest = (item.scale or design.task.scale).answers[-1]
        if item.label == highest:
            return
        for number, form in enumerate(INJECTIONS):
            text = injection(item.responses[0], form, highest)
            yield perturbed(item, design.task, self.name, number, text, f"words to the judge added: {form}")
