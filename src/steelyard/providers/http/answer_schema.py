"""The form of an answer as a JSON schema."""

from __future__ import annotations

from typing import Any

from steelyard.trials.presentation import Presentation


def answer_schema(presentation: Presentation) -> dict[str, Any]:
    """Schema of the answer; strict servers want every key required, so an absent reason is null."""
    answer: dict[str, Any]
    if len(presentation.slots.texts) == 2:
        key, answer = "winner", {"type": "string", "enum": list(presentation.answers)}
    else:
        key, answer = "score", {"type": "integer", "enum": [int(score) for score in presentation.answers]}
    return {
        "type": "object",
        "properties": {"reason": {"type": ["string", "null"]}, key: answer},
        "required": ["reason", key],
        "additionalProperties": False,
    }
