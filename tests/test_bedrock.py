"""Bedrock's Converse and its signatures; Azure's addresses; servers that are known by name."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import unquote

import pytest
from yarl import URL

from servers import Answer, Received, ScriptedServer, sends
from steelyard.errors import ConfigError, PermanentError, ProviderRefusedError, TransientError
from steelyard.providers.http.endpoint import Dialect, quirks_of
from steelyard.providers.provider import connect
from steelyard.providers.vendors.bedrock import Signer
from steelyard.providers.vendors.completions import SERVERS
from steelyard.providers.vendors.known_servers import KNOWN_SERVERS
from steelyard.trials.judge import Judge, Reply, Usage
from vendors import AZURE, BEDROCK, KEY, MISTRAL, PROTOCOLS, Vendor, ask, error_of, reply_of, sent_to, shown

ONE = '{"winner": "1"}'
ACCESS, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION")
    for name in (*names, "AWS_DEFAULT_REGION", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for vendor in (BEDROCK, AZURE, MISTRAL):
        monkeypatch.setenv(vendor.variable, KEY)


def test_the_request() -> None:
    body = dict(sent_to(BEDROCK, shown(max_tokens=64)))
    text_format = body.pop("outputConfig")["textFormat"]
    assert text_format["type"] == "json_schema"
    schema = json.loads(text_format["structure"]["jsonSchema"]["schema"])
    assert schema["required"] == ["reason", "winner"]
    assert body == {
        "system": [{"text": "Judge."}],
        "messages": [{"role": "user", "content": [{"text": "Which? 💡"}]}],
        "inferenceConfig": {"maxTokens": 64, "temperature": 0.0},
    }


@pytest.mark.parametrize(
    ("model", "options", "own"),
    [
        (
            "anthropic.claude-x",
            {"thinking_tokens": 2000},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        (
            "anthropic.claude-x",
            {"effort": "high"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        ("openai.gpt-oss-120b-1:0", {"effort": "low"}, {"reasoning_effort": "low"}),
    ],
)
def test_thinking_is_a_field_of_the_model(model: str, options: dict[str, Any], own: dict[str, Any]) -> None:
    body = sent_to(BEDROCK, shown(), model=model, **options)
    assert body["additionalModelRequestFields"] == own
    assert "temperature" not in body["inferenceConfig"]


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("guardrail_intervened", "filter"),
        ("content_filtered", "filter"),
        ("refusal", "refusal"),
        ("malformed_model_output", "other"),
    ],
)
def test_stop_reasons(stop: str, finish: str) -> None:
    assert reply_of(BEDROCK, BEDROCK.says("{", stop)).finish == finish


def test_thoughts_and_the_cache() -> None:
    content = [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}, {"text": ONE}]
    usage = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 200, "cacheWriteInputTokens": 30}
    answer = BEDROCK.says("", output={"message": {"role": "assistant", "content": content}}, usage=usage)
    reply = reply_of(BEDROCK, answer)
    assert reply.text == ONE
    assert reply.usage == Usage(240, 5, 200, 0, 30)


@pytest.mark.parametrize(
    ("status", "message", "error", "said"),
    [
        (400, "The provided model identifier is invalid.", ProviderRefusedError, "check the model's name"),
        (
            400,
            "Invocation of model ID x with on-demand throughput isn't supported. Retry your request with "
            "the ID or ARN of an inference profile that contains this model.",
            ProviderRefusedError,
            "inference profile",
        ),
        (400, "Input is too long for requested model.", PermanentError, "too long"),
        (424, "The request failed due to an error while processing the model.", TransientError, "424"),
        (429, "Too many requests, please wait before trying again.", TransientError, "slow down"),
        (
            403,
            "The security token included in the request is invalid.",
            ProviderRefusedError,
            "check the key",
        ),
    ],
)
def test_refusals(status: int, message: str, error: type[Exception], said: str) -> None:
    refusal = error_of(BEDROCK, BEDROCK.fails(status, message))
    assert isinstance(refusal, error)
    assert said in str(refusal)


def test_the_worked_example_of_the_signature() -> None:
    """From the IAM user guide: GET of ListUsers on 30 August 2015."""
    signer = Signer(ACCESS, SECRET, "", "us-east-1", "iam")
    address = URL("https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08")
    kind = "application/x-www-form-urlencoded; charset=utf-8"
    carried = {"content-type": kind, "host": "iam.amazonaws.com", "x-amz-date": "20150830T123600Z"}
    assert signer.authorization(address, b"", "GET", carried) == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    )


def test_an_identifier_with_a_colon_is_signed_as_the_sdk_signs_it() -> None:
    """The path is encoded twice; the signature was computed with the vendor's own SDK."""
    signer = Signer(ACCESS, SECRET, "token/+=", "eu-west-1", "bedrock")
    address = URL("https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v1%3A0/converse", encoded=True)
    headers = signer.headers(address, b'{"a": 1}', moment=1440938160)
    assert headers["x-amz-date"] == "20150830T123600Z"
    assert headers["x-amz-security-token"] == "token/+="
    assert headers["Authorization"].endswith(f"Signature={SDK_SIGNATURE}")


SDK_SIGNATURE = "c2879e26b163f6205a98a50676f7b478fe7cdcf933cf2b91eb02861f6bb30219"


def test_requests_are_signed_where_there_is_no_bearer_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BEDROCK.variable)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)

    def script(request: Received) -> Answer:
        del request
        return sends(json.dumps({"message": f"you are {SECRET}"}).replace("/", "\\/"), 500)

    server = ScriptedServer(script)
    (error,) = ask(BEDROCK, server, shown(), region="eu-west-1", api_key_env=None)
    (request,) = server.requests
    signed = request.headers["authorization"]
    assert signed.startswith(f"AWS4-HMAC-SHA256 Credential={ACCESS}/")
    assert "/eu-west-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date" in signed
    assert SECRET not in str(request.headers)
    assert SECRET not in str(error)
    assert "[key]" in str(error)


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BEDROCK.variable)
    with pytest.raises(ConfigError, match=r"no region; set .* AWS_REGION, or write bedrock/x\?region="):
        connect(Judge("j", "bedrock", "x", PROTOCOLS))
    with pytest.raises(ConfigError, match=r"no address; set the environment variable AZURE_OPENAI_ENDPOINT"):
        connect(Judge("j", "azure", "x", PROTOCOLS))
    judge = Judge("j", "bedrock", "x", PROTOCOLS, options={"region": "us-east-1"})
    with pytest.raises(
        ProviderRefusedError, match=r"AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_"
    ):
        asyncio.run(connect(judge).open())


# Azure


def test_the_older_address_goes_by_deployment_and_version() -> None:
    server = ScriptedServer(AZURE.says(ONE))
    ask(AZURE, server, shown(), api_version="2024-10-21")
    path = "/v1/openai/deployments/my-4o/chat/completions?api-version=2024-10-21"
    assert server.requests[0].path == path


@pytest.mark.parametrize(
    "given",
    [
        "https://r.openai.azure.com",
        "https://r.openai.azure.com/",
        "https://r.openai.azure.com/openai/v1/",
    ],
)
def test_the_resource_however_it_is_written(given: str) -> None:
    provider = connect(Judge("j", "azure", "d", PROTOCOLS, options={"base_url": given.rstrip("/")}))
    assert str(provider.request_url()) == "https://r.openai.azure.com/openai/v1/chat/completions"  # type: ignore[attr-defined]


def test_a_filtered_prompt_is_a_refusal() -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
    error = {"message": "The response was filtered.", "code": "content_filter", "innererror": inner}
    reply = reply_of(AZURE, sends({"error": error}, 400))
    assert reply.finish == "filter"


# Servers by name


def test_every_name_of_the_table_is_a_provider() -> None:
    assert list(SERVERS) == [known.name for known in KNOWN_SERVERS]
    for known in KNOWN_SERVERS:
        judge = Judge("j", known.name, "org/model", PROTOCOLS)
        address = connect(judge).request_url()  # type: ignore[attr-defined]
        assert str(address) == f"{known.url}/chat/completions"
        assert SERVERS[known.name].info.free == (address.host == "127.0.0.1")


def test_another_name_for_the_seed() -> None:
    assert sent_to(MISTRAL, shown(seed=3))["random_seed"] == 3
    detail = [{"type": "extra_forbidden", "loc": ["body", "random_seed"], "msg": "Extra inputs"}]

    def script(request: Received) -> Answer:
        return sends({"detail": detail}, 422) if "random_seed" in request.body else MISTRAL.says(ONE)

    (reply,) = ask(MISTRAL, ScriptedServer(script), shown(seed=3))
    assert isinstance(reply, Reply)
    assert reply.effective == {"seed": None}


def test_fields_in_another_field() -> None:
    judge = Judge("j", "openrouter", "x/y", PROTOCOLS, options={"effort": "low", "thinking_tokens": 99})
    provider = SERVERS["openrouter"](judge)
    body = provider.build_request(shown("text", max_tokens=9), Dialect())
    assert body["reasoning"] == {"effort": "low", "max_tokens": 99}
    assert body["max_tokens"] == 9 + 99
    assert "room" not in sent_to(MISTRAL, shown(), thinking_tokens=99)


@pytest.mark.parametrize(
    ("model", "refused", "thinks"),
    [
        ("o3-mini", {"max_tokens", "temperature", "logprobs"}, True),
        ("openai/gpt-5-mini", {"max_tokens", "temperature", "logprobs"}, True),
        ("gpt-5.2", {"max_tokens"}, True),
        ("gpt-5-chat-latest", {"max_tokens"}, False),
        ("gpt-4o", set(), False),
        ("gpt-4.1-mini", set(), False),
        ("global.anthropic.claude-opus-5", {"temperature"}, True),
        ("anthropic/claude-opus-4-8", {"temperature"}, False),
        ("claude-sonnet-4-5-20250929", set(), False),
        ("claude-3-5-haiku-latest", set(), False),
        ("models/gemini-2.5-pro", set(), True),
        ("accounts/fireworks/models/deepseek-r1", {"logprobs"}, True),
        ("olmo-2", set(), False),
        ("google/gemini-pro-latest", set(), True),
        ("gemini-flash-lite-latest", set(), True),
        ("~anthropic/claude-opus-latest", {"temperature"}, True),
        ("claude-mythos-preview", {"temperature"}, True),
        ("~openai/gpt-latest", {"max_tokens"}, True),
        ("moonshotai/kimi-latest", set(), True),
    ],
)
def test_quirks_by_name_wherever_a_model_is_served(model: str, refused: set[str], thinks: bool) -> None:
    assert quirks_of(model).refuses == refused
    assert quirks_of(model).thinks == thinks


@pytest.mark.parametrize("vendor", [AZURE, MISTRAL], ids=lambda vendor: vendor.name)
def test_a_reasoning_model_gets_the_other_limit_and_room_at_once(vendor: Vendor) -> None:
    server = ScriptedServer(vendor.says(ONE))
    (reply,) = ask(vendor, server, shown(max_tokens=64), model="gpt-5-mini", effort="low")
    (request,) = server.requests
    assert request.body["max_completion_tokens"] == 64 + 4096
    assert request.body["reasoning_effort"] == "low"
    assert "temperature" not in request.body
    assert isinstance(reply, Reply)
    limits = {"max_tokens": None, "max_completion_tokens": 4160}
    assert reply.effective == {**limits, "temperature": None}


@pytest.mark.parametrize(
    ("provider", "model", "path"),
    [
        ("azure", "d", "/openai/deployments/d/chat/completions?api-version=2024-10-21"),
        ("google", "gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:generateContent"),
    ],
)
def test_a_proxy_is_asked_at_the_address_that_proxies_serve(provider: str, model: str, path: str) -> None:
    """As litellm does, which has neither Google's v1 nor Azure's address without a version."""
    judge = Judge("j", provider, model, PROTOCOLS, options={"base_url": "http://127.0.0.1:4000"})
    url = connect(judge).request_url()  # type: ignore[attr-defined]
    assert unquote(str(url)) == f"http://127.0.0.1:4000{path}"


def test_a_refusal_of_litellm_is_a_refusal() -> None:
    said = "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - no."
    reply = reply_of(AZURE, sends({"error": {"message": said, "code": "400"}}, 400))
    assert reply.finish == "filter"
