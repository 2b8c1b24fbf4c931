"""A request whose quality is countable: five required elements, each written several times over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from steelyard.tasks.builtin_yaml import builtin_texts, load_builtin

ELEMENTS = 5
"""Required elements of a checklist, and so the highest quality."""


@dataclass(frozen=True)
class Element:
    key: str
    """Short name, never shown to a judge."""
    means: str
    keywords: tuple[str, ...]
    """Word stems that mark the element: in each of its sentences and in no other."""
    wordings: tuple[str, ...]
    weak: str


@dataclass(frozen=True)
class Checklist:
    id: str
    """Name of the checklist: the cluster of everything built from it."""
    domain: str
    request: str
    elements: tuple[Element, ...]
    filler: tuple[tuple[str, str], ...]
    """Sentences on the topic that give nothing, each in two wordings."""


@cache
def catalogue() -> tuple[Checklist, ...]:
    return tuple(sorted(map(_checklist, builtin_texts("catalog")), key=lambda checklist: checklist.id))


def _checklist(text: str) -> Checklist:
    data = load_builtin(text)
    elements = tuple(
        Element(e["key"], e["means"], tuple(e["keywords"]), tuple(e["wordings"]), e["weak"])
        for e in data["elements"]
    )
    filler = tuple((first, second) for first, second in data["filler"])
    return Checklist(data["id"], data["domain"], data["request"], elements, filler)
