"""How sure a judge was of an answer: stated in the reply, the probability of its token, or a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from steelyard.tasks.scale import Scale
from steelyard.trials.presentation import Reply
from steelyard.verdicts.answers import find_answers
from steelyard.verdicts.readers import LogprobReader, Reader, without_reasoning

STATED, TOKEN, COLUMN = "stated", "token", "column"
"""Kinds: a field of the reply, the probability of the answer's token, a column of recorded verdicts."""
FIELD = "confidence"
"""Field of a JSON reply that holds the stated confidence."""


@dataclass(frozen=True)
class Confidence:
    """From 0 to 1 or in percent: a judge with one above 1 speaks in percent throughout."""

    value: float
    kind: str


def confidence_of(reader: Reader, reply: Reply, scale: Scale) -> Confidence | None:
    if isinstance(reader, LogprobReader):
        chance = token_probability(reader, reply, scale)
        return None if chance is None else Confidence(chance, TOKEN)
    stated = stated_confidence(reply.text)
    return None if stated is None else Confidence(stated, STATED)


def stated_confidence(text: str) -> float | None:
    """The one number under `confidence`, from 0 to 100; None where there is none, or several."""
    if FIELD not in text:
        return None
    values = set(map(_number, find_answers(without_reasoning(text), FIELD) or ()))
    return values.pop() if len(values) == 1 else None


def _number(value: object) -> float | None:
    text = value.strip().removesuffix("%") if isinstance(value, str) else value
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and 0 <= number <= 100 else None


def token_probability(reader: LogprobReader, reply: Reply, scale: Scale) -> float | None:
    """The answer's share of the probability that all answers hold together."""
    held = reader.probabilities(reply, scale)
    total = sum(held.values())
    return max(held.values()) / total if total else None


def in_percent(values: Iterable[float]) -> bool:
    """Whether a judge's confidences are meant in percent: one is above 1."""
    return any(value > 1 for value in values)
