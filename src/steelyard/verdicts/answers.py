"""From one answer as a judge spells it to a verdict on the scale; nothing that could be two is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from steelyard.tasks.scale import BINARY_WORDS, Binary, Pairwise, Scale
from steelyard.verdicts.reasons import OFF_SCALE
from steelyard.verdicts.verdict import Abstained, Decided, Tie, Unreadable, Verdict

ABSTAIN = "abstain"
"""The one word that declines."""

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
"""What a whole number written as a fraction ends with."""

_BEGINNINGS = frozenset(("y", "n", "no"))
"""Words with which others begin, of another meaning."""


@dataclass(frozen=True)
class Vocabulary:
    """The words that a judge has for the answers of a scale.

    Without a map these are the answers themselves and, on a binary scale, the usual words for yes and no.
    With one they are those of the map, and the answers themselves unless the map gives one of them a meaning.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    """Word to answer, as the judge's owner has it."""

    def verdict(self, value: object, scale: Scale) -> Verdict:
        """The verdict of one answer value: text, number or truth value."""
        if not isinstance(value, (str, int, float)):
            return Unreadable(OFF_SCALE)
        answer = self._meanings(scale).get(spelled(str(value), scale))
        match answer:
            case None:
                return Unreadable(OFF_SCALE)
            case "abstain":
                return Abstained()
            case "tie":
                return Tie()
        return Decided(answer)

    def unfinished(self, text: str, scale: Scale) -> bool:
        """Whether a text that was cut may have been going to be another answer: `1`, or `10`."""
        word, meanings = spelled(text, scale), self._meanings(scale)
        longer = (other for other in meanings if other != word and other.startswith(word))
        return word in _BEGINNINGS or any(meanings[other] != meanings.get(word) for other in longer)

    def _meanings(self, scale: Scale) -> Mapping[str, str]:
        return _meanings(tuple(self.words.items()), scale)


@cache
def _meanings(words: tuple[tuple[str, str], ...], scale: Scale) -> Mapping[str, str]:
    """Every word that counts, as it is compared, and what it means."""
    own = {answer: answer for answer in (*scale.answers, ABSTAIN)}
    mapped = {spelled(word, scale): answer for word, answer in words if answer in own}
    if mapped:
        return mapped if own.keys() & mapped.keys() else {**own, **mapped}
    return {**own, **(BINARY_WORDS if isinstance(scale, Binary) else {})}


def spelled(text: str, scale: Scale) -> str:
    """A word as it is compared: in lower case; a whole score without its fraction."""
    word = text.strip().lower()
    return word if isinstance(scale, Pairwise) else _WHOLE.sub("", word)


def bare(text: str) -> str:
    """An answer without what stands around it: quotes, emphasis, brackets, a name and a final full stop."""
    inner = _peeled(text)
    named = _LABEL.match(inner)
    return _peeled(inner[named.end() :]) if named else inner


def _peeled(text: str) -> str:
    return text.strip().removesuffix(".").strip(_WRAPPING).removesuffix(".").strip()
