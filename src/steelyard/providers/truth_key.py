"""The planted raters' own key: the reference label of every text, handed over beside the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from steelyard.identity import content_hash
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.pack import pack
from steelyard.tasks.scale import parse_scale


@dataclass(frozen=True)
class Truth:
    """What a rater knows of one text."""

    label: str
    """Reference answer on the scale."""
    item: str
    """What the text was made from: a rater errs on an item and its variants together."""


@dataclass(frozen=True)
class TruthKey:
    """Looks the label up by the hash of request, text and scale; a text that nobody labelled has none."""

    truths: Mapping[str, Truth] = field(default_factory=dict)
    """Hash of request, text and answers to what is known."""

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> TruthKey:
        """The key of single texts that have a reference label."""
        return cls(
            {
                text_hash(
                    stimulus.request, stimulus.texts[0], parse_scale(stimulus.scale or "").answers
                ): Truth(stimulus.expectation.value, _item(stimulus))
                for stimulus in stimuli
                if isinstance(stimulus.expectation, Label) and len(stimulus.texts) == 1
            }
        )

    def joined(self, other: TruthKey) -> TruthKey:
        """Both keys; where they differ, the other's entry."""
        return TruthKey({**self.truths, **other.truths})

    def truth(self, request: str, text: str, answers: tuple[str, ...]) -> Truth | None:
        """What is known of a text on the scale of these answers."""
        return self.truths.get(text_hash(request, text, answers))


@cache
def pack_key() -> TruthKey:
    """The labels of every text of the built-in pack."""
    return TruthKey(
        {
            text_hash(entry.request, text, task.scale.answers): Truth(label, entry.id)
            for task in pack()
            for entry in task.items
            for text, label in entry.labelled()
        }
    )


def text_hash(request: str, text: str, answers: tuple[str, ...]) -> str:
    """Names a text under its request and on its scale; under another it may have another label."""
    return content_hash([request, text, answers[0], answers[-1]])


def _item(stimulus: Stimulus) -> str:
    return stimulus.lineage.parent if stimulus.kind in (ORIGINAL, PERTURBED) else stimulus.id
