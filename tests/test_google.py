"""Gemini by Google's generateContent: its spellings of requests, replies and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from servers import Answer, Received, ScriptedServer, sends
from steelyard.errors import PermanentError, ProviderRefusedError, TransientError, UnreachableError
from steelyard.providers.http.endpoint import Endpoint
from steelyard.providers.vendors.google import GOOGLE as SERVER
from steelyard.trials.judge import Judge, Reply, Usage
from vendors import GOOGLE, KEY, PROTOCOLS, ask, error_of, reply_of, sent_to, shown

ONE = '{"winner": "1"}'


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    for name in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_the_request() -> None:
    body = sent_to(GOOGLE, shown(max_tokens=64, seed=3))
    assert body["systemInstruction"] == {"parts": [{"text": "Judge."}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Which? 💡"}]}]
    config = dict(body["generationConfig"])
    assert config.pop("responseJsonSchema")["properties"]["winner"]["enum"] == ["1", "2", "tie"]
    assert config == {
        "maxOutputTokens": 64,
        "temperature": 0.0,
        "seed": 3,
        "responseMimeType": "application/json",
    }


def test_extra_adds_to_the_configuration() -> None:
    extra = {"generationConfig": {"topK": 1}, "safetySettings": []}
    body = sent_to(GOOGLE, shown("text", extra=extra, max_tokens=9))
    assert body["generationConfig"] == {"maxOutputTokens": 9, "temperature": 0.0, "topK": 1}
    assert body["safetySettings"] == []


@pytest.mark.parametrize(
    ("model", "options", "thoughts", "limit"),
    [
        ("gemini-3-pro", {"effort": "low"}, {"thinkingLevel": "low"}, 9 + 4096),
        ("gemini-2.5-flash", {"thinking_tokens": 500}, {"thinkingBudget": 500}, 509),
        ("gemini-2.5-flash", {"effort": "none"}, {"thinkingBudget": 0}, 9),
        ("gemini-2.5-flash", {}, None, 9 + 8192),
        ("gemini-2.0-flash", {}, None, 9),
    ],
)
def test_thinking(model: str, options: dict[str, Any], thoughts: dict[str, Any] | None, limit: int) -> None:
    config = sent_to(GOOGLE, shown("text", max_tokens=9), model=model, **options)["generationConfig"]
    assert config.get("thinkingConfig") == thoughts
    assert config["maxOutputTokens"] == limit


def test_thoughts_are_paid_and_no_part_of_the_answer() -> None:
    parts = [{"text": '{"winner": "1"}', "thought": True}, {"text": '{"winner": "2"}'}]
    candidates = [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]
    counts = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 50,
    }
    reply = reply_of(GOOGLE, GOOGLE.says("", candidates=candidates, usageMetadata=counts))
    assert reply.text == '{"winner": "2"}'
    assert reply.usage == Usage(100, 57, 60, 50)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filter"),
        ("RECITATION", "filter"),
        ("PROHIBITED_CONTENT", "filter"),
        ("OTHER", "other"),
        ("MALFORMED_RESPONSE", "other"),
    ],
)
def test_finish_reasons(reason: str, finish: str) -> None:
    assert reply_of(GOOGLE, GOOGLE.says("{", reason)).finish == finish


def test_a_blocked_prompt_is_a_refusal_that_was_paid_for() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 100}}
    reply = reply_of(GOOGLE, sends(body))
    assert (reply.finish, reply.usage.input_tokens) == ("filter", 100)


def test_no_candidate_at_all_is_an_empty_reply_where_it_was_paid_for() -> None:
    paid = {"candidates": [], "usageMetadata": {"promptTokenCount": 100}, "modelVersion": "m"}
    reply = reply_of(GOOGLE, sends(paid))
    assert (reply.text, reply.finish, reply.usage.input_tokens) == ("", "stop", 100)
    error = error_of(GOOGLE, sends({"candidates": []}))
    assert isinstance(error, TransientError)


def test_logprobs_of_the_first_token_that_is_not_blank() -> None:
    chosen = [{"token": "\n", "logProbability": -0.1}, {"token": " 1", "logProbability": -0.2}]
    others = [{"candidates": []}, {"candidates": [{"token": "2", "logProbability": -1.7}, {"token": "x"}]}]
    result = {"chosenCandidates": chosen, "topCandidates": others}
    candidate = {"content": {"parts": [{"text": "1"}]}, "finishReason": "STOP", "logprobsResult": result}
    server = ScriptedServer(GOOGLE.says("1", candidates=[candidate]))
    (reply,) = ask(GOOGLE, server, shown("logprobs"))
    assert isinstance(reply, Reply)
    assert reply.logprobs == {"1": -0.2, "2": -1.7}
    assert server.requests[0].body["generationConfig"]["responseLogprobs"] is True


@pytest.mark.parametrize(
    ("message", "wants", "effective"),
    [
        ("Logprobs is not enabled for models/gemini-2.0-flash", "logprobs", {"logprobs": None}),
        (
            "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config'",
            "json",
            {"response_format": "responseMimeType"},
        ),
    ],
)
def test_what_a_model_refuses_is_left_out(message: str, wants: str, effective: dict[str, Any]) -> None:
    fields = {"responseLogprobs", "responseJsonSchema"}

    def script(request: Received) -> Answer:
        refused = fields & set(request.body["generationConfig"])
        return GOOGLE.fails(400, message, "INVALID_ARGUMENT") if refused else GOOGLE.says(ONE)

    (reply,) = ask(GOOGLE, ScriptedServer(script), shown(wants))
    assert isinstance(reply, Reply)
    assert reply.effective == effective


def test_a_budget_that_is_refused_is_told() -> None:
    answer = GOOGLE.fails(400, "Budget 0 is invalid. This model only works in thinking mode.")
    error = error_of(GOOGLE, answer, effort="none")
    assert isinstance(error, ProviderRefusedError)
    assert "does not take thinking_tokens=0" in str(error)


def test_a_wrong_key_comes_with_status_400() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    body = {"error": {"code": 400, "message": "Invalid.", "status": "INVALID_ARGUMENT", "details": details}}
    error = error_of(GOOGLE, sends(body, 400))
    assert isinstance(error, ProviderRefusedError)
    assert "check the key" in str(error)


def test_the_wait_stands_in_the_body() -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ]
    body = {"error": {"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED", "details": details}}
    error = error_of(GOOGLE, sends(body, 429))
    assert isinstance(error, TransientError)
    assert (error.reason, error.retry_after) == ("rate_limited", 34.5)


QUOTA = "You exceeded your current quota, please check your plan and billing details."
"""What is said of every allowance, of a minute as of a day."""


def used_up(*allowances: str) -> Answer:
    """A refusal that lists the allowances which were used up, and when to come back for the shortest."""
    failure = {"@type": "…QuotaFailure", "violations": [{"quotaId": name} for name in allowances]}
    details = [failure, {"@type": "…RetryInfo", "retryDelay": "34.07s"}]
    return sends({"error": {"code": 429, "message": QUOTA, "details": details}}, 429)


def test_an_allowance_of_a_minute_is_waited_for() -> None:
    error = error_of(GOOGLE, used_up("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"))
    assert isinstance(error, TransientError)
    assert (error.reason, error.retry_after) == ("rate_limited", 34.07)


def test_an_allowance_of_a_day_is_not() -> None:
    """The wait that is told beside it is that of another allowance."""
    per_minute, per_day = "GenerateRequestsPerMinutePerProject", "GenerateRequestsPerDayPerProject-FreeTier"
    error = error_of(GOOGLE, used_up(per_minute, per_day))
    assert isinstance(error, UnreachableError)
    assert str(error).endswith("the day's allowance is used up, raise it or go on tomorrow")


def test_an_overlong_prompt() -> None:
    words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    error = error_of(GOOGLE, GOOGLE.fails(400, words, "INVALID_ARGUMENT"))
    assert isinstance(error, PermanentError)
    assert error.reason == "context_overflow"


def test_either_variable_holds_the_key_and_a_tuned_model_has_its_folder() -> None:
    judge = Judge("j", "google", "gemini-x", PROTOCOLS)
    endpoint = Endpoint.for_judge(judge, SERVER, {})
    assert endpoint.key("w", {"GOOGLE_API_KEY": "second"}) == "second"
    assert endpoint.key("w", {"GOOGLE_API_KEY": "second", "GEMINI_API_KEY": "first"}) == "first"
    server = ScriptedServer(GOOGLE.says(ONE))
    ask(GOOGLE, server, shown(), model="tunedModels/mine")
    assert server.requests[0].path == "/v1/tunedModels/mine:generateContent"
