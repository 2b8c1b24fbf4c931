"""Text, code and tables as Markdown writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~]|&(?=#?\w+;))")
"""Signs of Markdown, and an ampersand that would begin an entity."""


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table from cells that are already escaped; the first column is text, the others figures."""
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "|".join([" :-- "] + [" --: "] * (len(header) - 1)) + "|",
    ]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
