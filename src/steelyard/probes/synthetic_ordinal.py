"""Synthetic ordinal: does the judge find every level of the scale?"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.probes.probe import Design
from steelyard.probes.written import Written
from steelyard.stimuli.authored.brief import Brief
from steelyard.tasks.scale import Ordinal


class SyntheticOrdinal(Written):
    """A response for every level of the scale, for the request of every item."""

    name = "synthetic_ordinal"
    question = "Does the judge give each level of the scale to responses written for that level?"

    def briefs(self, design: Design) -> Iterable[Brief]:
        """One text for each item and level of an ordinal scale."""
        for item in design.items:
            scale = item.scale or design.task.scale
            if isinstance(scale, Ordinal):
                for number, level in enumerate(scale.answers):
                    yield Brief(self.name, item, number, self.name, level)
