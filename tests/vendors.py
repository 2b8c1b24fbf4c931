"""Vendors with protocols of their own: sound replies and refusals in the shapes of their documentation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from servers import Answer, ScriptedServer, sends
from servers import says as completes
from steelyard.providers.provider import connect
from steelyard.tasks.task import Pairwise
from steelyard.trials.builtin_prompts import PAIRWISE_SYSTEM, PAIRWISE_USER
from steelyard.trials.judge import Decoding, Judge, Presentation, Protocol, Reply, Slots
from steelyard.trials.prompt import Message

KEY = "vendor-secret-0123456789abcdef"
PROTOCOLS = {"base": Protocol(PAIRWISE_USER, PAIRWISE_SYSTEM)}


@dataclass(frozen=True)
class Vendor:
    """What the tests have to know of a vendor."""

    name: str
    """Of its provider."""
    model: str
    """One that takes every field."""
    variable: str
    """Environment variable of the key."""
    header: str
    """Which carries the key, in lower case."""
    path: str
    """Where its calls go, behind the host."""
    served: str | None
    """The model that its replies name."""

    def says(self, text: str | None, stop: str = "stop", **fields: Any) -> Answer:
        """A sound reply of 100 tokens to a prompt of 5; `stop` in the vendor's words or `stop`."""
        return sends({**BODIES[self.name](text, stop), **fields})

    def fails(self, status: int, message: str, kind: str = "", **headers: str) -> Answer:
        """A refusal as the vendor words it."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return sends(ERRORS[self.name](status, message, kind), status, named)


def _messages(text: str | None, stop: str) -> dict[str, Any]:
    content = [] if text is None else [{"type": "text", "text": text}]
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content,
        "stop_reason": "end_turn" if stop == "stop" else stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 5},
    }


def _generated(text: str | None, stop: str) -> dict[str, Any]:
    content = {"parts": [{"text": text}], "role": "model"} if text is not None else {"role": "model"}
    return {
        "candidates": [{"content": content, "finishReason": "STOP" if stop == "stop" else stop, "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105},
        "modelVersion": "gemini-2.0-flash-001",
        "responseId": "r1",
    }


def _converse(text: str | None, stop: str) -> dict[str, Any]:
    content = [] if text is None else [{"text": text}]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "end_turn" if stop == "stop" else stop,
        "usage": {"inputTokens": 100, "outputTokens": 5, "totalTokens": 105},
        "metrics": {"latencyMs": 12},
    }


def _completion(text: str | None, stop: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(completes(text, finish=stop, model="served-1").data)
    return body


BODIES = {
    "anthropic": _messages,
    "google": _generated,
    "bedrock": _converse,
    "azure": _completion,
    "mistral": _completion,
}


def _message_error(status: int, message: str, kind: str) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": kind or f"error_{status}", "message": message},
        "request_id": "req_011",
    }


def _google_error(status: int, message: str, kind: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": kind.upper() or "UNKNOWN"}}


def _aws_error(status: int, message: str, kind: str) -> dict[str, Any]:
    """The kind stands in a header; denied access comes in a body of another spelling."""
    del kind
    return {"Message" if status == 403 else "message": message}


def _completion_error(status: int, message: str, kind: str) -> dict[str, Any]:
    del status
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


ERRORS = {
    "anthropic": _message_error,
    "google": _google_error,
    "bedrock": _aws_error,
    "azure": _completion_error,
    "mistral": _completion_error,
}

ANTHROPIC = Vendor(
    "anthropic",
    "claude-sonnet-4-5",
    "ANTHROPIC_API_KEY",
    "authorization",
    "/v1/messages",
    "claude-sonnet-4-5-20250929",
)
GOOGLE = Vendor(
    "google",
    "gemini-2.0-flash",
    "GEMINI_API_KEY",
    "x-goog-api-key",
    "/v1/models/gemini-2.0-flash:generateContent",
    "gemini-2.0-flash-001",
)
BEDROCK = Vendor(
    "bedrock",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "AWS_BEARER_TOKEN_BEDROCK",
    "authorization",
    "/v1/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    None,
)
AZURE = Vendor(
    "azure", "my-4o", "AZURE_OPENAI_API_KEY", "api-key", "/v1/openai/v1/chat/completions", "served-1"
)
MISTRAL = Vendor(
    "mistral",
    "mistral-small-latest",
    "MISTRAL_API_KEY",
    "authorization",
    "/v1/chat/completions",
    "served-1",
)
VENDORS = {vendor.name: vendor for vendor in (ANTHROPIC, GOOGLE, BEDROCK, AZURE, MISTRAL)}


def shown(wants: str = "json", **decoding: Any) -> Presentation:
    """A pair with a system message and signs that have to survive."""
    messages = (Message("system", "Judge."), Message("user", "Which? 💡"))
    slots = Slots("Tell.", ("one", "two"))
    return Presentation(messages, slots, Pairwise().answers, Decoding(**decoding), wants, trial="f" * 64)


def ask(
    vendor: Vendor, server: ScriptedServer, *presentations: Presentation, model: str = "", **options: Any
) -> list[Reply | BaseException]:
    """Ask one after the other; exceptions are returned in place of replies."""

    async def run() -> list[Reply | BaseException]:
        async with server:
            given = {"base_url": server.url, "api_key_env": vendor.variable, **options}
            provider = connect(Judge("j", vendor.name, model or vendor.model, PROTOCOLS, options=given))
            await provider.open()
            try:
                return [
                    (await asyncio.gather(provider.ask(each), return_exceptions=True))[0]
                    for each in presentations
                ]
            finally:
                await provider.close()

    return asyncio.run(run())


def reply_of(vendor: Vendor, answer: Answer, presentation: Presentation | None = None, **more: Any) -> Reply:
    """The reply that an answer makes."""
    (outcome,) = ask(vendor, ScriptedServer(answer), presentation or shown(), **more)
    assert isinstance(outcome, Reply), outcome
    return outcome


def error_of(vendor: Vendor, answer: Answer, **more: Any) -> BaseException:
    """The error that an answer makes."""
    (outcome,) = ask(vendor, ScriptedServer(answer), shown(), **more)
    assert isinstance(outcome, BaseException), outcome
    return outcome


def sent_to(vendor: Vendor, presentation: Presentation, model: str = "", **options: Any) -> Mapping[str, Any]:
    """The body that one call sends."""
    server = ScriptedServer(vendor.says('{"winner": "1"}'))
    ask(vendor, server, presentation, model=model, **options)
    body: dict[str, Any] = json.loads(server.requests[0].data)
    return body
