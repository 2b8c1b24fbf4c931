"""Amazon Bedrock's Converse: models of many makers behind one protocol, signed with AWS SigV4.

Shapes: "Converse", "OutputConfig" and "Errors" of the public API reference at
docs.aws.amazon.com/bedrock/latest/APIReference, and the service model of the public SDK. Signature: "AWS
Signature Version 4 for API requests" in the public IAM user guide; the tests hold its worked example.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any
from urllib.parse import quote

from pydantic import Field
from yarl import URL

from steelyard.errors import ConfigError, ProviderRefusedError
from steelyard.providers.http.endpoint import (
    Dialect,
    RequestField,
    ServerDefaults,
    ThinkingOptions,
    thinking_tokens,
)
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.http.response_errors import clean_text, finish_of, token_count
from steelyard.providers.provider_info import Destination, JudgeExample, Line, ProviderInfo
from steelyard.trials.judge import Judge, Presentation, Reply, Usage

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Signer:
    access_key: str
    """Name of the key, which is sent."""
    secret: str = field(repr=False)
    token: str = field(repr=False)
    region: str
    service: str

    def headers(
        self, address: URL, data: bytes, method: str = "POST", moment: float | None = None
    ) -> dict[str, str]:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() if moment is None else moment))
        carried = {"host": str(address.host_port_subcomponent), "x-amz-date": stamp}
        carried |= {"x-amz-security-token": self.token} if self.token else {}
        return {
            **{name: value for name, value in carried.items() if name != "host"},
            "Authorization": self.authorization(address, data, method, carried),
        }

    def authorization(self, address: URL, data: bytes, method: str, carried: Mapping[str, str]) -> str:
        stamp = carried["x-amz-date"]
        scope = "/".join((stamp[:8], self.region, self.service, "aws4_request"))
        names = ";".join(sorted(carried))
        canonical = "\n".join(
            (
                method,
                # Every service but S3 wants the path encoded once more than it is sent.
                quote(address.raw_path, safe="/-_.~"),
                _query(address),
                *(f"{name}:{carried[name]}" for name in sorted(carried)),
                "",
                names,
                hashlib.sha256(data).hexdigest(),
            )
        )
        text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        key = reduce(_hmac, scope.split("/"), f"AWS4{self.secret}".encode())
        signature = _hmac(key, text).hex()
        return (
            f"{ALGORITHM} Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        )


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _query(address: URL) -> str:
    pairs = [tuple(quote(text, safe="-_.~") for text in pair) for pair in address.query.items()]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


KEY = "AWS_BEARER_TOKEN_BEDROCK"
SIGNING_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
URL_VARIABLE = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
    "refusal": "refusal",
}

_OUTPUT_FORMAT = ("outputConfig", r"output_config(?!\.effort)", "textFormat", "[Ss]chema")
"""How refusals name the form of the answer."""


def _region() -> str | None:
    return next((region for name in REGIONS if (region := os.environ.get(name))), None)


class BedrockOptions(ThinkingOptions):
    region: Line | None = Field(default_factory=_region, pattern=r"^[a-z0-9-]+$")
    base_url: Line | None = Field(default_factory=lambda: os.environ.get(URL_VARIABLE) or None)


class Bedrock(HttpProvider):
    body_format = "Converse"
    temperature_with_thinking = False
    info = ProviderInfo(
        options=BedrockOptions,
        thinking_tokens=thinking_tokens,
        prices="aws",
        environment=(KEY, *SIGNING_KEYS, *REGIONS),
        examples=(
            JudgeExample(
                "bedrock/NAME?region=us-east-1",
                f"a model of Amazon Bedrock, by Converse; needs {KEY}, or {' and '.join(SIGNING_KEYS[:2])}",
            ),
        ),
    )
    fields = (
        RequestField("response_format", ("json_schema", None), _OUTPUT_FORMAT),
        RequestField("max_tokens", ("maxTokens",), ("maxTokens", "max_tokens")),
        RequestField("temperature", ("temperature", None)),
        RequestField("effort", ("effort",), ("effort", "reasoning_?[cC]onfig", "maxReasoningEffort")),
        RequestField("thinking_tokens", ("budget",), ("thinking", "budget_tokens")),
    )

    @classmethod
    def server_for(cls, judge: Judge) -> ServerDefaults:
        region = judge.options.get("region")
        if not region and not judge.options.get("base_url"):
            raise ConfigError(
                f"judge {judge.address}: no region; set the environment variable {REGIONS[0]}, or write "
                f"bedrock/{judge.model}?region=us-east-1."
            )
        return ServerDefaults(
            f"https://bedrock-runtime.{region}.amazonaws.com",
            KEY,
            URL_VARIABLE,
            hosts=r"bedrock-runtime(-fips)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?",
        )

    @property
    def destination(self) -> Destination:
        plain = super().destination
        own = plain.key_variables == (KEY,)
        return replace(plain, key_variables=(KEY, SIGNING_KEYS[1])) if own else plain

    async def open(self) -> None:
        endpoint = self.client.endpoint
        access, secret, token = (os.environ.get(name, "").strip() for name in SIGNING_KEYS)
        signs = bool(access and secret) and endpoint.key_variable == KEY and not os.environ.get(KEY)
        if signs:
            region = str(self.judge.options.get("region") or "us-east-1")
            signer = Signer(access, secret, token, region, "bedrock")
            await self.client.open_with_signer(signer.headers, (secret, token))
            return
        try:
            await self.client.open()
        except ProviderRefusedError as error:
            alone = endpoint.key_variable == KEY and not os.environ.get(KEY)
            instead = f"{str(error).rstrip('.')}, or {' and '.join(SIGNING_KEYS[:2])}."
            raise ProviderRefusedError(instead) if alone else error from error

    def request_url(self) -> URL:
        base = str(self.client.endpoint.base_url.with_query(None)).rstrip("/")
        return URL(f"{base}/model/{quote(self.judge.model, safe='')}/converse", encoded=True)

    def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        sent = self.sent_fields(presentation, dialect)
        system = [{"text": m.content} for m in presentation.messages if m.role == "system"]
        turns = [m for m in presentation.messages if m.role != "system"]
        body: dict[str, Any] = {"system": system} if system else {}
        body["messages"] = [{"role": m.role, "content": [{"text": m.content}]} for m in turns]
        body["inferenceConfig"] = {
            form: value for name, (form, value) in sent.items() if name in ("max_tokens", "temperature")
        }
        if "response_format" in sent:
            verdict = {"name": "verdict", "schema": json.dumps(sent["response_format"][1])}
            text_format = {"type": "json_schema", "structure": {"jsonSchema": verdict}}
            body["outputConfig"] = {"textFormat": text_format}
        own = _own_fields(self.judge.model, {name: value for name, (_, value) in sent.items()})
        body |= {"additionalModelRequestFields": own} if own else {}
        return body | dict(presentation.decoding.extra)

    def parse_body(self, body: dict[str, Any]) -> Reply:
        message = (body.get("output") or {}).get("message")
        if not isinstance(message, dict):
            raise self.client.incomplete_response("message", body)
        text = "".join(block["text"] for block in message.get("content") or [] if "text" in block)
        return Reply(
            clean_text(text),
            usage=_usage(body.get("usage")),
            finish=finish_of(body.get("stopReason"), _FINISH),
        )


def _own_fields(model: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What Converse passes on to the model as it is: OpenAI's spelling of thoughts, Nova's, or Claude's."""
    effort, budget = sent.get("effort"), sent.get("thinking_tokens")
    if "openai." in model:
        return {"reasoning_effort": effort} if effort else {}
    if "amazon.nova" in model and budget is None:
        if effort == "none":
            return {"reasoningConfig": {"type": "disabled"}}
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}} if effort else {}
    own: dict[str, Any] = {}
    if budget is not None:
        own["thinking"] = {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
    elif effort is not None:
        own["thinking"] = {"type": "disabled" if effort == "none" else "adaptive"}
    return own | ({"output_config": {"effort": effort}} if effort not in (None, "none") else {})


def _usage(usage: Any) -> Usage:
    read, written = token_count(usage, "cacheReadInputTokens"), token_count(usage, "cacheWriteInputTokens")
    return Usage(
        token_count(usage, "inputTokens") + read + written,
        token_count(usage, "outputTokens"),
        cached_tokens=read,
        cache_write_tokens=written,
    )
