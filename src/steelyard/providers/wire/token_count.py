"""Numbers of tokens as servers send them."""

from __future__ import annotations

from typing import Any

LARGEST = 10**12
"""Tokens; a larger count is a mistake of the server."""


def count(fields: Any, name: str) -> int:
    """What a server counted under a name; 0 for whatever is no sound number."""
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if type(value) is int and 0 <= value <= LARGEST else 0
