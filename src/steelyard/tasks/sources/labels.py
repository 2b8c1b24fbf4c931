"""Labels of a file to answers on the scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from steelyard.errors import ConfigError, DataError
from steelyard.tasks.scale import BINARY_WORDS, Binary, Scale
from steelyard.tasks.sources.cells import is_missing, plain_text

Labels: TypeAlias = Mapping[str | int | float | bool, str | int | float | bool]
"""What a study file says under `labels`: a label of the file to an answer on the scale."""

SPELLINGS = {True: ("true", "yes", "on"), False: ("false", "no", "off")}
"""YAML reads an unquoted yes, on or true as a truth value, whichever was written."""

_LONGEST = 20
"""Digits of a whole number that may be a label."""


class LabelMap:
    """Reads the label of a cell."""

    def __init__(self, scale: Scale, labels: Labels | None = None) -> None:
        """Without `labels`, answers are written as on the scale, or as yes and no for a binary one."""
        self._answers = scale.answers
        words = BINARY_WORDS if isinstance(scale, Binary) else {}
        own = {answer: answer for answer in self._answers} | words
        self._known = own if labels is None else self._given(labels)

    def read(self, cell: Any, where: str, column: str) -> str | None:
        """The answer of a cell; None where the cell is empty."""
        if is_missing(cell):
            return None
        answer = self._known.get(normal(cell))
        if answer is None:
            raise DataError(
                f"{where}: column {column!r} holds {plain_text(cell)[:60]!r}, expected one of "
                f"{self._expected()}; correct the row or say under labels what it means."
            )
        return answer

    def _expected(self) -> str:
        known = list(self._known)
        shown = known if len(known) <= 12 else [*known[:3], "…", known[-1]]
        return ", ".join(shown)

    def _given(self, labels: Labels) -> dict[str, str]:
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


def normal(cell: Any) -> str:
    """One spelling per label: no spaces around it, lower case, whole numbers without a point."""
    text = plain_text(cell).strip().casefold()
    whole, _, rest = text.partition(".")
    digits = whole.removeprefix("-").removeprefix("+")
    if len(digits) < _LONGEST and digits.isascii() and digits.isdigit() and not rest.strip("0"):
        return str(int(whole))
    return text
