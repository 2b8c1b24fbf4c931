"""A judge that always answers the same: what such answers say nothing of."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer
from steelyard.datasheet.words.numbers import times
from steelyard.metrics.run.unchanged import COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.stimuli.original import ORIGINAL

SAYS_NOTHING = "says nothing"
"""How a reading begins that answers which never vary leave without a meaning."""


def says_nothing(figures: Figures, because: str) -> Answer | None:
    """The answer where every score of the judge is the same; `because` says what follows; else None."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    if not never_varies(commonest):
        return None
    return "undefined", (
        f"{SAYS_NOTHING}: it gives the same answer to everything, {answer_in_words(commonest)} in "
        f"{times(commonest, 'call')}, {because}"
    )
