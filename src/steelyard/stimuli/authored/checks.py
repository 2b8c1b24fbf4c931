"""Checks of a written text that cost nothing: they come before any validator is asked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from steelyard.stimuli.authored.brief import (
    AMBIGUOUS,
    LABEL_FLIP,
    LONG,
    ORDINAL,
    PADDED,
    PARAPHRASE,
    SHORT,
    Brief,
)
from steelyard.stimuli.authored.rejection import (
    COPY,
    EMPTY,
    LEAK,
    OTHER_SCRIPT,
    REFUSAL_TEXT,
    TOO_LONG,
    TOO_SHORT,
    Rejection,
)

LENGTH_RATIOS = {
    PARAPHRASE: (0.6, 1.6),
    LONG: (1.3, 3.0),
    SHORT: (0.3, 0.8),
    PADDED: (1.3, 3.0),
    AMBIGUOUS: (0.3, 3.0),
}
"""Words of the text for each word of the item's response; a flip may be as long as it needs."""

MOST_SHARED = {PARAPHRASE: 0.6}
"""Share of a text's word pairs that may stand in the item's response; paraphrases of the pack share 0.15."""

LONGEST_QUOTE = 8
"""Words in a row that a text may have in common with the rubric."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+(?:['’]\w+)*")

_REFUSALS = re.compile(
    r"\bas an ai\b"
    r"|^\W*i(?:'m| am) sorry,? (?:but )?i can(?:'|no|)t\W*$"
    r"|\bi (?:can(?:'|no|)t|can not|won't|will not|must decline to|am unable to|am not able to) (?:"
    r"(?:help|assist)(?: you)? (?:with|in|here|further)|comply with|fulfill? (?:this|that|your)|rewrite\b"
    r"|(?:write|provide|create|produce|do|continue) (?:this|that|such)\b)",
    re.I,
)
"""A model declining its task; a person declining a refund is not meant."""

_TASK_TALK = tuple(
    re.compile(pattern, re.I | re.M)
    for pattern in (
        r"\brubrics?\b",
        r"\b(?:reference|target|expected|gold) (?:label|answer|score)\b",
        r"\b(?:label|score|rating|grade)\s*(?:is|of|:|=)\s*\d",
        r"\b(?:rewritten|paraphrased|reworded|longer|shorter|revised) (?:version|text|response|answer)\b",
        r"^\s*(?:sure|certainly|of course|here(?:'s| is| are))\b[^\n.]{0,80}:\s*$",
        r"</?(?:text|rewritten|response)>",
    )
)


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation; each sign of a script without spaces is one."""
    return _WORD.findall(text.casefold().replace("’", "'"))


def is_refusal(text: str) -> bool:
    return _REFUSALS.search(text.replace("’", "'")) is not None


def shared_pairs(text: str, source: str) -> float:
    mine, theirs = _pairs(text), _pairs(source)
    return len(mine & theirs) / len(mine) if mine else 0.0


def check_text(brief: Brief, text: str, rubric: str) -> Rejection | None:
    source = brief.item.responses[0]
    for rejection in _findings(brief.goal, text, source, rubric):
        if rejection is not None:
            return rejection
    return None


def _findings(goal: str, text: str, source: str, rubric: str) -> Iterable[Rejection | None]:
    yield None if words(text) else Rejection(EMPTY, "the text has no words")
    yield _check_copy(goal, text, source)
    if goal not in (LABEL_FLIP, ORDINAL):
        yield _check_refusal(text, source)
        yield check_script(text, source)
    yield check_leak(text, source, rubric)
    yield _check_length(goal, text, source)


def _check_copy(goal: str, text: str, source: str) -> Rejection | None:
    if words(text) == words(source):
        return Rejection(COPY, "the text is the given response, word for word")
    share, most = shared_pairs(text, source), MOST_SHARED.get(goal, 1.0)
    if share > most:
        return Rejection(
            COPY,
            f"{share:.0%} of its word pairs stand in the given response, {most:.0%} may: use other words",
        )
    return None


def _check_refusal(text: str, source: str) -> Rejection | None:
    if is_refusal(text) and not is_refusal(source):
        return Rejection(REFUSAL_TEXT, "the text declines to answer and the given response does not")
    return None


def check_script(text: str, source: str) -> Rejection | None:
    """A text in another alphabet; languages that share one are the validator's to tell apart."""
    mine, theirs = _script(text), _script(source)
    if mine and theirs and mine != theirs:
        return Rejection(OTHER_SCRIPT, f"the text is in {mine} script and the given response in {theirs}")
    return None


def _script(text: str) -> str:
    """The script of most letters, by the first word of their Unicode names; empty without letters."""
    counts = Counter(unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha())
    name = counts.most_common(1)[0][0] if counts else ""
    return "Japanese or Chinese" if name in ("CJK", "HIRAGANA", "KATAKANA") else name.capitalize()


def check_leak(text: str, source: str, rubric: str) -> Rejection | None:
    for pattern in _TASK_TALK:
        match = pattern.search(text)
        if match and not pattern.search(source):
            quoted = " ".join(match[0].split())
            return Rejection(LEAK, f"the text speaks of the task itself ({quoted!r})")
    runs = _runs(text) & _runs(rubric) - _runs(source)
    if runs:
        return Rejection(LEAK, f"the text quotes the rubric ({' '.join(min(runs))!r})")
    return None


def _check_length(goal: str, text: str, source: str) -> Rejection | None:
    if goal not in LENGTH_RATIOS:
        return None
    low, high = LENGTH_RATIOS[goal]
    ratio = len(words(text)) / max(1, len(words(source)))
    if low <= ratio <= high:
        return None
    reason = (
        f"the text has {ratio:.2f} times the words of the given response, expected {low:g} to {high:g} times"
    )
    return Rejection(TOO_SHORT if ratio < low else TOO_LONG, reason)


def _pairs(text: str) -> set[tuple[str, str]]:
    found = words(text)
    return set(pairwise(found))


def _runs(text: str) -> set[tuple[str, ...]]:
    sequence = words(text)
    return {tuple(sequence[n : n + LONGEST_QUOTE]) for n in range(len(sequence) - LONGEST_QUOTE + 1)}
