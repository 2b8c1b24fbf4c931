"""Format, vertical: does the verdict stay when only blank lines are added or removed?"""

from __future__ import annotations

from random import Random

from steelyard.probes.retouched import Retouched
from steelyard.stimuli.surface.layout import blank_lines


class FormatInvariance1(Retouched):
    """Every item with blank lines between its lines or sentences, or without those it has."""

    name = "format_invariance_1"
    title = "Blank lines"
    question = "Does the judge keep its verdict when blank lines are added or removed?"
    edit = "blank lines added"

    def text(self, text: str, rng: Random) -> str | None:
        """The edited response."""
        return blank_lines(text, rng)

    def told(self, before: str, after: str) -> str:
        """Whether lines were added or removed."""
        return self.edit if len(after) > len(before) else "blank lines removed"
