"""What a probe asks an author to write, whoever the author is: the built-in pack or a model."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.stimuli.original import perturbed
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Binary, Ordinal, Scale
from steelyard.tasks.task import Task

LABEL_FLIP = "label_flip"
PARAPHRASE = "semantic_paraphrase"
LONG = "verbosity_bias_long"
SHORT = "verbosity_bias_short"
PADDED = "verbosity_padding"
AMBIGUOUS = "answer_ambiguity"
ORDINAL = "synthetic_ordinal"
GOALS = (LABEL_FLIP, PARAPHRASE, LONG, SHORT, PADDED, AMBIGUOUS, ORDINAL)
"""Everything an author can be asked for."""

EDITS = {
    LABEL_FLIP: "rewritten so that the reference answer changes",
    PARAPHRASE: "said in other words, meaning and reference answer kept",
    LONG: "expanded with explanation, content and reference answer kept",
    SHORT: "said in fewer words, substance and reference answer kept",
    PADDED: "said at greater length, substance and reference answer kept",
    AMBIGUOUS: "rewritten to lie at the border of the rubric",
    ORDINAL: "written anew to earn a given score",
}
"""Goal to what was done to the parent, in words."""


@dataclass(frozen=True)
class Brief:
    """One text to be written."""

    probe: str
    """The probe that asks."""
    item: Item
    """What the text is made from."""
    number: int
    """Tells the briefs of one probe and item apart."""
    goal: str
    """One of `GOALS`."""
    expected: str | None
    """Reference answer that the text must have; None where none can be given."""

    @property
    def name(self) -> str:
        """Id of the stimulus that fulfils the brief."""
        return f"{self.item.id}/{self.probe}/{self.number}"

    def fulfilled(self, text: str, task: Task, author: str, label: str | None = None) -> Stimulus:
        """The stimulus made of a written text; `label` is its reference where the author's differs."""
        edit = EDITS[self.goal]
        expected = label or self.expected
        if self.goal == ORDINAL:
            edit = f"{edit}: {self.expected}"
        labelled = expected is not None
        return perturbed(
            self.item,
            task,
            self.probe,
            self.number,
            text,
            edit,
            label=expected,
            labelled=labelled,
            author=author,
        )


def flipped(label: str, scale: Scale) -> str | None:
    """The reference a flip aims at: the other answer, or the far end of an ordinal scale."""
    if isinstance(scale, Binary):
        return {"0": "1", "1": "0"}.get(label)
    if isinstance(scale, Ordinal):
        return str(scale.low if 2 * int(label) > scale.low + scale.high else scale.high)
    return None
