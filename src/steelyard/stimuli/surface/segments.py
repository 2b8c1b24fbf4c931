"""Prose and code of a text: in code, spaces and letters carry meaning, so edits keep out of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
INLINE_CODE = re.compile(r"(?P<ticks>`+)[^`].*?(?<!`)(?P=ticks)(?!`)")


@dataclass(frozen=True)
class Segment:
    text: str
    code: bool
    """Whether they are a fenced block, fences included."""


def lines_of(text: str) -> list[str]:
    """Lines with their ends; LF, CRLF and bare CR end a line, nothing else does."""
    return _LINE.findall(text)


def segments(text: str) -> list[Segment]:
    """The text cut into prose and fenced code; joined they are the text. An open fence runs to the end."""
    pieces: list[Segment] = []
    gathered: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in lines_of(text):
        fence = _FENCE.match(line)
        if closing is None and fence and not (fence["mark"][0] == "`" and "`" in fence["rest"]):
            pieces += _segment(gathered, code=False)
            gathered, closing = [line], _closing(fence["mark"])
        elif closing is not None and closing.fullmatch(line.rstrip("\r\n")):
            pieces += _segment([*gathered, line], code=True)
            gathered, closing = [], None
        else:
            gathered.append(line)
    return [*pieces, *_segment(gathered, code=closing is not None)]


def in_prose(text: str, edit: Callable[[str], str]) -> str:
    return "".join(part.text if part.code else edit(part.text) for part in segments(text))


def outside_inline_code(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for code in INLINE_CODE.finditer(text):
        yield start, code.start()
        start = code.end()
    yield start, len(text)


def prose_stretches(text: str) -> list[tuple[int, int]]:
    """Start and end, in the whole text, of every stretch that is neither fenced nor inline code."""
    stretches, offset = [], 0
    for part in segments(text):
        if not part.code:
            stretches += [(offset + start, offset + end) for start, end in outside_inline_code(part.text)]
        offset += len(part.text)
    return stretches


def replace_spans(text: str, changes: dict[tuple[int, int], str]) -> str:
    parts, end = [], 0
    for (start, stop), new in sorted(changes.items()):
        parts += [text[end:start], new]
        end = stop
    return "".join([*parts, text[end:]])


def _segment(lines: list[str], *, code: bool) -> list[Segment]:
    return [Segment("".join(lines), code)] if lines else []


def _closing(mark: str) -> re.Pattern[str]:
    return re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
