"""An adapter of another dialect over the wire that all HTTP providers share, against a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from steelyard.errors import PermanentError, ProviderRefusedError, TransientError
from steelyard.providers import HttpOptions, JudgeExample, ProviderInfo
from steelyard.providers.http.endpoint import Endpoint, ServerDefaults
from steelyard.providers.http.http_client import MAX_RESPONSE_BYTES, HttpClient
from steelyard.providers.provider_info import TRANSPORT_OPTIONS
from steelyard.tasks.task import CHECKLIST_TASK
from steelyard.trials.judge import (
    PASSING_OPTIONS,
    Decoding,
    Judge,
    Presentation,
    Protocol,
    Reply,
    Slots,
    Usage,
)
from steelyard.trials.prompt import Message

KEY = "sk-hunter2-hunter2"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Messages:
    """A provider of a protocol of its own over HttpClient, as a plug-in would write it."""

    server = ServerDefaults("https://api.example.com/v1", key_variable="MESSAGES_API_KEY")
    info = ProviderInfo(
        options=HttpOptions,
        environment=(server.key_variable,),
        examples=(JudgeExample("messages/NAME", "a model behind a messages protocol"),),
    )
    concurrency = 256

    def __init__(self, judge: Judge) -> None:
        self.model, endpoint = judge.model, Endpoint.for_judge(judge, self.server)
        self.client = HttpClient(endpoint, f"judge {judge.address} at {endpoint.display_url}", "messages")

    async def open(self) -> None:
        """The key goes into a header of its own; further headers follow by name."""
        await self.client.open("x-api-key", prefix="", api_version="2026-01-01")

    async def close(self) -> None:
        await self.client.close()

    async def ask(self, presentation: Presentation) -> Reply:
        messages = [{"role": m.role, "content": m.content} for m in presentation.messages]
        limit = presentation.decoding.max_tokens
        body = {"model": self.model, "messages": messages, "max_tokens": limit}
        response = await self.client.post(self.client.endpoint.url("messages"), body, presentation.trial)
        if response.status != 200:
            return self.client.reply_or_raise(response)
        content = self.client.parse_json(response)
        try:
            text, used = content["content"][0]["text"], content["usage"]
            usage = Usage(int(used["input_tokens"]), int(used["output_tokens"]))
        except (LookupError, TypeError, ValueError) as error:
            raise self.client.malformed_response("a body without text or usage") from error
        return Reply(str(text), usage=usage, latency_ms=response.latency_ms)


def shown() -> Presentation:
    slots = Slots("Which?", ("one", "two"))
    answers = CHECKLIST_TASK.scale.answers
    return Presentation((Message("user", "Which is better?"),), slots, answers, Decoding(), trial="t1")


def ask(handler: Handler, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Reply:
    """One call of the adapter to a server that answers as the handler does."""
    monkeypatch.setenv("MINE", KEY)

    async def exchange() -> Reply:
        app = web.Application()
        app.router.add_post("/v1/messages", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.1)  # one handler never ends by itself
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        options_here = {"base_url": address, "api_key_env": "MINE", **options}
        judge = Judge("j", "messages", "m-1", {"base": Protocol("")}, options=options_here)
        provider = Messages(judge)
        await provider.open()
        try:
            return await provider.ask(shown())
        finally:
            await provider.close()
            await runner.cleanup()

    return asyncio.run(exchange())


def test_an_adapter_of_forty_lines_asks_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    async def answer(request: web.Request) -> web.Response:
        seen.update(body=await request.json(), headers=request.headers.copy())
        used = {"input_tokens": 12, "output_tokens": 3}
        return web.json_response({"content": [{"type": "text", "text": f"1, says {KEY}"}], "usage": used})

    reply = ask(answer, monkeypatch)
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("1, says [key]", 12, 3)
    assert reply.latency_ms is not None
    assert reply.latency_ms > 0
    assert seen["body"]["messages"] == [{"role": "user", "content": "Which is better?"}]
    headers = seen["headers"]
    assert (headers["x-api-key"], headers["api-version"], headers["Idempotency-Key"]) == (
        KEY,
        "2026-01-01",
        "t1",
    )
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (401, ProviderRefusedError, "check the key"),
        (404, ProviderRefusedError, "check the model's name"),
        (307, ProviderRefusedError, "a redirect"),
        (400, PermanentError, "correct the request"),
        (413, PermanentError, "too long"),
        (429, TransientError, "slow down"),
        (529, TransientError, "try again"),
    ],
)
def test_a_status_means_the_same_in_every_dialect(
    monkeypatch: pytest.MonkeyPatch, status: int, kind: type[Exception], reason: str
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        body = {"type": "error", "error": {"type": "some_error", "message": f"no, {KEY}"}}
        return web.json_response(body, status=status, headers={"retry-after": "7"})

    with pytest.raises(kind, match=reason) as refusal:
        ask(refuse, monkeypatch)
    assert KEY not in str(refusal.value)
    if isinstance(refusal.value, TransientError):
        assert refusal.value.retry_after == 7.0


BODIES = {
    "no JSON": (b"<html>", "'<html>'"),
    "nothing": (b" ", "an empty body"),
    "a list": (b"[1]", "'[1]'"),
    "too much": (b" " * (MAX_RESPONSE_BYTES + 1), f"more than {MAX_RESPONSE_BYTES} bytes"),
    "another shape": (b'{"content": []}', "a body without text or usage"),
}


@pytest.mark.parametrize(("body", "told"), BODIES.values(), ids=BODIES)
def test_a_garbled_body_is_tried_again_and_names_the_protocol(
    monkeypatch: pytest.MonkeyPatch, body: bytes, told: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    with pytest.raises(TransientError, match=r"expected a messages JSON object") as error:
        ask(answer, monkeypatch)
    assert told in str(error.value)
    assert error.value.reason == "garbled_reply"


def test_a_filtered_prompt_is_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "moderation: the input was flagged"}}, status=400)

    reply = ask(refuse, monkeypatch)
    assert (reply.finish, reply.text) == ("filter", "moderation: the input was flagged")


def test_a_slow_server_and_a_broken_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def break_off(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    with pytest.raises(TransientError, match=r"no reply within 0\.2 s") as slow:
        ask(hang, monkeypatch, timeout=0.2)
    assert slow.value.reason == "timeout"
    with pytest.raises(TransientError, match="the connection broke") as broken:
        ask(break_off, monkeypatch)
    assert broken.value.reason == "connection_dropped"


def test_options_of_transport_decide_nothing_but_the_address() -> None:
    assert {"base_url"} == TRANSPORT_OPTIONS - PASSING_OPTIONS
    # A framework's judge notes two more, which its `source` stands for in the fingerprint.
    assert PASSING_OPTIONS - {"caveat", "template"} < TRANSPORT_OPTIONS
    assert json.dumps(sorted(TRANSPORT_OPTIONS)) == json.dumps(
        [
            *("api_key_env", "base_url", "input_price", "output_price", "path", "requests_per_minute"),
            *("timeout", "tokens_per_minute"),
        ]
    )
