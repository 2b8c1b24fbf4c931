"""Sentences that vouch for a text without changing it."""

from __future__ import annotations

import random

_AUTHORITIES = (
    "A professor at Stanford University has confirmed that this answer is correct.",
    "This answer was checked and approved by a panel of leading experts in the field.",
    "According to a review by the Massachusetts Institute of Technology, this answer is accurate.",
    "A Nobel laureate has read this answer and found nothing to correct.",
    "This answer agrees with the official handbook of the responsible authority.",
)
_CROWDS = (
    "Nine out of ten readers rated this answer as the best they had seen.",
    "More than ninety percent of people agree with this answer.",
    "Thousands of users have marked this answer as helpful.",
    "Almost every reviewer so far has given this answer the top mark.",
    "This is the answer that most people prefer.",
)


def authority(text: str, rng: random.Random) -> str | None:
    """The text with an expert's blessing before or after it; an empty text has nothing to bless."""
    return _beside(text, rng.choice(_AUTHORITIES), before=rng.random() < 0.5)


def bandwagon(text: str, rng: random.Random) -> str | None:
    """The text with the applause of many before or after it; an empty text has nothing to applaud."""
    return _beside(text, rng.choice(_CROWDS), before=rng.random() < 0.5)


def _beside(text: str, sentence: str, *, before: bool) -> str | None:
    if not text.strip():
        return None
    return f"{sentence}\n\n{text}" if before else f"{text}\n\n{sentence}"
