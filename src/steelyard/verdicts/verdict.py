"""What a reply amounts to. Unreadable and failed are never a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Decided:
    """An answer on the scale: a slot (`1`, `2`) or a score."""

    value: str


@dataclass(frozen=True)
class Tie:
    """Neither is better."""


@dataclass(frozen=True)
class Abstained:
    """The judge declined in the form it was offered; counts as no preference, and apart."""


@dataclass(frozen=True)
class Unreadable:
    """A reply that holds no admissible answer: refused, truncated, malformed. Final."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """No reply after every retry. Tried again on the next run."""

    reason: str


Verdict: TypeAlias = Decided | Tie | Abstained | Unreadable | Failed
