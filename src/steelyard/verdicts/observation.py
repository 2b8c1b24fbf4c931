"""A verdict joined with its stimulus, the slot answer mapped back to content."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.reply import Usage
from steelyard.verdicts.verdict import Decided, Verdict


@dataclass(frozen=True)
class Observation:
    """All that the metrics may see of one trial."""

    judge: str
    """Name on the datasheet."""
    protocol: str
    """`base`, `strict`, …"""
    stimulus: Stimulus
    """What was shown."""
    order: str
    """`uv` or `vu`."""
    replicate: int
    """0, 1, …"""
    verdict: Verdict
    """What was read."""
    usage: Usage
    """Tokens."""
    prompt: str
    """Hash of the rendered prompt: two orders of a vacuum pair share one. Empty where it is not known."""
    own_label: bool = False
    """The judge's own verdict on the item is the label: nothing is held against it here."""
    mirrored: bool = False
    """The judge has one verdict for both orders of a pair, by how it is made."""

    @property
    def winner(self) -> str | None:
        """Content that won, `u` or `v`; None where neither did."""
        if not isinstance(self.verdict, Decided):
            return None
        slot = {"1": 0, "2": 1}[self.verdict.value]
        return self.order[slot]
