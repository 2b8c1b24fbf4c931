"""The verdict of one call, and why a reply could not be parsed. Unreadable and failed are never a score."""

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


TRUNCATED = "truncated"
"""The token limit came before a complete answer."""
BROKEN_OFF = "broken off"
"""The server ended the answer for a reason that nobody knows, before it was complete."""
REFUSAL = "refusal"
"""The model refused, or the provider filtered the reply."""
EMPTY = "empty"
"""The reply is blank."""
NO_ANSWER = "no answer"
"""There is text, but no answer in the form that was asked for."""
AMBIGUOUS = "ambiguous"
"""Two different answers."""
OFF_SCALE = "not on the scale"
"""An answer that the scale does not admit."""
IMPROBABLE = "answers improbable"
"""The answers together hold less than half of the probability of the first token."""
NO_LOGPROBS = "no logprobs"
"""The server sent no log-probabilities."""
NO_SCORES = "no scores"
"""The provider sent no pair of scores."""
REASONS = (
    *(TRUNCATED, BROKEN_OFF, REFUSAL, EMPTY, NO_ANSWER),
    *(AMBIGUOUS, OFF_SCALE, IMPROBABLE, NO_LOGPROBS, NO_SCORES),
)
"""Every reason a reader gives."""
