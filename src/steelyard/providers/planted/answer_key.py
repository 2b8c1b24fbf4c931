"""The planted judges' own key: what each sentence of the built-in catalogue is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from steelyard.core.content_hash import content_hash
from steelyard.tasks.checklist import Checklist, catalogue

FULL, WEAK = 1.0, 0.5
"""Worth of a full wording of an element, and of its weak form."""


@dataclass(frozen=True)
class Entry:
    """What one sentence gives."""

    checklist: str
    """Id of the built-in checklist."""
    element: str
    """Key of the element it satisfies."""
    value: float
    """By how much."""


@dataclass(frozen=True)
class AnswerKey:
    """Looks quality up by the hash of a sentence; unknown text has none."""

    entries: Mapping[str, Entry]
    """Sentence hash to what the sentence gives; filler is not listed."""

    @classmethod
    def of(cls, checklists: Iterable[Checklist]) -> AnswerKey:
        """The key of some checklists."""
        sentences = [
            (sentence, Entry(checklist.id, element.key, value))
            for checklist in checklists
            for element in checklist.elements
            for value, forms in ((FULL, element.wordings), (WEAK, (element.weak,)))
            for sentence in forms
        ]
        return cls({content_hash(sentence): entry for sentence, entry in sentences})

    def quality(self, text: str) -> float:
        """Sum over the distinct elements in a text; a repeated element counts once, at its best."""
        best: dict[tuple[str, str], float] = {}
        for sentence in re.split(r"(?<=\.)\s+", text.strip()):
            entry = self.entries.get(content_hash(sentence))
            if entry is not None:
                place = (entry.checklist, entry.element)
                best[place] = max(entry.value, best.get(place, 0.0))
        return math.fsum(best.values())


@cache
def builtin_key() -> AnswerKey:
    """The key of the built-in catalogue."""
    return AnswerKey.of(catalogue())
