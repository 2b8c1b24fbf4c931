"""Answers composed from a checklist: elements and filler, one sentence each, in a drawn order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from steelyard.core.rng import rng_for
from steelyard.tasks.checklist import ELEMENTS, Checklist


@dataclass(frozen=True)
class AnswerSentence:
    """One sentence of an answer: an element where the answer has it, filler where not.

    Every sentence of the catalogue has ten words, so length tells nothing about quality.
    """

    element: int
    full: str
    weak: str
    filler: str
    """What stands here in an answer without the element."""


@dataclass(frozen=True)
class ComposedAnswer:
    """Five places in order; two answers of one composition differ in nothing but their elements."""

    chain: tuple[int, ...]
    """Elements in the order in which the prefix chain adds them."""
    places: tuple[AnswerSentence, ...]

    def prefix(self, quality: float) -> str:
        """Q(quality): the first elements of the chain; a half adds the next element's weak form."""
        whole = int(quality)
        weak = self.chain[whole] if quality > whole else None
        return self.text(self.chain[:whole], weak=weak)

    def text(self, elements: Collection[int], *, weak: int | None = None, padded: bool = True) -> str:
        """The answer with these elements; without padding the other places stay empty."""
        sentences = []
        for place in self.places:
            if place.element in elements:
                sentences.append(place.full)
            elif place.element == weak:
                sentences.append(place.weak)
            elif padded:
                sentences.append(place.filler)
        return " ".join(sentences)


@cache
def compose(checklist: Checklist, seed: int) -> tuple[ComposedAnswer, ComposedAnswer]:
    """Two compositions of one chain that share no wording and no sentence order."""
    rng = rng_for(seed, "compose", checklist.id)
    chain = tuple(rng.sample(range(ELEMENTS), ELEMENTS))
    fillers = rng.sample(checklist.filler, ELEMENTS)
    one, other = [], []
    for number, (element, filler) in enumerate(zip(checklist.elements, fillers, strict=True)):
        words, padding = rng.sample(element.wordings, 2), rng.sample(filler, 2)
        one.append(AnswerSentence(number, words[0], element.weak, padding[0]))
        other.append(AnswerSentence(number, words[1], element.weak, padding[1]))
    order = rng.sample(range(ELEMENTS), ELEMENTS)
    turned = order
    while turned == order:
        turned = rng.sample(range(ELEMENTS), ELEMENTS)
    return (
        ComposedAnswer(chain, tuple(one[number] for number in order)),
        ComposedAnswer(chain, tuple(other[number] for number in turned)),
    )


def order_checklists(checklists: tuple[Checklist, ...], seed: int) -> tuple[Checklist, ...]:
    """All checklists in a drawn order in which the domains take turns."""
    by_domain: dict[str, list[Checklist]] = {}
    for checklist in rng_for(seed, "choose").sample(checklists, len(checklists)):
        by_domain.setdefault(checklist.domain, []).append(checklist)
    return tuple(
        group[turn] for turn in range(len(checklists)) for group in by_domain.values() if turn < len(group)
    )
