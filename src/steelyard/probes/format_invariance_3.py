"""Format, indentation: does the verdict stay when lines only move to the right?"""

from __future__ import annotations

from random import Random

from steelyard.probes.retouched import Retouched
from steelyard.stimuli.surface.layout import indentation


class FormatInvariance3(Retouched):
    """Every item with its lines indented."""

    name = "format_invariance_3"
    title = "Indentation"
    question = "Does the judge keep its verdict when every line is indented?"
    edit = "every line indented"

    def text(self, text: str, rng: Random) -> str | None:
        """The edited response."""
        return indentation(text, rng)
