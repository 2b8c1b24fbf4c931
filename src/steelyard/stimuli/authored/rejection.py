"""Why a written text is not used: the reasons below and no others, since reports count them."""

from __future__ import annotations

from dataclasses import dataclass

AUTHOR_REFUSED = "author refused"
"""The author declined to write, or its provider filtered the reply."""
NO_TEXT = "no text"
TRUNCATED = "cut off"
EMPTY = "empty"
COPY = "copy"
TOO_LONG = "too long"
TOO_SHORT = "too short"
REFUSAL_TEXT = "refusal phrase"
OTHER_SCRIPT = "other script"
REPEATED = "same text again"
"""The author wrote these words for another item too, and they can not say what both say."""
LEAK = "talks about the task"
TOO_SIMILAR = "too similar"
OTHER_SCORE = "validator gave another score"
MEANING_CHANGED = "meaning changed"
NOT_AT_BORDER = "not at the border"
NO_VERDICT = "no validator verdict"
"""Neither the validator nor its fallback gave a readable answer."""
NO_PLAN = "no plan"
"""The planner says that the run can not be edited so, or no step of its plan can be used."""
UNREADABLE = "unreadable reply"
OTHER_ROLE = "another role's words"
WRONG_CALL = "wrong tool call"
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


@dataclass(frozen=True)
class Rejection:
    reason: str
    detail: str
    """What was found, in a sentence for the author's next try and for the reader of the stimulus."""
