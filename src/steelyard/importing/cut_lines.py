"""Long files of recorded verdicts, cut into parts: each distinct part of a line is read once.

A line of the project's own format is a head (judge), a middle (what was shown) and a tail (what came of it),
cut before two of its keys. A file of a million lines has few distinct parts. A part that is valid JSON in
braces is a whole number of members, since a bare quote can not stand inside a JSON text; so what is true of
the parts is true of their line. Whatever is out of the ordinary is left to the careful way, which reads line
by line and finds the words for what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints, distinct, numbered
from steelyard.importing.alike_lines import AlikeLines, ManyWaysError
from steelyard.importing.lines import Body, parse_objects

BLOCK = 1 << 22
"""Bytes that are read at a time."""
MARK = b"\xef\xbb\xbf"
"""What some programs begin a UTF-8 file with."""
PARTS = 3


class UnusualError(Exception):
    """Something that only the careful way can judge."""


class _Numbers(dict[bytes, int]):
    """Texts, numbered as they come."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


@dataclass(frozen=True, eq=False)
class CutLines:
    """Lines by their three parts."""

    bodies: tuple[list[Body], list[Body], list[Body]]
    """Distinct heads, middles and tails, each the members that it holds."""
    rows: tuple[Ints, Ints, Ints]
    """Number of each line's head, middle and tail."""

    @classmethod
    def of(cls, paths: Iterable[Path], keys: tuple[str, str]) -> CutLines:
        """The lines of these files, cut before the keys; raises where only the careful way can judge."""
        numbers = (_Numbers(), _Numbers(), _Numbers())
        signs = tuple(f'"{key}":'.encode() for key in keys)
        blocks = [block for path in paths for block in _numbered(path, signs, numbers)]
        head, middle, tail = numbers
        if not all(text.startswith(b"{") for text in head):
            raise UnusualError
        for known, sign in zip((middle, tail), signs, strict=True):
            if not all(text.startswith(sign) for text in known):
                raise UnusualError
        bodies = (_bodies(head, b"", b"}"), _bodies(middle, b"{", b"}"), _bodies(tail, b"{", b""))
        heads, middles, tails = map(np.concatenate, zip(*blocks, strict=True))
        lines = cls(bodies, (heads, middles, tails))
        lines._check_keys()
        return lines

    def __len__(self) -> int:
        return len(self.rows[0])

    def firsts(self, part: int) -> Ints:
        """The first line that holds each distinct head, middle or tail, by its number."""
        return np.flatnonzero(np.diff(np.maximum.accumulate(self.rows[part]), prepend=-1))

    def body(self, line: int) -> Body:
        """All that a line says."""
        head, middle, tail = (known[row[line]] for known, row in zip(self.bodies, self.rows, strict=True))
        return {**head, **middle, **tail}

    def samples(self, *parts: int, beside: Ints) -> list[int]:
        """Lines that together hold every distinct text of these parts, and every code."""
        firsts = [np.unique(beside, return_index=True)[1], *map(self.firsts, parts)]
        lines: list[int] = distinct(np.concatenate(firsts)).tolist()
        return lines

    def column(self, part: int, values: Iterable[int]) -> Ints:
        """A value for each distinct part, as one for each line."""
        return np.array(list(values), dtype=np.int64)[self.rows[part]]

    def anywhere(self, key: str, code: Callable[[Any], int], default: object) -> Ints:
        """A number from 0 on for each line, from a key that may stand in any part, or be left out."""
        values = np.full(len(self), -1, dtype=np.int64)
        for part, known in enumerate(self.bodies):
            if any(key in body for body in known):
                mine = self.column(part, (code(body[key]) if key in body else -1 for body in known))
                values = np.where(mine >= 0, mine, values)
        return np.where(values >= 0, values, code(default))

    def named(self, key: str, default: str) -> tuple[tuple[str, ...], Ints]:
        """Names under a key, sorted, and that of each line; `default` where the key is left out."""
        names = sorted({default, *(body[key] for part in self.bodies for body in part if key in body)})
        used, codes = numbered(self.anywhere(key, names.index, default))
        return tuple(names[number] for number in used.tolist()), codes

    def _check_keys(self) -> None:
        """No key stands in two parts of a line."""
        combined, known = np.zeros(len(self), dtype=np.int64), []
        for part, row in zip(self.bodies, self.rows, strict=True):
            kinds: dict[frozenset[str], int] = {}
            numbers = [kinds.setdefault(frozenset(body), len(kinds)) for body in part]
            combined = combined * len(kinds) + np.array(numbers, dtype=np.int64)[row]
            known.append(list(kinds))
        for code in distinct(combined).tolist():
            code, tail = divmod(code, len(known[2]))
            head, middle = divmod(code, len(known[1]))
            keys = known[0][head], known[1][middle], known[2][tail]
            if len(frozenset().union(*keys)) < sum(map(len, keys)):
                raise UnusualError


def _bodies(texts: Iterable[bytes], opening: bytes, closing: bytes) -> list[Body]:
    """The members of each part; all are read as one list, in which no text reaches over a line break."""
    parts = [opening + text + closing for text in texts]
    bodies = parse_objects(b",\n".join(parts).decode())
    if len(bodies) != len(parts):
        raise UnusualError
    return bodies


def _numbered(
    path: Path, signs: Sequence[bytes], numbers: Sequence[_Numbers]
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Numbers of the heads, middles and tails of some lines at a time."""
    cuts: list[bytes] = []
    alike = True
    for lines in _blocks(path):
        cuts = cuts or _cuts(lines, signs)
        if alike and all(map(bytes.endswith, cuts, signs)) and cuts:
            try:
                yield AlikeLines(lines).cut(list(zip(cuts, signs, strict=True)), numbers)
                continue
            except ManyWaysError:
                alike = False
        heads, middles, tails = (
            np.fromiter(map(known.__getitem__, part), dtype=np.int64, count=len(part))
            for known, part in zip(numbers, _parts(lines, cuts, signs), strict=True)
        )
        yield heads, middles, tails
    if not cuts:
        raise UnusualError


def _parts(lines: bytes, cuts: Sequence[bytes], signs: Sequence[bytes]) -> list[list[bytes]]:
    """Heads, middles and tails."""
    pieces = _cut(lines, cuts, signs) or _cut(_without_blanks(lines), cuts, signs)
    if not pieces and lines.strip():
        raise UnusualError
    return [pieces[part::PARTS] for part in range(PARTS)]


def _cut(lines: bytes, cuts: Sequence[bytes], signs: Sequence[bytes]) -> list[bytes]:
    """Three pieces a line, or nothing where there are more or fewer.

    Whether they are those of one line is told by how they begin: a line gives at most one piece that begins
    with a brace, its first. Where there are three times as many pieces as lines, and every third one begins
    so, each line has one, and the two behind it are its own.
    """
    count = PARTS * (lines.count(b"\n") + 1)
    for cut, sign in zip(cuts, signs, strict=False):
        lines = lines.replace(cut, b"\n" + sign)
    pieces = lines.split(b"\n")
    return pieces if len(pieces) == count else []


def _without_blanks(lines: bytes) -> bytes:
    return b"\n".join(line for line in lines.split(b"\n") if line.strip())


def _cuts(lines: bytes, signs: Iterable[bytes]) -> list[bytes]:
    """The text before and with each key, as the first line that is not blank writes it."""
    first = next((line for line in lines.split(b"\n") if line.strip()), b"")
    if not first:
        return []
    matches = [re.search(rb",\s*" + sign[:-1] + rb"\s*:", first) for sign in signs]
    if not all(matches):
        raise UnusualError
    return [match.group() for match in matches if match]


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines of a file, parted by line breaks of one kind."""
    with path.open("rb") as stream:
        if stream.read(len(MARK)) != MARK:
            stream.seek(0)
        while block := stream.read(BLOCK):
            whole = block if block.endswith(b"\n") else block + stream.readline()
            yield _one_kind(whole.removesuffix(b"\n"))


def _one_kind(lines: bytes) -> bytes:
    return lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in lines else lines
