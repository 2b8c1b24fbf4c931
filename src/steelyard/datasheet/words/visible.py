"""Names and notes as they may be shown: one line, every invisible character spelled out."""

from __future__ import annotations


def visible(text: str) -> str:
    """White space as single spaces; escape codes, direction marks, lone surrogates as `\\x1b`, `\\u202e`."""
    return spelled(" ".join(text.split()))


def lines(text: str) -> str:
    """Line breaks as they are; within a line every invisible character spelled out."""
    return "\n".join(map(spelled, text.splitlines()))


def spelled(text: str) -> str:
    """Spaces as they are; every other invisible character as `\\n`, `\\x1b`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
