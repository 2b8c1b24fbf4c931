"""The quality ladder and its same-quality controls: answers composed from the elements of a checklist."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from steelyard.core.rng import rng_for
from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.checklist import Checklist


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
    """A place for each element, in order; answers of one composition differ in nothing but their elements."""

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
    rng, depth = rng_for(seed, "compose", checklist.id), checklist.depth
    chain = tuple(rng.sample(range(depth), depth))
    fillers = rng.sample(checklist.filler, depth)
    one, other = [], []
    for number, (element, filler) in enumerate(zip(checklist.elements, fillers, strict=True)):
        words, padding = rng.sample(element.wordings, 2), rng.sample(filler, 2)
        one.append(AnswerSentence(number, words[0], element.weak, padding[0]))
        other.append(AnswerSentence(number, words[1], element.weak, padding[1]))
    order = rng.sample(range(depth), depth)
    turned = order
    while turned == order:
        turned = rng.sample(range(depth), depth)
    return (
        ComposedAnswer(chain, tuple(one[number] for number in order)),
        ComposedAnswer(chain, tuple(other[number] for number in turned)),
    )


def order_checklists(checklists: tuple[Checklist, ...], seed: int) -> tuple[Checklist, ...]:
    """One checklist of each subject, drawn with the seed, in a drawn order in which the domains take turns.

    Over all seeds each twin is drawn as often, so that every sentence is an element as often as it is filler;
    within a run no two checklists share a subject, so that they are independent.
    """
    subjects: dict[str, list[Checklist]] = {}
    for checklist in checklists:
        subjects.setdefault(checklist.subject, []).append(checklist)
    drawn = [rng_for(seed, "twin", subject).choice(twins) for subject, twins in subjects.items()]
    by_domain: dict[str, list[Checklist]] = {}
    for checklist in rng_for(seed, "choose").sample(drawn, len(drawn)):
        by_domain.setdefault(checklist.domain, []).append(checklist)
    return tuple(
        group[turn] for turn in range(len(drawn)) for group in by_domain.values() if turn < len(group)
    )


_TIE = NoPreference()


def prefix_pair(checklist: Checklist, low: float, high: float, seed: int) -> Stimulus:
    """Q(high) as u against Q(low) as v: u contains all that v contains, and more."""
    one, _ = compose(checklist, seed)
    texts, edit = (one.prefix(high), one.prefix(low)), f"{high:g} elements against {low:g}"
    name = f"q{low:g}-q{high:g}"
    return checklist_pair(checklist, "ladder", name, "prefix", texts, edit, low, high - low, Prefers("u"))


def same_subset_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    texts = [answer.prefix(quality) for answer in compose(checklist, seed)]
    rng_for(seed, "orient", checklist.id, "same", quality).shuffle(texts)
    edit = "other wording, other sentence order"
    return checklist_pair(checklist, "ladder", f"same-q{quality}", "same_subset", texts, edit, quality, 0.0)


def different_subset_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    depth = checklist.depth
    if not 0 < quality < depth:
        raise ValueError(f"two different subsets of {quality} among {depth} elements do not exist")
    one, _ = compose(checklist, seed)
    subsets = [one.chain[:quality], one.chain[depth - quality :]]
    rng_for(seed, "orient", checklist.id, "different", quality).shuffle(subsets)
    texts, edit = [one.text(subset) for subset in subsets], "as many elements, other ones"
    name = f"different-q{quality}"
    return checklist_pair(checklist, "ladder", name, "different_subset", texts, edit, quality, 0.0)


def filler_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    """The same elements bare (u) and padded with filler (v); the one pair that is not length-matched."""
    one, _ = compose(checklist, seed)
    texts = [one.text(one.chain[:quality], padded=padded) for padded in (False, True)]
    edit = "bare against padded with filler"
    return checklist_pair(checklist, "ladder", f"filler-q{quality}", "filler", texts, edit, quality, 0.0)


def checklist_pair(
    checklist: Checklist,
    probe: str,
    name: str,
    kind: str,
    texts: Sequence[str],
    edit: str,
    base_level: float | None = None,
    delta: float | None = None,
    expectation: Expectation = _TIE,
) -> Stimulus:
    """A pair made of a checklist, which is its cluster; only a ladder has `base_level` and `delta`."""
    return Stimulus(
        id=f"{checklist.id}/{probe}/{name}",
        probe=probe,
        kind=kind,
        cluster=checklist.id,
        stratum=checklist.domain,
        request=checklist.request,
        texts=tuple(texts),
        expectation=expectation,
        lineage=Lineage(parent=checklist.id, edit=edit),
        delta=delta,
        base_level=base_level,
    )
