"""Any server that speaks chat completions: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter and others.

First the request, in the form that a server is known to take; then the reply, taken apart with nothing taken
for granted; then the provider.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from yarl import URL

from steelyard.errors import TransientError
from steelyard.providers.chat.known_servers import TOGGLE
from steelyard.providers.http.dialect import Dialect, RequestField, ThinkingOptions, thinking_tokens
from steelyard.providers.http.endpoint import ServerDefaults
from steelyard.providers.http.http_client import HttpResponse
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.http.response_errors import (
    clean_name,
    clean_text,
    excerpt,
    finish_of,
    finite_number,
    first_token_logprobs,
    parse_error,
    token_count,
)
from steelyard.providers.provider_info import ProviderInfo
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply, Usage

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the token limit; reasoning models take the second."""

ROOM = "room"

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


def _response_format(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    if kind == "json_object":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


_THINK, _END_THINK = "<think>", "</think>"
"""Marks around thoughts, as open models write them."""

_THOUGHTS = frozenset(("reasoning", "reasoning_text", "summary_text", "thinking"))
_FINISH = {
    **dict.fromkeys(
        ("stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete", "COMPLETE"), "stop"
    ),
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "refusal": "refusal",
}
_BROKEN_OFF = frozenset(("error", "abort", "insufficient_system_resource"))
"""Reasons of an end that is the server's fault: what it had written by then is no answer."""

_DEAREST_CALL = 10_000.0
"""Dollars; a larger bill for one call is a mistake of the server."""


def _without_thoughts(text: str) -> str:
    """The answer after thoughts that a server leaves in the text; unfinished ones stay, and are no answer.

    A template that ends with the opening mark leaves it out of the reply; there the closing one ends a line.
    """
    thoughts, closed, answer = text.lstrip().partition(_END_THINK)
    prefilled = _THINK not in thoughts and answer.startswith("\n")
    return answer if closed and (prefilled or thoughts.startswith(_THINK)) else text


def _first(choices: list[Any]) -> Any:
    """The choice with index 0, wherever it stands; the one that stands first where none has it."""
    numbered = (c for c in choices if isinstance(c, dict) and type(c.get("index")) is int and c["index"] == 0)
    return next(numbered, choices[0])


def _content(content: Any) -> str | None:
    """Text, null, or a list of parts; None where it is none of these."""
    if content is None:
        return ""
    if isinstance(content, list):
        answers = (part for part in content if isinstance(part, dict) and part.get("type") not in _THOUGHTS)
        texts = [part.get("text") for part in answers]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else None


def _usage(usage: Any) -> Usage:
    fields = usage if isinstance(usage, dict) else {}
    prompt, answer = token_count(fields, "prompt_tokens"), token_count(fields, "completion_tokens")
    details = fields.get("prompt_tokens_details")
    cached, written = token_count(details, "cached_tokens"), token_count(details, "cache_write_tokens")
    reasoning = token_count(fields.get("completion_tokens_details"), "reasoning_tokens")
    # Some servers leave hidden reasoning out of the completion; the total gives it away.
    if reasoning and token_count(fields, "total_tokens") == prompt + answer + reasoning:
        answer += reasoning
    cached = cached or token_count(fields, "prompt_cache_hit_tokens")
    return Usage(prompt, answer, cached, reasoning, written, billed=_billed(fields))


def _billed(usage: dict[str, Any]) -> float | None:
    """What a gateway says it charged; with a key of the user's own, the vendor behind it charges beside."""
    cost, details = finite_number(usage.get("cost")), usage.get("cost_details")
    if cost is None or not 0 <= cost <= _DEAREST_CALL:
        return None
    upstream = details.get("upstream_inference_cost") if isinstance(details, dict) else None
    beside = finite_number(upstream) if usage.get("is_byok") is True else None
    return cost + (beside if beside is not None and 0 <= beside <= _DEAREST_CALL else 0.0)


OPENAI = ServerDefaults("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL")

_UNKNOWN_URL = re.compile("unexpected endpoint or method", re.I)
"""How LM Studio says, under status 200, that base_url leads nowhere."""


class ChatCompletions(HttpProvider):
    server: ClassVar[ServerDefaults] = OPENAI
    info: ClassVar[ProviderInfo] = ProviderInfo(options=ThinkingOptions, thinking_tokens=thinking_tokens)
    body_format = "chat-completions"
    fields = FIELDS

    def request_url(self) -> URL:
        return self.client.endpoint.url("chat", "completions")

    def requested_fields(self, presentation: Presentation) -> dict[str, Any]:
        requested = super().requested_fields(presentation)
        if requested.get("effort") == "none" and any(TOGGLE in each.forms for each in self.fields):
            del requested["effort"]
            requested.setdefault("thinking_tokens", 0)
        return requested

    def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        return request_body(self.judge.model, presentation, self.sent_fields(presentation, dialect))

    def parse_body(self, body: dict[str, Any]) -> Reply:
        choices = body.get("choices")
        choice = _first(choices) if isinstance(choices, list) and choices else None
        choice = choice if isinstance(choice, dict) else {}
        finish = finish_of(choice.get("finish_reason"), _FINISH)
        # A filter may have taken the whole message away.
        message = choice.get("message", {} if finish == "filter" else None)
        if not isinstance(message, dict):
            raise self.client.malformed_response(f"no choices in {excerpt(json.dumps(body))!r}")
        if choice.get("finish_reason") in _BROKEN_OFF:
            raise TransientError(
                "server_error", f"{self.client.where}: the server broke off with an error; try again."
            )
        content = _content(message.get("content"))
        if content is None:
            raise self.client.malformed_response(f"content {excerpt(repr(message['content']))!r}")
        text, refusal = _without_thoughts(content), message.get("refusal")
        if isinstance(refusal, str) and refusal:
            text, finish = text or refusal, "refusal"
        logprobs = choice.get("logprobs")
        return Reply(
            clean_text(text),
            logprobs=first_token_logprobs(logprobs.get("content")) if isinstance(logprobs, dict) else None,
            usage=_usage(body.get("usage")),
            finish=finish,
            served_model=clean_name(body.get("model")),
        )

    def changed_fields(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        changed = super().changed_fields(presentation, dialect)
        form, limit = self.sent_fields(presentation, dialect).get("max_tokens", (TOKEN_LIMITS[0], None))
        return changed if form == TOKEN_LIMITS[0] else changed | {"max_tokens": None, form: limit}

    async def ask(self, presentation: Presentation) -> Reply:
        if presentation.wants == "embedding":
            return await self._embed(presentation)
        return await super().ask(presentation)

    def parse_reply(self, response: HttpResponse) -> Reply:
        """The reply; some servers report a failure under status 200."""
        body = self.client.parse_json(response)
        error = parse_error(response.text) if "error" in body and not body.get("choices") else None
        status = None if error is None else 404 if error.matches(_UNKNOWN_URL) else error.status
        if status is not None and 400 <= status < 600:
            return self.client.reply_or_raise(response._replace(status=status))
        return self.parse_checked(body)

    async def _embed(self, presentation: Presentation) -> Reply:
        """The vector of the one text, as scores."""
        request = {"model": self.judge.model, "input": presentation.slots.texts[0]}
        response = await self.client.post(
            self.client.endpoint.url("embeddings"),
            request | dict(presentation.decoding.extra),
            presentation.trial,
        )
        if not response.is_success:
            return self.client.reply_or_raise(response)
        body = self.client.parse_json(response)
        data = body.get("data")
        first = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
        numbers = first.get("embedding")
        vector = [finite_number(number) for number in numbers] if isinstance(numbers, list) else []
        scores = tuple(number for number in vector if number is not None)
        if not scores or len(scores) < len(vector):
            raise self.client.malformed_response(f"no embedding in {excerpt(json.dumps(body))!r}")
        return Reply(
            "",
            scores=scores,
            usage=_usage(body.get("usage")),
            served_model=clean_name(body.get("model")),
            latency_ms=response.latency_ms,
        )
