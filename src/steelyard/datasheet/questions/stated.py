"""What the prompt or rubric in force says already, so that nobody is advised to say it.

A sentence says it where it names the thing and denies that it counts. What is not found so is advised.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from steelyard.datasheet.instrument_card import InstrumentCard
from steelyard.datasheet.questions.causes import Advice

_DENIED = (
    r"\b(?:(?:not|n[’']t|never)\b.*\b(?:count|matter|reward|prefer|favou?r|influence|affect|consider|weigh)"
    r"|ignor|disregard|regardless|irrespective|irrelevant|no (?:credit|weight|bonus|influence|information))"
)


class Statement(Enum):
    """Something that a prompt may say, by what names it; the value has the pattern of a whole sentence."""

    LENGTH = ("length", rf"\b(?:length|long|longer|verbos\w*|padd\w*|word count)\b.*{_DENIED}")
    FORM = ("form", rf"\b(?:wording|style|form|format\w*|mark-?up|markdown|layout)\b.*{_DENIED}")
    TIES = ("ties", r"\b(?:tie|ties|draw|equally good)\b")
    INSTRUCTIONS = ("instructions", r"\b(?:no|not|never|ignore|disregard)\b.*\binstructions?\b")

    def is_in(self, sentences: Iterable[str]) -> bool:
        return any(re.search(self.value[1], sentence, re.I) for sentence in sentences)


_ANY_ORDER = re.compile(r"(?<=[.;!?])\s+|\n+")
OF_CUES: Mapping[str, Statement] = {
    **dict.fromkeys(("padding", "padding_25", "padding_100"), Statement.LENGTH),
    **dict.fromkeys(("bullets", "headings", "emoji"), Statement.FORM),
    "injection": Statement.INSTRUCTIONS,
}
"""What denies that a cue counts."""
STATED: Mapping[Advice, tuple[Statement, Advice]] = {
    Advice.BY_LENGTH: (Statement.LENGTH, Advice.BY_LENGTH_STATED),
    Advice.LENGTH_IN_RUBRIC: (Statement.LENGTH, Advice.LENGTH_STATED),
    Advice.ONE_FORM: (Statement.FORM, Advice.ONE_FORM_STATED),
    Advice.ALLOW_TIES_OR_ORDERS: (Statement.TIES, Advice.BOTH_ORDERS),
    Advice.ALLOW_TIES: (Statement.TIES, Advice.TIES_STATED),
}
"""Advice to say something, and what is advised where that is said."""


def statements(card: InstrumentCard | None) -> frozenset[Statement]:
    """What a judge is told; nothing is known of one that is not prompted and shows no template."""
    if card is None:
        return frozenset()
    parts = [card.settings.get("template")]
    if card.prompted:
        parts += [card.instruction, card.rubric]
        parts += [
            text for each in card.prompts if each.protocol == "base" for text in (each.system, each.user)
        ]
    sentences = [sentence for part in parts if part for sentence in _ANY_ORDER.split(part)]
    return frozenset(each for each in Statement if each.is_in(sentences))


def unless_stated(advice: Advice, said: Collection[Statement], cues: Collection[str] = ()) -> Advice:
    """The advice, or what is left of it where the judge is told so already; `cues` are those at fault."""
    if advice is Advice.CUES_IN_RUBRIC:
        told = cues and all(OF_CUES.get(cue) in said for cue in cues)
        return Advice.CUES_STATED if told else advice
    statement, instead = STATED.get(advice, (None, advice))
    return instead if statement in said else advice
