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
_REFERENCE = re.compile(
    r"\b(?:rule|point|item|line|step|criterion|criteria|requirement|condition|number|no\.)s?[ \t]+\d", re.I
)
_SENTENCE_END = re.compile(r"[.!?:]\s*\Z")
_AFTER_BLANK = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\s*\Z")


@dataclass(frozen=True)
class _Point:
    """One point of a list, with the lines that belong to it."""

    indent: str
    mark: str
    kind: str
    number: str | None
    body: str


def rubric_order(rubric: str, rng: random.Random, scale: Scale | None = None) -> str | None:
    """The rubric with the points of each list in a drawn order; None where no list has two different points.

    A level written `4: …` moves as a whole. The numbers of a list stay in place where a scale is given and
    they are not its answers; else a number may be the meaning of its point and goes with it. A list that runs
    on into an unindented line is left alone, for that line may belong to its last point or to the whole,
    unless the point ends with a sentence and the line begins one. A rubric that refers to its points by
    number ("rules 1 to 3") is left as it is.
    """
    if _REFERENCE.search(rubric):
        return None
    answers = None if scale is None else set(scale.answers)
    edited = "".join(
        block if isinstance(block, str) else _permuted(block, rng, answers) for block in _blocks(rubric)
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
        elif current and point and (point.kind, point.indent) == (current[-1].kind, current[-1].indent):
            current.append(point)
        elif current and point is None and not _ended(current[-1].body, line):
            blocks[-1] = "".join(p.indent + p.mark + p.body for p in current) + line
        else:
            blocks.append([point] if point else line)
    return blocks


def _ended(body: str, line: str) -> bool:
    """Whether a list is over when an unindented line follows a point."""
    return bool(_AFTER_BLANK.search(body) or (_SENTENCE_END.search(body) and line[:1].isupper()))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _point(line: str) -> _Point | None:
    match = _POINT.fullmatch(line)
    if not match or not match["body"].strip():
        return None
    kind = "level" if match["level"] else "number" if match["number"] else match["mark"]
    return _Point(match["indent"], match["mark"] + match["space"], kind, match["number"], match["body"])


def _permuted(points: list[_Point], rng: random.Random, answers: set[str] | None) -> str:
    """Bodies in another order; each place keeps its line end, so the last point may lack one."""
    bodies = [re.fullmatch(r"(.*?)(\s*)", point.body, re.DOTALL) for point in points]
    contents, ends = [m[1] for m in bodies if m], [m[2] for m in bodies if m]
    numbers = {point.number for point in points}
    moving = points[0].kind == "level" or answers is None or numbers == answers
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
