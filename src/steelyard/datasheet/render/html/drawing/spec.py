"""A part of a drawing as keys and values, and the refusal of keys that no drawing has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Spec = dict[str, Any]
"""A part of a drawing as keys and values."""


def known(where: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse what is none of these names."""
    expected = tuple(names)
    for name in given:
        if name not in expected:
            raise ValueError(f"{where}: found {name!r}, expected one of {', '.join(expected)}")
