"""The admissible answers of a judge, and their level of measurement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from steelyard.errors import ConfigError


@dataclass(frozen=True)
class Binary:
    """Yes or no, written 1 and 0."""

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer a judge may give."""
        return ("0", "1")


@dataclass(frozen=True)
class Ordinal:
    """Whole numbers from low to high."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"an ordinal scale needs low < high, found {self.low} and {self.high}")

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer a judge may give."""
        return tuple(str(value) for value in range(self.low, self.high + 1))


@dataclass(frozen=True)
class Pairwise:
    """Which of two is better, by slot; with or without a tie."""

    tie: bool = True

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer a judge may give."""
        return ("1", "2", "tie") if self.tie else ("1", "2")


Scale: TypeAlias = Binary | Ordinal | Pairwise


def parse_scale(text: str) -> Scale:
    """A scale from its name: `binary`, `pairwise`, or low and high as in `1-6`."""
    bounds = re.fullmatch(r"(\d+)-(\d+)", text)
    if bounds and int(bounds[1]) < int(bounds[2]):
        return Ordinal(int(bounds[1]), int(bounds[2]))
    if text not in ("binary", "pairwise"):
        raise ConfigError(f"scale: found {text!r}, expected binary, pairwise, or low-high such as 1-6.")
    return Binary() if text == "binary" else Pairwise()


def scale_name(scale: Scale) -> str:
    """The name that `parse_scale` reads."""
    if isinstance(scale, Ordinal):
        return f"{scale.low}-{scale.high}"
    return "binary" if isinstance(scale, Binary) else "pairwise"
