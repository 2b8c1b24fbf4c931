"""Text for people: plurals, control characters and formulas escaped, names shortened, Unicode as ASCII."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar


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


T = TypeVar("T")


_JOINER = re.compile(r"(?<=[^\x00-\x7f\u2000-\u206f])[\u200c\u200d](?=[^\x00-\x7f\u2000-\u206f])")


def escape_control_chars(text: str) -> str:
    """White space as single spaces; escape codes, direction marks, lone surrogates as `\\x1b`, `\\u202e`."""
    return escape_keeping_spaces(" ".join(text.split()))


def escape_fields(record: T, *names: str) -> T:
    """A dataclass with the control characters of the named fields escaped; None stays None."""
    whole: Any = record
    texts = {name: getattr(record, name) for name in names}
    escaped: T = replace(
        whole, **{name: escape_control_chars(text) for name, text in texts.items() if text is not None}
    )
    return escaped


def escape_keeping_lines(text: str) -> str:
    """Line breaks as they are; within a line every invisible character spelled out."""
    return "\n".join(map(escape_keeping_spaces, text.splitlines()))


def escape_keeping_spaces(text: str) -> str:
    """Spaces as they are; every other invisible character as `\\n`, `\\x1b`, `\\u202e`.

    Joiners stay inside a word or a picture: Persian, Hindi and many emoji are spelled with them.
    """
    if text.isprintable():
        return text
    joiners = {found.start() for found in _JOINER.finditer(text)}
    return "".join(
        c if c.isprintable() or place in joiners else c.encode("unicode_escape").decode("ascii")
        for place, c in enumerate(text)
    )


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_ACTIVE = re.compile(r"[(|!\t\r]")
"""What a formula needs to call a function, a program or another sheet."""


def escape_formula(text: str, *, joined: bool = False) -> str:
    """The text of a cell: an apostrophe stands before what would be a formula.

    What other files are `joined` by stays as it is, unless it could do more than be wrong.
    """
    if not _FORMULA.match(text):
        return text
    harmless = _NUMBER.fullmatch(text) or (joined and not _ACTIVE.search(text))
    return text if harmless else f"'{text}"


_ASCII = str.maketrans("−–—×Δ′’·✓↑↓", "---xD''|+^v") | str.maketrans(
    {"±": "+/-", "≤": "<=", "≥": ">=", "→": "->", "√": "sqrt", "²": "^2", "∞": "inf", "…": "..."}
    | {"κ": "kappa", "ρ": "rho", "α": "alpha"}
)


def ascii_only(text: str) -> str:
    """The same text for an output that knows no Unicode."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


LONGEST = 24
"""Letters after which a name is cut; a data table carries it whole."""


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names that fit and still differ: without the provider, cut at an end or in the middle, or numbered."""
    if any(len(name) > LONGEST for name in names):
        bare = {name: name.rpartition("/")[2] or name for name in names}
        if len(set(bare.values())) == len(bare) and all(len(short) <= LONGEST for short in bare.values()):
            return bare
    for cut in (_cut_end, _cut_middle):
        shortened = {name: cut(name) for name in names}
        if len(set(shortened.values())) == len(shortened):
            return shortened
    return {name: f"{number}: {_cut_end(name)}" for number, name in enumerate(dict.fromkeys(names), start=1)}


def _cut_end(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _cut_middle(name: str) -> str:
    half = LONGEST // 2
    return name if len(name) <= LONGEST else name[: half - 1] + "…" + name[-half:]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def fitted(head: str, names: Sequence[str], total: int, width: int | None) -> str:
    """`head: one; two; 3 more.`: as many of the names as a line of this width has room for, at least one."""
    line = ""
    for count in range(len(names), 0, -1):
        more = total - count
        line = f"{head}: {'; '.join(names[:count])}{f'; {more} more' if more else ''}."
        if width is None or len(line) <= width:
            break
    return line
