"""A scripted, hostile chat-completions server on a real loopback socket.

It writes bytes itself, so that it can break HTTP in ways no framework would. Inside an asyncio test::

    async with ScriptedServer(says("1"), drop()) as server: ...

and, from a thread of its own, beside code that runs its own event loop (the command line)::

    with ScriptedServer(lambda request: says("tie")) as server: ...

Answers are given in turn and the last one is repeated; a callable answers each request itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from steelyard.providers.planted.server import start
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    data: bytes

    @property
    def body(self) -> Any:
        """The parsed JSON body."""
        return json.loads(self.data)

    @property
    def user(self) -> str:
        """The last user message."""
        return str([m["content"] for m in self.body["messages"] if m["role"] == "user"][-1])

    @property
    def chance(self) -> int:
        """A number drawn from what is asked: the same in every run, whatever the server's port is."""
        return int(hashlib.sha256(self.user.encode()).hexdigest()[:8], 16)


@dataclass(frozen=True)
class Answer:
    """What the server does with one request."""

    status: int = 200
    data: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Written as it is in place of a response; the connection is then closed."""
    hang: bool = False
    """Never answer: the connection stays open until the client or the server goes away."""
    promise: int | None = None
    """Content-Length to claim; the connection is closed after fewer bytes."""


Script = Callable[[Received], Answer]


def says(
    text: str | None, *, finish: str = "stop", headers: Mapping[str, str] | None = None, **body: Any
) -> Answer:
    """A sound completion; further keywords replace fields of the body."""
    message = {"role": "assistant", "content": text}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    }
    return sends({**completion, **body}, headers=headers)


def wins(winner: str) -> Answer:
    """A completion whose text is the JSON verdict."""
    return says(json.dumps({"winner": winner}))


def sends(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Any body: bytes and text as they are, everything else as JSON."""
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    return Answer(status, data, headers or {})


def fails(
    status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **fields: Any
) -> Answer:
    """An error in the usual form, with `code`, `type` and `param` on request."""
    return sends({"error": {"message": message, **fields}}, status, headers)


def drop() -> Answer:
    """Close the connection without a word."""
    return Answer(raw=b"")


def hang() -> Answer:
    """Keep the connection open and never answer."""
    return Answer(hang=True)


def cut(answer: Answer, after: int) -> Answer:
    """Promise the whole body and send its first bytes only."""
    return Answer(answer.status, answer.data[:after], answer.headers, promise=len(answer.data))


class ScriptedServer:
    """The server; `requests` holds everything it received."""

    def __init__(self, *answers: Answer | Script, tls: ssl.SSLContext | None = None) -> None:
        self._script = answers[0] if len(answers) == 1 and callable(answers[0]) else None
        self._answers = [answer for answer in answers if isinstance(answer, Answer)]
        self.requests: list[Received] = []
        self.connections = 0
        self.url = ""
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, asyncio.Task[Any]] = {}
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def clients(self) -> int:
        """Connections that are open."""
        return len(self._open)

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}/v1"

    async def stop(self) -> None:
        """Stop listening and cut what is still open."""
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await asyncio.gather(*self._open.values(), return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[writer] = task
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            del self._open[writer]
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; False closes the connection."""
        received = await _receive(reader)
        answer = self._next(received)
        if answer.hang:
            await reader.read()
            return False
        writer.write(_bytes(answer))
        await writer.drain()
        return answer.raw is None and answer.promise is None

    def _next(self, received: Received) -> Answer:
        self.requests.append(received)
        if self._script is not None:
            return self._script(received)
        return self._answers[min(len(self.requests), len(self._answers)) - 1]


async def _receive(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    data = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, data)


@contextmanager
def planted_server(judge: Judge, key: Iterable[Stimulus] = (), port: int = 0) -> Iterator[str]:
    """Where a planted judge is served, from a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, url = asyncio.run_coroutine_threadsafe(start(judge, port=port, key=key), loop).result()
    try:
        yield url
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _bytes(answer: Answer) -> bytes:
    if answer.raw is not None:
        return answer.raw
    length = len(answer.data) if answer.promise is None else answer.promise
    headers = {"Content-Type": "application/json", "Content-Length": str(length), **answer.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} Scripted\r\n{lines}\r\n".encode("latin-1") + answer.data
