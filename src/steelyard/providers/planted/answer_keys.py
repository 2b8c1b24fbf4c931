"""Answer keys of planted judges: the worth of each sentence (pairs), the reference label of each text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from steelyard.core.content_hash import content_hash
from steelyard.stimuli.cues import PROBE, SENTENCE_END, words
from steelyard.stimuli.expectation import Expectation, Label
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.checklist import Checklist, catalogue
from steelyard.tasks.pack import pack
from steelyard.tasks.scale import parse_scale

FULL, WEAK = 1.0, 0.5


@dataclass(frozen=True)
class Entry:
    checklist: str
    element: str
    value: float


@dataclass(frozen=True)
class AnswerKey:
    entries: Mapping[str, Entry]
    filler: frozenset[str] = frozenset()
    """Hashes of sentences that give nothing."""
    outlines: Mapping[str, Entry | None] = field(default_factory=dict)
    """First and last letters of a sentence's words to what it gives, None for filler: they survive a cue."""

    @classmethod
    def of(cls, given: Iterable[Checklist]) -> AnswerKey:
        checklists = tuple(given)
        sentences = [
            (sentence, Entry(checklist.id, element.key, value))
            for checklist in checklists
            for element in checklist.elements
            for value, forms in ((FULL, element.wordings), (WEAK, (element.weak,)))
            for sentence in forms
        ]
        filler = [one for checklist in checklists for both in checklist.filler for one in both]
        outlines: dict[str, Entry | None] = {outline(sentence): None for sentence in filler}
        return cls(
            {content_hash(sentence): entry for sentence, entry in sentences},
            frozenset(map(content_hash, filler)),
            {**outlines, **{outline(sentence): entry for sentence, entry in sentences}},
        )

    def carries_cue(self, text: str) -> bool:
        """True for an answer of the catalogue with anything added to it, or spelled in another way."""
        sentences = SENTENCE_END.split(text)
        hashes = map(content_hash, sentences)
        if all(name in self.entries or name in self.filler for name in hashes):
            return text != " ".join(sentences)
        return any(outline(sentence) in self.outlines for sentence in _ANY_END.split(text))

    def _entry(self, sentence: str) -> Entry | None:
        name = content_hash(sentence)
        if name in self.filler:
            return None
        return self.entries.get(name) or self.outlines.get(outline(sentence))

    def quality(self, text: str) -> float:
        """Sum over the distinct elements in a text; a repeated element counts once, at its best."""
        best: dict[tuple[str, str], float] = {}
        for sentence in _ANY_END.split(text.strip()):
            entry = self._entry(sentence)
            if entry is not None:
                place = (entry.checklist, entry.element)
                best[place] = max(entry.value, best.get(place, 0.0))
        return math.fsum(best.values())


_ANY_END = re.compile(r"(?<=\.)\s+|\n+")


def outline(sentence: str) -> str:
    """The first and the last letter of every word, which neither a mark nor a typing error changes."""
    return " ".join(word[0] + word[-1] for word in words(sentence))


@cache
def builtin_key() -> AnswerKey:
    return AnswerKey.of(catalogue())


@dataclass(frozen=True)
class KnownLabel:
    label: str
    item: str
    """What the text was made from: a rater errs on an item and its variants together."""
    cued: bool = False
    """True where the text carries a cue."""
    unread: str | None = None
    """Reference answer of an agent's run to who has not read its middle, where it was edited there alone."""


@dataclass(frozen=True)
class LabelKey:
    labels: Mapping[str, KnownLabel] = field(default_factory=dict)
    """Hash of request, text and answers to what is known."""

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> LabelKey:
        """The key of single texts; a label goes before the lack of one, where a text stands there twice."""
        single = [stimulus for stimulus in stimuli if len(stimulus.texts) == 1]
        plain = {s.lineage.parent: s.expectation for s in single if s.kind == ORIGINAL}
        labelled = [s for s in single if isinstance(s.expectation, Label)]
        unlabelled = [s for s in single if not isinstance(s.expectation, Label) and _derived(s)]
        return cls(
            {
                name: replace(known, unread=_unread(stimulus, plain))
                for stimulus in (*unlabelled, *labelled)
                for name, known in _entries(stimulus)
            }
        )

    def merge(self, other: LabelKey) -> LabelKey:
        return LabelKey({**self.labels, **other.labels})

    def lookup(self, request: str, text: str, answers: tuple[str, ...]) -> KnownLabel | None:
        exact = self.labels.get(text_hash(request, text, answers))
        return exact or self.labels.get(text_hash(request, respaced(text), answers))


@cache
def pack_key() -> LabelKey:
    return LabelKey(
        {
            text_hash(entry.request, text, task.scale.answers): KnownLabel(label, entry.id)
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
    return " ".join(text.split()) or text


def _entries(stimulus: Stimulus) -> Iterator[tuple[str, KnownLabel]]:
    """Where a text is found, and what is known of it; without a label it has the lowest answer."""
    answers = parse_scale(stimulus.scale or "").answers
    expected = stimulus.expectation
    label = expected.value if isinstance(expected, Label) else answers[0]
    item = stimulus.lineage.parent if _derived(stimulus) else stimulus.id
    for text in dict.fromkeys((respaced(stimulus.texts[0]), stimulus.texts[0])):
        yield text_hash(stimulus.request, text, answers), KnownLabel(label, item, stimulus.probe == PROBE)


def _unread(stimulus: Stimulus, plain: Mapping[str, Expectation]) -> str | None:
    """The label of the run as it was, where every message that an edit changed is in its middle third."""
    before = plain.get(stimulus.lineage.parent)
    depths = [change.depth for change in stimulus.changes or ()]
    hidden = bool(depths) and all(MIDDLE[0] <= depth < MIDDLE[1] for depth in depths)
    return before.value if hidden and isinstance(before, Label) else None


MIDDLE = (1 / 3, 2 / 3)


def _derived(stimulus: Stimulus) -> bool:
    return stimulus.kind in (ORIGINAL, PERTURBED) or stimulus.probe == PROBE
