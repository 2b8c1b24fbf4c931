"""The admissible answers of a judge, from lowest to highest where they have an order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from steelyard.errors import ConfigError

BINARY_WORDS = {
    **dict.fromkeys(("yes", "true", "y", "pass"), "1"),
    **dict.fromkeys(("no", "false", "n", "fail"), "0"),
}
"""Other ways to say 1 and 0 on a binary scale, in lower case."""


@dataclass(frozen=True)
class Binary:
    @property
    def answers(self) -> tuple[str, ...]:
        return ("0", "1")


@dataclass(frozen=True)
class Ordinal:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"an ordinal scale needs low < high, found {self.low} and {self.high}")

    @property
    def answers(self) -> tuple[str, ...]:
        return _whole_numbers(self.low, self.high)


@lru_cache(maxsize=64)
def _whole_numbers(low: int, high: int) -> tuple[str, ...]:
    """Spelled once: every question on a scale holds its answers, and a scale may be long."""
    return tuple(str(value) for value in range(low, high + 1))


@dataclass(frozen=True)
class Pairwise:
    tie: bool = True

    @property
    def answers(self) -> tuple[str, ...]:
        return ("1", "2", "tie") if self.tie else ("1", "2")


Scale: TypeAlias = Binary | Ordinal | Pairwise

_RANGE = re.compile(r"(\d{1,6})\s*[-–]\s*(\d{1,6})")


def parse_scale(text: str) -> Scale:
    """The scale of a name: `binary`, `pairwise`, or a range of whole numbers such as `1-6`."""
    match text.strip().lower():
        case "binary":
            return Binary()
        case "pairwise":
            return Pairwise()
        case word if found := _RANGE.fullmatch(word):
            low, high = int(found[1]), int(found[2])
            if low < high:
                return Ordinal(low, high)
    raise ConfigError(
        f"scale: found {text!r}, expected binary, pairwise or a range such as 1-6, lowest first; correct it."
    )


def scale_name(scale: Scale) -> str:
    if isinstance(scale, Ordinal):
        return f"{scale.low}-{scale.high}"
    return "binary" if isinstance(scale, Binary) else "pairwise"
