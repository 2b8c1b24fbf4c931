"""What the probes share that retouch the text of a response and leave the rest of the item alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from random import Random

from steelyard.core.rng import rng_for
from steelyard.probes.edited import Edited
from steelyard.probes.probe import Design
from steelyard.stimuli.original import perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.item import Item


class Retouched(Edited):
    """Every item with its response retouched once; a subclass says how."""

    @abstractmethod
    def text(self, text: str, rng: Random) -> str | None:
        """The edited response; None where nothing would change."""

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The one edit of an item, the same for every judge of a seed."""
        edited = self.text(item.responses[0], rng_for(design.seed, self.name, item.id))
        if edited is not None:
            remark = self.told(item.responses[0], edited)
            yield perturbed(item, design.task, self.name, 0, edited, remark)

    def told(self, before: str, after: str) -> str:
        """What was done to this response, in words."""
        del before, after
        return self.edit
