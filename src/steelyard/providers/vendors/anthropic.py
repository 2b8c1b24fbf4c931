"""Anthropic's messages: Claude by its maker's own protocol.

Shapes: "Messages", "Errors", "Extended thinking", "Effort" and "Structured outputs" of the public API
reference at platform.claude.com/docs, and the types of the public Python SDK that are generated from it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import Field
from yarl import URL

from steelyard.providers.batch_api import AnthropicBatchApi, BatchApi
from steelyard.providers.http.endpoint import (
    Dialect,
    RequestField,
    ServerDefaults,
    ThinkingOptions,
    thinking_tokens,
)
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.http.response_errors import clean_name, clean_text, finish_of, token_count
from steelyard.providers.provider_info import JudgeExample, Line, ProviderInfo
from steelyard.trials.judge import Presentation, Reply, Usage

ANTHROPIC = ServerDefaults(
    "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", version="v1"
)

VERSION = "2026-10-21"
"""Of the protocol, sent with every request, as Anthropic's own client does."""

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}

_OUTPUT_FORMAT = (
    r"output_config(?!\.effort)",
    "output_format",
    "output format",
    "structured outputs?",
    "schema",
)
"""How refusals name the form of the answer; the effort stands in the same object."""


class AnthropicOptions(ThinkingOptions):
    base_url: Line | None = Field(default_factory=lambda: os.environ.get(ANTHROPIC.url_variable) or None)


class Anthropic(HttpProvider):
    server = ANTHROPIC
    body_format = "messages"
    temperature_with_thinking = False
    lacks_effort_none = True
    info = ProviderInfo(
        options=AnthropicOptions,
        thinking_tokens=thinking_tokens,
        batch=True,
        batch_price=0.5,
        environment=(ANTHROPIC.key_variable, ANTHROPIC.url_variable),
        examples=(
            JudgeExample("anthropic/NAME", "Claude, by Anthropic's messages; needs ANTHROPIC_API_KEY"),
            JudgeExample("anthropic/NAME?effort=high", "the same, asked to think hard before it answers"),
        ),
    )
    fields = (
        RequestField("response_format", ("json_schema", None), _OUTPUT_FORMAT),
        RequestField("max_tokens", ("max_tokens",)),
        RequestField("temperature", ("temperature", None)),
        RequestField("effort", ("effort",), ("effort",)),
        RequestField("thinking_tokens", ("budget",), ("thinking", "budget_tokens")),
        RequestField("thinking", ("adaptive", None), ("thinking", "adaptive")),
    )

    async def open(self) -> None:
        await self.client.open(anthropic_version=VERSION)

    def batch_api(self, folder: Path) -> BatchApi:
        del folder
        return AnthropicBatchApi(self.client)

    def request_url(self) -> URL:
        return self.client.endpoint.url("messages")

    def requested_fields(self, presentation: Presentation) -> dict[str, Any]:
        """Effort goes with thoughts of a length that the model chooses."""
        requested = super().requested_fields(presentation)
        if "effort" in requested and "thinking_tokens" not in requested:
            requested["thinking"] = "adaptive"
        return requested

    def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        sent = {name: value for name, (_, value) in self.sent_fields(presentation, dialect).items()}
        system = "\n\n".join(m.content for m in presentation.messages if m.role == "system")
        turns = [{"role": m.role, "content": m.content} for m in presentation.messages if m.role != "system"]
        body: dict[str, Any] = {"model": self.judge.model, "messages": turns}
        body |= {"system": system} if system else {}
        body |= {name: sent[name] for name in ("max_tokens", "temperature") if name in sent}
        output = {"effort": sent["effort"]} if "effort" in sent else {}
        if "response_format" in sent:
            output["format"] = {"type": "json_schema", "schema": sent["response_format"]}
        body |= {"output_config": output} if output else {}
        if budget := sent.get("thinking_tokens"):
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        elif budget == 0:
            body["thinking"] = {"type": "disabled"}
        elif "thinking" in sent:
            body["thinking"] = {"type": "adaptive"}
        return body | dict(presentation.decoding.extra)

    def parse_body(self, body: dict[str, Any]) -> Reply:
        """The reply in a parsed body: its text blocks together; thoughts are not part of the answer."""
        blocks = body.get("content")
        if not isinstance(blocks, list):
            raise self.client.incomplete_response("content", body)
        text = "".join(block["text"] for block in blocks if block.get("type") == "text")
        finish = finish_of(body.get("stop_reason"), _FINISH)
        if finish == "refusal" and not text:
            details = body.get("stop_details") or {}
            text = str(details.get("explanation") or "")
        return Reply(
            clean_text(text),
            usage=_usage(body.get("usage")),
            finish=finish,
            served_model=clean_name(body.get("model")),
        )


def _usage(usage: Any) -> Usage:
    read = token_count(usage, "cache_read_input_tokens")
    written = token_count(usage, "cache_creation_input_tokens")
    details = usage.get("output_tokens_details") if isinstance(usage, dict) else None
    return Usage(
        token_count(usage, "input_tokens") + read + written,
        token_count(usage, "output_tokens"),
        cached_tokens=read,
        reasoning_tokens=token_count(details, "thinking_tokens"),
        cache_write_tokens=written,
    )
