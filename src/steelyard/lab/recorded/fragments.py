"""A fast way through long files of calls: each distinct part of a line is checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from steelyard.errors import DataError
from steelyard.lab.recorded.call import Pair
from steelyard.lab.recorded.call_table import ANSWERS, FIRSTS, CallTable
from steelyard.lab.recorded.cut_lines import CutLines, UnusualError
from steelyard.lab.recorded.lines import Body
from steelyard.lab.recorded.styles import NAMES, call_of, is_name

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
    forms: dict[tuple[object, ...], Pair] = {}
    shown = {middle: _pair(body, forms) for middle, body in lines.samples()}
    pairs = _pairs(shown.values())
    number = {name: index for index, name in enumerate(sorted(pairs))}
    judges = sorted({body["judge"] for body in heads})
    protocols, protocol = lines.named("protocol", "base")
    table = CallTable.ordered(
        tuple(judges),
        protocols,
        tuple(pairs[name] for name in number),
        lines.column(0, (judges.index(body["judge"]) for body in heads)),
        protocol,
        lines.column(1, (number[shown[middle].pair] for middle in range(len(middles)))),
        lines.anywhere("replicate", int, 0),
        lines.column(2, (FIRSTS.index(body["first"]) for body in tails)),
        lines.column(2, (ANSWERS.index(body["answer"]) for body in tails)),
    )
    if table.repeated:
        raise UnusualError
    return table


def _pair(body: Body, forms: dict[tuple[object, ...], Pair]) -> Pair:
    """The pair of a line that is right; lines that differ in names alone are checked once.

    What else a line says is told by its spelling, since 0.0 and -0.0, or 1 and true, are equal.
    """
    form = tuple((key, type(body[key]), "" if key in NAMES else repr(body[key])) for key in body)
    known = forms.get(form)
    if known is None:
        forms[form] = pair = call_of("", body).pair
        return pair
    for key in NAMES & body.keys():
        if body[key] is not None and not is_name(body[key]):
            raise UnusualError
    names = body["pair"], body.get("task"), body.get("stratum")
    return Pair(
        known.probe, names[0], known.kind, names[1], names[2], known.delta, known.base_level, known.better
    )


def _pairs(shown: Iterable[Pair]) -> dict[str, Pair]:
    """Pairs by name; one that is told in two ways is unusual."""
    pairs: dict[str, Pair] = {}
    for pair in shown:
        if pairs.setdefault(pair.pair, pair) != pair:
            raise UnusualError
    return pairs
