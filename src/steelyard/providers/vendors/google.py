"""Google's generateContent: Gemini by its maker's own protocol.

Shapes: "Generating content", "Thinking", "Structured outputs" and "Troubleshooting" of the public API
reference at ai.google.dev/api and ai.google.dev/gemini-api/docs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field
from yarl import URL

from steelyard.providers.http.endpoint import (
    Dialect,
    RequestField,
    ServerDefaults,
    ThinkingOptions,
    thinking_tokens,
)
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.http.response_errors import (
    clean_name,
    clean_text,
    finish_of,
    first_token_logprobs,
    token_count,
)
from steelyard.providers.provider_info import JudgeExample, Line, ProviderInfo
from steelyard.trials.judge import Presentation, Reply, Usage

GOOGLE = ServerDefaults(
    "https://generativelanguage.googleapis.com/v1",
    "GEMINI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    other_keys=("GOOGLE_API_KEY",),
    version="v1",
    proxy_version="v1beta",
)

_FILTERED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE")
_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", **dict.fromkeys(_FILTERED, "filter")}

_PLACES = {"max_tokens": "maxOutputTokens", "temperature": "temperature", "seed": "seed"}


class GoogleOptions(ThinkingOptions):
    base_url: Line | None = Field(default_factory=lambda: os.environ.get(GOOGLE.url_variable) or None)


class Google(HttpProvider):
    server = GOOGLE
    body_format = "generateContent"
    lacks_effort_none = True
    info = ProviderInfo(
        options=GoogleOptions,
        thinking_tokens=thinking_tokens,
        environment=(GOOGLE.key_variable, *GOOGLE.other_keys, GOOGLE.url_variable),
        examples=(JudgeExample("google/NAME", "Gemini, by Google's generateContent; needs GEMINI_API_KEY"),),
    )
    fields = (
        RequestField(
            "response_format",
            ("responseJsonSchema", "responseMimeType", None),
            ("response_?[jJ]son_?[sS]chema", "response_?[mM]ime_?[tT]ype", "[Ss]chema", "JSON mode"),
        ),
        RequestField("max_tokens", ("maxOutputTokens",), ("max_?[oO]utput_?[tT]okens",)),
        RequestField("temperature", ("temperature", None)),
        RequestField("seed", ("seed", None)),
        RequestField("logprobs", ("logprobs", None), ("(response_?)?[Ll]ogprobs",)),
        RequestField("effort", ("thinkingLevel",), ("[tT]hinking[_ ]?[lL]evel",)),
        RequestField("thinking_tokens", ("thinkingBudget",), ("[tT]hinking[_ ]?[bB]udget", r"[Bb]udget \d+")),
    )

    async def open(self) -> None:
        await self.client.open("x-goog-api-key", prefix="")

    def request_url(self) -> URL:
        """Where calls go; a tuned model has a folder of its own."""
        folder, _, name = self.judge.model.rpartition("/")
        return self.client.endpoint.url(folder or "models", f"{name}:generateContent")

    def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        sent = self.sent_fields(presentation, dialect)
        config: dict[str, Any] = {_PLACES[name]: sent[name][1] for name in sent if name in _PLACES}
        if "response_format" in sent:
            form, schema = sent["response_format"]
            config["responseMimeType"] = "application/json"
            config |= {form: schema} if form == "responseJsonSchema" else {}
        if "logprobs" in sent:
            config |= {"responseLogprobs": True, "logprobs": 20}
        thoughts = dict(sent[name] for name in ("effort", "thinking_tokens") if name in sent)
        config |= {"thinkingConfig": thoughts} if thoughts else {}
        system = [{"text": m.content} for m in presentation.messages if m.role == "system"]
        turns = [m for m in presentation.messages if m.role != "system"]
        extra = dict(presentation.decoding.extra)
        body: dict[str, Any] = {"systemInstruction": {"parts": system}} if system else {}
        body["contents"] = [{"role": _role(m.role), "parts": [{"text": m.content}]} for m in turns]
        body["generationConfig"] = config | dict(extra.pop("generationConfig", {}))
        return body | extra

    def parse_body(self, body: dict[str, Any]) -> Reply:
        """The reply in a parsed body; a prompt that was blocked has no candidate, and is no failed call."""
        usage, model = _usage(body.get("usageMetadata")), clean_name(body.get("modelVersion"))
        candidates, feedback = body.get("candidates"), body.get("promptFeedback") or {}
        if not candidates and feedback.get("blockReason"):
            said = f"the prompt was blocked: {feedback['blockReason']}"
            return Reply(clean_text(said), usage=usage, finish="filter", served_model=model)
        if not candidates and "usageMetadata" not in body:
            raise self.client.incomplete_response("candidates", body)
        candidate = candidates[0] if candidates else {}
        parts = (candidate.get("content") or {}).get("parts") or []
        return Reply(
            clean_text("".join(part.get("text") or "" for part in parts if not part.get("thought"))),
            logprobs=_logprobs(candidate.get("logprobsResult") or {}),
            usage=usage,
            finish=finish_of(candidate.get("finishReason"), _FINISH),
            served_model=model,
        )


def _role(role: str) -> str:
    return "model" if role == "assistant" else role


def _usage(usage: Any) -> Usage:
    """Thoughts are counted beside the answer and paid like it."""
    thoughts = token_count(usage, "thoughtsTokenCount")
    return Usage(
        token_count(usage, "promptTokenCount"),
        token_count(usage, "candidatesTokenCount") + thoughts,
        cached_tokens=token_count(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )


def _logprobs(result: Mapping[str, Any]) -> dict[str, float] | None:
    steps = zip(result.get("chosenCandidates") or [], result.get("topCandidates") or [], strict=False)
    return first_token_logprobs(
        [
            {**_entry(chosen), "top_logprobs": [_entry(one) for one in others.get("candidates") or []]}
            for chosen, others in steps
        ]
    )


def _entry(candidate: Mapping[str, Any]) -> dict[str, Any]:
    return {"token": candidate.get("token"), "logprob": candidate.get("logProbability")}
