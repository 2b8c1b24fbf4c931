"""Chat completions: OpenAI, Azure OpenAI, the servers that are known by name, and any other that speaks them.

First the request, in the form that a server is known to take; then the reply, taken apart with nothing taken
for granted; then the providers. Shapes of Azure: "Azure OpenAI in Microsoft Foundry Models REST API" and "API
version lifecycle" at learn.microsoft.com/azure: the v1 address, which takes no version, and the older one by
deployment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field
from yarl import URL

from steelyard.errors import ConfigError, TransientError
from steelyard.providers.batch_api import BatchApi, FileBatchApi, OpenAIBatchApi
from steelyard.providers.http.endpoint import (
    Dialect,
    RequestField,
    ServerDefaults,
    ThinkingOptions,
    thinking_tokens,
)
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
from steelyard.providers.provider_info import JudgeExample, Line, ProviderInfo
from steelyard.providers.vendors.known_servers import KNOWN_SERVERS, TOGGLE, KnownServer
from steelyard.trials.judge import Judge, Presentation, Reply, Usage

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
            verdict = {"name": "verdict", "strict": True, "schema": value}
            body[name] = {"type": form} if form == "json_object" else {"type": form, "json_schema": verdict}
        elif form != ROOM:
            if form == TOGGLE:
                value = "enabled" if value else "disabled"
            place, _, inner = form.partition(".")
            body[place] = {**body.get(place, {}), inner: value} if inner else value
    if "logprobs" in sent:
        body["top_logprobs"] = 20
    return body | dict(presentation.decoding.extra)


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
            raise self.client.incomplete_response("choices", body)
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
            raise self.client.incomplete_response("embedding", body)
        return Reply(
            "",
            scores=scores,
            usage=_usage(body.get("usage")),
            served_model=clean_name(body.get("model")),
            latency_ms=response.latency_ms,
        )


class OpenAIOptions(ThinkingOptions):
    base_url: Line | None = Field(default_factory=lambda: os.environ.get(OPENAI.url_variable) or None)


ACCOUNT = {"OpenAI_Organization": "OPENAI_ORG_ID", "OpenAI_Project": "OPENAI_PROJECT_ID"}
"""Headers that say whose account is billed, and the variables that hold them."""


class OpenAI(ChatCompletions):
    server = OPENAI
    info = replace(
        ChatCompletions.info,
        options=OpenAIOptions,
        batch=True,
        batch_price=0.5,
        environment=(OPENAI.key_variable, OPENAI.url_variable),
        examples=(
            JudgeExample(
                "openai/NAME", "chat completions; needs OPENAI_API_KEY; OPENAI_BASE_URL is honoured"
            ),
            JudgeExample("openai/NAME?base_url=URL", "any chat-completions server"),
        ),
    )

    async def open(self) -> None:
        """Organization and project go to the vendor alone, or to a proxy on this machine."""
        endpoint = self.client.endpoint
        own = self.server.is_own(endpoint.base_url) or endpoint.is_local
        named = {header: os.environ.get(variable, "").strip() for header, variable in ACCOUNT.items() if own}
        await self.client.open(**{header: name for header, name in named.items() if name})

    def batch_api(self, folder: Path) -> BatchApi:
        del folder
        return OpenAIBatchApi(self.client)


AZURE_KEY, AZURE_URL, AZURE_VERSION = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"

PROXY_VERSION = "2024-10-21"
"""Version for an address without a path that is not Azure's: proxies serve the address by deployment."""
AZURE_HOSTS = r"[\w-]+\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)"
"""Names that Azure gives to resources of models; under others of its domains lies what anybody runs there."""


class AzureOptions(ThinkingOptions):
    """Address and version may come from the environment; they are part of the judge all the same."""

    base_url: Line | None = Field(default_factory=lambda: os.environ.get(AZURE_URL) or None)
    api_version: Line | None = Field(default_factory=lambda: os.environ.get(AZURE_VERSION) or None)
    """Such as 2024-10-21; it leads to the older address, by deployment."""


class Azure(ChatCompletions):
    info = replace(
        ChatCompletions.info,
        options=AzureOptions,
        environment=(AZURE_KEY, AZURE_URL, AZURE_VERSION),
        examples=(
            JudgeExample(
                "azure/DEPLOYMENT?base_url=URL",
                f"a deployment of Azure OpenAI; needs {AZURE_KEY}; {AZURE_URL} is honoured",
            ),
        ),
    )

    @classmethod
    def server_for(cls, judge: Judge) -> ServerDefaults:
        place = judge.options.get("base_url")
        if not place:
            raise ConfigError(
                f"judge {judge.address}: no address; set the environment variable {AZURE_URL} to the "
                "resource's, such as https://NAME.openai.azure.com, or give base_url."
            )
        return ServerDefaults(str(place), AZURE_KEY, AZURE_URL, hosts=AZURE_HOSTS)

    async def open(self) -> None:
        await self.client.open("api-key", prefix="")

    def request_url(self) -> URL:
        base, version = self.client.endpoint.base_url, self.judge.options.get("api_version")
        parts = base.parts[1:]  # pages of the portal show whole addresses
        before = parts[: parts.index("openai")] if "openai" in parts else parts
        resource = base.origin().joinpath(*filter(None, before))
        if not version and base.path == "/" and not self.server_for(self.judge).is_own(base):
            version = PROXY_VERSION
        if version:
            place = resource.joinpath("openai", "deployments", self.judge.model, "chat", "completions")
            return place.with_query({"api-version": str(version)})
        return resource.joinpath("openai", "v1", "chat", "completions").with_query(base.query)


class FileBatchServer(ChatCompletions):
    info = replace(ChatCompletions.info, batch=True)

    def batch_api(self, folder: Path) -> BatchApi:
        return FileBatchApi(folder, self.client.where, self.judge.model)


def provider_of(known: KnownServer) -> type[ChatCompletions]:
    base = FileBatchServer if known.has_file_batches else ChatCompletions
    info = replace(
        base.info,
        free=known.local,
        prices=known.prices,
        environment=() if known.local else (known.key_variable,),
        examples=(JudgeExample(f"{known.name}/NAME", known.meaning),),
    )
    server = ServerDefaults(known.url, known.key_variable)
    members = {"__doc__": f"Models of {known.title}.", "server": server, "info": info}
    members |= {"fields": _fields(known), "lacks_effort_none": TOGGLE in known.field_names.values()}
    return type(known.title.replace(" ", ""), (base,), members)


def _fields(known: KnownServer) -> tuple[RequestField, ...]:
    return tuple(
        replace(
            field, forms=(name, *field.forms[1:]), error_names=(name.partition(".")[0], *field.error_names)
        )
        if name
        else field
        for field in ChatCompletions.fields
        for name in (known.field_names.get(field.name),)
    )


SERVERS = {known.name: provider_of(known) for known in KNOWN_SERVERS}
globals().update(SERVERS)  # the registry finds them by their names
