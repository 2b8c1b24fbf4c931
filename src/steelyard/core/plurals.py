"""Nouns and verbs that agree with a count."""

from __future__ import annotations


def plural(count: float, one: str, many: str | None = None) -> str:
    """The form of a word that goes with the count: `call` or `calls`, `is` or `are` where `many` says so."""
    if count == 1:
        return one
    return f"{one}s" if many is None else many


def counted(count: int, one: str, many: str | None = None) -> str:
    """The count and its noun: `1 call`, `2 calls`, `1,200 calls`, `0 replies`."""
    return f"{count:,} {plural(count, one, many)}"


def planned(count: int) -> int:
    """A number of calls or rows to two digits, rounded up: a plan is no more exact."""
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // unit) * unit
