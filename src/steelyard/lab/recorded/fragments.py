"""A fast way through long files of calls: each distinct part of a line is checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from steelyard.errors import DataError
from steelyard.lab.recorded.call import Call, Pair
from steelyard.lab.recorded.call_table import ANSWERS, FIRSTS, CallTable
from steelyard.lab.recorded.cut_lines import CutLines, UnusualError
from steelyard.lab.recorded.styles import call_of

KEYS = ("probe", "first")
"""Where a call is cut: judge, pair, answer."""
IN_MIDDLE = frozenset(f.name for f in fields(Pair))
"""What makes the pair, and is checked against each other: it must stand in the middle."""


def read_table(paths: Iterable[Path]) -> CallTable | None:
    """The table of all calls, or None where a file needs the careful way."""
    try:
        return _table(CutLines.of(paths, KEYS))
    except (UnusualError, DataError, OSError, UnicodeError):
        return None


def _table(lines: CutLines) -> CallTable:
    heads, middles, tails = lines.bodies
    if any("judge" not in body for body in heads) or any("answer" not in body for body in tails):
        raise UnusualError
    if any(IN_MIDDLE & body.keys() for part in (heads, tails) for body in part):
        raise UnusualError
    # Every distinct part is in one of these, so that every part is checked.
    calls = {middle: call_of("", body) for middle, body in lines.samples()}
    pairs = _pairs(calls.values())
    number = {name: index for index, name in enumerate(sorted(pairs))}
    judges = sorted({body["judge"] for body in heads})
    protocols, protocol = lines.named("protocol", "base")
    table = CallTable.ordered(
        tuple(judges),
        protocols,
        tuple(pairs[name] for name in number),
        lines.column(0, (judges.index(body["judge"]) for body in heads)),
        protocol,
        lines.column(1, (number[calls[middle].pair.pair] for middle in range(len(middles)))),
        lines.anywhere("replicate", int, 0),
        lines.column(2, (FIRSTS.index(body["first"]) for body in tails)),
        lines.column(2, (ANSWERS.index(body["answer"]) for body in tails)),
    )
    if table.repeated:
        raise UnusualError
    return table


def _pairs(calls: Iterable[Call]) -> dict[str, Pair]:
    """Pairs by name; one that is told in two ways is unusual."""
    pairs: dict[str, Pair] = {}
    for call in calls:
        if pairs.setdefault(call.pair.pair, call.pair) != call.pair:
            raise UnusualError
    return pairs
