"""A request whose quality is countable: required elements, each written several times over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from steelyard.tasks.builtin_yaml import builtin_texts, load_builtin

ELEMENTS = 5
"""Required elements of a built-in checklist, and so its highest quality; those of users may have others."""


@dataclass(frozen=True)
class Element:
    key: str
    """Short name, never shown to a judge."""
    means: str
    keywords: tuple[str, ...]
    """Word stems that mark the element: in each of its sentences and in no other."""
    wordings: tuple[str, ...]
    weak: str
    """Half of the element, for half steps; empty where the user wrote none."""


@dataclass(frozen=True)
class Checklist:
    id: str
    """Name of the checklist: the cluster of everything built from it."""
    subject: str
    """What it is about; the twins of a subject ask for other things, and a run has one of them."""
    domain: str
    request: str
    elements: tuple[Element, ...]
    filler: tuple[tuple[str, ...], ...]
    """Sentences on the subject that give nothing of what is asked, each in several wordings."""

    @property
    def depth(self) -> int:
        """Its highest quality, and so the largest step of its ladder."""
        return len(self.elements)


@cache
def catalogue() -> tuple[Checklist, ...]:
    """Every built-in checklist: the twins of all subjects."""
    found = (
        checklist for text in builtin_texts("catalog") for checklist in subject_checklists(load_builtin(text))
    )
    return tuple(sorted(found, key=lambda checklist: checklist.id))


@cache
def subjects() -> tuple[str, ...]:
    """What the built-in checklists are about: as many as a run has independent clusters at most."""
    return tuple(sorted({checklist.subject for checklist in catalogue()}))


def subject_checklists(data: Mapping[str, Any]) -> list[Checklist]:
    """The checklists of one subject; where one states no filler, it is made of its twins' elements."""
    twins = [(twin, [_element(element) for element in twin["elements"]]) for twin in data["twins"]]
    found = []
    for twin, own in twins:
        others = [element.wordings for other, theirs in twins if other is not twin for element in theirs]
        filler = tuple(map(tuple, twin.get("filler", others)))
        about = data["subject"], data["domain"], twin["request"]
        found.append(Checklist(twin["id"], *about, elements=tuple(own), filler=filler))
    return found


def _element(data: Mapping[str, Any]) -> Element:
    keywords, wordings = tuple(data["keywords"]), tuple(data["wordings"])
    return Element(data["key"], data["means"], keywords, wordings, data["weak"])
