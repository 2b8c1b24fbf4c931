"""Format, horizontal: does the verdict stay when only spaces are added?"""

from __future__ import annotations

from random import Random

from steelyard.probes.retouched import Retouched
from steelyard.stimuli.surface.layout import space_clusters


class FormatInvariance2(Retouched):
    """Every item with clusters of spaces between some of its words."""

    name = "format_invariance_2"
    title = "Runs of spaces"
    question = "Does the judge keep its verdict when spaces between words are multiplied?"
    edit = "clusters of spaces between words"

    def text(self, text: str, rng: Random) -> str | None:
        """The edited response."""
        return space_clusters(text, rng)
