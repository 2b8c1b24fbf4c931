"""One written stimulus on the bench, with what a reviewer should know of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from steelyard.review.projection import base_of
from steelyard.review.stimuli_file import under_review
from steelyard.run_folder.authored_stimuli import AuthoredStimulus
from steelyard.stimuli.authored.rejection import Rejection
from steelyard.stimuli.authored.similarity import local_vector
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.stimulus import REJECTED, Stimulus
from steelyard.tasks.scale import parse_scale


@dataclass(frozen=True)
class BenchItem:
    """A written stimulus with its original and its tries."""

    made: Stimulus
    """As it was made, waiting where the study waits for people."""
    original: Stimulus | None
    """The item that it was made from, where that is known."""
    tries: tuple[Rejection, ...]
    """Why earlier texts were rejected."""
    waits: bool
    """True where it is judged only after a person has decided."""

    @classmethod
    def of(cls, written: AuthoredStimulus, original: Stimulus | None, *, waits: bool) -> BenchItem:
        """The item of a written stimulus, in a study that waits for people or does not."""
        (made,) = under_review([written.stimulus]) if waits else (written.stimulus,)
        return cls(made, original, written.tries, waits and not written.rejected)

    @cached_property
    def base(self) -> str:
        """Hash of what votes are about."""
        return base_of(self.made)

    @property
    def label(self) -> str | None:
        """The answer that the text was written for."""
        return self.made.expectation.value if isinstance(self.made.expectation, Label) else None

    @property
    def answers(self) -> tuple[str, ...]:
        """Labels that a reviewer may choose from; none where the text has no label."""
        return parse_scale(self.made.scale or "").answers if self.label is not None else ()

    @property
    def refused(self) -> bool:
        """True where the checks turned every try down."""
        return self.made.lineage.review == REJECTED

    @property
    def doubted(self) -> bool:
        """True where a check or the validator turned a try down, or the text is kept at another score."""
        return bool(self.tries) or "kept at" in (self.made.lineage.validation or "")

    @cached_property
    def similarity(self) -> float | None:
        """Cosine of the text and its original, by runs of signs; None where the original is not known."""
        if self.original is None:
            return None
        return float(local_vector(self.made.texts[0]) @ local_vector(self.original.texts[0]))


def in_order(name: str) -> list[tuple[int, str]]:
    """A key by which names are read: `item-2` before `item-10`."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
