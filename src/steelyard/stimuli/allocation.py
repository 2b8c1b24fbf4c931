"""Which checklist each pair of a design is built on: one pair each before a second.

A design is a table of kinds of pairs with their numbers in the quick, standard and full profile. Smaller
profiles are allocated first, so the pairs of `quick` are among those of `standard`, and these among those of
`full`: a run can grow without a call being paid twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

PROFILES = ("quick", "standard", "full")
"""From the smallest to the largest."""

Pair = TypeVar("Pair", bound=Hashable)


@dataclass(frozen=True)
class Kind(Generic[Pair]):
    """Pairs that answer one question, such as those of one quality step."""

    pairs: tuple[Pair, ...]
    """What a checklist can contribute, each once; a number of pairs is spread evenly over them."""
    sizes: tuple[int, int, int]
    """Pairs in the quick, standard and full profile."""

    def count(self, pair: Pair, profile: int) -> int:
        """How often this pair is built in a profile."""
        share, rest = divmod(self.sizes[profile], len(self.pairs))
        return share + (self.pairs.index(pair) < rest)


@cache
def allocate(
    kinds: tuple[Kind[Pair], ...], profile: str, checklists: int, start: int = 0
) -> tuple[tuple[int, Pair], ...]:
    """Every pair of a profile with the number of its checklist, the first of them on number `start`.

    The next pair goes to the checklist with the fewest pairs, of these to the one with the fewest of the same
    kind. Where every checklist has contributed all that it can, the design ends there.
    """
    held: list[list[tuple[int, Pair]]] = [[] for _ in range(checklists)]
    ring = [(start + turn) % checklists for turn in range(checklists)]
    allocated: list[tuple[int, Pair]] = []
    for level in range(PROFILES.index(profile) + 1):
        for number, kind in enumerate(kinds):
            wanted = {
                pair: kind.count(pair, level) - (kind.count(pair, level - 1) if level else 0)
                for pair in kind.pairs
            }
            while place := _next_place(held, ring, number, wanted):
                wanted[place[1]] -= 1
                held[place[0]].append((number, place[1]))
                allocated.append(place)
    return tuple(allocated)


def _next_place(
    held: list[list[tuple[int, Pair]]], ring: list[int], number: int, wanted: dict[Pair, int]
) -> tuple[int, Pair] | None:
    """The checklist that is due, and of the pairs that it lacks the one that is wanted most."""
    due = sorted(ring, key=lambda place: (len(held[place]), sum(kind == number for kind, _ in held[place])))
    for place in due:
        lacking = [pair for pair, count in wanted.items() if count > 0 and (number, pair) not in held[place]]
        if lacking:
            return place, max(lacking, key=lambda pair: wanted[pair])
    return None
