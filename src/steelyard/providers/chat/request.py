"""The request of a chat-completions call, in the form that this server is known to take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.providers.http.dialect import RequestField
from steelyard.trials.presentation import Presentation

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the token limit; reasoning models take the second."""

ROOM = "room"
"""Form of a field that is not sent by itself."""

TOGGLE = "thinking.type"
"""Form of a budget for thoughts where a server can only be told to think or not to."""

FIELDS = (
    RequestField("response_format", ("json_schema", "json_object", None), ("response_format", "json_schema")),
    RequestField("max_tokens", TOKEN_LIMITS, TOKEN_LIMITS),
    RequestField("temperature", ("temperature", None)),
    RequestField("seed", ("seed", None)),
    RequestField("logprobs", ("logprobs", None), ("logprobs", "top_logprobs", "log_probs")),
    RequestField("effort", ("reasoning_effort",), ("reasoning_effort", "reasoningEffort")),
    RequestField("thinking_tokens", (ROOM,)),
)
"""What a call may ask for; a budget for thoughts is but room under the token limit, unless a server has a
name for it. A name with a point is that of a field in another."""


def request_body(
    model: str, presentation: Presentation, sent: Mapping[str, tuple[str, Any]]
) -> dict[str, Any]:
    """The JSON body of one call; `sent` has form and value of each field."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in presentation.messages],
    }
    for name, (form, value) in sent.items():
        if name == "response_format":
            body[name] = _response_format(form, value)
        elif form != ROOM:
            if form == TOGGLE:
                value = "enabled" if value else "disabled"
            place, _, inner = form.partition(".")
            body[place] = {**body.get(place, {}), inner: value} if inner else value
    if "logprobs" in sent:
        body["top_logprobs"] = 20
    return body | dict(presentation.decoding.extra)


def embedding_body(model: str, presentation: Presentation) -> dict[str, Any]:
    return {"model": model, "input": presentation.slots.texts[0]} | dict(presentation.decoding.extra)


def _response_format(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    if kind == "json_object":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
