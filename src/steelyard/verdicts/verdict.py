"""The verdict of one call, from the answer as a judge spells it, bare or in JSON; never a guess of two.

Unreadable and failed are never a score, and have a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from steelyard.tasks.task import Pairwise, Scale, answer_words


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

ABSTAIN = "abstain"

_WRAPPING = " \t\r\n\"'`“”‘’*_[]()"
"""What people put around an answer: quotes, emphasis, brackets."""

_LABEL = re.compile(
    r"(?:(?:the|my|your|final|overall)\s+)*"
    r"(?:score|answer|verdict|rating|label|grade|decision|judge?ment|result|winner|choice|output)"
    r"[\s\"'`*_]*(?::|=|->|→)[\s\"'`*_]*(?=\S)",
    re.IGNORECASE,
)
"""A name before the answer, as in `Score: 1`."""

_WHOLE = re.compile(r"(?<=\d)\.0+$")

_NO_WORDS: Mapping[str, str] = {}

_BEGINNINGS = frozenset(("y", "n", "no"))
"""Words with which others begin, of another meaning."""


Words = Mapping[str, str]
"""Word to answer, where the judge's owner gives the judge words of its own."""


def word_verdict(value: object, scale: Scale, words: Words = _NO_WORDS) -> Verdict:
    """The verdict of one answer value: text, number or truth value."""
    if not isinstance(value, (str, int, float)):
        return Unreadable(OFF_SCALE)
    answer = meanings(tuple(words.items()), scale).get(normalize(str(value), scale))
    match answer:
        case None:
            return Unreadable(OFF_SCALE)
        case "abstain":
            return Abstained()
        case "tie":
            return Tie()
    return Decided(answer)


def is_unfinished(text: str, scale: Scale, words: Words) -> bool:
    """Whether a text that was cut may have been going to be another answer: `1`, or `10`."""
    word, known = normalize(text, scale), meanings(tuple(words.items()), scale)
    longer = (other for other in known if other != word and other.startswith(word))
    return word in _BEGINNINGS or any(known[other] != known.get(word) for other in longer)


@cache
def meanings(words: tuple[tuple[str, str], ...], scale: Scale) -> Mapping[str, str]:
    """Every word that counts, as it is compared, and what it means.

    Without a map these are the answers themselves and the usual words of the scale, such as yes and no.
    With one they are those of the map, and the answers themselves unless the map gives one of them a meaning.
    """
    own = {answer: answer for answer in (*scale.answers, ABSTAIN)}
    mapped = {normalize(word, scale): answer for word, answer in words if answer in own}
    if mapped:
        return mapped if own.keys() & mapped.keys() else {**own, **mapped}
    return {**own, **answer_words(scale)}


def normalize(text: str, scale: Scale) -> str:
    """A word as it is compared: in lower case; a whole score without its fraction."""
    word = text.strip().lower()
    return word if isinstance(scale, Pairwise) else _WHOLE.sub("", word)


def strip_wrapping(text: str) -> str:
    """An answer without what stands around it: quotes, emphasis, brackets, a name and a final full stop."""
    inner = _strip(text)
    label = _LABEL.match(inner)
    return _strip(inner[label.end() :]) if label else inner


def _strip(text: str) -> str:
    return text.strip().removesuffix(".").strip(_WRAPPING).removesuffix(".").strip()


class _Object(list[tuple[str, Any]]):
    """A JSON object with its duplicate keys."""


_OBJECT = re.compile(r'\{\s*"')
"""How an object begins, unlike a brace in prose or quoted code."""

# Models break lines inside a reason; what they mean is not in doubt.
_DECODER = json.JSONDecoder(object_pairs_hook=_Object, strict=False)


def find_answers(text: str, key: str) -> list[Any] | None:
    """Every value of `key` in the objects of a text, outermost objects only.

    A malformed object that mentions the key makes the whole reply unreadable (None): a judge that quotes a
    candidate's `{"winner": "2"}` without escaping it must not be read as having said so.
    """
    answers: list[Any] = []
    quoted, closings = f'"{key}"', _closings(text)
    last, position = text.rfind(quoted), text.find("{")
    while 0 <= position < last:
        body, end = _object_at(text, position)
        answers += [value for name, value in body if name == key]
        if end is None:
            end = closings.get(position)
            broken = end is not None or _OBJECT.match(text, position)
            if broken and text.find(quoted, position, end) >= 0:
                return None
        position = text.find("{", position + 1 if end is None else end)
    return answers


def find_object(text: str, key: str) -> dict[str, Any] | None:
    """The one outermost object of a text that has the key, as a mapping; None where there is not exactly one.

    A malformed object that mentions the key makes the whole text unreadable, as it does for `find_answers`.
    """
    if len(find_answers(text, key) or ()) != 1:
        return None
    position = text.find("{")
    while position >= 0:
        body, end = _object_at(text, position)
        if any(name == key for name, _ in body):
            return {name: _mapping(value) for name, value in body}
        position = text.find("{", position + 1 if end is None else end)
    return None


def _mapping(value: Any) -> Any:
    """Objects as mappings, whatever is in them; of a key that stands there twice the last counts."""
    if isinstance(value, _Object):
        return {name: _mapping(inner) for name, inner in value}
    return [_mapping(inner) for inner in value] if isinstance(value, list) else value


def _object_at(text: str, position: int) -> tuple[_Object, int | None]:
    if not _OBJECT.match(text, position):
        return _Object(), None
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return _Object(), None


def _closings(text: str) -> dict[int, int]:
    """For each opening brace the end of what it encloses, quotes disregarded."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for position, sign in enumerate(text):
        if sign == "{":
            opened.append(position)
        elif sign == "}" and opened:
            ends[opened.pop()] = position + 1
    return ends
