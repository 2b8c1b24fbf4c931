"""Bandwagon: does a claim of popular approval move the verdict?"""

from __future__ import annotations

from random import Random

from steelyard.probes.retouched import Retouched
from steelyard.stimuli.surface.claims import bandwagon


class Bandwagon(Retouched):
    """Every item with the applause of many added."""

    name = "bandwagon"
    title = "Claimed majority"
    question = "Does the judge keep its verdict when the response claims the approval of many?"
    edit = "a claim of popular approval added"

    def text(self, text: str, rng: Random) -> str | None:
        """The edited response."""
        return bandwagon(text, rng)
