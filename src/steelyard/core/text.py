"""Text helpers: pluralize a count, round it up for a plan, replace lone surrogates."""

from __future__ import annotations

from collections.abc import Iterable


def plural(count: float, one: str, many: str | None = None) -> str:
    """The form of a word that goes with the count: `call` or `calls`, `is` or `are` where `many` says so."""
    if count == 1:
        return one
    return f"{one}s" if many is None else many


def pluralize(count: int, one: str, many: str | None = None) -> str:
    """The count and its noun: `1 call`, `2 calls`, `1,200 calls`, `0 replies`."""
    return f"{count:,} {plural(count, one, many)}"


def listed(names: Iterable[str]) -> str:
    """Names in a row; semicolons part them where one has a comma in it."""
    every = list(dict.fromkeys(names))
    return ("; " if any("," in name for name in every) else ", ").join(every)


def round_up(count: int) -> int:
    """A number of calls or rows, rounded up to two digits: a plan is no more exact."""
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // unit) * unit


def replace_lone_surrogates(text: str) -> str:
    """The text in valid Unicode: surrogate pairs are joined, lone surrogates replaced.

    A reply may hold half of a surrogate pair, which no file and no page can.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def percent(share: float) -> str:
    """A level of confidence: `95 %`, `99.9 %`."""
    return f"{100 * share:g} %"


def join_notes(notes: Iterable[str | None]) -> str | None:
    return "; ".join(note for note in notes if note) or None
