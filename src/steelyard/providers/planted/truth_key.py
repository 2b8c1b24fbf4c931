"""The planted raters' own key: the reference label of every text, handed over beside the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from steelyard.core.content_hash import content_hash
from steelyard.stimuli.expectation import Expectation, Label
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.pack import pack
from steelyard.tasks.scale import parse_scale


@dataclass(frozen=True)
class Truth:
    """What a rater knows of one text."""

    label: str
    """Reference answer on the scale; the lowest where nobody gave one."""
    item: str
    """What the text was made from: a rater errs on an item and its variants together."""
    unread: str | None = None
    """Reference answer of an agent's run to who has not read its middle, where it was edited there alone."""


@dataclass(frozen=True)
class TruthKey:
    """Looks a text up by the hash of request, text and scale."""

    truths: Mapping[str, Truth] = field(default_factory=dict)
    """Hash of request, text and answers to what is known."""

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> TruthKey:
        """The key of single texts; a label goes before the lack of one, where a text stands there twice."""
        single = [stimulus for stimulus in stimuli if len(stimulus.texts) == 1]
        plain = {s.lineage.parent: s.expectation for s in single if s.kind == ORIGINAL}
        labelled = [s for s in single if isinstance(s.expectation, Label)]
        unlabelled = [s for s in single if not isinstance(s.expectation, Label) and _derived(s)]
        return cls(
            {
                name: replace(truth, unread=_unread(stimulus, plain))
                for stimulus in (*unlabelled, *labelled)
                for name, truth in _entries(stimulus)
            }
        )

    def merge(self, other: TruthKey) -> TruthKey:
        """Both keys; where they differ, the other's entry."""
        return TruthKey({**self.truths, **other.truths})

    def truth(self, request: str, text: str, answers: tuple[str, ...]) -> Truth | None:
        """What is known of a text on the scale of these answers, whatever its white space."""
        exact = self.truths.get(text_hash(request, text, answers))
        return exact or self.truths.get(text_hash(request, respaced(text), answers))


@cache
def pack_key() -> TruthKey:
    """The labels of every text of the built-in pack."""
    return TruthKey(
        {
            text_hash(entry.request, text, task.scale.answers): Truth(label, entry.id)
            for task in pack()
            for entry in task.items
            for found, label in entry.labelled()
            for text in (respaced(found), found)
        }
    )


def text_hash(request: str, text: str, answers: tuple[str, ...]) -> str:
    """Names a text under its request and on its scale; under another it may have another label."""
    return content_hash([request, text, answers[0], answers[-1]])


def respaced(text: str) -> str:
    """A text with single spaces for all its white space; one without anything else stays as it is."""
    return " ".join(text.split()) or text


def _entries(stimulus: Stimulus) -> Iterator[tuple[str, Truth]]:
    """Where a text is found, and what is known of it; without a label it has the lowest answer."""
    answers = parse_scale(stimulus.scale or "").answers
    expected = stimulus.expectation
    label = expected.value if isinstance(expected, Label) else answers[0]
    item = stimulus.lineage.parent if _derived(stimulus) else stimulus.id
    for text in dict.fromkeys((respaced(stimulus.texts[0]), stimulus.texts[0])):
        yield text_hash(stimulus.request, text, answers), Truth(label, item)


def _unread(stimulus: Stimulus, plain: Mapping[str, Expectation]) -> str | None:
    """The label of the run as it was, where every message that an edit changed is in its middle third."""
    before = plain.get(stimulus.lineage.parent)
    depths = [change.depth for change in stimulus.changes or ()]
    hidden = bool(depths) and all(MIDDLE[0] <= depth < MIDDLE[1] for depth in depths)
    return before.value if hidden and isinstance(before, Label) else None


MIDDLE = (1 / 3, 2 / 3)
"""Where the middle third of a run begins and ends."""


def _derived(stimulus: Stimulus) -> bool:
    """True for an item and for whatever was made from it, on which a rater errs together."""
    return stimulus.kind in (ORIGINAL, PERTURBED)
