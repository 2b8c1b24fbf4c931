"""Checks of a written text that cost nothing, reasons of rejection, and how alike texts are (cosine)."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steelyard.stimuli.brief import AMBIGUOUS, LABEL_FLIP, LONG, ORDINAL, PADDED, PARAPHRASE, SHORT, Brief

Reason: TypeAlias = Literal[
    "author refused",  # the author declined to write, or its provider filtered the reply
    "no text",
    "cut off",
    "empty",
    "copy",
    "too long",
    "too short",
    "refusal phrase",
    "other script",
    "same text again",  # the author wrote these words for another item too
    "talks about the task",
    "too similar",
    "validator gave another score",
    "meaning changed",
    "not at the border",
    "no validator verdict",  # neither the validator nor its fallback gave a readable answer
    "no plan",  # the planner says that the run can not be edited so, or no step of its plan can be used
    "unreadable reply",
    "another role's words",
    "wrong tool call",
    "call failed",  # no retry can help: the prompt is too long, or the server refuses it
]


@dataclass(frozen=True)
class Rejection:
    reason: Reason
    detail: str
    """What was found, in a sentence for the author's next try and for the reader of the stimulus."""


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
    mine, theirs = set(pairwise(words(text))), set(pairwise(words(source)))
    return len(mine & theirs) / len(mine) if mine else 0.0


def check_text(brief: Brief, text: str, rubric: str) -> Rejection | None:
    """The first thing that is wrong with a text; None where nothing is."""
    goal, source = brief.goal, brief.item.responses[0]
    if not words(text):
        return Rejection("empty", "the text has no words")
    rejection = _check_copy(goal, text, source)
    if rejection is None and goal not in (LABEL_FLIP, ORDINAL):
        if is_refusal(text) and not is_refusal(source):
            return Rejection("refusal phrase", "the text declines to answer and the given response does not")
        rejection = check_script(text, source)
    return rejection or check_leak(text, source, rubric) or _check_length(goal, text, source)


def _check_copy(goal: str, text: str, source: str) -> Rejection | None:
    if words(text) == words(source):
        return Rejection("copy", "the text is the given response, word for word")
    share, most = shared_pairs(text, source), MOST_SHARED.get(goal, 1.0)
    if share > most:
        why = f"{share:.0%} of its word pairs stand in the given response, {most:.0%} may: use other words"
        return Rejection("copy", why)
    return None


def check_script(text: str, source: str) -> Rejection | None:
    """A text in another alphabet; languages that share one are the validator's to tell apart."""
    mine, theirs = _script(text), _script(source)
    if mine and theirs and mine != theirs:
        return Rejection("other script", f"the text is in {mine} script and the given response in {theirs}")
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
            return Rejection("talks about the task", f"the text speaks of the task itself ({quoted!r})")
    runs = _runs(text) & _runs(rubric) - _runs(source)
    if runs:
        return Rejection("talks about the task", f"the text quotes the rubric ({' '.join(min(runs))!r})")
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
    return Rejection("too short" if ratio < low else "too long", reason)


def _runs(text: str) -> set[tuple[str, ...]]:
    sequence = words(text)
    return {tuple(sequence[n : n + LONGEST_QUOTE]) for n in range(len(sequence) - LONGEST_QUOTE + 1)}


Vector: TypeAlias = NDArray[np.float64]
Crowd: TypeAlias = Mapping[int, NDArray[np.float64]]

RUNS = (3, 4, 5)
DIMENSIONS = 8192
LOCAL_LIMIT = 0.92
"""Cosine of two local vectors above which texts are one text twice; levels of one pack item reach 0.89."""
EMBEDDED_LIMIT = 0.97
"""The same for vectors of an embedding model, where any two answers to one request lie close together."""


def local_vector(text: str) -> Vector:
    """Square roots of counts, of length one; of length zero where there are no words."""
    spelled = f" {' '.join(words(text))} ".encode()
    counts = np.zeros(DIMENSIONS)
    for size in RUNS:
        for start in range(len(spelled) - size + 1):
            counts[zlib.crc32(spelled[start : start + size]) % DIMENSIONS] += 1
    return unit(np.sqrt(counts))


def unit(numbers: Sequence[float] | Vector) -> Vector:
    vector = np.asarray(numbers, dtype=float)
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def crowd(vectors: Iterable[Vector]) -> Crowd:
    by_length: dict[int, list[Vector]] = {}
    for vector in vectors:
        by_length.setdefault(len(vector), []).append(vector)
    return {length: np.stack(rows) for length, rows in by_length.items()}


def closest(vector: Vector, others: Crowd) -> float:
    """The largest cosine between a vector of length one and others; 0 where there are none."""
    rows = others.get(len(vector))
    return 0.0 if rows is None else float(np.max(rows @ vector))
