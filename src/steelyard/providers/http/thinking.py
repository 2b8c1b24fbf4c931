"""Keys of models that think before they answer, and the room that their thoughts need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from steelyard.providers.http.quirks import quirks_of
from steelyard.providers.options import HttpOptions

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard a model is asked to think; which of these a model takes is its vendor's to say."""

ROOM: Mapping[str, int] = {
    "none": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}
"""Tokens that thoughts may take beside the answer, by effort; vendors count both against one limit."""


class ThinkingOptions(HttpOptions):
    """Of models that may think before they answer."""

    owner = "models that think"

    effort: Effort | None = None
    """How hard it is asked to think."""
    thinking_tokens: int | None = Field(default=None, ge=0, le=10**6)
    """Tokens that it may spend on thoughts, beside `max_tokens` for the answer; 0 asks for none."""


def thinking_tokens(model: str, options: Mapping[str, Any]) -> int:
    """Tokens beside `max_tokens` that a model may need for thoughts, as its owner or its name says."""
    if (tokens := options.get("thinking_tokens")) is not None:
        return int(tokens)
    if (effort := options.get("effort")) is not None:
        return ROOM[str(effort)]
    return ROOM["medium"] if quirks_of(model).thinks else 0
