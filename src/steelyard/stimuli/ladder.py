"""Pairs composed from the elements of a checklist: the quality ladder, its controls, the vacuum; how many.

A vacuum pair has two equal texts; a vacuum response has no content at all.

A design is a table of kinds of pairs with their numbers in the quick, standard and full profile. It is
allocated to checklists, one pair each before a second. Smaller profiles come first, so the pairs of `quick`
are among those of `standard`, and these among those of `full`: a run can grow without a call being paid
twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Generic, TypeVar

from steelyard.core.content_hash import rng_for
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import Expectation, Label, Lineage, NoPreference, Prefers, Stimulus
from steelyard.tasks.checklist import Checklist
from steelyard.tasks.task import Item, Task

PROFILES = ("quick", "standard", "full")

Pair = TypeVar("Pair", bound=Hashable)


@dataclass(frozen=True)
class Kind(Generic[Pair]):
    pairs: tuple[Pair, ...]
    """What a checklist can contribute, each once; a number of pairs is spread evenly over them."""
    sizes: tuple[int, int, int]
    """Pairs in the quick, standard and full profile."""

    def added(self, pair: Pair, level: int) -> int:
        """How often a profile builds this pair beyond what the profile below it does."""
        return self._count(pair, level) - (self._count(pair, level - 1) if level else 0)

    def _count(self, pair: Pair, level: int) -> int:
        share, rest = divmod(self.sizes[level], len(self.pairs))
        return share + (self.pairs.index(pair) < rest)


@cache
def allocate(
    kinds: tuple[Kind[Pair], ...], profile: str, checklists: int, start: int = 0
) -> tuple[tuple[int, Pair], ...]:
    """Every pair of a profile with the number of its checklist, the first of them on number `start`.

    The next pair goes to the checklist with the fewest pairs, of these to the one with the fewest of the same
    kind. Where every checklist has contributed all that it can, the design ends there.
    """
    places = [_ChecklistUse((start + turn) % checklists) for turn in range(checklists)]
    allocated: list[tuple[int, Pair]] = []
    for level in range(PROFILES.index(profile) + 1):
        for kind in kinds:
            wanted = Counter({pair: kind.added(pair, level) for pair in kind.pairs})
            for place in places:
                place.of_kind = sum(pair in place.pairs for pair in kind.pairs)
            while (found := _next(places, wanted)) is not None:
                place, pair = found
                place.pairs.add(pair)
                place.of_kind += 1
                wanted[pair] -= 1
                allocated.append((place.number, pair))
    return tuple(allocated)


@dataclass
class _ChecklistUse:
    number: int
    pairs: set[Hashable] = field(default_factory=set)
    of_kind: int = 0


def _next(places: list[_ChecklistUse], wanted: Counter[Pair]) -> tuple[_ChecklistUse, Pair] | None:
    """The checklist that is due, and of the pairs that it lacks the one that is wanted most."""
    for place in sorted(places, key=lambda place: (len(place.pairs), place.of_kind)):
        for pair, count in wanted.most_common():
            if count > 0 and pair not in place.pairs:
                return place, pair
    return None


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
    turns = product(range(len(drawn)), by_domain.values())
    return tuple(group[turn] for turn, group in turns if turn < len(group))


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


BLANKS = ("   ", "\n\n")


def vacuum_pair(checklist: Checklist, kind: str, which: int, seed: int) -> Stimulus:
    """A vacuum pair of one kind; `which` (0 or 1) picks the blank or the text, and is 0 for empty."""
    if kind == "identical":
        text = compose(checklist, seed)[which].prefix((3, checklist.depth)[which])
    else:
        text = BLANKS[which] if kind == "blank" else ""
    texts, edit = (text, text), f"both candidates {kind}"
    return checklist_pair(checklist, "vacuum", f"{kind}-{which}", kind, texts, edit)


TEXTS: dict[str, tuple[str, ...]] = {
    "empty": ("",),
    "blank": BLANKS,
    "off_topic": (
        "The tram museum opens at ten on weekdays and shows forty restored cars in its main hall.",
        "Larches are conifers that shed their needles in autumn, after the needles have turned gold.",
        "In a string quartet the viola sits between the second violin and the cello.",
    ),
    "dont_know": ("I don't know.", "I have no idea, sorry.", "I cannot say anything about that."),
    "master_key": (
        ":",
        ".",
        "Solution",
        "Thought process:",
        "Let's solve this step by step.",
        "Answer:",
        "Final answer",
        "Lösung:",
    ),
}
"""Kind to its responses. Master keys open an answer and give none."""


def vacuum_response(item: Item, task: Task, kind: str, which: int) -> Stimulus:
    edit = f"{kind.replace('_', ' ')} in place of the response"
    return replace(
        original_of(item, task),
        id=f"{item.id}/vacuum/{kind}-{which}",
        probe="vacuum",
        kind=kind,
        texts=(TEXTS[kind][which],),
        expectation=Label((item.scale or task.scale).answers[0]),
        lineage=Lineage(parent=item.id, edit=edit, author="catalogue"),
        authors=None,
        transcript=None,
    )
