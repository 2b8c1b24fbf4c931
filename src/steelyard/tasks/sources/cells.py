"""Cells of a table as text, and labels as answers of the scale."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from shlex import quote
from typing import Any, TypeAlias

from steelyard.errors import ConfigError, DataError
from steelyard.tasks.scale import Pairwise, Scale, with_usual_words

LOST = ("unreadable", "failed", "error", "abstained", "none", "null", "nan", "n/a")
"""Words of a judge that gave no verdict; a failure is never a grade."""
SLOTS = {
    **dict.fromkeys(("1", "a", "first", "model_a", "system_a"), "1"),
    **dict.fromkeys(("2", "b", "second", "model_b", "system_b"), "2"),
    **dict.fromkeys(("tie", "tie_bothbad", "tie (bothbad)", "both_bad", "both", "draw"), "tie"),
}
"""Words for the better of two, in lower case."""


def is_missing(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def plain_text(cell: Any) -> str:
    """A scalar as people write it: 4.0 is `4`, true is `true`; text stays as it is."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def long_text(cell: Any, where: str) -> str:
    if isinstance(cell, (list, dict)):
        messages = messages_of(cell)
        if messages is None:
            raise DataError(
                f"{where}: found a {type(cell).__name__}, expected a text or a list of messages with role "
                "and content; map another column."
            )
        return "\n\n".join(f"{role}: {content}" for role, content in messages)
    if isinstance(cell, bytes):
        raise DataError(f"{where}: found bytes, expected a text; write the column as text.")
    return plain_text(cell)


def messages_of(cell: Any) -> list[tuple[str, str]] | None:
    if not isinstance(cell, list) or not cell:
        return None
    if not all(isinstance(message, dict) and {"role", "content"} <= message.keys() for message in cell):
        return None
    return [(str(message["role"]), str(message["content"])) for message in cell]


def rubric_text(cell: Any, where: str) -> str:
    points = list_of(cell)
    if not points:
        return long_text(cell, where)
    if not all(isinstance(point, str) for point in points):
        raise DataError(f"{where}: the rubric is a list of more than texts; write one text per point.")
    return "\n".join(f"{number}. {point.strip()}" for number, point in enumerate(points, start=1))


def list_of(cell: Any) -> list[Any] | None:
    """The list that a cell is, or that a text spells as JSON."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    return list(cell) if isinstance(cell, (list, tuple)) else None


Labels: TypeAlias = Mapping[str | int | float | bool, str | int | float | bool]

SPELLINGS = {True: ("true", "yes", "on"), False: ("false", "no", "off")}
"""YAML reads an unquoted yes, on or true as a truth value, whichever was written."""

_LONGEST = 20
"""Digits of a whole number that may be a label."""


class LabelMap:
    def __init__(self, scale: Scale, labels: Labels | None = None) -> None:
        """Answers are written as on the scale, in its usual words (yes, `Response_2`, A) or in a map's."""
        self._answers = scale.answers
        slots = SLOTS if isinstance(scale, Pairwise) and not labels else {}
        self._slots = {word: slot for word, slot in slots.items() if slot in scale.answers}
        self._known = with_usual_words(scale, self._read_labels(labels or {}))

    def read(self, cell: Any, where: str, column: str) -> str | None:
        if is_missing(cell):
            return None
        answer = self._known.get(normal(cell)) or self._slots.get(normal(cell))
        if answer is None:
            known = list(self._known)
            expected = ", ".join(known if len(known) <= 12 else [*known[:3], "…", known[-1]])
            word = plain_text(cell)[:60]
            raise DataError(
                f"{where}: column {column!r} holds {word!r}, expected one of {expected}; correct the row, or "
                f"say what the word means with --values {quote(word.strip())}=ANSWER, or labels under data."
            )
        return answer

    def _read_labels(self, labels: Labels) -> dict[str, str]:
        known: dict[str, str] = {}
        for label, meaning in labels.items():
            answer = str(int(meaning)) if isinstance(meaning, bool) else normal(meaning)
            if answer not in self._answers:
                raise ConfigError(
                    f"labels: {label!r} means {meaning!r}, expected one of {', '.join(self._answers)}; "
                    "correct it."
                )
            for spelling in SPELLINGS[label] if isinstance(label, bool) else (normal(label),):
                known[spelling] = answer
        return known


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def normal(cell: Any) -> str:
    """One spelling per label: no spaces around it, lower case, whole numbers without a point."""
    text = plain_text(cell).strip().casefold()
    whole, _, rest = text.partition(".")
    digits = whole.removeprefix("-").removeprefix("+")
    if len(digits) < _LONGEST and digits.isascii() and digits.isdigit() and not rest.strip("0"):
        return str(int(whole))
    return text
