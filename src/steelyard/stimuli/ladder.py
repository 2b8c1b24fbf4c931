"""The quality ladder and its same-quality controls: answers composed from the elements of a checklist."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from steelyard.core.rng import rng_for
from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers
from steelyard.stimuli.stimulus import Lineage, Stimulus
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


def prefix_pair(checklist: Checklist, low: float, high: float, seed: int) -> Stimulus:
    """Q(high) as u against Q(low) as v: u contains all that v contains, and more."""
    composition, _ = compose(checklist, seed)
    return _pair(
        checklist,
        f"q{low:g}-q{high:g}",
        kind="prefix",
        texts=(composition.prefix(high), composition.prefix(low)),
        expectation=Prefers("u"),
        edit=f"{high:g} elements against {low:g}",
        delta=high - low,
        base_level=low,
    )


def same_subset_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    one, other = compose(checklist, seed)
    texts = [one.prefix(quality), other.prefix(quality)]
    rng_for(seed, "orient", checklist.id, "same", quality).shuffle(texts)
    return _pair(
        checklist,
        f"same-q{quality}",
        kind="same_subset",
        texts=(texts[0], texts[1]),
        expectation=NoPreference(),
        edit="other wording, other sentence order",
        base_level=quality,
    )


def different_subset_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    if not 0 < quality < ELEMENTS:
        raise ValueError(f"two different subsets of {quality} among {ELEMENTS} elements do not exist")
    composition, _ = compose(checklist, seed)
    subsets = [composition.chain[:quality], composition.chain[ELEMENTS - quality :]]
    rng_for(seed, "orient", checklist.id, "different", quality).shuffle(subsets)
    return _pair(
        checklist,
        f"different-q{quality}",
        kind="different_subset",
        texts=(composition.text(subsets[0]), composition.text(subsets[1])),
        expectation=NoPreference(),
        edit="as many elements, other ones",
        base_level=quality,
    )


def filler_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    """The same elements bare (u) and padded with filler (v); the one pair that is not length-matched."""
    composition, _ = compose(checklist, seed)
    elements = composition.chain[:quality]
    return _pair(
        checklist,
        f"filler-q{quality}",
        kind="filler",
        texts=(composition.text(elements, padded=False), composition.text(elements)),
        expectation=NoPreference(),
        edit="bare against padded with filler",
        base_level=quality,
    )


def _pair(
    checklist: Checklist,
    name: str,
    *,
    kind: str,
    texts: tuple[str, str],
    expectation: Expectation,
    edit: str,
    delta: float = 0.0,
    base_level: float,
) -> Stimulus:
    return Stimulus(
        id=f"{checklist.id}/ladder/{name}",
        probe="ladder",
        kind=kind,
        cluster=checklist.id,
        stratum=checklist.domain,
        request=checklist.request,
        texts=texts,
        expectation=expectation,
        lineage=Lineage(parent=checklist.id, edit=edit),
        delta=delta,
        base_level=base_level,
    )
