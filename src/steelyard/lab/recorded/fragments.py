"""A fast way through long files of calls: lines are cut in three, and each distinct part is checked once.

A line of the project's own format is a head (judge), a middle (the pair) and a tail (first, answer), cut
before `"probe"` and before `"first"`. A file of a million calls has few distinct parts. A part that is valid
JSON in braces is a whole number of members, since a bare quote can not stand inside a JSON text; so what is
true of the parts is true of their line. Wherever anything is out of the ordinary, `read_table` gives up: the
careful way then reads the file and finds the words for what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from steelyard.arrays import Ints
from steelyard.errors import DataError
from steelyard.lab.recorded.call import Call, Pair
from steelyard.lab.recorded.call_table import ANSWERS, FIRSTS, CallTable
from steelyard.lab.recorded.lines import Body, parse_object
from steelyard.lab.recorded.styles import call_of

CUTS = tuple(re.compile(rf',\s*"{key}"\s*:\s*') for key in ("probe", "first"))
OPENINGS = ("", '{"probe":', '{"first":')
CLOSINGS = ("}", "}", "")
IN_MIDDLE = frozenset(f.name for f in fields(Pair))
"""What makes the pair, and is checked against each other: it must stand in the middle."""

T = TypeVar("T")
Three = tuple[T, T, T]


class UnusualError(Exception):
    """Something that only the careful way can judge."""


@dataclass
class Parts:
    """Distinct texts of one of the three parts, numbered as they come."""

    numbers: dict[str, int] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    """Number of the text in each line."""


def read_table(paths: Iterable[Path]) -> CallTable | None:
    """The table of all calls, or None where a file needs the careful way."""
    parts = (Parts(), Parts(), Parts())
    seen: list[tuple[int, int, int]] = []
    try:
        for path in paths:
            _cut(path, parts, seen)
        return _table(parts, seen)
    except (UnusualError, DataError, OSError, UnicodeError):
        return None


def _cut(path: Path, parts: Three[Parts], seen: list[tuple[int, int, int]]) -> None:
    """Number the parts of every line; `seen` gets each line that holds a part for the first time."""
    heads, middles, tails = (part.numbers for part in parts)
    add_head, add_middle, add_tail = (part.rows.append for part in parts)
    with path.open(encoding="utf-8-sig") as stream:
        probe = first = ""
        for line in stream:
            if not probe:
                probe, first = _cuts(line)
            head, _, rest = line.partition(probe)
            middle, _, tail = rest.partition(first)
            if not tail:
                if line.strip():
                    raise UnusualError
                continue
            h, m, t = heads.get(head), middles.get(middle), tails.get(tail)
            if h is None or m is None or t is None:
                h = heads.setdefault(head, len(heads))
                m = middles.setdefault(middle, len(middles))
                t = tails.setdefault(tail, len(tails))
                seen.append((h, m, t))
            add_head(h)
            add_middle(m)
            add_tail(t)
        if not probe:
            raise UnusualError


def _cuts(line: str) -> tuple[str, str]:
    """The text before and with each key, as the first line writes it."""
    matches = [cut.search(line) for cut in CUTS]
    if matches[0] is None or matches[1] is None:
        raise UnusualError
    return matches[0].group(), matches[1].group()


def _table(parts: Three[Parts], seen: Sequence[tuple[int, int, int]]) -> CallTable:
    bodies = tuple(
        [parse_object("", f"{opening}{text}{closing}") for text in part.numbers]
        for part, opening, closing in zip(parts, OPENINGS, CLOSINGS, strict=True)
    )
    rows = tuple(np.array(part.rows, dtype=np.int64) for part in parts)
    _check_keys(bodies, rows)
    # Every distinct part is in one of these, so that every part is checked.
    calls = {m: call_of("", {**bodies[0][h], **bodies[1][m], **bodies[2][t]}) for h, m, t in seen}
    pairs = _pairs(calls.values())
    number = {name: index for index, name in enumerate(sorted(pairs))}
    judges = sorted({body["judge"] for body in bodies[0]})
    protocols = sorted(
        {"base", *(body["protocol"] for part in bodies for body in part if "protocol" in body)}
    )

    def column(part: int, values: Iterable[int]) -> Ints:
        return np.array(list(values), dtype=np.int64)[rows[part]]

    table = CallTable.ordered(
        tuple(judges),
        tuple(protocols),
        tuple(pairs[name] for name in number),
        column(0, (judges.index(body["judge"]) for body in bodies[0])),
        _anywhere("protocol", protocols.index, "base", bodies, column),
        column(1, (number[calls[middle].pair.pair] for middle in range(len(bodies[1])))),
        _anywhere("replicate", int, 0, bodies, column),
        column(2, (FIRSTS.index(body["first"]) for body in bodies[2])),
        column(2, (ANSWERS.index(body["answer"]) for body in bodies[2])),
    )
    if table.repeated:
        raise UnusualError
    return table


def _check_keys(bodies: Sequence[list[Body]], rows: Sequence[Ints]) -> None:
    """Each key in the part where it is looked for, and none in two parts of a line."""
    if any("judge" not in body for body in bodies[0]) or any("answer" not in body for body in bodies[2]):
        raise UnusualError
    if any(IN_MIDDLE & body.keys() for part in (bodies[0], bodies[2]) for body in part):
        raise UnusualError
    combined, known = np.zeros(len(rows[0]), dtype=np.int64), []
    for part, row in zip(bodies, rows, strict=True):
        kinds: dict[frozenset[str], int] = {}
        numbers = np.array([kinds.setdefault(frozenset(body), len(kinds)) for body in part], dtype=np.int64)
        combined = combined * len(kinds) + numbers[row]
        known.append(list(kinds))
    for code in np.unique(combined).tolist():
        code, tail = divmod(code, len(known[2]))
        head, middle = divmod(code, len(known[1]))
        keys = known[0][head], known[1][middle], known[2][tail]
        if len(frozenset().union(*keys)) < sum(map(len, keys)):
            raise UnusualError


def _pairs(calls: Iterable[Call]) -> dict[str, Pair]:
    """Pairs by name; one that is told in two ways is unusual."""
    pairs: dict[str, Pair] = {}
    for call in calls:
        if pairs.setdefault(call.pair.pair, call.pair) != call.pair:
            raise UnusualError
    return pairs


def _anywhere(
    key: str,
    code: Callable[[Any], int],
    default: object,
    bodies: Sequence[list[Body]],
    column: Callable[[int, Iterable[int]], Ints],
) -> Ints:
    """A key that may stand in any part, or be left out."""
    values: Ints | None = None
    for part, known in enumerate(bodies):
        if any(key in body for body in known) or (values is None and part == len(bodies) - 1):
            mine = column(part, (code(body[key]) if key in body else -1 for body in known))
            values = mine if values is None else np.where(mine >= 0, mine, values)
    assert values is not None
    return np.where(values >= 0, values, code(default))
