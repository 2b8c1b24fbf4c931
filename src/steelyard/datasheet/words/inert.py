"""Text that no spreadsheet takes for a formula."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_ACTIVE = re.compile(r"[(|!\t\r]")
"""What a formula needs to call a function, a program or another sheet."""


def inert(text: str, *, joined: bool = False) -> str:
    """The text of a cell: an apostrophe stands before what would be a formula.

    What other files are `joined` by stays as it is, unless it could do more than be wrong.
    """
    if not _FORMULA.match(text):
        return text
    harmless = _NUMBER.fullmatch(text) or (joined and not _ACTIVE.search(text))
    return text if harmless else f"'{text}"
