"""Which checklist each pair of a design is built on: one pair each before a second.

A design is a table of kinds of pairs with their numbers in the quick, standard and full profile. Smaller
profiles are allocated first, so the pairs of `quick` are among those of `standard`, and these among those of
`full`: a run can grow without a call being paid twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeVar

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
