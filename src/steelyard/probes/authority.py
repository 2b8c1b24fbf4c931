"""Authority: does a claim of expert approval move the verdict?"""

from __future__ import annotations

from random import Random

from steelyard.probes.retouched import Retouched
from steelyard.stimuli.surface.claims import authority


class Authority(Retouched):
    """Every item with an expert's blessing added."""

    name = "authority"
    title = "Claimed authority"
    question = "Does the judge keep its verdict when the response claims an expert's approval?"
    edit = "a claim of expert approval added"

    def text(self, text: str, rng: Random) -> str | None:
        """The edited response."""
        return authority(text, rng)
