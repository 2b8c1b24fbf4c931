"""The same question on another range of numbers."""

from __future__ import annotations

import re
from typing import TypeVar

from steelyard.core.arrays import Floats
from steelyard.stimuli.surface.segments import replace_spans
from steelyard.tasks.scale import Ordinal

_RANGE = r"(?<![\w.-]){low}(?P<between>\s*(?:-|–|—|to|through|up to|and)\s*){high}(?!\w|\.\d)"
_ANCHOR = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\*\*)?(?:(?:score|level|grade)[ \t]+)?(?P<number>-?\d+)"
    r"(?=(?:\*\*)?[ \t]*(?::|=|–|—|-[ \t]))",
    re.IGNORECASE | re.MULTILINE,
)
_LISTED = re.compile(r"^[ \t]*(?P<number>\d+)(?=[.)][ \t])", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?![\w]|\.\d)")


Numbers = TypeVar("Numbers", int, Floats)


def position(answer: str, scale: Ordinal) -> float:
    """Where an answer lies on its scale: 0 at the lowest, 1 at the highest."""
    return (int(answer) - scale.low) / (scale.high - scale.low)


def rescale(answer: str, source: Ordinal, target: Ordinal) -> str:
    """The answer of the other scale that lies at the same place, or nearest to it (a half goes up)."""
    return str(at_same_place(int(answer), (source.low, source.high), (target.low, target.high)))


def at_same_place(
    answer: Numbers, source: tuple[Numbers, Numbers], target: tuple[Numbers, Numbers]
) -> Numbers:
    """The number between the ends of the other scale that lies nearest to the same place (a half goes up)."""
    steps, width = (answer - source[0]) * (target[1] - target[0]), source[1] - source[0]
    nearest: Numbers = target[0] + (2 * steps + width) // (2 * width)
    return nearest


def rewrite_range(text: str, source: Ordinal, target: Ordinal) -> str | None:
    """An instruction or rubric for the other range: `from 1 to 6` and lines such as `4: …` are renumbered.

    The numbers of a list (`4. …`) are levels when they are exactly the answers of the scale, and stay
    otherwise. None where the result would not be the same rubric: two levels would fall together, the text
    names no range and no level, or it holds a number of the scale whose part is unknown ("a 4 or higher").
    """
    numbers = {answer: rescale(answer, source, target) for answer in source.answers}
    span = re.compile(_RANGE.format(low=source.low, high=source.high))
    ranges = [match.span() for match in span.finditer(text)]
    listed = {match.span("number"): match["number"] for match in _LISTED.finditer(text)}
    levels = {match.span("number") for match in _ANCHOR.finditer(text) if match["number"] in numbers}
    levels = {place for place in levels if not any(start <= place[0] < end for start, end in ranges)}
    if set(listed.values()) == set(numbers):
        levels |= set(listed)
    collapsed = bool(levels) and len(set(numbers.values())) < len(numbers)
    if not (ranges or levels) or collapsed or _unknown(text, numbers, ranges, levels | set(listed)):
        return None
    changes = {place: numbers[text[slice(*place)]] for place in levels}
    changes |= {match.span(): f"{target.low}{match['between']}{target.high}" for match in span.finditer(text)}
    return replace_spans(text, changes)


def range_table(source: Ordinal, target: Ordinal) -> str | None:
    """A line that says how answers of one range are written on the other; None where two would be one."""
    numbers = [rescale(answer, source, target) for answer in source.answers]
    if len(set(numbers)) < len(numbers):
        return None
    pairs = ", ".join(f"{new} for {old}" for new, old in zip(numbers, source.answers, strict=True))
    return f"Give the answer on the range from {target.low} to {target.high}: {pairs}."


def _unknown(
    text: str, numbers: dict[str, str], ranges: list[tuple[int, int]], places: set[tuple[int, int]]
) -> bool:
    """Whether the text holds a number of the scale outside its ranges, levels and lists."""
    return any(
        match[0] in numbers
        and match.span() not in places
        and not any(start <= match.start() < end for start, end in ranges)
        for match in _NUMBER.finditer(text)
    )
