"""What vendors and the proxies before them say in words of their own, over real HTTP.

Shapes are those of the vendors' documentation and of replies that people made public in bug reports.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from servers import Answer, ScriptedServer, says, sends
from steelyard.errors import CallError, PermanentError, ProviderRefusedError, SteelyardError, TransientError
from steelyard.providers.provider import connect
from steelyard.providers.vendors.completions import ChatCompletions
from steelyard.trials.judge import Judge, Reply
from vendors import (
    ANTHROPIC,
    AZURE,
    BEDROCK,
    GOOGLE,
    KEY,
    PROTOCOLS,
    VENDORS,
    Vendor,
    ask,
    error_of,
    reply_of,
)
from vendors import sent_to as body_of
from vendors import shown as presented

ONE = '{"winner": "1"}'
COMPLETION = {"index": 0, "message": {"role": "assistant", "content": ONE}, "finish_reason": "stop"}


def chat(name: str, model: str = "some-model", variable: str = "OPENAI_API_KEY") -> Vendor:
    return Vendor(name, model, variable, "authorization", "/v1/chat/completions", "served-1")


OPENAI, GROQ, XAI, ROUTER = chat("openai"), chat("groq"), chat("xai", "grok-9"), chat("openrouter")
LMSTUDIO = chat("lmstudio")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for vendor in (*VENDORS.values(), OPENAI):
        monkeypatch.setenv(vendor.variable, KEY)


def refuses(status: int, error: Any, **beside: Any) -> Answer:
    return sends({"error": error, **beside}, status)


def completes(**fields: Any) -> Answer:
    return sends({"model": "served-1", "choices": [COMPLETION], **fields})


# Refusals that are the judge's own answer


@pytest.mark.parametrize(
    ("vendor", "answer"),
    [
        (
            OPENAI,
            refuses(
                400,
                {
                    "message": "Invalid prompt: your prompt was flagged as potentially violating our usage "
                    "policy. Please try again with a different prompt.",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "invalid_prompt",
                },
            ),
        ),
        (
            XAI,
            refuses(
                403,
                "Content violates usage guidelines. Team: t, API key ID: i, Model: grok-9, Failed check: "
                "SAFETY_CHECK_TYPE_BIO",
                code="The caller does not have permission to execute the specified operation",
            ),
        ),
        (
            ROUTER,
            refuses(
                403,
                {
                    "code": 403,
                    "message": "The chosen model requires moderation and your input was flagged",
                    "metadata": {"reasons": ["violence"], "flagged_input": "Which?", "provider_name": "O"},
                },
            ),
        ),
        (
            ANTHROPIC,
            ANTHROPIC.fails(400, "Output blocked by content filtering policy", "invalid_request_error"),
        ),
        (AZURE, sends({"choices": [{"finish_reason": "content_filter", "index": 0}], "usage": None})),
    ],
)
def test_a_filter_is_a_refusal_of_the_judge(vendor: Vendor, answer: Answer) -> None:
    assert reply_of(vendor, answer).finish == "filter"


def test_a_model_that_thought_until_its_tokens_were_gone_is_cut_off_and_no_field_is_blamed() -> None:
    message = (
        "Could not finish the message because max_tokens or model output limit was reached. Please try again "
        "with higher max_tokens."
    )
    server = ScriptedServer(
        refuses(400, {"message": message, "type": "invalid_request_error", "param": None, "code": None}),
        completes(),
    )
    cut, whole = ask(OPENAI, server, presented(), presented())
    assert isinstance(cut, Reply)
    assert isinstance(whole, Reply)
    assert (cut.text, cut.finish, whole.finish) == ("", "length", "stop")
    first, second = (json.loads(one.data) for one in server.requests)
    assert first == second


@pytest.mark.parametrize(
    ("message", "written", "finish"),
    [
        (
            "Failed to generate JSON. Please adjust your prompt. See 'failed_generation'.",
            "The first.",
            "stop",
        ),
        ("Generated JSON does not match the expected schema.", '{"winner": "one"}', "stop"),
        ("max completion tokens reached before generating a valid document", "", "length"),
    ],
)
def test_an_answer_that_the_server_held_back_for_its_form_is_read(
    message: str, written: str, finish: str
) -> None:
    error = {"message": message, "type": "invalid_request_error", "code": "json_validate_failed"}
    reply = reply_of(GROQ, refuses(400, error | {"failed_generation": written}))
    assert (reply.text, reply.finish) == (written, finish)


# Refusals that end a run, and say what to do


@pytest.mark.parametrize(
    ("vendor", "answer", "sentence"),
    [
        (
            XAI,
            refuses(400, "Incorrect API key provided: ve***ef. You can obtain one.", code="invalid-argument"),
            r"\(Incorrect API key provided: \[key\]\. You can obtain one\.\); check the key",
        ),
        (XAI, refuses(403, "Your team has used all available credits.", code="x"), "no credit left"),
        (
            GOOGLE,
            GOOGLE.fails(400, "User location is not supported for the API use.", "failed_precondition"),
            "the vendor does not serve this place",
        ),
        (
            OPENAI,
            sends([{"error": {"code": 400, "message": "API key not valid. Please pass a valid one."}}], 400),
            "check the key",
        ),
        (
            LMSTUDIO,
            sends({"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
            "check the model's name and base_url",
        ),
        (AZURE, refuses(410, {"code": "Gone", "message": "The model is retired."}), "check the model's name"),
        (
            XAI,
            refuses(400, "Model grok-9 does not support parameter reasoningEffort.", code="invalid-argument"),
            "does not take effort=high .*; change the judge's key 'effort'",
        ),
        (
            ROUTER,
            refuses(
                400,
                {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {"raw": '{"error": "does not support parameter reasoningEffort"}'},
                },
            ),
            "does not take effort=high .*Provider returned error: does not support parameter",
        ),
    ],
)
def test_what_no_call_can_get_past_is_told_once(vendor: Vendor, answer: Answer, sentence: str) -> None:
    effort = {"effort": "high"} if "effort" in sentence else {}
    error = error_of(vendor, answer, **effort)
    with pytest.raises(ProviderRefusedError, match=sentence):
        raise error


def test_a_provider_that_builds_its_request_by_itself_is_not_said_to_be_refused_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It sends no field of ours, so nobody refused a temperature."""
    monkeypatch.setattr(ChatCompletions, "fields", ())
    server = ScriptedServer(completes())
    (reply,) = ask(OPENAI, server, presented(temperature=0.5))
    assert isinstance(reply, Reply)
    assert "temperature" not in json.loads(server.requests[0].data)
    assert "temperature" not in reply.effective


def test_a_deployment_that_turns_out_to_think_gets_room_for_it() -> None:
    """The name says nothing; the first answer was cut by thoughts, and is asked for again."""
    thoughts = {"prompt_tokens": 10, "completion_tokens": 256, "total_tokens": 266}
    thoughts |= {"completion_tokens_details": {"reasoning_tokens": 256}}
    cut = says("", finish="length", model="gpt-5-mini-2025-08-07", usage=thoughts)
    server = ScriptedServer(cut, says(ONE), says(ONE))
    outcomes = ask(AZURE, server, presented(), presented(), model="judge-eu")
    assert [reply.text for reply in outcomes if isinstance(reply, Reply)] == [ONE, ONE]
    limits = [json.loads(one.data)["max_tokens"] for one in server.requests]
    assert limits == [256, 256 + 8192, 256 + 8192]
    # The vendor bills the answer that was thrown away too.
    used = [(reply.usage.input_tokens, reply.usage.output_tokens) for reply in outcomes]  # type: ignore[union-attr]
    assert used == [(110, 261), (100, 5)]


def test_an_answer_that_was_thrown_away_stays_on_the_bill_where_the_next_is_refused_a_field() -> None:
    cut = says("", finish="length", model="gpt-5-mini")
    refused = refuses(400, {"message": "Unsupported parameter: 'temperature'", "param": "temperature"})
    (reply,) = ask(
        AZURE, ScriptedServer(cut, refused, says(ONE)), presented(temperature=0.5), model="judge-eu"
    )
    assert isinstance(reply, Reply)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (200, 10)


def test_a_gateways_bill_stays_where_an_answer_that_was_thrown_away_counted_nothing() -> None:
    cut = says("", finish="length", model="gpt-5-mini", usage=None)
    whole = says(ONE, usage={"prompt_tokens": 100, "completion_tokens": 5, "cost": 0.25})
    (reply,) = ask(ROUTER, ScriptedServer(cut, whole), presented(), model="judge-eu")
    assert isinstance(reply, Reply)
    assert (reply.usage.input_tokens, reply.usage.billed) == (100, 0.25)


@pytest.mark.parametrize(
    ("served", "options"), [("gpt-4o", {}), ("gpt-5-mini", {"thinking_tokens": 0})], ids=["plain", "told"]
)
def test_an_answer_that_no_thoughts_cut_stays_cut(served: str, options: dict[str, Any]) -> None:
    server = ScriptedServer(says('{"win', finish="length", model=served))
    (reply,) = ask(AZURE, server, presented(), model="judge-eu", **options)
    assert isinstance(reply, Reply)
    assert (reply.finish, len(server.requests)) == ("length", 1)


def test_a_gateway_passes_on_what_the_vendor_behind_it_refused() -> None:
    raw = {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature", "code": None}}
    metadata = {"raw": json.dumps(raw), "provider_name": "OpenAI"}
    error = {"message": "Provider returned error", "code": 400, "metadata": metadata}
    server = ScriptedServer(refuses(400, error), completes())
    (reply,) = ask(ROUTER, server, presented(temperature=0.5))
    assert isinstance(reply, Reply)
    assert reply.effective["temperature"] is None
    assert ["temperature" in json.loads(one.data) for one in server.requests] == [True, False]


@pytest.mark.parametrize("raw", ["", "Rate limited upstream.", "{", '{"error": null}', "[]", 7, {"a": 1}])
def test_whatever_a_gateway_passes_on_is_one_failure(raw: Any) -> None:
    error = {"message": "Provider returned error", "code": 429, "metadata": {"raw": raw}}
    failed = error_of(ROUTER, refuses(429, error))
    assert isinstance(failed, TransientError)
    assert failed.reason == "rate_limited"


# Proxies, and servers that are not well


PAGE = """<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>h1 {color: red}</style></head>
<body><h1>502 Bad Gateway</h1><hr><center>nginx</center><script>alert(1)</script></body></html>"""


@pytest.mark.parametrize("vendor", [*VENDORS.values(), OPENAI, ROUTER], ids=lambda each: each.name)
@pytest.mark.parametrize("status", [502, 520])
def test_a_proxys_page_is_told_by_its_words(vendor: Vendor, status: int) -> None:
    answer = Answer(status, PAGE.encode(), {"Content-Type": "text/html"})
    error = error_of(vendor, answer)
    assert isinstance(error, TransientError)
    assert error.reason == "server_error"
    assert f"the server answered {status} (502 Bad Gateway 502 Bad Gateway nginx); try again." in str(error)


@pytest.mark.parametrize("status", [498, 499])
def test_no_room_at_the_vendors_and_a_call_that_was_called_off_are_tried_again(status: int) -> None:
    error = error_of(GROQ, refuses(status, {"message": "Flex tier capacity exceeded"}))
    assert isinstance(error, TransientError)
    assert error.reason == "server_error"


def test_another_400_stays_a_wrong_request() -> None:
    error = error_of(OPENAI, refuses(400, {"message": "messages: roles must alternate", "code": None}))
    assert isinstance(error, PermanentError)
    assert error.reason == "bad_request"


@pytest.mark.parametrize("way", ["fetch", "upload", "lines", "send"])
def test_the_wait_that_a_server_asks_for_is_read_on_every_way_there(way: str) -> None:
    """Lists, files and results of batches go by another client than calls do."""

    async def wait() -> float | None:
        async with ScriptedServer(
            sends({"error": {"message": "Slow down"}}, 429, {"Retry-After": "7"})
        ) as server:
            options = {"base_url": server.url, "api_key_env": OPENAI.variable}
            provider = connect(Judge("j", "openai", "m", PROTOCOLS, options=options))
            assert isinstance(provider, ChatCompletions)
            await provider.open()
            try:
                if way == "fetch":
                    await provider.client.get_json("batches")
                elif way == "upload":
                    await provider.client.upload_batch("calls.jsonl", b"{}")
                elif way == "send":
                    await provider.client.post_json({}, "batches")
                else:
                    assert [line async for line in provider.client.get_lines("files", "f", "content")] == []
            except TransientError as error:
                return error.retry_after
            finally:
                await provider.close()
        return None

    assert asyncio.run(wait()) == 7.0


# A key that is quoted back


@pytest.mark.parametrize("vendor", [*VENDORS.values(), OPENAI], ids=lambda each: each.name)
@pytest.mark.parametrize(
    "quoted",
    [
        KEY,
        f"{KEY[:8]}{'*' * 20}{KEY[-4:]}",
        f"{KEY[:2]}***{KEY[-2:]}",
        f"{KEY[:6]}...{KEY[-4:]}",
        f"{KEY[:9]}…{KEY[-4:]}",
    ],
    ids=["whole", "masked", "two", "dots", "one sign"],
)
@pytest.mark.parametrize("status", [400, 401, 500])
def test_no_part_of_the_key_is_in_an_error(vendor: Vendor, quoted: str, status: int) -> None:
    for answer in (
        vendor.fails(status, f"Wrong key provided: {quoted}. Find yours.")
        if vendor.name != "openai"
        else refuses(status, {"message": f"Wrong key provided: {quoted}. Find yours."}),
        Answer(status, f"<html><p>Wrong key: {quoted}</p></html>".encode(), {"Content-Type": "text/html"}),
    ):
        error = error_of(vendor, answer)
        assert isinstance(error, SteelyardError)
        assert "[key]" in str(error)
        assert quoted not in str(error)
        assert KEY[-4:] not in str(error)


def test_words_that_begin_like_the_key_are_none_of_it() -> None:
    error = error_of(OPENAI, refuses(400, {"message": f"the {KEY[:2]}lue of x... was refused"}))
    assert f"(the {KEY[:2]}lue of x... was refused)" in str(error)


def test_a_reply_that_is_none_of_the_keys_business_stays_as_it_is() -> None:
    text = f"{KEY[:2]}ry ** {KEY[:2]}lid*** and {KEY[:2]}..."
    choice = {**COMPLETION, "message": {"content": text}}
    assert reply_of(OPENAI, completes(choices=[choice])).text == text


# Replies with holes


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=lambda each: each.name)
@pytest.mark.parametrize("usage", [None, {}, [], "9"], ids=repr)
def test_usage_that_is_none_counts_nothing(vendor: Vendor, usage: Any) -> None:
    place = "usageMetadata" if vendor is GOOGLE else "usage"
    reply = reply_of(vendor, vendor.says(ONE, **{place: usage}))
    assert reply.text == ONE
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("vendor", "usage", "expected"),
    [
        (
            OPENAI,
            {
                "prompt_tokens": 9,
                "completion_tokens": None,
                "prompt_tokens_details": None,
                "completion_tokens_details": {"reasoning_tokens": None},
                "cost": None,
            },
            (9, 0, 0, 0),
        ),
        (
            ANTHROPIC,
            {
                "input_tokens": 9,
                "output_tokens": 2,
                "cache_read_input_tokens": None,
                "cache_creation_input_tokens": None,
                "output_tokens_details": None,
                "server_tool_use": None,
            },
            (9, 2, 0, 0),
        ),
        (
            GOOGLE,
            {"promptTokenCount": 9, "thoughtsTokenCount": 3, "candidatesTokenCount": None},
            (9, 3, 0, 3),
        ),
        (
            BEDROCK,
            {"inputTokens": 9, "outputTokens": 2, "cacheReadInputTokens": 4, "cacheWriteInputTokens": None},
            (13, 2, 4, 0),
        ),
    ],
)
def test_usage_with_holes(vendor: Vendor, usage: dict[str, Any], expected: tuple[int, ...]) -> None:
    place = "usageMetadata" if vendor is GOOGLE else "usage"
    answer = completes(usage=usage) if vendor is OPENAI else vendor.says(ONE, **{place: usage})
    told = reply_of(vendor, answer).usage
    assert (told.input_tokens, told.output_tokens, told.cached_tokens, told.reasoning_tokens) == expected


@pytest.mark.parametrize(
    ("message", "finish", "text"),
    [
        ({"content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}, "tool_calls", ""),
        ({"content": [{"type": "text", "text": ONE}]}, None, ONE),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                    {"type": "text", "text": ONE},
                ]
            },
            "stop",
            ONE,
        ),
        ({"content": ONE, "reasoning_content": "Hm.", "reasoning": "Hm."}, None, ONE),
        ({}, None, ""),
    ],
)
def test_messages_that_are_not_a_text(message: dict[str, Any], finish: str | None, text: str) -> None:
    reply = reply_of(OPENAI, completes(choices=[{"message": message, "finish_reason": finish}]))
    assert (reply.text, reply.finish) == (text, "other" if finish == "tool_calls" else "stop")


@pytest.mark.parametrize(
    ("vendor", "body", "found"),
    [
        (
            ANTHROPIC,
            {
                "type": "error",
                "error": {"type": "api_error", "message": f"{'litellm.' * 9}APIError: no route"},
            },
            f"no content but an error ({'litellm.' * 9}APIError: no route), expected",
        ),
        (
            GOOGLE,
            {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
            "no candidates but an error (The model is overloaded.), expected",
        ),
        (
            BEDROCK,
            {"message": "The system failed."},
            "no message but an error (The system failed.), expected",
        ),
        (
            OPENAI,
            {"error": {"message": "Overloaded", "type": "server_error", "code": "overloaded"}},
            "no choices but an error (Overloaded), expected",
        ),
        (
            OPENAI,
            {"choices": None, "error": None},
            'no choices in \'{"choices": null, "error": null}\', expected',
        ),
    ],
)
def test_an_error_under_200_is_tried_again_and_said(vendor: Vendor, body: dict[str, Any], found: str) -> None:
    error = error_of(vendor, sends(body))
    assert isinstance(error, CallError)
    assert isinstance(error, TransientError)
    assert f"found {found}" in str(error)


# Requests


@pytest.mark.parametrize(
    ("model", "effort", "own"),
    [
        (
            "us.amazon.nova-2-lite-v1:0",
            "low",
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
        ),
        ("amazon.nova-2-lite-v1:0", "none", {"reasoningConfig": {"type": "disabled"}}),
        ("us.anthropic.claude-opus-4-6-v1", "none", {"thinking": {"type": "disabled"}}),
        ("openai.gpt-oss-20b-1:0", "high", {"reasoning_effort": "high"}),
    ],
)
def test_each_maker_behind_bedrock_has_its_own_word_for_effort(
    model: str, effort: str, own: dict[str, Any]
) -> None:
    assert body_of(BEDROCK, presented(), model=model, effort=effort)["additionalModelRequestFields"] == own


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://r.openai.azure.com/openai/deployments/d/chat/completions", "https://r.openai.azure.com"),
        ("https://r.services.ai.azure.com/openai/v1/chat/completions", "https://r.services.ai.azure.com"),
        ("https://gate.example/azure/openai", "https://gate.example/azure"),
        ("https://gate.example/azure", "https://gate.example/azure"),
        ("https://gate.example/openai-gate/v2", "https://gate.example/openai-gate/v2"),
    ],
)
@pytest.mark.parametrize("version", [None, "2024-10-21"])
def test_an_address_of_azure_as_its_pages_show_it(given: str, address: str, version: str | None) -> None:
    options = {"base_url": given} | ({"api_version": version} if version else {})
    provider = connect(Judge("j", "azure", "d", PROTOCOLS, options=options))
    path = f"deployments/d/chat/completions?api-version={version}" if version else "v1/chat/completions"
    assert str(provider.request_url()) == f"{address}/openai/{path}"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["deepseek", "moonshot"])
@pytest.mark.parametrize(
    ("options", "thinking", "effort"),
    [
        ({}, None, None),
        ({"thinking_tokens": 0}, {"type": "disabled"}, None),
        ({"effort": "none"}, {"type": "disabled"}, None),
        ({"thinking_tokens": 900}, {"type": "enabled"}, None),
        ({"effort": "high"}, None, "high"),
    ],
)
def test_servers_that_are_told_to_think_or_not_to(
    name: str, options: dict[str, Any], thinking: Any, effort: str | None
) -> None:
    server = ScriptedServer(completes())
    ask(chat(name), server, presented(max_tokens=50), model="plain-model", **options)
    body = json.loads(server.requests[0].data)
    assert (body.get("thinking"), body.get("reasoning_effort")) == (thinking, effort)
    assert body["max_tokens"] == 50 + (options.get("thinking_tokens") or (16384 if effort else 0))


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("deepseek-v4-pro", True),
        ("deepseek/deepseek-v4-flash", True),
        ("deepseek-flash", True),
        ("deepseek-chat", False),
        ("deepseek-ai/DeepSeek-V3.1", False),
        ("kimi-k2.6", True),
        ("moonshotai/kimi-k3", True),
        ("kimi-k2-0905-preview", False),
        ("zai-org/GLM-5", True),
        ("glm-4.7", True),
        ("glm-4-9b-chat", False),
        ("qwen-3-235b", True),
    ],
)
def test_models_that_think_unless_told_otherwise_get_room_for_it(model: str, thinks: bool) -> None:
    server = ScriptedServer(completes())
    ask(ROUTER, server, presented(max_tokens=50), model=model)
    assert json.loads(server.requests[0].data)["max_tokens"] == 50 + 8192 * thinks
