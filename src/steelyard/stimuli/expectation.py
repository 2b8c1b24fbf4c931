"""What a sound judge does with a stimulus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Label:
    value: str


@dataclass(frozen=True)
class Prefers:
    """This content of the pair, `u` or `v`, whichever slot it stands in."""

    content: str


@dataclass(frozen=True)
class NoPreference:
    """A tie."""


@dataclass(frozen=True)
class Unknown:
    """Nobody has said: the stimulus counts towards consistency, never towards accuracy."""


Expectation: TypeAlias = Label | Prefers | NoPreference | Unknown


def reference_label(expectation: Expectation) -> str | None:
    """The reference as files spell it: a score, `u` or `v`, `tie`; None where nobody has said."""
    match expectation:
        case Label(value=value):
            return value
        case Prefers(content=content):
            return content
        case NoPreference():
            return "tie"
    return None
