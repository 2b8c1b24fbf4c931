"""Claude by Anthropic's messages: its spellings of requests, replies and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from servers import ScriptedServer
from steelyard.errors import PermanentError, ProviderRefusedError
from steelyard.providers.http.endpoint import Endpoint
from steelyard.providers.vendors.anthropic import ANTHROPIC as SERVER
from steelyard.trials.judge import Judge, Reply, Usage
from vendors import ANTHROPIC, KEY, PROTOCOLS, ask, error_of, reply_of, sent_to, shown

ONE = '{"winner": "1"}'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def refuses(message: str) -> Any:
    return ANTHROPIC.fails(400, message, "invalid_request_error")


def test_the_request() -> None:
    body = dict(sent_to(ANTHROPIC, shown(max_tokens=64)))
    assert body.pop("output_config")["format"]["schema"]["required"] == ["reason", "winner"]
    assert body == {
        "model": "claude-sonnet-4-5",
        "system": "Judge.",
        "messages": [{"role": "user", "content": "Which? 💡"}],
        "max_tokens": 64,
        "temperature": 0.0,
    }


def test_the_version_of_the_protocol_is_sent() -> None:
    server = ScriptedServer(ANTHROPIC.says(ONE))
    ask(ANTHROPIC, server, shown())
    assert server.requests[0].headers["anthropic-version"] == "2026-10-21"


def test_a_seed_and_logprobs_do_not_exist_there() -> None:
    reply = reply_of(ANTHROPIC, ANTHROPIC.says("1"), shown("logprobs", seed=3))
    assert reply.effective == {"seed": None, "logprobs": None}
    assert {"seed", "logprobs", "output_config"}.isdisjoint(sent_to(ANTHROPIC, shown("logprobs", seed=3)))


@pytest.mark.parametrize(
    ("options", "thinking", "effort", "limit"),
    [
        ({"effort": "high"}, {"type": "adaptive"}, "high", 64 + 16384),
        ({"thinking_tokens": 2000}, {"type": "enabled", "budget_tokens": 2000}, None, 2064),
        ({"thinking_tokens": 0}, {"type": "disabled"}, None, 64),
        ({"effort": "none"}, {"type": "disabled"}, None, 64),
        (
            {"effort": "low", "thinking_tokens": 1024},
            {"type": "enabled", "budget_tokens": 1024},
            "low",
            1088,
        ),
    ],
)
def test_thinking(options: dict[str, Any], thinking: dict[str, Any], effort: str | None, limit: int) -> None:
    body = sent_to(ANTHROPIC, shown("text", max_tokens=64), **options)
    assert body["thinking"] == thinking
    assert body.get("output_config", {}).get("effort") == effort
    assert body["max_tokens"] == limit
    assert ("temperature" in body) == (thinking["type"] == "disabled")


def test_temperature_is_put_on_record_where_thoughts_rule_it_out() -> None:
    reply = reply_of(ANTHROPIC, ANTHROPIC.says(ONE), shown(max_tokens=64), effort="low")
    assert reply.effective == {"max_tokens": 64 + 4096, "temperature": None}


def test_a_model_that_takes_no_temperature_is_not_sent_one() -> None:
    server = ScriptedServer(ANTHROPIC.says(ONE))
    (reply,) = ask(ANTHROPIC, server, shown(), model="claude-opus-4-8")
    assert len(server.requests) == 1
    assert "temperature" not in server.requests[0].body
    assert isinstance(reply, Reply)
    assert reply.effective == {"temperature": None}


@pytest.mark.parametrize(
    ("message", "field", "absent"),
    [
        ("`temperature` is deprecated for this model.", "temperature", "temperature"),
        ("output_config.format: Extra inputs are not permitted", "response_format", "output_config"),
        ("'claude-x' does not support structured outputs.", "response_format", "output_config"),
    ],
)
def test_what_a_model_refuses_is_left_out_and_remembered(message: str, field: str, absent: str) -> None:
    def script(request: Any) -> Any:
        return refuses(message) if absent in request.body else ANTHROPIC.says(ONE)

    server = ScriptedServer(script)
    first, second = ask(ANTHROPIC, server, shown(), shown())
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.effective == second.effective == {field: None}
    assert len(server.requests) == 3


def test_adaptive_thought_is_left_out_where_only_effort_is_known() -> None:
    def script(request: Any) -> Any:
        known = "thinking" not in request.body
        return ANTHROPIC.says(ONE) if known else refuses("adaptive thinking is not supported on this model")

    server = ScriptedServer(script)
    (reply,) = ask(ANTHROPIC, server, shown(max_tokens=9), effort="low")
    assert isinstance(reply, Reply)
    assert reply.effective == {"max_tokens": 9 + 4096, "temperature": None, "thinking": None}
    assert server.requests[-1].body["output_config"]["effort"] == "low"


@pytest.mark.parametrize(
    ("options", "message", "said"),
    [
        (
            {"thinking_tokens": 1024},
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"',
            r"does not take thinking_tokens=1024 \(.*adaptive.*\); change the judge's key 'thinking_tokens'",
        ),
        (
            {"effort": "max"},
            "output_config.effort: Input should be 'low', 'medium' or 'high'",
            r"does not take effort=max \(.*; change the judge's key 'effort', or remove it\.",
        ),
        ({}, "max_tokens: 256 > 128, which is the maximum", r"set max_tokens, 256 here, to what it allows"),
    ],
)
def test_what_was_asked_for_by_name_is_never_dropped(
    options: dict[str, Any], message: str, said: str
) -> None:
    error = error_of(ANTHROPIC, refuses(message), **options)
    with pytest.raises(ProviderRefusedError, match=said):
        raise error


def test_thoughts_are_no_part_of_the_answer() -> None:
    blocks = [
        {"type": "thinking", "thinking": '{"winner": "1"}', "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": '{"winner": '},
        {"type": "text", "text": '"2"}'},
    ]
    assert reply_of(ANTHROPIC, ANTHROPIC.says("", content=blocks)).text == '{"winner": "2"}'


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "other"),
    ],
)
def test_stop_reasons(stop: str, finish: str) -> None:
    assert reply_of(ANTHROPIC, ANTHROPIC.says("{", stop)).finish == finish


def test_a_refusal_without_a_word_is_explained() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    reply = reply_of(ANTHROPIC, ANTHROPIC.says(None, "refusal", stop_details=details))
    assert (reply.text, reply.finish) == ("Not this.", "refusal")


def test_usage_has_the_cache_in_the_prompt() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    assert reply_of(ANTHROPIC, ANTHROPIC.says(ONE, usage=usage)).usage == Usage(240, 50, 200, 40, 30)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        ("input length and `max_tokens` exceed context limit: 199900 + 256 > 200000", "context_overflow"),
        ("messages.0.content.0.text: text content blocks must be non-empty", "bad_request"),
    ],
)
def test_calls_that_can_not_succeed(message: str, reason: str) -> None:
    error = error_of(ANTHROPIC, refuses(message))
    assert isinstance(error, PermanentError)
    assert error.reason == reason


@pytest.mark.parametrize(
    "answer",
    [
        refuses("Your credit balance is too low to access the Anthropic API."),
        refuses("You have reached your specified API usage limits. You will regain access on 2026-12-01."),
        ANTHROPIC.fails(402, "Payment required.", "billing_error"),
    ],
)
def test_an_empty_account_ends_the_run(answer: Any) -> None:
    error = error_of(ANTHROPIC, answer)
    assert isinstance(error, ProviderRefusedError)
    assert "no credit left" in str(error)


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://proxy.example.com", "https://proxy.example.com/v1"),
        ("https://proxy.example.com/", "https://proxy.example.com/v1"),
        ("https://proxy.example.com/claude/v1", "https://proxy.example.com/claude/v1"),
    ],
)
def test_an_address_as_the_vendors_own_clients_want_it(given: str, base: str) -> None:
    judge = Judge("j", "anthropic", "claude-x", PROTOCOLS)
    endpoint = Endpoint.for_judge(judge, SERVER, {"ANTHROPIC_BASE_URL": given})
    assert endpoint.display_url == base
    assert not endpoint.key_required
    assert Endpoint.for_judge(judge, SERVER, {}).key_required
