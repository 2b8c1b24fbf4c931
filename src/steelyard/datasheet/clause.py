"""A clause: what is said of a judge, in parts. Only `render/` makes text of it, and nobody reads that back.

A figure in a clause carries its estimate, so that a page links it to the calls behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from steelyard.metrics.estimate import Estimate


class Form(Enum):
    """How the figure of an estimate is spelled."""

    FIGURE = auto()
    """`0.94 [0.86, 0.98]`."""
    VALUE = auto()
    """`0.94`."""
    COUNT = auto()
    """`94 of 100 calls`."""
    RATIO = auto()
    """`94/100`."""
    WORTH = auto()
    """`1.4 [1.1, 1.9]`, `more than 1.6`."""


@dataclass(frozen=True)
class ClauseFigure:
    estimate: Estimate
    form: Form = Form.FIGURE
    noun: str = ""
    """What is counted: `call`, `pair`."""


@dataclass(frozen=True)
class Name:
    """A name that the user gave: a stratum, a cue, a prompt."""

    text: str


Part = str | ClauseFigure | Name
Phrase = tuple[Part, ...]


@dataclass(frozen=True)
class Clause:
    lead: Phrase
    """The predicate, plain: `favours the first text`."""
    figures: Phrase = ()
    """The figures that it rests on, with what joins them to the lead."""
    more: Phrase = ()
    """Other figures, limits, and what would decide."""
    about_judge: bool = True
    """True where the judge is the subject: `It` goes before the lead."""

    @property
    def short(self) -> Phrase:
        return self.lead + self.figures

    @property
    def whole(self) -> Phrase:
        return self.short + self.more


def figure(estimate: Estimate) -> ClauseFigure:
    return ClauseFigure(estimate)


def value(estimate: Estimate) -> ClauseFigure:
    return ClauseFigure(estimate, Form.VALUE)


def times(estimate: Estimate, noun: str) -> ClauseFigure:
    return ClauseFigure(estimate, Form.COUNT, noun)


def say(template: str, *parts: Part | Phrase) -> Phrase:
    """The words of a template with a part or a phrase for each `{}`."""
    words = template.split("{}")
    if len(words) != len(parts) + 1:
        raise ValueError(f"{template!r} has {len(words) - 1} places for {len(parts)} parts")
    return tuple(_joined(words, parts))


def _joined(words: list[str], parts: tuple[Part | Phrase, ...]) -> Iterator[Part]:
    for before, part in zip(words, (*parts, ""), strict=True):
        yield from [before] if before else []
        yield from part if isinstance(part, tuple) else [part] if part else []


def join(separator: str, phrases: Iterable[Phrase]) -> Phrase:
    """The phrases that say something, with words between them."""
    said = [phrase for phrase in phrases if phrase]
    return tuple(part for n, phrase in enumerate(said) for part in ([separator] if n else []) + [*phrase])
