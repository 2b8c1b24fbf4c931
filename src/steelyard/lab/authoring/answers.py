"""Reading what authors and validators reply: never a guess."""

from __future__ import annotations

import re

from steelyard.lab.authoring.draft import Draft
from steelyard.lab.authoring.questions import question_of
from steelyard.stimuli.authored.checks import is_refusal
from steelyard.stimuli.authored.rejection import AUTHOR_REFUSED, EMPTY, NO_TEXT, TRUNCATED, Rejection
from steelyard.trials.reply import Reply
from steelyard.verdicts.json_answers import find_answers
from steelyard.verdicts.readers import JsonReader, without_reasoning
from steelyard.verdicts.verdict import Decided

_TEXT = re.compile(r"<text>\r?\n?(.*)</text>", re.S | re.I)


def text_of(reply: Reply) -> str | Rejection:
    """The text between the marks, or why there is none."""
    if reply.finish in ("refusal", "filter"):
        return Rejection(AUTHOR_REFUSED, f"the provider reported {reply.finish!r}")
    words = without_reasoning(reply.text)
    match = _TEXT.search(words)
    if match is None and reply.finish == "length":
        return Rejection(TRUNCATED, "the reply ended at the token limit before the text was complete")
    if match is None and is_refusal(words):
        return Rejection(AUTHOR_REFUSED, "the author declined to write")
    if match is None:
        return Rejection(NO_TEXT, "the reply held no text between <text> and </text>")
    text = match[1].strip()
    return text or Rejection(EMPTY, "there was nothing between <text> and </text>")


def said_yes(reply: Reply, key: str) -> bool | None:
    """The yes or no of a JSON object with this key; None where there is not exactly one."""
    if reply.finish in ("refusal", "filter"):
        return None
    answers = find_answers(without_reasoning(reply.text), key)
    words = {str(value).strip().lower() for value in answers or ()}
    if words <= {"yes", "true"} and words:
        return True
    return False if words and words <= {"no", "false"} else None


def score_of(draft: Draft, reply: Reply) -> str | None:
    """The score in a reply; None where there is none."""
    verdict = JsonReader()(reply, question_of(draft.brief, draft.task).scale)
    return verdict.value if isinstance(verdict, Decided) else None
