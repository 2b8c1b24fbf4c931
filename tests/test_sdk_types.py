"""Requests and replies against the types of the vendors' own clients; each test runs where its client is.

The extra `clients` of the project runs all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from steelyard.providers.vendors import anthropic, bedrock, completions, google
from steelyard.providers.vendors.completions import ACCOUNT
from vendors import ANTHROPIC, AZURE, GOOGLE, KEY, sent_to, shown

UNMAPPED = {
    "anthropic": {"tool_use", "pause_turn"},
    "openai": {"tool_calls", "function_call"},
    "bedrock": {"tool_use", "malformed_model_output", "malformed_tool_use"},
}
"""Reasons of an end that are no verdict's: no tool is offered, and the rest is the server's fault."""


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in (ANTHROPIC, AZURE, GOOGLE):
        monkeypatch.setenv(vendor.variable, KEY)
    for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def literals(annotation: Any) -> set[str]:
    """The words of a Literal, wherever it stands in a type."""
    if get_origin(annotation) is Literal:
        return set(map(str, get_args(annotation)))
    return set().union(*map(literals, get_args(annotation)))


def unknown_keys(body: Mapping[str, Any], known: Any) -> set[str]:
    return set(body) - set(get_type_hints(known))


def test_anthropic() -> None:
    client = pytest.importorskip("anthropic")
    from anthropic import _constants
    from anthropic.types import StopReason, message_create_params

    assert anthropic.VERSION == _constants.ANTHROPIC_API_VERSION
    assert client.Anthropic(api_key="k").auth_headers == {"Authorization": "Bearer k"}
    assert ANTHROPIC.header == "authorization"
    known = message_create_params.MessageCreateParamsNonStreaming
    assert unknown_keys(sent_to(ANTHROPIC, shown(), model="claude-opus-5", effort="high"), known) == set()
    # Models before Claude 4.7 took a temperature; a server that no longer does is not sent it again.
    assert unknown_keys(sent_to(ANTHROPIC, shown(), model="claude-sonnet-4-5"), known) <= {"temperature"}
    assert literals(StopReason) - set(anthropic._FINISH) == UNMAPPED["anthropic"]


def test_openai() -> None:
    pytest.importorskip("openai")
    from openai.types import CompletionUsage
    from openai.types.chat import chat_completion
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Known

    for model, options in (("gpt-4o", {}), ("gpt-5-mini", {"effort": "low"})):
        assert unknown_keys(sent_to(AZURE, shown(seed=1), model=model, **options), Known) == set()
    reasons = literals(chat_completion.Choice.model_fields["finish_reason"].annotation)
    assert reasons - set(completions._FINISH) == UNMAPPED["openai"]
    details = {"cached_tokens": 3, "cache_write_tokens": 5}
    usage = CompletionUsage.model_validate(
        {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10, "prompt_tokens_details": details}
    )
    assert {"cached_tokens", "cache_write_tokens"} <= set(type(usage.prompt_tokens_details).model_fields)
    read = completions._usage(usage.model_dump())
    assert (read.cached_tokens, read.cache_write_tokens) == (3, 5)


def test_openai_account(monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("openai")
    for variable in ACCOUNT.values():
        monkeypatch.setenv(variable, variable.lower())
    headers = client.OpenAI(api_key="k").default_headers
    for header, variable in ACCOUNT.items():
        assert headers[header.replace("_", "-")] == variable.lower()


def test_google() -> None:
    pytest.importorskip("google.genai")
    from google.genai import _api_client, types

    assert f"/{_api_client.GOOGLE_AI_API_DEFAULT_VERSION}" in google.GOOGLE.url
    body = sent_to(GOOGLE, shown(seed=1), model="gemini-2.5-flash", thinking_tokens=0)
    fields = {field.alias or name for name, field in types.GenerationConfig.model_fields.items()}
    assert set(body["generationConfig"]) - fields == set()
    thinking = {field.alias or name for name, field in types.ThinkingConfig.model_fields.items()}
    assert set(body["generationConfig"]["thinkingConfig"]) <= thinking
    reasons = {reason.value for reason in types.FinishReason}
    assert set(google._FINISH) <= reasons


def test_bedrock() -> None:
    session = pytest.importorskip("botocore.session")
    shapes = session.get_session().get_service_model("bedrock-runtime")
    reasons = set(shapes.shape_for("StopReason").enum)
    assert reasons - set(bedrock._FINISH) == UNMAPPED["bedrock"]
