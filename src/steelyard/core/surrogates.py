"""Texts without half signs: a reply may hold half of a surrogate pair, which no file and no page can."""

from __future__ import annotations


def whole_signs(text: str) -> str:
    """The text with each half sign replaced; halves that belong together are joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
