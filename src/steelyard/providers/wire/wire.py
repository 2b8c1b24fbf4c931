"""One judge's connection over HTTP: a session, one attempt per call, an exception for whatever goes wrong.

A provider brings the address, the header that carries its key, and how its bodies are spelled. Timeouts,
broken connections, certificates, proxies, sizes, encodings, and a key that is quoted back are minded here.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from steelyard.errors import TransientError, UnreachableError
from steelyard.providers.wire.endpoint import Endpoint
from steelyard.providers.wire.error_body import excerpt, parse_error
from steelyard.providers.wire.errors import answer_in, failure, sent_at
from steelyard.providers.wire.inflation import ENCODINGS, Inflation
from steelyard.providers.wire.lines import (
    BrokenReplyError,
    Lines,
    LongReplyError,
    NoLineError,
    Received,
    unpacked,
)
from steelyard.trials.reply import Reply
from steelyard.version import __version__

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from steelyard.providers.wire.session import Session

LARGEST_REPLY = 4_000_000
"""Bytes; no verdict is longer, and a server gone wild must not fill the memory."""

NOT_ASKED_FOR = "a content encoding that was not asked for"

_SHORTEST_SECRET = 8


@dataclass(frozen=True)
class Answer:
    """What came back from one attempt, unread."""

    status: int
    """Status of the reply."""
    headers: Mapping[str, str]
    """Its headers, by names in lower case."""
    text: str
    """Its body, without the key."""
    latency_ms: float
    """Time from the request to the end of the body."""

    @property
    def succeeded(self) -> bool:
        """Whether the body is what was asked for, or should be."""
        return 200 <= self.status < 300


class Wire:
    """Posts JSON bodies to an endpoint."""

    def __init__(self, endpoint: Endpoint, where: str, protocol: str) -> None:
        """`where` begins every message; `protocol` names what a body should have been."""
        self.endpoint = endpoint
        """Where it leads."""
        self.where = where
        """The judge and its address, for messages."""
        self._protocol = protocol
        self._secrets: tuple[str, ...] = ()
        self._sign: Callable[[URL, bytes], Mapping[str, str]] | None = None
        self._headers: Mapping[str, str] | None = None
        self._session: Session | None = None
        self._lines: Lines | None = None

    async def open(self, header: str = "Authorization", before: str = "Bearer ", **headers: str) -> None:
        """Find the key and make the session; the key goes into one header, after a word or by itself."""
        key = self.endpoint.key(self.where)
        carried = {header: f"{before}{key}"} if key else {}
        self._open({n.replace("_", "-"): v for n, v in headers.items()} | carried, (key,))

    async def open_signed(
        self, sign: Callable[[URL, bytes], Mapping[str, str]], secrets: tuple[str, ...]
    ) -> None:
        """Make a session whose requests are signed one by one; secrets are struck out of what comes back."""
        self._sign = sign
        self._open({}, secrets)

    def _open(self, headers: Mapping[str, str], secrets: tuple[str, ...]) -> None:
        self._secrets = tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)
        sent = {"Content-Type": "application/json", "User-Agent": f"steelyard/{__version__}"}
        sent |= {"Accept-Encoding": "gzip, deflate"} | dict(headers)
        self._headers = sent
        if self.endpoint.local or not _behind_proxy(self.endpoint.base_url):
            self._lines = Lines({"Accept": "*/*"} | sent, LARGEST_REPLY)

    async def close(self) -> None:
        """Close every connection."""
        if self._lines is not None:
            await self._lines.close()
            self._lines = None
        if self._session is not None:
            await self._session.close()
            self._session = None
        self._headers = None

    async def post(self, address: URL, body: Mapping[str, Any] | bytes, trial: str = "") -> Answer:
        """Make one attempt; a reply of any status is an answer, everything else is raised."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Idempotency-Key": trial} if trial else {}
        if self._sign is not None:
            headers |= self._sign(address, data)
        started = time.perf_counter()
        status, received, text = await self._posted(address, data, headers)
        latency = 1000 * (time.perf_counter() - started)
        return Answer(status, received, self._scrubbed(text, refused=status >= 400), latency)

    async def _posted(
        self, address: URL, data: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and text of the reply: over a line of ours, or by way of a proxy."""
        if self._lines is None:
            async with self._response("POST", address, data=data, headers=headers) as response:
                return response.status, _headers(response), await self._text(response)
        try:
            posted = self._lines.post(address, headers, data)
            reply = await (posted if self.endpoint.timeout is None else self._in_time(posted))
            body: bytes | bytearray = reply.data
            if encoding := reply.headers.get("content-encoding"):
                self._check_encoding(encoding)
                body = unpacked(body, encoding.strip().lower(), LARGEST_REPLY)
        except LongReplyError as error:
            raise self.garbled(f"more than {LARGEST_REPLY} bytes") from error
        except (TimeoutError, OSError, BrokenReplyError) as error:
            raise self._broken(error) from error
        return reply.status, reply.headers, _decoded(body)

    async def _in_time(self, reply: Coroutine[Any, Any, Received]) -> Received:
        """Wait as long as the judge allows; the runner's own limit counts besides."""
        async with asyncio.timeout(self.endpoint.timeout):
            return await reply

    async def send(self, body: Mapping[str, Any], *parts: str) -> dict[str, Any]:
        """Post a body that is no call of a judge; the object that answers it."""
        return self._object(await self.post(self.endpoint.at(*parts), body))

    async def fetch(self, *parts: str, **query: str) -> dict[str, Any]:
        """The object at an address."""
        address = self.endpoint.at(*parts).update_query(query)
        async with self._response("GET", address) as response:
            return self._object(await self._answer(response))

    async def upload(self, part: str, fields: Mapping[str, str], name: str, data: bytes) -> dict[str, Any]:
        """Post a file with the fields that go with it; the object that answers it."""
        from steelyard.providers.wire.session import form

        body = form(fields, name, data)
        kind = {"Content-Type": str(body.headers["Content-Type"])}
        async with self._response("POST", self.endpoint.at(part), data=body, headers=kind) as response:
            return self._object(await self._answer(response))

    async def lines(self, *parts: str) -> AsyncIterator[str]:
        """The lines at an address, however many, as they come."""
        async with self._response("GET", self.endpoint.at(*parts)) as response:
            if response.status != 200:
                self.refused(await self._answer(response))
            rest = b""
            async for piece in self._pieces(response):
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    if line.strip():
                        yield self._scrubbed(line.decode("utf-8", "replace"))
                if len(rest) > LARGEST_REPLY:
                    raise self.garbled(f"a line of more than {LARGEST_REPLY} bytes")
            if rest.strip():
                yield self._scrubbed(rest.decode("utf-8", "replace"))

    def named(self, body: Mapping[str, Any]) -> str:
        """The name that a server gives to what it was sent."""
        name = body.get("id")
        if not isinstance(name, str) or not name:
            raise self.garbled("no id")
        return name

    def _object(self, answer: Answer) -> dict[str, Any]:
        if not answer.succeeded:
            self.refused(answer)
        return self.parsed(answer)

    @asynccontextmanager
    async def _response(self, method: str, address: URL, **sent: Any) -> AsyncIterator[ClientResponse]:
        """One attempt, whose body is read by the caller; whatever breaks is raised as an error of ours."""
        try:
            async with self._opened().response(method, address, **sent) as response:
                self._check_encoding(response.headers.get("Content-Encoding", ""))
                yield response
        except (TimeoutError, OSError, BrokenReplyError) as error:
            raise self._broken(error) from error

    def _opened(self) -> Session:
        """The session for what is rare, made when it is first wanted."""
        if self._session is None:
            from steelyard.providers.wire.session import Session

            if self._headers is None:
                raise RuntimeError("open() must come before ask()")
            self._session = Session(self._headers, self.endpoint.timeout, proxies=not self.endpoint.local)
        return self._session

    def parsed(self, answer: Answer) -> dict[str, Any]:
        """The JSON object of a body."""
        if not answer.text or answer.text.isspace():
            raise self.garbled("an empty body")
        if answer.text[0] != "{" and answer.text.lstrip()[0] == "<":
            raise self.garbled(f"a page ({excerpt(answer.text)!r}), which base_url leads to")
        try:
            body = json.loads(answer.text)
        except (ValueError, RecursionError) as error:
            raise self.garbled(f"{excerpt(answer.text)!r}") from error
        if not isinstance(body, dict):
            raise self.garbled(f"{excerpt(answer.text)!r}")
        return body

    def refused(self, answer: Answer) -> Reply:
        """A refusal that is the judge's own answer is a reply; every other is raised."""
        error = parse_error(answer.text)
        if (answered := answer_in(answer.status, error)) is not None:
            return Reply(answered[0], finish=answered[1], latency_ms=answer.latency_ms)
        moment = sent_at(answer.headers, time.time())
        raise failure(answer.status, error, answer.headers, self.where, moment)

    def garbled(self, finding: str) -> TransientError:
        """The error for a reply that is not what the protocol says."""
        return garbled(self.where, finding, self._protocol)

    def _check_encoding(self, encoding: str) -> None:
        if encoding.strip().lower() not in ENCODINGS:
            raise self.garbled(f"{NOT_ASKED_FOR} ({excerpt(encoding)})")

    async def _answer(self, response: ClientResponse) -> Answer:
        """What came back by way of the session; how long it took says nothing about a judge."""
        text = self._scrubbed(await self._text(response), refused=response.status >= 400)
        return Answer(response.status, _headers(response), text, 0.0)

    async def _text(self, response: ClientResponse) -> str:
        data = bytearray()
        async for piece in self._pieces(response):
            data += piece
            if len(data) > LARGEST_REPLY:
                raise self.garbled(f"more than {LARGEST_REPLY} bytes")
        return _decoded(data)

    async def _pieces(self, response: ClientResponse) -> AsyncIterator[bytes]:
        """The body as it comes, inflated."""
        inflation = Inflation(response.headers.get("Content-Encoding", ""))
        try:
            async for chunk in response.content.iter_any():
                for piece in inflation.pieces(chunk):
                    yield piece
        except zlib.error as error:
            raise self.garbled(f"a broken reply ({error})") from error
        if not inflation.whole:
            raise self.garbled("a broken reply (its compressed body was cut)")

    def _scrubbed(self, text: str, *, refused: bool = False) -> str:
        """A server may quote our key back, refusals a part of it; neither reaches a message or the store."""
        for secret in self._secrets:
            # JSON may spell a slash in two ways.
            text = text.replace(secret, "[key]").replace(secret.replace("/", "\\/"), "[key]")
            if refused:
                text = _masked(secret).sub("[key]", text)
        return text

    def _broken(self, error: Exception) -> TransientError | UnreachableError:
        """The error for an exchange that came to no whole reply; a certificate gets no better by waiting."""
        cause = self._scrubbed(excerpt(str(error) or type(error).__name__, 200))
        if isinstance(error, ssl.CertificateError):
            complaint = getattr(error, "verify_message", cause)
            return UnreachableError(
                f"{self.where}: its certificate is not accepted ({complaint}); renew it, or name a file with "
                "the authority that signed it in SSL_CERT_FILE."
            )
        if isinstance(error, TimeoutError):
            limit = self.endpoint.timeout
            spell = "in time" if limit is None else f"within {limit:g} s"
            return TransientError("timeout", f"{self.where}: no reply {spell}; raise timeout or try again.")
        if isinstance(error, NoLineError):
            return TransientError(
                "unreachable", f"{self.where}: no connection ({cause}); is the server running?"
            )
        if isinstance(error, BrokenReplyError):
            broken = NOT_ASKED_FOR if "content-encoding" in str(error).lower() else "a broken reply"
            return self.garbled(f"{broken} ({cause})")
        return TransientError(
            "connection_dropped", f"{self.where}: the connection broke ({cause}); try again."
        )


def _masked(secret: str) -> re.Pattern[str]:
    """A key of which a server shows the beginning and the end; fewer letters tell where there are stars."""
    stars, dots = (
        rf"{re.escape(secret[:2])}[\w-]*\*{{2,}}",
        rf"{re.escape(secret[:4])}[\w-]*(\.{{3}}|…|\\u2026)",
    )
    return re.compile(rf"(?<![\w-])({stars}|{dots})[\w*-]*")


def _headers(response: ClientResponse) -> dict[str, str]:
    """Those of a reply, by names in lower case."""
    return {name.lower(): value for name, value in response.headers.items()}


def _decoded(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _behind_proxy(address: URL) -> bool:
    """The environment names a proxy for this address."""
    host = address.host or ""
    return address.scheme in getproxies() and not proxy_bypass(f"{host}:{address.port}")


def garbled(where: str, finding: str, protocol: str) -> TransientError:
    """The error for a reply that is not what its protocol says."""
    return TransientError(
        "garbled_reply", f"{where}: found {finding}, expected a {protocol} JSON object; try again."
    )
