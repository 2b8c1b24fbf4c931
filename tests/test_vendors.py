"""What every vendor's adapter has in common: a failure is never a grade, the key is nowhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import Command
from servers import Answer, Received, ScriptedServer, cut, sends
from steelyard.core.registry import Spec
from steelyard.errors import PermanentError, ProviderRefusedError, TransientError
from steelyard.providers.http.endpoint import Dialect
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.provider import connect
from steelyard.tasks.task import Pairwise
from steelyard.trials.judge import Judge, Reply
from steelyard.trials.prompt import Message
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Unreadable
from vendors import (
    ANTHROPIC,
    BEDROCK,
    GOOGLE,
    KEY,
    PROTOCOLS,
    VENDORS,
    Vendor,
    ask,
    error_of,
    reply_of,
    shown,
)

every_vendor = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in VENDORS.values():
        monkeypatch.setenv(vendor.variable, KEY)


def read(reply: Reply) -> str:
    """The reason why a reply was not read."""
    verdict = READERS.build(Spec("json"))(reply, Pairwise())
    assert isinstance(verdict, Unreadable), verdict
    return verdict.reason


@every_vendor
def test_a_call_carries_the_key_in_one_header_and_both_messages(vendor: Vendor) -> None:
    server = ScriptedServer(vendor.says('{"winner": "2"}'))
    (reply,) = ask(vendor, server, shown())
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", vendor.path)
    assert [name for name, value in request.headers.items() if KEY in value] == [vendor.header]
    words = json.dumps(request.body, ensure_ascii=False)
    assert "Judge." in words
    assert "Which? 💡" in words
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish, reply.served_model) == ('{"winner": "2"}', "stop", vendor.served)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 5)
    assert reply.latency_ms > 0


@every_vendor
def test_an_empty_reply_is_no_grade(vendor: Vendor) -> None:
    assert read(reply_of(vendor, vendor.says(None))) == "empty"


CUT = {"anthropic": "max_tokens", "google": "MAX_TOKENS", "bedrock": "max_tokens"}
BLOCKED = {"anthropic": "refusal", "google": "SAFETY", "bedrock": "guardrail_intervened"}


@every_vendor
def test_stop_reasons_are_verdict_classes(vendor: Vendor) -> None:
    """Even a whole answer is none where the vendor says that it was blocked."""
    assert read(reply_of(vendor, vendor.says('{"winn', CUT.get(vendor.name, "length")))) == "truncated"
    blocked = vendor.says('{"winner": "1"}', BLOCKED.get(vendor.name, "content_filter"))
    assert read(reply_of(vendor, blocked)) == "refusal"


@every_vendor
@pytest.mark.parametrize(
    ("status", "kind", "error", "reason"),
    [
        (400, "invalid_request_error", PermanentError, "bad_request"),
        (413, "request_too_large", PermanentError, "context_overflow"),
        (429, "rate_limit_error", TransientError, "rate_limited"),
        (500, "api_error", TransientError, "server_error"),
        (503, "unavailable", TransientError, "server_error"),
        (529, "overloaded_error", TransientError, "server_error"),
    ],
)
def test_refusals_by_status(
    vendor: Vendor, status: int, kind: str, error: type[Exception], reason: str
) -> None:
    refusal = error_of(vendor, vendor.fails(status, "Not this time.", kind))
    assert isinstance(refusal, error)
    assert getattr(refusal, "reason", None) == reason
    assert f"{status} (Not this time.)" in str(refusal)


@every_vendor
def test_a_wait_that_the_server_asks_for_is_passed_on(vendor: Vendor) -> None:
    for status in (429, 503):
        refusal = error_of(vendor, vendor.fails(status, "Slow down.", retry_after="7"))
        assert isinstance(refusal, TransientError)
        assert refusal.retry_after == 7


@every_vendor
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_ends_the_run_and_quotes_no_key(vendor: Vendor, status: int) -> None:
    refusal = error_of(vendor, vendor.fails(status, f"Incorrect key {KEY} given."))
    assert isinstance(refusal, ProviderRefusedError)
    assert KEY not in str(refusal)
    assert "[key]" in str(refusal)


@every_vendor
@pytest.mark.parametrize(
    "answer",
    [
        sends("<html>gateway</html>"),
        sends([]),
        sends({}),
        sends({"content": [1], "candidates": [1], "output": [1], "choices": [1]}),
        sends({"content": 5, "candidates": 5, "output": 5, "choices": 5}),
        sends(b"\xff\xfe{"),
    ],
)
def test_what_is_not_of_the_protocol_is_garbled(vendor: Vendor, answer: Answer) -> None:
    error = error_of(vendor, answer)
    assert isinstance(error, TransientError)
    assert error.reason == "garbled_reply"
    assert vendor.name in str(error)


@every_vendor
def test_half_a_body_is_no_reply(vendor: Vendor) -> None:
    error = error_of(vendor, cut(vendor.says('{"winner": "1"}'), 40))
    assert isinstance(error, TransientError)


@every_vendor
def test_lying_token_counts_count_nothing(vendor: Vendor) -> None:
    answer = vendor.says('{"winner": "1"}')
    for lie in ("-3", "true", "1e400", '"many"', "null", "99999999999999999999"):
        spoilt = answer.data.replace(b": 100", f": {lie}".encode())
        assert reply_of(vendor, sends(spoilt)).usage.input_tokens == 0


@every_vendor
def test_no_key_is_told_by_the_name_of_its_variable(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(vendor.variable)
    with pytest.raises(ProviderRefusedError, match=rf"no key found; set .* {vendor.variable}"):
        ask(vendor, ScriptedServer(vendor.says("x")), shown())


# From the command line


@pytest.mark.parametrize("vendor", [ANTHROPIC, GOOGLE, BEDROCK], ids=lambda vendor: vendor.name)
def test_measure_from_the_command_line_and_the_key_is_nowhere(
    vendor: Vendor, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second text always wins; every tenth request quotes the key in an error."""
    monkeypatch.delenv(vendor.variable)
    (tmp_path / ".env").write_text(f"{vendor.variable}={KEY}\n")
    count = 0

    def script(request: Received) -> Answer:
        nonlocal count
        count += 1
        if count % 10 == 0:
            return vendor.fails(500, f"internal error, key {KEY}")
        return vendor.says(f'{{"winner": "2", "reason": "{KEY}"}}')

    with ScriptedServer(script) as server:
        name = f"{vendor.name}/{vendor.model}"
        done = command(
            "measure", "-j", f"{name}?base_url={server.url}", "-p", "vacuum", "--out", "run", "--json"
        )
    assert done.code == 0, done.err
    dark = [row for row in done.rows if row["metric"] == "dark_current" and row["judge"] == name]
    assert {row["value"] for row in dark} == {1.0}
    for path in [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".env"]:
        assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in done.out + done.err


@every_vendor
@given(texts=st.tuples(st.text(min_size=1), st.text(min_size=1)), temperature=st.sampled_from([None, 0.5]))
def test_a_request_from_a_template_is_the_one_that_is_built(
    vendor: Vendor, texts: tuple[str, str], temperature: float | None
) -> None:
    """Whatever stands in the texts: quotes, marks of JSON, signs beyond ASCII."""
    options = {"base_url": "http://127.0.0.1:9/v1"}
    provider = connect(Judge("j", vendor.name, vendor.model, PROTOCOLS, options=options))
    assert isinstance(provider, HttpProvider)
    known = shown(temperature=temperature, extra={"stop": "。"})
    asked = replace(known, messages=(Message("system", texts[0]), Message("user", texts[1])))
    template = provider.template(known, Dialect())
    assert template.parts
    assert provider.template(asked, Dialect()) is template
    assert json.loads(template.render(asked.messages)) == provider.build_request(asked, Dialect())
