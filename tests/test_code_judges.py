"""Python judges are safe: what they raise, name, return and request can not become a grade by mistake."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest
import requests

import steelyard
from commands import Command
from servers import Received, ScriptedServer, fails, says
from steelyard.errors import (
    DataError,
    PermanentError,
    ProviderRefusedError,
    SteelyardError,
    TransientError,
)
from steelyard.providers.function.code_hash import Fingerprint, code_hash
from steelyard.providers.function.python_function import PythonFunction, address_of, asked_of_a_function
from steelyard.providers.function.request_meter import HttpExchange, RequestMeter, metered, outcome
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary
from steelyard.trials.judge import Decoding, Judge, Presentation, Reply, Slots
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import OFF_SCALE, Decided, Unreadable

# Without `verify=False` each client reads the certificates of the machine, a tenth of a second.


def ask(function: object, **slots: Any) -> Reply:
    options = slots.pop("options", {})
    judge = Judge(
        "j", "python", address_of(function, "j"), asked_of_a_function(Binary(), None), options=options
    )
    shown = Presentation((), Slots("why?", ("text",), **slots), ("0", "1"), Decoding())
    return asyncio.run(PythonFunction(judge).ask(shown))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda request: answer_of(request)) as running:
        yield running


def answer_of(request: Received) -> Any:
    kind = request.body["kind"]
    return {
        "good": says("1"),
        "cut": says('{"score": ', finish="length"),
        "400": fails(400),
        "401": fails(401),
        "429": fails(429, headers={"retry-after": "7"}),
        "500": fails(500),
    }[kind]


def by_httpx(url: str, kind: str) -> str:
    return httpx.post(url, json={"kind": kind}, verify=False).json()["choices"][0]["message"]["content"]


async def by_async_httpx(url: str, kind: str) -> str:
    async with httpx.AsyncClient(verify=False) as client:
        return (await client.post(url, json={"kind": kind})).json()["choices"][0]["message"]["content"]


def by_requests(url: str, kind: str) -> str:
    return requests.post(url, json={"kind": kind}).json()["choices"][0]["message"]["content"]


async def by_aiohttp(url: str, kind: str) -> str:
    import aiohttp

    async with aiohttp.ClientSession() as session, session.post(url, json={"kind": kind}) as response:
        return (await response.json())["choices"][0]["message"]["content"]


CLIENTS = (by_httpx, by_async_httpx, by_requests, by_aiohttp)


def judging(client: Callable[..., Any], url: str, *kinds: str) -> Callable[..., Any]:
    """A judge that makes one request for each kind, and reports the last reply."""
    if asyncio.iscoroutinefunction(client):

        async def judge(request: str, response: str) -> str:
            return [await client(f"{url}/chat/completions", kind) for kind in kinds][-1]

        return judge

    return lambda request, response: [client(f"{url}/chat/completions", kind) for kind in kinds][-1]


@pytest.mark.parametrize("client", CLIENTS)
def test_requests_and_tokens_are_counted_whatever_the_client(server: ScriptedServer, client: Any) -> None:
    reply = ask(judging(client, server.url, "good", "good", "good"))
    assert (reply.text, reply.served_model) == ("1", "scripted-1")
    usage = reply.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (3, 300, 15)
    assert len(server.requests) == 3


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("kind", "error", "reason"),
    [
        ("400", PermanentError, "bad_request"),
        ("401", ProviderRefusedError, None),
        ("429", TransientError, "rate_limited"),
        ("500", TransientError, "server_error"),
    ],
)
def test_the_last_status_tells_what_an_exception_means(
    server: ScriptedServer, client: Any, kind: str, error: type[SteelyardError], reason: str | None
) -> None:
    """Every client raises the same KeyError here: the body of an error has no choices."""
    with pytest.raises(error) as caught:
        ask(judging(client, server.url, kind))
    assert getattr(caught.value, "reason", None) == reason
    if kind == "429":
        assert caught.value.retry_after == 7


def raises(error: Exception) -> Callable[..., Any]:
    def judge(request: str, response: str) -> str:
        raise error

    return judge


class FrameworkError(Exception):
    """An exception of a framework, which tells nothing by its class."""


def after_reply(url: str, kind: str, error: Exception) -> Callable[..., Any]:
    def judge(request: str, response: str) -> str:
        by_httpx(f"{url}/chat/completions", kind)
        raise error

    return judge


def test_an_exception_after_a_reply_is_not_tried_again(server: ScriptedServer) -> None:
    with pytest.raises(PermanentError, match="raised FrameworkError: no sense"):
        ask(after_reply(server.url, "good", FrameworkError("no sense")))
    with pytest.raises(TransientError, match="raised FrameworkError"):
        ask(raises(FrameworkError("busy")))
    cut = ask(after_reply(server.url, "cut", FrameworkError("no sense")))
    assert cut.finish == "length"
    named = ask(
        after_reply(server.url, "good", FrameworkError("x")), options={"unreadable": "FrameworkError"}
    )
    assert (named.finish, named.text) == ("unreadable", "FrameworkError: x; the model wrote: 1")
    assert named.usage.requests == 1


@pytest.mark.parametrize(
    ("error", "is_bug"),
    [
        (NameError("x"), True),
        (TypeError("object str can't be used in 'await' expression"), True),
        (TypeError("expected a list"), False),
        (KeyError("score"), False),
    ],
)
def test_a_bug_after_a_reply_is_no_unreadable_reply_of_a_framework(error: Exception, is_bug: bool) -> None:
    meter = RequestMeter()
    meter.received(200, {}, "{}")
    found = outcome(error, meter, "judge x", owned=True)
    assert isinstance(found, PermanentError if is_bug else Reply)


@pytest.mark.parametrize(
    "error",
    [
        json.JSONDecodeError("bad", "{", 0),
        steelyard.Unreadable("bad"),
        type("ValidationError", (ValueError,), {})("bad"),
        type("OutputParserException", (ValueError,), {})("bad"),
    ],
)
def test_an_exception_that_says_unreadable_is_no_failed_call(error: Exception) -> None:
    reply = ask(raises(error))
    assert reply.finish == "unreadable"
    assert "bad" in reply.text


def test_the_cause_behind_an_exception_counts() -> None:
    def judge(request: str, response: str) -> str:
        try:
            raise steelyard.Unreadable("declined")
        except SteelyardError as error:
            raise RuntimeError("wrapped") from error

    assert ask(judge).text == "declined"


def test_an_exception_within_the_handling_of_another_counts_as_that() -> None:
    def judge(request: str, response: str) -> str:
        try:
            raise steelyard.Unreadable("declined")
        except SteelyardError:
            raise RuntimeError("while logging")  # noqa: B904

    assert ask(judge).text == "declined"


def test_fields_of_the_data_reach_functions_that_name_them() -> None:
    def judge(request: str, response: str, reference: str, *, metadata: Any = None) -> str:
        return f"{reference} {metadata}"

    assert ask(judge, reference="42", metadata='{"a":1}').text == "42 {'a': 1}"
    assert ask(judge, reference="42").text == "42 None"
    with pytest.raises(DataError, match=r"needs 'reference'.*--columns reference=COLUMN"):
        ask(judge)


def test_columns_of_a_file_reach_a_function(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def judge(request, response, reference, context=None, metadata=None):\n"
        "    assert context == 'c' + request[1:] and metadata['n'] == int(request[1:])\n"
        "    return int(response == reference)\n"
    )
    rows = [("q,a,ref,ctx,meta,ok")] + [
        f'q{n},a{n},{"a" if n % 2 else "b"}{n},c{n},"{{""n"": {n}}}",{n % 2}' for n in range(20)
    ]
    (tmp_path / "d.csv").write_text("\n".join(rows))
    columns = "request=q,response=a,reference=ref,context=ctx,metadata=meta,label=ok"
    arguments = ("measure", "-j", "python/own.py:judge", "--data", "d.csv", "--scale", "binary")
    (tmp_path / "rubric.md").write_text("Is it right?")
    arguments += ("--rubric", "rubric.md", "-p", "stochastic_stability", "--json", "--out", "run")
    done = command(*arguments, "--columns", columns)
    assert done.code == 0, done.err
    right = [row for row in done.rows if row["metric"] == "accuracy" and row["judge"].startswith("python/")]
    assert [(row["numerator"], row["denominator"]) for row in right][:1] == [(100, 100)]
    bare = command(*arguments[:-1], "other", "--columns", "request=q,response=a,label=ok")
    assert bare.code == 2
    assert "needs 'reference'" in bare.err


def test_metadata_that_is_no_object_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("q,a,m\nx,y,3\n")
    (tmp_path / "r.md").write_text("Is it right?")
    done = command(
        *("measure", "-j", "planted/rater", "--data", "d.csv", "--scale", "binary", "--rubric", "r.md"),
        *("--columns", "request=q,response=a,metadata=m"),
    )
    assert done.code == 2
    assert "column 'm' holds '3', expected a JSON object" in done.err


def test_answers_apply_to_a_function(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def judge(request, response):\n    return 'C' if response else 'I'\n")
    arguments = ("measure", "-j", "python/own.py:judge", "--scale", "binary", "-p", "vacuum", "--json")
    done = command(*arguments, "--out", "run", "--answers", "C=1,I=0")
    assert done.code == 0, done.err
    lost = [
        row for row in done.rows if row["judge"].startswith("python/") and row["metric"] == "unreadable_rate"
    ]
    assert lost
    assert {row["numerator"] for row in lost} == {0}


def graded_by_openevals(score: float) -> Any:
    """A function as `create_llm_as_judge(continuous=True)` makes one."""
    continuous = True

    def judge(*, inputs: str, outputs: str) -> dict[str, object]:
        assert (inputs, outputs, continuous) == ("why?", "text", True)
        return {"key": "score", "score": score}

    judge.__module__ = "openevals.llm"
    return judge


@pytest.mark.parametrize(
    ("score", "answers", "verdict"),
    [
        (0.5, None, Unreadable(OFF_SCALE)),
        (0.5, "0.5=1,1=0", Decided("1")),
        (1.0, "0.5=1,1=0", Decided("0")),
        (1.0, None, Decided("1")),
    ],
)
def test_answers_apply_to_a_judge_of_a_framework(score: float, answers: str | None, verdict: object) -> None:
    model = f"python/{address_of(graded_by_openevals(score), 'j')}"
    judge = parse_judge({"model": model, "name": "j"}, Path(), Binary(), answers=answers)
    shown = Presentation((), Slots("why?", ("text",)), ("0", "1"), Decoding())
    reply = asyncio.run(PythonFunction(judge).ask(shown))
    assert READERS.build(judge.protocols["base"].reader)(reply, Binary()) == verdict


MODULE = """
    import re

    PROMPT = {prompt!r}
    API_KEY = {key!r}
    LIMITS = {{"words": {words}, "api_key": {key!r}}}

    class Client:
        def __init__(self, model):
            self.model = model

    CLIENT = Client({model!r})

    def helper(text):
        return len(text) > LIMITS["words"]

    def judge(request, response):
        return helper(response) and bool(re.search(PROMPT, response)) and CLIENT.model and API_KEY
"""


def judge_in(place: Path, prompt: str = "p", key: str = "k", words: int = 3, model: str = "m") -> Any:
    from steelyard.providers.function.python_function import function_at

    place.write_text(dedent(MODULE.format(prompt=prompt, key=key, words=words, model=model)))
    return function_at(f"{place}:judge")


def test_a_fingerprint_sees_what_a_function_names(tmp_path: Path) -> None:
    place = tmp_path / "m.py"
    first = code_hash(judge_in(place))
    assert code_hash(judge_in(tmp_path / "elsewhere.py")) == first
    assert code_hash(judge_in(place, key="other")) == first  # another key is no other judge
    for change in ({"prompt": "q"}, {"words": 4}, {"model": "n"}):
        assert code_hash(judge_in(place, **change)) != first
    place.write_text(place.read_text().replace("len(text) >", "len(text) >="))


def test_a_fingerprint_says_what_it_can_not_see() -> None:
    client = httpx.Client()

    def judge(request: str, response: str) -> str:
        return str(client)

    assert Fingerprint(judge).unseen == "client (httpx.Client)"
    assert Fingerprint(answer_of).unseen is None


def test_a_changed_prompt_makes_new_calls(command: Command, tmp_path: Path) -> None:
    """The trap: the prompt is a constant of the module, outside of the function."""
    text = "PROMPT = 'be strict'\n\ndef judge(request, first, second):\n    return '1' if PROMPT else '2'\n"
    (tmp_path / "own.py").write_text(text)
    arguments = ("measure", "-j", "python/own.py:judge", "-p", "vacuum", "--out", "run")
    assert command(*arguments).code == 0
    assert "No calls: every trial was answered before" in command(*arguments).out
    (tmp_path / "own.py").write_text(text.replace("strict", "kind"))
    assert "No calls" not in command(*arguments).out


def test_hidden_requests_and_caches_are_told(
    server: ScriptedServer, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    kept: dict[str, str] = {}

    def retrying(request: str, first: str, second: str) -> str:
        return [by_httpx(f"{server.url}/chat/completions", "good") for _ in range(3)][-1]

    def caching(request: str, first: str, second: str) -> str:
        if first + second not in kept:
            kept[first + second] = by_httpx(f"{server.url}/chat/completions", "good")
        return kept[first + second]

    sheet = steelyard.measure(retrying, probes=["vacuum"])
    calls = sheet.run["calls"]
    assert any(f"{3 * calls:,} requests for {calls} calls" in told for told in sheet.caveats("retrying"))
    sheet = steelyard.measure(
        {"model": caching, "concurrency": 1}, probes=["vacuum"], replicates=3, out="cached"
    )
    assert any("made no request: a cache answered" in told for told in sheet.caveats("caching"))


def test_requests_of_tries_that_failed_are_told(
    server: ScriptedServer, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["q,a,ok", *(f"question {n},{'bad' if n % 4 == 0 else 'good'} {n},{n % 2}" for n in range(8))]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    (tmp_path / "rubric.md").write_text("Is it right?")

    def judge(request: str, response: str) -> str:
        kinds = ["500"] * 3 if "bad" in response else ["good"]
        return [
            httpx.post(f"{server.url}/chat/completions", json={"kind": kind}, verify=False) for kind in kinds
        ][-1].json()["choices"][0]["message"]["content"]

    sheet = steelyard.measure(
        judge,
        probes=["format_invariance_1"],
        data={"path": "rows.csv", "columns": {"request": "q", "response": "a", "label": "ok"}},
        task={"scale": "binary", "rubric": "rubric.md"},
        limits={"attempts": 2, "backoff": 0.0},
    )
    # 12 calls with one request each; 4 calls with two tries of three requests each, all in vain.
    told = "36 requests for 16 calls, 24 of them by tries that failed"
    assert any(told in each for each in sheet.caveats("judge")), sheet.caveats("judge")


def test_a_call_that_is_cut_off_tells_how_many_requests_it_made(server: ScriptedServer) -> None:
    requested = threading.Event()

    async def judge(request: str, response: str) -> str:
        await by_async_httpx(f"{server.url}/chat/completions", "good")
        requested.set()
        await asyncio.Event().wait()
        raise AssertionError

    made = Judge("j", "python", address_of(judge, "j"), asked_of_a_function(Binary(), None))
    shown = Presentation((), Slots("why?", ("text",)), ("0", "1"), Decoding())

    async def cut_off() -> int | None:
        try:
            await PythonFunction(made).ask(shown)
        except asyncio.CancelledError as error:
            return getattr(error, "requests", None)
        return None

    async def run() -> int | None:
        task = asyncio.create_task(cut_off())
        await asyncio.to_thread(requested.wait)
        task.cancel()
        return await task

    assert asyncio.run(run()) == 1


OWN_PATHS = (
    "api/chat",
    "api/generate",
    "v2/chat",
    "v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
)
"""Ollama's, Cohere's and Vertex' own addresses."""


@pytest.mark.parametrize("path", OWN_PATHS)
def test_calls_at_a_vendors_own_address_are_metered(server: ScriptedServer, path: str) -> None:
    with metered() as meter:
        httpx.post(f"{server.url.removesuffix('/v1')}/{path}", json={"kind": "good"}, verify=False)
    assert len(meter.exchanges) == 1


@pytest.mark.parametrize("path", OWN_PATHS)
def test_a_bad_request_at_a_vendors_own_address_is_not_tried_again(server: ScriptedServer, path: str) -> None:
    """The client raises an error that says nothing of a status: the meter knows it."""

    def judge(request: str, response: str) -> str:
        address = f"{server.url.removesuffix('/v1')}/{path}"
        return str(httpx.post(address, json={"kind": "400"}, verify=False).json()["message"])

    with pytest.raises(PermanentError, match="the server answered 400") as caught:
        ask(judge)
    assert caught.value.reason == "bad_request"


def test_a_bad_request_by_botocore_is_not_tried_again(server: ScriptedServer) -> None:
    requests = pytest.importorskip("botocore.awsrequest")
    session = pytest.importorskip("botocore.httpsession").URLLib3Session()

    def judge(request: str, response: str) -> str:
        asked = requests.AWSRequest("POST", f"{server.url}/model/m/converse", data=b'{"kind": "400"}')
        return str(json.loads(session.send(asked.prepare()).text)["output"])

    with pytest.raises(PermanentError, match="the server answered 400") as caught:
        ask(judge)
    assert caught.value.reason == "bad_request"


def test_calls_by_botocore_are_metered(server: ScriptedServer) -> None:
    requests = pytest.importorskip("botocore.awsrequest")
    session = pytest.importorskip("botocore.httpsession").URLLib3Session()
    with metered() as meter:
        asked = requests.AWSRequest("POST", f"{server.url}/model/m/converse", data=b'{"kind": "good"}')
        assert session.send(asked.prepare()).status_code == 200
    assert [exchange.status for exchange in meter.exchanges] == [200]
    assert meter.usage.input_tokens > 0


@pytest.mark.parametrize(
    "body",
    [
        {"prompt_eval_count": 7, "eval_count": 2},
        {"usage": {"billed_units": {"input_tokens": 1}, "tokens": {"input_tokens": 7, "output_tokens": 2}}},
    ],
    ids=["ollama", "cohere"],
)
def test_tokens_where_these_vendors_put_them(body: dict[str, Any]) -> None:
    used = HttpExchange(200, body=json.dumps(body)).usage
    assert (used.input_tokens, used.output_tokens) == (7, 2)
