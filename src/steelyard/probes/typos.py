"""Typos: how many slips of the keyboard does the verdict bear?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.core.rng import rng_for
from steelyard.errors import ConfigError
from steelyard.probes.edited import Edited
from steelyard.probes.probe import Design
from steelyard.probes.sample import GivenSample
from steelyard.stimuli.original import perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.stimuli.surface.typos import typos
from steelyard.tasks.item import Item

SHARES = (0.05, 0.15, 0.30)
"""Shares of the words that are hit, where no others are asked for."""


class Typos(Edited):
    """Every item with slips in a growing share of its words."""

    name = "typos"
    title = "Typing errors"
    question = "Does the judge keep its verdict when words are mistyped, and up to how many?"
    edit = "words mistyped"

    def __init__(self, levels: Sequence[float] = SHARES, sample: GivenSample = None) -> None:
        """`levels` are the shares of the words that are hit."""
        super().__init__(sample)
        if not isinstance(levels, (list, tuple)) or not levels or not all(map(_is_share, levels)):
            raise ConfigError(f"probe 'typos': levels is {levels!r}, expected shares such as [0.05, 0.15].")
        self.shares = tuple(sorted(set(levels)))

    def edits(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """One edit for each share of words."""
        for number, share in enumerate(self.shares):
            text = typos(item.responses[0], share, rng_for(design.seed, self.name, item.id, share))
            if text is not None:
                words = f"{share:.0%} of the words mistyped"
                yield perturbed(item, design.task, self.name, number, text, words, level=share)


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1
