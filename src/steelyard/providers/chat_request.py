"""The request of a chat-completions call, in the form that this server is known to take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from steelyard.providers.http_errors import ErrorBody
from steelyard.trials.presentation import Presentation

RESPONSE_FORMATS = ("json_schema", "json_object", None)
"""Ways to ask for JSON, best first; None leaves it to the prompt."""

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the token limit; reasoning models take the second."""

OPTIONAL = {
    "temperature": ("temperature",),
    "seed": ("seed",),
    "logprobs": ("logprobs", "top_logprobs", "log_probs"),
}
"""Fields that a call can do without, each with the names that refusals of it use."""


@dataclass(frozen=True)
class Dialect:
    """What a server turned out not to take; it only ever grows."""

    response_format: int = 0
    """Index into RESPONSE_FORMATS."""
    token_limit: int = 0
    """Index into TOKEN_LIMITS."""
    left_out: frozenset[str] = frozenset()
    """Fields of OPTIONAL that the server leaves to itself."""

    def merged(self, other: Dialect) -> Dialect:
        """What both have learnt: calls in flight at the same time learn apart."""
        return Dialect(
            max(self.response_format, other.response_format),
            max(self.token_limit, other.token_limit),
            self.left_out | other.left_out,
        )

    def after(self, error: ErrorBody, body: dict[str, Any]) -> Dialect | None:
        """The next dialect to try when the server objects to a field of ours; None when there is none."""
        names_format = error.names("response_format") or error.names("json_schema")
        if names_format and "response_format" in body and self.response_format < 2:
            return replace(self, response_format=self.response_format + 1)
        if error.names("max_tokens") and "max_tokens" in body and self.token_limit == 0:
            return replace(self, token_limit=1)
        for field, spellings in OPTIONAL.items():
            if field in body and field not in self.left_out and any(map(error.names, spellings)):
                return replace(self, left_out=self.left_out | {field})
        return None

    def limitless(self, error: ErrorBody, body: dict[str, Any]) -> bool:
        """Whether the server objects to the token limit under its other name too."""
        return self.token_limit == 1 and TOKEN_LIMITS[1] in body and any(map(error.names, TOKEN_LIMITS))


def request_body(model: str, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
    """The JSON body of one call."""
    decoding = presentation.decoding
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in presentation.messages],
        TOKEN_LIMITS[dialect.token_limit]: decoding.max_tokens,
    }
    wanted = _optional(presentation)
    body |= {name: value for name, value in wanted.items() if name not in dialect.left_out}
    if "logprobs" in body:
        body["top_logprobs"] = 20
    if presentation.wants == "json":
        body |= _response_format(presentation, RESPONSE_FORMATS[dialect.response_format])
    return body | dict(decoding.extra)


def _optional(presentation: Presentation) -> dict[str, Any]:
    """The fields of OPTIONAL that a call asks for."""
    decoding = presentation.decoding
    logprobs = True if presentation.wants == "logprobs" else None
    asked = {"temperature": decoding.temperature, "seed": decoding.seed, "logprobs": logprobs}
    return {name: value for name, value in asked.items() if value is not None}


def embedding_body(model: str, presentation: Presentation) -> dict[str, Any]:
    """The JSON body of a call for the vector of a text."""
    return {"model": model, "input": presentation.slots.texts[0]} | dict(presentation.decoding.extra)


def effective(presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
    """The parameters in force instead of ours; None stands for the server's own choice."""
    decoding, changed = presentation.decoding, dict[str, Any]()
    if presentation.wants == "json" and dialect.response_format:
        changed["response_format"] = RESPONSE_FORMATS[dialect.response_format]
    if dialect.token_limit:
        changed |= {"max_tokens": None, TOKEN_LIMITS[dialect.token_limit]: decoding.max_tokens}
    changed |= dict.fromkeys(name for name in _optional(presentation) if name in dialect.left_out)
    return {name: value for name, value in changed.items() if name not in decoding.extra}


def _response_format(presentation: Presentation, kind: str | None) -> dict[str, Any]:
    if kind is None:
        return {}
    if kind == "json_object":
        return {"response_format": {"type": kind}}
    schema = {"name": "verdict", "strict": True, "schema": answer_schema(presentation)}
    return {"response_format": {"type": kind, "json_schema": schema}}


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
