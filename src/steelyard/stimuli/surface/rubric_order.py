"""The points of a rubric in another order."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

from steelyard.stimuli.surface.segments import lines_of
from steelyard.tasks.scale import Scale

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
    spoken = _spoken(blocks)
    edited = "".join(
        block if isinstance(block, str) else _permuted(block, rng, moving=_moving(block, scale, spoken))
        for block in blocks
    )
    return None if edited == rubric else edited


def _blocks(rubric: str) -> list[str | list[_Point]]:
    """Text and lists in turn; indented and blank lines belong to the point above them."""
    blocks: list[str | list[_Point]] = []
    for line in lines_of(rubric):
        point = _point(line)
        current = blocks[-1] if blocks and isinstance(blocks[-1], list) else None
        if current and (not line.strip() or _indent(line) > len(current[-1].indent)):
            current[-1] = replace(current[-1], body=current[-1].body + line)
        elif current and point and _same_list(point, current[-1]):
            current.append(point)
        elif current and point is None and not _ends_before(line, current[-1]):
            blocks[-1] = _written(current) + line
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
            settled[before], settled[place] = _written(other), _written(block)
    return settled


def _written(points: list[_Point]) -> str:
    return "".join(point.indent + point.mark + point.body for point in points)


def _spoken(blocks: list[str | list[_Point]]) -> set[str]:
    """Every number that stands in the text and in the points, the numbers of the points left out."""
    texts = [block if isinstance(block, str) else " ".join(p.body for p in block) for block in blocks]
    return set(re.findall(r"\d+", " ".join(texts)))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _point(line: str) -> _Point | None:
    match = _POINT.fullmatch(line)
    if not match or not match["body"].strip():
        return None
    kind = "level" if match["level"] else "number" if match["number"] else match["mark"]
    return _Point(match["indent"], match["mark"] + match["space"], kind, match["number"], match["body"])


def _moving(points: list[_Point], scale: Scale | None, spoken: set[str]) -> bool:
    numbers = {point.number for point in points if point.number}
    meant = scale is None or numbers == set(scale.answers) or not numbers.isdisjoint(spoken)
    return points[0].kind == "level" or meant


def _permuted(points: list[_Point], rng: random.Random, *, moving: bool) -> str:
    """Bodies in another order; each place keeps its line end, so the last point may lack one."""
    bodies = [re.fullmatch(r"(.*?)(\s*)", point.body, re.DOTALL) for point in points]
    contents, ends = [m[1] for m in bodies if m], [m[2] for m in bodies if m]
    order = _order(contents, rng)
    marks = [points[number if moving else place].mark for place, number in enumerate(order)]
    return "".join(
        point.indent + mark + contents[number] + end
        for point, mark, number, end in zip(points, marks, order, ends, strict=True)
    )


def _order(contents: list[str], rng: random.Random) -> list[int]:
    """A permutation that shows: drawn again while the contents read the same."""
    order = list(range(len(contents)))
    if len(set(contents)) < 2:
        return order
    drawn = order
    while [contents[number] for number in drawn] == contents:
        drawn = rng.sample(order, len(order))
    return drawn
