"""Markdown: does the verdict stay when a text only changes its dress?"""

from __future__ import annotations

from random import Random

from steelyard.probes.retouched import Retouched
from steelyard.stimuli.surface.markdown import markdown


class Markdown(Retouched):
    """Every item in the other form, plain or formatted."""

    name = "markdown"
    title = "Markdown"
    question = "Does the judge keep its verdict when Markdown is added or taken away?"
    edit = "Markdown added to plain text, or taken from formatted text"

    def text(self, text: str, rng: Random) -> str | None:
        """The edited response."""
        del rng
        return markdown(text)
