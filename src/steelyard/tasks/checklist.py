"""A request whose quality is countable: required elements, each written several times over.

Users have checklists of their own, in a YAML or JSON file: the tasks and the depth of the ladder. Each
element is a step of quality, so the number of elements is the number of steps; all checklists of a file have
as many. Where an answer lacks an element, a sentence of filler stands in its place: of the checklist's own,
or an element of its twin, a checklist on the same subject that asks for other things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from steelyard.core.text import pluralize
from steelyard.core.validation import Expected, StrictModel
from steelyard.errors import ConfigError
from steelyard.tasks.pack import builtin_texts, load_builtin, read_list

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


LEAST, MOST = 3, 12
"""Elements of a checklist: a verdict rests on differences of three steps and more."""
LEAST_SUBJECTS = 2
Line = Annotated[str, Field(min_length=1)]
Wordings = Annotated[list[Line], Field(min_length=2)]


class ElementConfig(StrictModel):
    wordings: Wordings
    key: str | None = Field(default=None, min_length=1)
    weak: Line | None = None
    """Half of the element, for half steps."""


class ChecklistConfig(StrictModel):
    id: Annotated[str, Expected("letters, digits, dots, dashes and underscores")] = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
    )
    request: str = Field(min_length=1)
    elements: list[ElementConfig] = Field(min_length=LEAST, max_length=MOST)
    filler: list[Wordings] | None = None
    twin: str | None = None
    domain: str = Field(default="own", min_length=1)

    def checklist(self, twin: ChecklistConfig | None) -> Checklist:
        filler = self.filler if twin is None else [element.wordings for element in twin.elements]
        names = [element.key or str(number) for number, element in enumerate(self.elements, start=1)]
        return Checklist(
            self.id,
            self.id if twin is None else min(self.id, twin.id),
            self.domain,
            self.request,
            tuple(
                Element(name, "", (), tuple(element.wordings), element.weak or "")
                for name, element in zip(names, self.elements, strict=True)
            ),
            tuple(tuple(wordings) for wordings in filler or ()),
        )


class _ChecklistFile(StrictModel):
    checklists: list[ChecklistConfig] = Field(min_length=LEAST_SUBJECTS)


def read_checklists(path: Path) -> tuple[Checklist, ...]:
    given = read_list(_ChecklistFile, path, "checklists").checklists
    for problem in _problems(given):
        raise ConfigError(f"{path}: {problem}.")
    named = {one.id: one for one in given}
    found = [one.checklist(None if one.twin is None else named[one.twin]) for one in given]
    if len({one.subject for one in found}) < LEAST_SUBJECTS:
        raise ConfigError(
            f"{path}: holds twins on one subject, expected {LEAST_SUBJECTS} subjects or more; add another."
        )
    return tuple(sorted(found, key=lambda checklist: checklist.id))


def _problems(given: Sequence[ChecklistConfig]) -> Iterator[str]:
    """What is wrong between the parts, each in a sentence without its full stop."""
    depth = len(given[0].elements)
    for part in ("id", "request"):
        values = [_plain(getattr(one, part)) for one in given]
        for one, value in zip(given, values, strict=True):
            if values.count(value) > 1:
                yield f"two checklists have the {part} {getattr(one, part)!r}, expected one each; change one"
    named = {one.id: one for one in given}
    for one in given:
        where = f"checklist {one.id!r}"
        if len(one.elements) != depth:
            yield (
                f"{where} has {len(one.elements)} elements and {given[0].id!r} has {depth}, expected as many "
                "in each, for they are the steps of one ladder; add or remove some"
            )
        if (one.filler is None) == (one.twin is None):
            has = "filler and a twin" if one.twin else "neither filler nor a twin"
            yield f"{where} has {has}, expected one of them; correct it"
        other = named.get(one.twin or "")
        if one.twin is not None and (other is None or other is one or other.twin != one.id):
            expected = f"expected another checklist whose twin is {one.id!r}"
            yield f"{where} names the twin {one.twin!r}, {expected}; correct it"
        if one.filler is not None and len(one.filler) < depth:
            filler = pluralize(len(one.filler), "sentence of filler", "sentences of filler")
            yield f"{where} has {filler}, expected {depth} or more, one for each element; add some"
        keys = [element.key for element in one.elements if element.key is not None]
        for key in keys:
            if keys.count(key) > 1:
                yield f"{where} has the element {key!r} twice, expected each key once; rename one"
        lines = [*_lines(one), *(line for e in (other.elements if other else ()) for line in e.wordings)]
        plain = [_plain(line) for line in lines]
        for line in lines:
            if line.strip() != line or len(line.splitlines()) != 1:
                yield f"{where} has {line!r}, expected a sentence on one line; correct it"
            if plain.count(_plain(line)) > 1:
                yield f"{where} has the sentence {line!r} twice, expected each once; write another"


def _lines(one: ChecklistConfig) -> Iterator[str]:
    for element in one.elements:
        yield from element.wordings
        yield from [element.weak] if element.weak else []
    for wordings in one.filler or ():
        yield from wordings


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
