"""Answers composed from a checklist: elements and filler, one sentence each, in a drawn order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from steelyard.identity import rng_for
from steelyard.tasks.checklist import ELEMENTS, Checklist


@dataclass(frozen=True)
class Composition:
    """Which wording of each sentence is used, and where each sentence stands.

    A composition has one place per element. Place i holds element i where the answer contains it
    and filler i where it does not, so two answers of one composition differ in nothing else.
    """

    checklist: Checklist
    """The task."""
    chain: tuple[int, ...]
    """Elements in the order in which the prefix chain adds them."""
    wording: tuple[int, ...]
    """Wording of each element."""
    filler_wording: int
    """0 or 1."""
    places: tuple[int, ...]
    """Order of the sentences: a permutation of the element numbers."""

    def prefix(self, level: float) -> str:
        """Q(level): the first elements of the chain; a half level adds the next element's weak form."""
        whole = int(level)
        weak = self.chain[whole] if level > whole else None
        return self.text(self.chain[:whole], weak=weak)

    def text(self, elements: Collection[int], *, weak: int | None = None, filler: int = ELEMENTS) -> str:
        """The answer with these elements; `filler` limits how many filler sentences take the empty places."""
        sentences = []
        for place in self.places:
            element = self.checklist.elements[place]
            if place in elements:
                sentences.append(element.wordings[self.wording[place]])
            elif place == weak:
                sentences.append(element.weak)
            elif filler > 0:
                sentences.append(self.checklist.filler[place][self.filler_wording])
                filler -= 1
        return " ".join(sentences)


def compose(checklist: Checklist, seed: int) -> tuple[Composition, Composition]:
    """Two compositions of one chain that share no wording and no sentence order."""
    rng = rng_for(seed, "compose", checklist.id)
    chain = rng.sample(range(ELEMENTS), ELEMENTS)
    pairs = [rng.sample(range(len(element.wordings)), 2) for element in checklist.elements]
    filler = rng.randrange(2)
    places = rng.sample(range(ELEMENTS), ELEMENTS)
    other = places
    while other == places:
        other = rng.sample(range(ELEMENTS), ELEMENTS)
    return (
        Composition(checklist, tuple(chain), tuple(p[0] for p in pairs), filler, tuple(places)),
        Composition(checklist, tuple(chain), tuple(p[1] for p in pairs), 1 - filler, tuple(other)),
    )


def choose_checklists(tasks: tuple[Checklist, ...], count: int, seed: int) -> tuple[Checklist, ...]:
    """Draw tasks from as many domains as possible."""
    rng = rng_for(seed, "choose", count)
    by_domain: dict[str, list[Checklist]] = {}
    for task in rng.sample(tasks, len(tasks)):
        by_domain.setdefault(task.domain, []).append(task)
    rounds = [group[turn] for turn in range(len(tasks)) for group in by_domain.values() if turn < len(group)]
    return tuple(sorted(rounds[:count], key=lambda task: task.id))
