"""Edits of a rubric by rule: its points in another order, or its scores on another range of numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from steelyard.core.arrays import Floats
from steelyard.stimuli.text_edits import lines_of, replace_spans
from steelyard.tasks.task import Ordinal, Scale

_POINT = re.compile(
    r"(?P<indent>[ \t]*)"
    r"(?P<mark>[-*+•]|(?P<number>\d+)[.)]|(?P<level>(?:(?:score|level)[ \t]+)?-?\d+[ \t]*[:=–—]))"
    r"(?P<space>[ \t]+)(?P<body>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AFTER_BLANK = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\s*\Z")


@dataclass(frozen=True)
class _Point:
    indent: str
    mark: str
    kind: str
    number: str | None
    body: str


def rubric_order(rubric: str, rng: random.Random, scale: Scale | None = None) -> str | None:
    """The rubric with the points of each list in a drawn order; None where no list has two different points.

    A level written `4: …` moves as a whole. The numbers of a list stay in place where a scale is given, they
    are not its answers, and the rubric speaks of none of them ("rules 1 to 3"); else a number may be the
    meaning of its point and goes with it. A list whose end cannot be told is left alone.
    """
    blocks = _blocks(rubric)
    texts = [block if isinstance(block, str) else " ".join(p.body for p in block) for block in blocks]
    mentioned = set(re.findall(r"\d+", " ".join(texts)))
    edited = "".join(
        block if isinstance(block, str) else _permuted(block, rng, moving=_moving(block, scale, mentioned))
        for block in blocks
    )
    return None if edited == rubric else edited


_LIST_MARK = re.compile(r"^\s*(?:\d+[.):]|[-*•])?\s*")


def with_rubric(prompt: str, rubric: str) -> str | None:
    """A prompt that holds the lines of a rubric in any order, with the rubric in its place; else None."""
    if rubric.strip() and rubric.strip() in prompt:
        return prompt
    lines, wanted = prompt.splitlines(), rubric.strip().splitlines()
    points = _points_of(wanted)
    for start in range(len(lines) - len(wanted) + 1 if wanted else 0):
        if _points_of(lines[start : start + len(wanted)]) == points:
            return "\n".join([*lines[:start], *wanted, *lines[start + len(wanted) :]])
    return None


def _points_of(lines: Sequence[str]) -> list[str]:
    return sorted(_LIST_MARK.sub("", line).strip() for line in lines)


def _blocks(rubric: str) -> list[str | list[_Point]]:
    """Text and lists in turn; indented and blank lines belong to the point above them."""
    blocks: list[str | list[_Point]] = []
    for line in lines_of(rubric):
        point = _point(line)
        current = blocks[-1] if blocks and isinstance(blocks[-1], list) else None
        indent = len(line) - len(line.lstrip(" \t"))
        if current and (not line.strip() or indent > len(current[-1].indent)):
            current[-1] = replace(current[-1], body=current[-1].body + line)
        elif current and point and _same_list(point, current[-1]):
            current.append(point)
        elif current and point is None and not _ends_before(line, current[-1]):
            blocks[-1] = _format_points(current) + line
        else:
            blocks.append([point] if point else line)
    return _settled(blocks)


def _same_list(point: _Point, other: _Point) -> bool:
    return (point.kind, point.indent) == (other.kind, other.indent)


def _ends_before(line: str, last: _Point) -> bool:
    """Whether an unindented line speaks of the whole: after a blank line, or as a sentence after another."""
    sentence = last.body.rstrip()[-1:] in ".!?;:" and line[:1].isupper()
    return sentence or _AFTER_BLANK.search(last.body) is not None


def _settled(blocks: list[str | list[_Point]]) -> list[str | list[_Point]]:
    """Lines between two parts of one list may belong to its points: such parts become text."""
    settled = list(blocks)
    for place, block in enumerate(blocks):
        before = place - 1
        while before >= 0 and isinstance(blocks[before], str) and str(blocks[before]).strip():
            before -= 1
        other = blocks[before] if 0 <= before < place - 1 else None
        if isinstance(block, list) and isinstance(other, list) and _same_list(block[0], other[-1]):
            settled[before], settled[place] = _format_points(other), _format_points(block)
    return settled


def _format_points(points: list[_Point]) -> str:
    return "".join(point.indent + point.mark + point.body for point in points)


def _point(line: str) -> _Point | None:
    match = _POINT.fullmatch(line)
    if not match or not match["body"].strip():
        return None
    kind = "level" if match["level"] else "number" if match["number"] else match["mark"]
    return _Point(match["indent"], match["mark"] + match["space"], kind, match["number"], match["body"])


def _moving(points: list[_Point], scale: Scale | None, mentioned: set[str]) -> bool:
    numbers = {point.number for point in points if point.number}
    meant = scale is None or numbers == set(scale.answers) or not numbers.isdisjoint(mentioned)
    return points[0].kind == "level" or meant


def _permuted(points: list[_Point], rng: random.Random, *, moving: bool) -> str:
    """Bodies in another order; each place keeps its line end, so the last point may lack one."""
    bodies = [re.fullmatch(r"(.*?)(\s*)", point.body, re.DOTALL) for point in points]
    contents, ends = [m[1] for m in bodies if m], [m[2] for m in bodies if m]
    order = list(range(len(contents)))
    # Drawn again while the contents read the same.
    while len(set(contents)) > 1 and [contents[number] for number in order] == contents:
        order = rng.sample(range(len(contents)), len(contents))
    marks = [points[number if moving else place].mark for place, number in enumerate(order)]
    return "".join(
        point.indent + mark + contents[number] + end
        for point, mark, number, end in zip(points, marks, order, ends, strict=True)
    )


_RANGE = r"(?<![\w.-]){low}(?P<between>\s*(?:-|–|—|to|through|up to|and)\s*){high}(?!\w|\.\d)"
_ANCHOR = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\*\*)?(?:(?:score|level|grade)[ \t]+)?(?P<number>-?\d+)"
    r"(?=(?:\*\*)?[ \t]*(?::|=|–|—|-[ \t]))",
    re.IGNORECASE | re.MULTILINE,
)
_LISTED = re.compile(r"^[ \t]*(?P<number>\d+)(?=[.)][ \t])", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?![\w]|\.\d)")


Numbers = TypeVar("Numbers", int, Floats)


def rescale(answer: str, source: Ordinal, target: Ordinal) -> str:
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
    unknown = any(
        match[0] in numbers
        and match.span() not in levels | set(listed)
        and not any(start <= match.start() < end for start, end in ranges)
        for match in _NUMBER.finditer(text)
    )
    if not (ranges or levels) or collapsed or unknown:
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
