from __future__ import annotations

import asyncio
import gzip
import json
import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers import Answer, Received, ScriptedServer, cut, drop, fails, hang, says, sends, wins
from steelyard.core.content_hash import canonical_json
from steelyard.errors import (
    CallError,
    ConfigError,
    PermanentError,
    ProviderRefusedError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.http.endpoint import Endpoint
from steelyard.providers.http.http_client import MAX_RESPONSE_BYTES
from steelyard.providers.http.response_errors import RATE_LIMIT_HEADERS, retry_after
from steelyard.providers.provider import Provider, connect
from steelyard.providers.vendors.completions import OPENAI, ChatCompletions, OpenAI
from steelyard.providers.vendors.completions import SERVERS as NAMED
from steelyard.runner.costs import reply_cost
from steelyard.runner.prices import Price
from steelyard.tasks.task import Pairwise
from steelyard.trials.builtin_prompts import PAIRWISE_SYSTEM, PAIRWISE_USER
from steelyard.trials.judge import Decoding, Judge, Presentation, Protocol, Reply, Slots, Usage
from steelyard.trials.prompt import Message

KEY = "sk-secret-0123456789"
TRIAL = "f" * 64
PROTOCOLS = {"base": Protocol(PAIRWISE_USER, PAIRWISE_SYSTEM)}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judge(provider: str = "openai", **options: Any) -> Judge:
    return Judge("j", provider, "gpt-x", PROTOCOLS, options=options)


def shown(wants: str = "json", **decoding: Any) -> Presentation:
    messages = (Message("system", "Judge."), Message("user", "Which? 💡"))
    slots = Slots("Tell.", ("one", "two"))
    return Presentation(messages, slots, Pairwise().answers, Decoding(**decoding), wants, trial=TRIAL)


def ask(
    server: ScriptedServer, *presentations: Presentation, together: bool = False, **options: Any
) -> list[Reply | BaseException]:
    """Ask one after the other, or all at once; exceptions are returned in place of replies."""

    async def run() -> list[Reply | BaseException]:
        async with server:
            provider = ChatCompletions(judge(**{"base_url": server.url, **options}))
            await provider.open()
            try:
                if together:
                    return await asyncio.gather(*map(provider.ask, presentations), return_exceptions=True)
                outcomes: list[Reply | BaseException] = []
                for presentation in presentations:
                    outcomes += await asyncio.gather(provider.ask(presentation), return_exceptions=True)
                return outcomes
            finally:
                await provider.close()

    return asyncio.run(run())


def reply_to(answer: Answer, presentation: Presentation | None = None) -> Reply:
    (outcome,) = ask(ScriptedServer(answer), presentation or shown())
    assert isinstance(outcome, Reply), outcome
    return outcome


def failure_of(*answers: Answer, **options: Any) -> CallError | ProviderRefusedError | UnreachableError:
    server = ScriptedServer(*answers)
    (outcome,) = ask(server, shown(), **options)
    assert isinstance(outcome, (CallError, ProviderRefusedError, UnreachableError)), outcome
    assert KEY not in str(outcome)
    assert len(server.requests) == 1
    return outcome


# What is sent


def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> Reply:
        async with ScriptedServer(wins("1")) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
            provider = ChatCompletions(judge(base_url="http://judge.example/v1"))
            await provider.open()
            try:
                return await provider.ask(shown())
            finally:
                await provider.close()
                assert [request.path for request in proxy.requests] == [
                    "http://judge.example/v1/chat/completions"
                ]

    assert asyncio.run(run()).text == '{"winner": "1"}'


@pytest.mark.parametrize(
    ("url", "sent"), [("https://api.openai.com/v1", True), ("https://elsewhere.example/v1", False)]
)
def test_organization_and_project_go_to_the_vendor_alone(
    url: str, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", " proj-2 ")

    async def headers() -> Mapping[str, str]:
        provider = OpenAI(judge(base_url=url))
        await provider.open()
        try:
            return dict(provider.client._headers or {})
        finally:
            await provider.close()

    found = asyncio.run(headers())
    account = {"OpenAI-Organization": "org-1", "OpenAI-Project": "proj-2"}
    assert {name: found[name] for name in account if name in found} == (account if sent else {})


def test_the_request() -> None:
    server = ScriptedServer(wins("1"))
    ask(server, shown(seed=7, extra={"top_p": 0.5}))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["idempotency-key"] == TRIAL
    assert request.headers["content-type"] == "application/json"
    body = request.body
    schema = body.pop("response_format")
    assert body == {
        "model": "gpt-x",
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Which? 💡"}],
        "temperature": 0.0,
        "max_tokens": 256,
        "seed": 7,
        "top_p": 0.5,
    }
    assert schema["type"] == "json_schema"
    properties = schema["json_schema"]["schema"]["properties"]
    assert list(properties) == ["reason", "winner"]
    assert properties["winner"]["enum"] == ["1", "2", "tie"]


def test_fields_are_left_out_when_there_is_nothing_to_say() -> None:
    server = ScriptedServer(wins("1"))
    ask(server, replace(shown("text", temperature=None), trial=""))
    (request,) = server.requests
    assert set(request.body) == {"model", "messages", "max_tokens"}
    assert "idempotency-key" not in request.headers


def test_logprobs_are_asked_for_and_kept_by_token() -> None:
    top = [
        {"token": "1", "logprob": -0.4},
        {"token": "▁1", "logprob": -2.0},  # a blank, as some servers spell it
        {"token": "2", "logprob": -1.5},
        {"token": "tie", "logprob": "broken"},
        "broken",
    ]
    content = [{"token": "\n", "logprob": -0.1}, {"token": "1", "logprob": -0.4, "top_logprobs": top}]
    message = {"content": "1"}
    answer = says(
        "1", choices=[{"message": message, "logprobs": {"content": content}, "finish_reason": "stop"}]
    )
    server = ScriptedServer(answer)
    (reply,) = ask(server, shown("logprobs"))
    assert isinstance(reply, Reply)
    assert reply.logprobs == {"1": pytest.approx(math.log(math.exp(-0.4) + math.exp(-2.0))), "2": -1.5}
    body = server.requests[0].body
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert "response_format" not in body


@pytest.mark.parametrize(
    "broken", ["-Infinity", "Infinity", "NaN", "1e999", "-" + "9" * 400, "true", "null", '"-1"', "[]"]
)
def test_logprobs_that_are_no_finite_numbers_are_dropped(broken: str) -> None:
    top = f'[{{"token": "1", "logprob": -0.5}}, {{"token": "2", "logprob": {broken}}}]'
    content = f'[{{"token": "tie", "logprob": {broken}, "top_logprobs": {top}}}]'
    choice = f'{{"message": {{"content": "1"}}, "logprobs": {{"content": {content}}}}}'
    reply = reply_to(sends(f'{{"choices": [{choice}]}}'), shown("logprobs"))
    assert reply.logprobs == {"1": -0.5}
    canonical_json(reply)


def test_each_kind_of_call_has_the_schema_of_its_answers() -> None:
    """Calls of one judge that ask alike share the fields of their request; no others do."""
    server = ScriptedServer(says('{"score": 1}'))
    single = replace(shown(), slots=Slots("Tell.", ("one",)), answers=("0", "1"))
    ask(server, single, shown(), replace(single, answers=("1", "2")), single)
    formats = [request.body["response_format"]["json_schema"]["schema"] for request in server.requests]
    scores = [schema["properties"].get("score") for schema in formats]
    assert scores == [
        {"type": "integer", "enum": found} if found else None for found in ([0, 1], [], [1, 2], [0, 1])
    ]


def test_hostile_text_reaches_the_server_unchanged() -> None:
    text = 'a\r\n\x00\u2028{{ first }} "quoted" \ud800 </s>'
    server = ScriptedServer(wins("1"))
    ask(server, replace(shown(), messages=(Message("user", text),)))
    assert server.requests[0].user == text


# What comes back


def test_the_reply() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 40,
        "total_tokens": 140,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    reply = reply_to(says('{"winner": "1"}', usage=usage, model="gpt-x-2026"))
    assert reply.text == '{"winner": "1"}'
    assert reply.usage == Usage(100, 40, 64, 30)
    assert (reply.finish, reply.served_model, reply.effective) == ("stop", "gpt-x-2026", {})
    assert reply.latency_ms > 0


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ('<think>maybe {"winner": "1"}</think>\n{"winner": "2"}', '\n{"winner": "2"}'),
        ('\n<think></think>{"winner": "2"}', '{"winner": "2"}'),
        # A template may hold the opening mark already.
        ('First {"winner": "1"}? No.\n</think>\n\n{"winner": "2"}', '\n\n{"winner": "2"}'),
        # Thoughts that were cut are no answer, and quoted marks are no thoughts.
        ('<think>maybe {"winner": "1"}', '<think>maybe {"winner": "1"}'),
        ('{"reason": "says </think>", "winner": "2"}', '{"reason": "says </think>", "winner": "2"}'),
    ],
)
def test_thoughts_left_in_the_text_are_no_part_of_the_answer(text: str, spoken: str) -> None:
    assert reply_to(says(text)).text == spoken


def test_reasoning_outside_the_completion_is_counted() -> None:
    details = {"reasoning_tokens": 30}
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "total_tokens": 41,
        "completion_tokens_details": details,
    }
    assert reply_to(says("1", usage=usage)).usage == Usage(9, 32, 0, 30)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "many",
        {"prompt_tokens": -5, "completion_tokens": "2"},
        {"prompt_tokens": 10**400, "completion_tokens": 1e9},
        {"x": True},
    ],
)
def test_broken_usage_counts_nothing(usage: Any) -> None:
    assert reply_to(says("1", usage=usage)).usage == Usage()


def test_any_status_of_success_is_one() -> None:
    assert reply_to(replace(wins("1"), status=201)).text == '{"winner": "1"}'


def test_a_page_in_place_of_a_reply_leads_to_the_address() -> None:
    error = failure_of(sends("<!doctype html><title>Sign in</title>"))
    assert "found a page ('<!doctype html><title>Sign in</title>'), which base_url leads to" in str(error)


def test_a_day_that_is_used_up_leaves_the_judge() -> None:
    error = failure_of(fails(429, "Too many tokens per day, please wait before trying again."))
    assert isinstance(error, UnreachableError)


@pytest.mark.parametrize(
    ("told", "billed"),
    [
        ({"cost": 0.00123}, 0.00123),
        ({"cost": 0}, 0.0),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.25}}, 0.26),
        ({"cost": 0.2, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, 0.2),
        ({}, None),
        ({"cost": None}, None),
        ({"cost": {"total_cost": 1}}, None),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": 1e300}, None),
    ],
)
def test_a_bill_is_read_where_there_is_one(told: dict[str, Any], billed: float | None) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, **told}
    assert reply_to(says("1", usage=usage)).usage == Usage(100, 5, billed=billed)


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        ({"message": {"content": "1"}, "finish_reason": "length"}, "1", "length"),
        ({"message": {"content": [{"type": "thinking", "text": "2!"}, {"text": "1"}]}}, "1", "stop"),
        ({"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "tool_calls"}, "", "other"),
        ({"message": {"content": "1"}, "finish_reason": "of its own"}, "1", "other"),
        ({"message": {"content": "1"}, "finish_reason": None}, "1", "stop"),
        ({"message": {"content": "1"}, "finish_reason": "model_length"}, "1", "length"),
        ({"message": {"content": "1"}, "finish_reason": "content_filter"}, "1", "filter"),
        ({"message": {"content": "1"}, "finish_reason": "eos"}, "1", "stop"),
        ({"message": {"content": "1"}}, "1", "stop"),
        ({"message": {"content": None}, "finish_reason": "stop"}, "", "stop"),
        ({"message": {}, "finish_reason": "stop"}, "", "stop"),
        ({"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}, "No.", "refusal"),
        ({"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}, 3]}}, "ab", "stop"),
        ({"message": {"content": "half \ud800 pair"}}, "half \ufffd pair", "stop"),
        ({"message": {"content": "1"}, "logprobs": {"content": "none"}}, "1", "stop"),
    ],
)
def test_forms_of_a_completion(choice: dict[str, Any], text: str, finish: str) -> None:
    reply = reply_to(says(None, choices=[choice]))
    assert (reply.text, reply.finish, reply.logprobs) == (text, finish, None)


def test_choices_are_taken_by_their_index() -> None:
    choices = [
        {"index": number, "message": {"content": text}, "finish_reason": "stop"}
        for number, text in ((1, "2"), (0, "1"))
    ]
    assert reply_to(says("", choices=choices)).text == "1"


def test_a_byte_order_mark_is_no_garbage() -> None:
    assert reply_to(sends(b"\xef\xbb\xbf" + wins("2").data)).text == '{"winner": "2"}'


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress"])
def test_an_encoding_that_was_not_asked_for_is_told_as_such(encoding: str) -> None:
    error = failure_of(Answer(200, b"\x00\x01\x02", {"Content-Encoding": encoding}))
    assert isinstance(error, TransientError)
    assert error.reason == "garbled_reply"
    assert "found a content encoding that was not asked for" in str(error)
    assert encoding in str(error)


def test_a_compressed_reply_is_read() -> None:
    data = gzip.compress(wins("2").data)
    assert reply_to(Answer(200, data, {"Content-Encoding": "gzip"})).text == '{"winner": "2"}'


# Parameters the server does not take


def picky(request: Received) -> Answer:
    """A reasoning model behind an old server: refuses one field at a time, as real servers do."""
    body = request.body
    kind = body.get("response_format", {}).get("type")
    if "max_tokens" in body:
        message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
        return fails(400, message, param="max_tokens", code="unsupported_parameter")
    if "temperature" in body:
        return fails(400, "'temperature' does not support 0.0 with this model.", param="temperature")
    if kind:
        return sends({"detail": [{"loc": ["body", "response_format"], "msg": f"{kind} unavailable"}]}, 422)
    return wins("1")


def test_unknown_fields_are_given_up_remembered_and_recorded() -> None:
    server = ScriptedServer(picky)
    outcomes = ask(server, shown(), shown(), shown("text", temperature=None))
    changed = {"max_tokens": None, "max_completion_tokens": 256}
    everything = {**changed, "temperature": None, "response_format": None}
    assert [reply.effective for reply in outcomes if isinstance(reply, Reply)] == [
        everything,
        everything,
        changed,
    ]
    assert len(server.requests) == 5 + 1 + 1
    kinds = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert kinds == ["json_schema", "json_schema", "json_schema", "json_object", None, None, None]
    assert server.requests[-1].body["max_completion_tokens"] == 256


def test_calls_in_flight_together_learn_the_same_dialect() -> None:
    server = ScriptedServer(picky)
    outcomes = ask(server, *[shown()] * 20, together=True)
    assert all(isinstance(reply, Reply) and reply.text == '{"winner": "1"}' for reply in outcomes)
    assert len(server.requests) <= 20 * 5


def test_json_object_is_enough_where_it_is_taken() -> None:
    def old(request: Received) -> Answer:
        taken = request.body["response_format"]["type"] == "json_object"
        return (
            wins("1") if taken else fails(400, "Invalid parameter: 'response_format' of type 'json_schema'.")
        )

    (reply,) = ask(ScriptedServer(old), shown())
    assert isinstance(reply, Reply)
    assert reply.effective == {"response_format": "json_object"}


def test_a_server_that_refuses_everything_ends_the_call() -> None:
    server = ScriptedServer(fails(400, "bad response_format, max_tokens, temperature"))
    (outcome,) = ask(server, shown())
    assert isinstance(outcome, ProviderRefusedError)
    assert len(server.requests) == 5


REFUSALS = {
    "OpenAI": lambda field: fails(
        400, f"Unsupported parameter: '{field}' is not supported with this model.", param=field
    ),
    "OpenAI, older": lambda field: fails(400, f"Unrecognized request argument supplied: {field}"),
    "Mistral": lambda field: sends(
        {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", field]}]}}, 422
    ),
    "FastAPI": lambda field: sends(
        {"detail": [{"loc": ["body", field], "msg": "Extra inputs are not permitted"}]}, 422
    ),
    "Anthropic": lambda field: fails(400, f"{field}: Extra inputs are not permitted"),
    "Google": lambda field: fails(400, f'Unknown name "{field}": Cannot find field.'),
    "a path": lambda field: fails(400, "not allowed", param=f"body.{field}"),
}
"""How servers refuse a field."""


@pytest.mark.parametrize("vendor", REFUSALS)
@pytest.mark.parametrize("field", ["temperature", "seed", "logprobs"])
def test_a_refused_field_is_left_out_once_and_for_all(vendor: str, field: str) -> None:
    def refuses(request: Received) -> Answer:
        return REFUSALS[vendor](field) if field in request.body else says("1")

    server = ScriptedServer(refuses)
    first, second = ask(server, *[shown("logprobs", seed=5)] * 2)
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.effective == second.effective == {field: None}
    assert [field in request.body for request in server.requests] == [True, False, False]
    others = {"temperature", "seed", "logprobs"} - {field}
    assert all(others <= set(request.body) for request in server.requests)
    assert ("top_logprobs" in server.requests[-1].body) == (field != "logprobs")


def test_what_a_refused_prompt_mentions_is_not_learnt() -> None:
    """A complaint that goes on without the field was not about it."""

    def script(request: Received) -> Answer:
        return fails(400, "this seed is no food") if "💡" in request.user else says("1")

    server = ScriptedServer(script)
    plain = replace(shown("text", seed=5), messages=(Message("user", "Which?"),))
    refused, sound = ask(server, shown("text", seed=5), plain)
    assert isinstance(refused, PermanentError)
    assert isinstance(sound, Reply)
    assert not sound.effective
    assert server.requests[-1].body["seed"] == 5


def test_both_names_of_the_token_limit_refused_is_one_sentence_for_the_run() -> None:
    def refuses(request: Received) -> Answer:
        name = next(name for name in request.body if name.startswith("max_"))
        return fails(400, f"Unsupported parameter: '{name}'.", param=name)

    server = ScriptedServer(refuses)
    (outcome,) = ask(server, shown())
    assert isinstance(outcome, ProviderRefusedError)
    assert "takes neither max_tokens nor max_completion_tokens" in str(outcome)
    assert len(server.requests) == 2


def test_an_overflow_that_names_max_tokens_is_no_reason_to_rename_it() -> None:
    message = "'max_tokens' is too large: 256. This model's maximum context length is 128 tokens."
    error = failure_of(fails(400, message, param="max_tokens"))
    assert isinstance(error, PermanentError)
    assert error.reason == "context_overflow"


# Failures

NESTED = "[" * 900 + "]" * 900
DEEP = (
    f'{{"choices": {NESTED}}}',
    f'{{"error": {NESTED}}}',
    f'{{"error": {{"message": {NESTED}}}}}',
    f'{{"choices": [{{"message": {{"content": {{"a": {NESTED}}}}}}}]}}',
)
"""Parsed without complaint, but too deep to be printed or written."""


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (fails(401, f"Incorrect API key provided: {KEY}."), r"answered 401 .*\[key\].*; check the key"),
        (fails(403, "Not allowed."), "check the key, and that it may use this model"),
        (fails(404, "The model `gpt-x` does not exist."), "check the model's name and base_url"),
        (sends("<html>Not here</html>", 404), r"answered 404 \(Not here\); check"),
        (sends("", 405), "check the model's name and base_url"),
        (sends("", 410), "check the model's name and base_url"),
        (sends("", 407), "check the name and password of the proxy"),
        (fails(400, "No such thing", code="model_not_found"), "check the model's name"),
        (fails(400, "invalid model ID"), "check the model's name"),
        (
            fails(400, "Invalid model name passed in model=nosuch. Call `/v1/models`."),
            "check the model's name",
        ),
        (fails(429, "You exceeded your current quota.", code="insufficient_quota"), "no credit left"),
        (fails(402, "Insufficient Balance"), "no credit left"),
        (Answer(307, headers={"Location": "http://127.0.0.1:1/"}), "a redirect; set base_url"),
        (sends({"error": {"message": "Bad key", "code": 401}}), "answered 401"),
    ],
)
def test_the_run_is_refused(answer: Answer, sentence: str) -> None:
    error = failure_of(answer)
    assert isinstance(error, ProviderRefusedError)
    with pytest.raises(ProviderRefusedError, match=sentence):
        raise error


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fails(429, "Slow down"), "rate_limited"),
        (sends({"error": {"message": "Upstream rate limit", "code": 429}}), "rate_limited"),
        *[(sends("", status), "server_error") for status in (408, 409, 500, 502, 503, 504, 529)],
        (says(None, choices=[{"message": {"content": ""}, "finish_reason": "error"}]), "server_error"),
        (sends(""), "garbled_reply"),
        (sends("   "), "garbled_reply"),
        (sends("<html>502 in disguise</html>"), "garbled_reply"),
        (sends("null"), "garbled_reply"),
        (sends("[1, 2]"), "garbled_reply"),
        (sends("{}"), "garbled_reply"),
        (sends({"choices": []}), "garbled_reply"),
        (sends({"choices": {"0": 1}}), "garbled_reply"),
        (sends({"choices": [None]}), "garbled_reply"),
        (sends({"choices": [{"text": "1"}]}), "garbled_reply"),
        (sends({"choices": [{"message": {"content": 1}}]}), "garbled_reply"),
        (sends({"error": "something"}), "garbled_reply"),
        (sends("[" * 100_000), "garbled_reply"),
        *[(sends(deep), "garbled_reply") for deep in DEEP],
        (sends(wins("1").data[:-20]), "garbled_reply"),
        (cut(wins("1"), 40), "garbled_reply"),
        (cut(wins("1"), 0), "garbled_reply"),
        (sends(b'{"choices": "' + b"x" * (MAX_RESPONSE_BYTES + 1) + b'"}'), "garbled_reply"),
        (Answer(200, b"not gzip at all", {"Content-Encoding": "gzip"}), "garbled_reply"),
        (Answer(raw=b"SMTP ready\r\n\r\n"), "garbled_reply"),
        (Answer(204), "garbled_reply"),
        (sends("accepted", 202), "garbled_reply"),
        (says("1", finish="abort"), "server_error"),
        (says("1", finish="insufficient_system_resource"), "server_error"),
        (fails(429, "Limit 1000, on requests per day", headers={"Retry-After": "9"}), "rate_limited"),
        (drop(), "connection_dropped"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_worth_another_try(answer: Answer, reason: str) -> None:
    error = failure_of(answer)
    assert isinstance(error, TransientError)
    assert error.reason == reason
    assert str(error).startswith("judge openai/gpt-x at http://127.0.0.1:")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["message", "content", "logprobs", "token", "logprob", "top_logprobs", "refusal"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
numbers = st.sampled_from([-0.5, math.inf, -math.inf, math.nan, -(10**400)]) | json_values
tokens = st.fixed_dictionaries({"token": st.sampled_from(["1", " ", "half \ud800"]), "logprob": numbers})
logprobs = st.fixed_dictionaries({"content": st.lists(tokens | json_values, min_size=1, max_size=3)})
messages = st.fixed_dictionaries({"content": st.text()}, optional={"refusal": json_values})
choices = st.fixed_dictionaries(
    {"message": messages, "logprobs": logprobs}, optional={"finish_reason": json_values}
)
bodies = st.fixed_dictionaries(
    {"choices": st.lists(choices, min_size=1, max_size=1)},
    optional={
        "usage": st.dictionaries(st.sampled_from(["prompt_tokens", "total_tokens"]), numbers),
        "model": json_values,
        "error": json_values,
    },
)


@given(bodies | json_values | st.fixed_dictionaries({"choices": st.lists(json_values)}))
def test_any_body_is_a_reply_that_can_be_kept_or_garbled(body: Any) -> None:
    provider = ChatCompletions(judge(base_url="http://judge.example/v1"))
    with suppress(TransientError):
        reply = provider.parse_checked(body)
        canonical_json(reply)
        reply.text.encode()


@pytest.mark.parametrize("status", [400, 403, 404, 429, 500])
def test_an_error_body_of_any_shape_is_a_failure_that_can_be_kept(status: int) -> None:
    for body in (*DEEP, '{"error": {"message": "half \\ud800 pair"}}', '{"detail": [1e999]}', "NaN"):
        str(failure_of(sends(body, status))).encode()


def test_a_garbled_reply_is_quoted_but_not_at_length() -> None:
    error = failure_of(sends("<html>\n" + "busy " * 1000))
    assert "found a page ('<html> busy busy" in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fails(400, "This model's maximum context length is 8 tokens."), "context_overflow"),
        (fails(400, "Too long", code="context_length_exceeded"), "context_overflow"),
        (fails(400, "the request exceeds the available context size"), "context_overflow"),
        (sends("", 413), "context_overflow"),
        (fails(400, "Unknown role."), "bad_request"),
        (fails(422, "Unprocessable."), "bad_request"),
        (sends("[" * 100_000, 400), "bad_request"),
    ],
)
def test_not_worth_another_try(answer: Answer, reason: str) -> None:
    error = failure_of(answer)
    assert isinstance(error, PermanentError)
    assert error.reason == reason


@pytest.mark.parametrize(
    "answer",
    [
        fails(400, "The prompt triggered the content management policy.", code="content_filter"),
        fails(403, "Your input was flagged by moderation."),
        # A proxy that puts its own words and code in the place of the vendor's.
        fails(
            400,
            "litellm.ContentPolicyViolationError: OpenAIException - rejected by our safety system",
            code="400",
        ),
    ],
)
def test_a_filtered_prompt_is_a_refusal_of_the_judge(answer: Answer) -> None:
    reply = reply_to(answer)
    assert reply.finish == "filter"
    # The server's words are no answer of the model: 30 characters of the prompt are 10 tokens, and no others.
    assert reply_cost(Price(1.0, 1.0, "a dollar a token"), reply, 30) == 10


def test_a_server_that_never_answers_times_out() -> None:
    # Whether the request came in before the time was up depends on the machine.
    (error,) = ask(ScriptedServer(hang()), shown(), timeout=0.2)
    assert isinstance(error, TransientError)
    assert error.reason == "timeout"
    assert "no reply within 0.2 s" in str(error)


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
def test_nobody_there_is_unreachable(host: str) -> None:
    async def run() -> None:
        provider = ChatCompletions(judge(base_url=f"http://{host}/v1"))
        await provider.open()
        try:
            await provider.ask(shown())
        finally:
            await provider.close()

    with pytest.raises(TransientError, match="no connection") as caught:
        asyncio.run(run())
    assert caught.value.reason == "unreachable"


def test_the_connection_serves_again_after_every_failure() -> None:
    server = ScriptedServer(drop(), cut(wins("1"), 5), sends("", 500), wins("2"))
    outcomes = ask(server, *[shown()] * 4)
    assert [type(outcome) for outcome in outcomes] == [TransientError, TransientError, TransientError, Reply]


# Waiting times

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"
NOW = 1792567680.0
LEFT = {"x-ratelimit-remaining-requests": "41", "x-ratelimit-remaining-tokens": "0"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:30 GMT"}, 0.0),
        # Whole seconds until a reset were rounded, so that one more is sure to be late enough.
        ({"x-ratelimit-reset": "12"}, 13.0),
        ({"x-ratelimit-reset": "6m0s"}, 361.0),
        ({"x-ratelimit-reset-requests": "0"}, 1.0),
        ({"x-ratelimit-reset-tokens": "0.25s"}, 0.25),
        # What has requests left was stopped by its tokens.
        ({**LEFT, "x-ratelimit-reset-requests": "90ms", "x-ratelimit-reset-tokens": "7.5s"}, 7.5),
        ({"x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-reset": f"{NOW + 5:.0f}"}, 6.0),
        ({"x-ratelimit-reset": f"{1000 * (NOW + 5):.0f}"}, 6.0),
        ({"retry-after": "soon", "x-ratelimit-reset": "3"}, 4.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "9" * 400 + "s"}, None),
        ({"retry-after": "1.2.3s"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_waiting_time(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW, RATE_LIMIT_HEADERS) == (
        None if seconds is None else pytest.approx(seconds)
    )


def test_waiting_time_is_told_by_the_servers_own_clock() -> None:
    headers = {"Date": DATE, "Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"}
    error = failure_of(fails(429, "Slow down", headers=headers))
    assert isinstance(error, TransientError)
    assert (error.retry_after, error.status) == (30.0, 429)
    busy = failure_of(sends("", 503, {"Retry-After": "4"}))
    assert isinstance(busy, TransientError)
    assert busy.retry_after == 4.0


@pytest.mark.parametrize("status", [408, 500, 503, 529])
def test_a_rate_limits_reset_is_no_reason_to_wait_after_another_failure(status: int) -> None:
    headers = {"x-ratelimit-reset": "3600", "x-ratelimit-reset-requests": "1h"}
    error = failure_of(sends("", status, headers))
    assert isinstance(error, TransientError)
    assert error.retry_after is None
    limited = failure_of(sends("", 429, headers))
    assert isinstance(limited, TransientError)
    assert limited.retry_after == 3601.0
    asked = failure_of(sends("", status, {**headers, "retry-after-ms": "20"}))
    assert isinstance(asked, TransientError)
    assert asked.retry_after == 0.02


# Addresses and keys

SERVERS = {"openai": OpenAI.server, "vllm": NAMED["vllm"].server, "ollama": NAMED["ollama"].server}


@pytest.mark.parametrize(
    ("provider", "options", "environ", "address", "required"),
    [
        ("openai", {}, {}, "https://api.openai.com/v1/chat/completions", True),
        ("openai", {}, {"OPENAI_BASE_URL": "http://h:1/v1/"}, "http://h:1/v1/chat/completions", False),
        ("openai", {}, {"OPENAI_BASE_URL": ""}, "https://api.openai.com/v1/chat/completions", True),
        (
            "openai",
            {"base_url": "http://o/v1"},
            {"OPENAI_BASE_URL": "x"},
            "http://o/v1/chat/completions",
            False,
        ),
        ("vllm", {}, {"OPENAI_BASE_URL": "x"}, "http://127.0.0.1:8000/v1/chat/completions", False),
        ("ollama", {}, {}, "http://127.0.0.1:11434/v1/chat/completions", False),
        ("openai", {"base_url": "https://a/b?v=1"}, {}, "https://a/b/chat/completions?v=1", False),
        ("vllm", {"api_key_env": "MINE"}, {}, "http://127.0.0.1:8000/v1/chat/completions", True),
    ],
)
def test_addresses(
    provider: str, options: dict[str, Any], environ: dict[str, str], address: str, required: bool
) -> None:
    endpoint = Endpoint.for_judge(judge(provider, **options), SERVERS[provider], environ)
    assert (str(endpoint.url("chat", "completions")), endpoint.key_required) == (address, required)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"base_url": "127.0.0.1:8000"}, "base_url is not an address"),
        ({"base_url": "ftp://h/v1"}, "base_url is not an address"),
        ({"base_url": "http://"}, "base_url is not an address"),
        ({"base_url": "http://h:99999/v1"}, "base_url is not an address"),
        ({"base_url": "http://me:hunter2@h/v1"}, "holds a user name or password"),
        ({"base_url": "http://h/v1?api-version=1&KEY=hunter2"}, "query parameter 'KEY'; .* api_key_env"),
        ({"base_url": "http://h/v1?Api-Key=hunter2"}, "holds a key in its query"),
        ({"base_url": "http://h/v1?sig=hunter2"}, "holds a key in its query"),
        ({"timeout": 10**400}, "options.timeout: found 1000.*, expected a number"),
        ({"base_ulr": "http://h/v1"}, r"unknown key 'options.base_ulr' \(did you mean 'base_url'\?\)"),
        ({"timeout": 0}, "options.timeout: found 0, expected a number above 0"),
        ({"timeout": "soon"}, "options.timeout: found 'soon', expected a number"),
        ({"timeout": True}, "options.timeout: found True, expected a number"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        ChatCompletions(judge(**options))
    assert "hunter2" not in str(caught.value)


def test_a_secret_in_the_environments_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="query parameter 'token'") as caught:
        Endpoint.for_judge(judge(), OPENAI, {"OPENAI_BASE_URL": "http://h/v1?token=hunter2"})
    assert "hunter2" not in str(caught.value)


def test_the_time_limit_is_the_judges_own_or_none() -> None:
    assert Endpoint.for_judge(judge(), OPENAI).timeout is None
    assert Endpoint.for_judge(judge(timeout=300), OPENAI).timeout == 300.0


@pytest.mark.parametrize("provider", ["vllm", "ollama"])
def test_a_local_server_is_sent_no_key_unless_told(provider: str) -> None:
    assert Endpoint.for_judge(judge(provider), SERVERS[provider]).key("here", {"OPENAI_API_KEY": KEY}) == ""
    named = Endpoint.for_judge(judge(provider, api_key_env="MINE"), SERVERS[provider])
    assert named.key("here", {"MINE": "mine-only"}) == "mine-only"


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ProviderRefusedError, match="set the environment variable OPENAI_API_KEY"):
        asyncio.run(ChatCompletions(judge()).open())
    with pytest.raises(ProviderRefusedError, match="set the environment variable MINE"):
        asyncio.run(ChatCompletions(judge(base_url="http://h/v1", api_key_env="MINE")).open())
    server = ScriptedServer(wins("1"))
    ask(server, shown())
    assert "authorization" not in server.requests[0].headers


def test_a_key_of_ones_own_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", " mine-only \n")
    server = ScriptedServer(wins("1"))
    ask(server, shown(), api_key_env="MINE")
    assert server.requests[0].headers["authorization"] == "Bearer mine-only"


def test_a_broken_key_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\r\nX-Evil: 1")
    with pytest.raises(ProviderRefusedError, match="holds characters that no key has") as caught:
        asyncio.run(ChatCompletions(judge()).open())
    assert "Evil" not in str(caught.value)


def test_the_key_stays_out_of_replies_logs_and_representations(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reply = reply_to(says(f"your key is {KEY}", model=KEY))
    assert KEY not in repr(reply)
    assert reply.served_model == "[key]"
    error = failure_of(sends(f"<p>{KEY}</p>"))
    assert KEY not in repr(error) + repr(error.__cause__)
    assert KEY not in caplog.text
    assert KEY not in repr(vars(Endpoint.for_judge(judge(), OPENAI)))


def test_no_call_without_open() -> None:
    with pytest.raises(RuntimeError, match="open"):
        asyncio.run(ChatCompletions(judge()).ask(shown()))


def test_it_is_the_provider_of_three_names() -> None:
    for name in ("openai", "vllm", "ollama"):
        provider = connect(judge(name))
        assert isinstance(provider, Provider)
        assert isinstance(provider, ChatCompletions)
        assert provider.concurrency == 1024


# The scripted server itself


def test_the_scripted_server_serves_from_a_thread() -> None:
    async def run(url: str) -> Reply:
        provider = ChatCompletions(judge(base_url=url))
        await provider.open()
        try:
            return await provider.ask(shown())
        finally:
            await provider.close()

    with ScriptedServer(wins("2")) as server:
        assert asyncio.run(run(server.url)).text == json.dumps({"winner": "2"})
        assert len(server.requests) == 1
