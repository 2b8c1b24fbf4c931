"""Why a written text is not used: the reasons below and no others, since reports count them."""

from __future__ import annotations

from dataclasses import dataclass

AUTHOR_REFUSED = "author refused"
"""The author declined to write, or its provider filtered the reply."""
NO_TEXT = "no text"
"""The author's reply holds no text between the marks."""
TRUNCATED = "cut off"
"""The token limit came before the end of the text."""
EMPTY = "empty"
"""The text is blank."""
COPY = "copy"
"""The text is the item's own, or too close to it."""
TOO_LONG = "too long"
"""The text has more words than its goal allows."""
TOO_SHORT = "too short"
"""The text has fewer words than its goal allows."""
REFUSAL_TEXT = "refusal phrase"
"""The text is a refusal where the item is none."""
OTHER_SCRIPT = "other script"
"""The text is written in another script than the item, so in another language."""
REPEATED = "same text again"
"""The author wrote these words for another item too, and they can not say what both say."""
LEAK = "talks about the task"
"""The text speaks of rubric, label or rewriting."""
TOO_SIMILAR = "too similar"
"""The text is too close to an original or to a text written before it."""
OTHER_SCORE = "validator gave another score"
"""The text does not earn the answer it was written for."""
MEANING_CHANGED = "meaning changed"
"""The validator finds that the text says something else than the item."""
NOT_AT_BORDER = "not at the border"
"""The validator finds the rubric's answer plain."""
NO_VERDICT = "no validator verdict"
"""Neither the validator nor its fallback gave a readable answer."""
NO_PLAN = "no plan"
"""The planner says that the run can not be edited so, or no step of its plan can be used."""
UNREADABLE = "unreadable reply"
"""A reply that should hold a plan, a message or a summary holds none that can be read."""
OTHER_ROLE = "another role's words"
"""The edited message holds what somebody else says in the run, or a message of somebody else."""
WRONG_CALL = "wrong tool call"
"""The edit names a call that the message does not have, or arguments that are none."""
CALL_FAILED = "call failed"
"""A call can not succeed, however often it is tried: the prompt is too long, or the server refuses it."""

REASONS = (
    AUTHOR_REFUSED,
    NO_TEXT,
    TRUNCATED,
    EMPTY,
    COPY,
    TOO_LONG,
    TOO_SHORT,
    REFUSAL_TEXT,
    OTHER_SCRIPT,
    REPEATED,
    LEAK,
    TOO_SIMILAR,
    OTHER_SCORE,
    MEANING_CHANGED,
    NOT_AT_BORDER,
    NO_VERDICT,
    NO_PLAN,
    UNREADABLE,
    OTHER_ROLE,
    WRONG_CALL,
    CALL_FAILED,
)
"""Every reason there is."""


@dataclass(frozen=True)
class Rejection:
    """A text, or the lack of one, that was rejected."""

    reason: str
    """One of `REASONS`."""
    detail: str
    """What was found, in a sentence for the author's next try and for the reader of the stimulus."""
