"""Answer keys of planted judges: what each sentence gives to a request, the reference label of each text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from steelyard.core.content_hash import content_hash
from steelyard.stimuli.cues import CUES, LENGTH_PROBE, PROBE, SENTENCE_END, words
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Expectation, Label, Stimulus
from steelyard.tasks.checklist import Checklist, catalogue
from steelyard.tasks.pack import pack
from steelyard.tasks.task import parse_scale

FULL, WEAK = 1.0, 0.5


@dataclass(frozen=True)
class Entry:
    element: str
    value: float


@dataclass(frozen=True)
class AnswerKey:
    """What sentences give to one request; under that of a twin, elements and filler change places."""

    sentences: Mapping[str, Entry | None] = field(default_factory=dict)
    """Hash of a sentence to what it gives, None for filler."""
    outlines: Mapping[str, Entry | None] = field(default_factory=dict)
    """The same by the first and last letters of a sentence's words, which survive a cue."""

    @classmethod
    def of(cls, checklist: Checklist) -> AnswerKey:
        known: dict[str, Entry | None] = {one: None for wordings in checklist.filler for one in wordings}
        for element in checklist.elements:
            known |= {wording: Entry(element.key, FULL) for wording in element.wordings}
            known[element.weak] = Entry(element.key, WEAK)
        return cls(
            {content_hash(sentence): entry for sentence, entry in known.items()},
            {outline(sentence): entry for sentence, entry in known.items()},
        )

    def carries_cue(self, text: str) -> bool:
        """True for an answer to the request with anything added to it, or spelled in another way."""
        sentences = SENTENCE_END.split(text)
        if all(content_hash(sentence) in self.sentences for sentence in sentences):
            return text != " ".join(sentences)
        return any(outline(sentence) in self.outlines for sentence in _ANY_END.split(text))

    def quality(self, text: str) -> float:
        """Sum over the distinct elements in a text; a repeated element counts once, at its best."""
        best: dict[str, float] = {}
        for sentence in _ANY_END.split(text.strip()):
            name = content_hash(sentence)
            entry = self.sentences[name] if name in self.sentences else self.outlines.get(outline(sentence))
            if entry is not None:
                best[entry.element] = max(entry.value, best.get(entry.element, 0.0))
        return math.fsum(best.values())


@dataclass(frozen=True)
class TextKey:
    """Qualities of whole texts to one request, of checklists that are not built in; others have none."""

    qualities: Mapping[str, float] = field(default_factory=dict)
    cued: frozenset[str] = frozenset()

    def quality(self, text: str) -> float:
        return self.qualities.get(respaced(text), 0.0)

    def carries_cue(self, text: str) -> bool:
        return respaced(text) in self.cued


def text_keys(stimuli: Iterable[Stimulus]) -> dict[str, TextKey]:
    """Request to the key of its texts, as far as pairs say how good they are."""
    qualities: dict[str, dict[str, float]] = {}
    cued: dict[str, set[str]] = {}
    for stimulus in stimuli:
        request = respaced(stimulus.request)
        if len(stimulus.texts) != 2 or stimulus.delta is None or stimulus.base_level is None:
            continue
        if request in _builtin_keys():
            continue
        better, worse = map(respaced, stimulus.texts)
        known = qualities.setdefault(request, {})
        known |= {better: stimulus.base_level + stimulus.delta, worse: stimulus.base_level}
        if stimulus.probe in (PROBE, LENGTH_PROBE):
            on_better = stimulus.kind in CUES and CUES[stimulus.kind].on_better
            cued.setdefault(request, set()).add(better if on_better else worse)
    return {request: TextKey(known, frozenset(cued.get(request, ()))) for request, known in qualities.items()}


_ANY_END = re.compile(r"(?<=\.)\s+|\n+")


def outline(sentence: str) -> str:
    """The first and the last letter of every word, which neither a mark nor a typing error changes."""
    return " ".join(word[0] + word[-1] for word in words(sentence))


def builtin_key(request: str) -> AnswerKey:
    """The key of the checklist with this request; to a request of no checklist nothing gives anything."""
    return _builtin_keys().get(respaced(request), _NO_KEY)


_NO_KEY = AnswerKey()


@cache
def _builtin_keys() -> Mapping[str, AnswerKey]:
    return {respaced(checklist.request): AnswerKey.of(checklist) for checklist in catalogue()}


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
