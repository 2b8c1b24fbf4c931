"""Numbers in responses: token counts, and log-probabilities of the first answer token."""

from __future__ import annotations

import math
from typing import Any

from steelyard.providers.http.error_body import printable

MAX_TOKEN_COUNT = 10**12
"""A larger count is a mistake of the server."""


def token_count(fields: Any, name: str) -> int:
    """What a server counted under a name; 0 for whatever is no valid number."""
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if type(value) is int and 0 <= value <= MAX_TOKEN_COUNT else 0


def first_token_logprobs(tokens: Any) -> dict[str, float] | None:
    """Alternatives for the first token that is not blank; the likelier of two spellings is kept."""
    entries = [entry for entry in tokens if isinstance(entry, dict)] if isinstance(tokens, list) else []
    first = next((entry for entry in entries if str(entry.get("token", "")).strip()), None)
    if first is None:
        return None
    others = first.get("top_logprobs")
    best: dict[str, float] = {}
    for entry in [first, *(others if isinstance(others, list) else [])]:
        fields = entry if isinstance(entry, dict) else {}
        token, logprob = fields.get("token"), finite_number(fields.get("logprob"))
        if isinstance(token, str) and logprob is not None:
            name = printable(token.strip())
            best[name] = max(logprob, best.get(name, logprob))
    return best or None


def finite_number(value: Any) -> float | None:
    """A number that canonical JSON can hold; None for every other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
