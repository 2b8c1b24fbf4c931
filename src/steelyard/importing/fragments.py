"""A fast way through long files of calls: each distinct part of a line is checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from steelyard.errors import DataError
from steelyard.importing.call import Pair
from steelyard.importing.call_table import ANSWERS, FIRSTS, CallTable
from steelyard.importing.cut_lines import CutLines, UnusualError
from steelyard.importing.forms import Forms
from steelyard.importing.lines import Body
from steelyard.importing.styles import NAMES, call_of

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
    heads, _, tails = lines.bodies
    if any("judge" not in body for body in heads) or any("answer" not in body for body in tails):
        raise UnusualError
    if any(IN_MIDDLE & body.keys() for part in (heads, tails) for body in part):
        raise UnusualError
    for line in (*lines.firsts(0).tolist(), *lines.firsts(2).tolist()):
        call_of("", lines.body(line))
    shown = _shown(lines)
    pairs = _pairs(shown)
    number = {name: index for index, name in enumerate(sorted(pairs))}
    judges = sorted({body["judge"] for body in heads})
    protocols, protocol = lines.named("protocol", "base")
    table = CallTable.ordered(
        tuple(judges),
        protocols,
        tuple(pairs[name] for name in number),
        lines.column(0, (judges.index(body["judge"]) for body in heads)),
        protocol,
        lines.column(1, (number[pair.pair] for pair in shown)),
        lines.anywhere("replicate", int, 0),
        lines.column(2, (FIRSTS.index(body["first"]) for body in tails)),
        lines.column(2, (ANSWERS.index(body["answer"]) for body in tails)),
    )
    if table.repeated:
        raise UnusualError
    return table


def _shown(lines: CutLines) -> list[Pair]:
    """The pair of every middle; middles that differ in names alone are checked once."""
    forms = Forms.of(lines, NAMES)
    known = [call_of("", lines.body(line)).pair for line in forms.lines.tolist()]
    told = zip(forms.codes.tolist(), lines.bodies[1], strict=True)
    return [_named(known[form], body) for form, body in told]


def _named(pair: Pair, body: Body) -> Pair:
    """The same pair under other names."""
    names = body["pair"], body.get("task"), body.get("stratum")
    return Pair(pair.probe, names[0], pair.kind, names[1], names[2], pair.delta, pair.base_level, pair.better)


def _pairs(shown: Iterable[Pair]) -> dict[str, Pair]:
    """Pairs by name; one that is told in two ways is unusual."""
    pairs: dict[str, Pair] = {}
    for pair in shown:
        if pairs.setdefault(pair.pair, pair) != pair:
            raise UnusualError
    return pairs
