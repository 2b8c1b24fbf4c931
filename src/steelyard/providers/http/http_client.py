"""The HTTP client of one judge: one attempt per call, an exception for whatever goes wrong.

A provider brings the URL, the header that carries its key, and the format of its bodies. Timeouts, broken
connections, certificates, proxies, sizes, encodings, and a key that is quoted back are handled here. Calls go
through the connection pool, or through aiohttp where the environment names a proxy. Retries with backoff are
the runner's.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import msgspec
from yarl import URL

from steelyard.errors import REPEATED, TransientError, UnreachableError
from steelyard.providers.http.connection import (
    ENCODINGS,
    ConnectError,
    Decompressor,
    ProtocolError,
    ResponseTooLargeError,
    decompress,
)
from steelyard.providers.http.connection_pool import ConnectionPool, RepeatedReplyError
from steelyard.providers.http.endpoint import Endpoint
from steelyard.providers.http.redaction import Redactor
from steelyard.providers.http.response_errors import (
    error_for_response,
    excerpt,
    find_error,
    parse_error,
    refusal_reply,
    server_time,
)
from steelyard.trials.judge import Reply
from steelyard.version import __version__

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from steelyard.providers.http.aiohttp_client import AiohttpClient

MAX_RESPONSE_BYTES = 4_000_000
"""Bytes; no verdict is longer, and a server gone wild must not fill the memory."""

UNREQUESTED_ENCODING = "a content encoding that was not asked for"


class HttpResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str
    """Its body, without the key."""
    latency_ms: float

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class HttpClient:
    def __init__(self, endpoint: Endpoint, where: str, body_format: str) -> None:
        """`where` begins every message; `body_format` names what a body should have been."""
        self.endpoint = endpoint
        self.where = where
        self._body_format = body_format
        self._redactor = Redactor()
        self._sign: Callable[[URL, bytes], Mapping[str, str]] | None = None
        self._headers: Mapping[str, str] | None = None
        self._aiohttp: AiohttpClient | None = None
        self.pool: ConnectionPool | None = None

    async def open(self, header: str = "Authorization", prefix: str = "Bearer ", **headers: str) -> None:
        key = self.endpoint.key(self.where)
        key_header = {header: f"{prefix}{key}"} if key else {}
        self._open({n.replace("_", "-"): v for n, v in headers.items()} | key_header, (key,))

    async def open_with_signer(
        self, sign: Callable[[URL, bytes], Mapping[str, str]], secrets: tuple[str, ...]
    ) -> None:
        self._sign = sign
        self._open({}, secrets)

    def _open(self, headers: Mapping[str, str], secrets: tuple[str, ...]) -> None:
        self._redactor = Redactor(secrets)
        sent = {"Content-Type": "application/json", "User-Agent": f"steelyard/{__version__}"}
        sent |= {"Accept-Encoding": "gzip, deflate"} | dict(headers)
        self._headers = sent
        if self.endpoint.is_local or not _uses_proxy(self.endpoint.base_url):
            self.pool = ConnectionPool({"Accept": "*/*"} | sent, MAX_RESPONSE_BYTES)

    async def close(self) -> None:
        if self.pool is not None:
            await self.pool.close()
            self.pool = None
        if self._aiohttp is not None:
            await self._aiohttp.close()
            self._aiohttp = None
        self._headers = None

    async def post(self, address: URL, body: Mapping[str, Any] | bytes, trial: str = "") -> HttpResponse:
        """Make one attempt; a response of any status is returned, everything else is raised."""
        data = body if isinstance(body, bytes) else encode(body)
        headers = {"Idempotency-Key": trial} if trial else {}
        if self._sign is not None:
            headers |= self._sign(address, data)
        started = time.perf_counter()
        status, received_headers, text = await self._send_post(address, data, headers, trial)
        latency = 1000 * (time.perf_counter() - started)
        return HttpResponse(status, received_headers, self.redact(text, is_error=status >= 400), latency)

    async def _send_post(
        self, address: URL, data: bytes, headers: Mapping[str, str], trial: str
    ) -> tuple[int, Mapping[str, str], str]:
        if self.pool is None:
            async with self._request("POST", address, data=data, headers=headers) as response:
                return response.status, _headers(response), await self._read_text(response)
        try:
            if self.endpoint.timeout is None:  # the runner's own timeout counts in any case
                raw = await self.pool.post(address, headers, data, trial)
            else:
                async with asyncio.timeout(self.endpoint.timeout):
                    raw = await self.pool.post(address, headers, data, trial)
            body: bytes | bytearray = raw.body
            if encoding := raw.headers.get("content-encoding"):
                self._check_encoding(encoding)
                body = decompress(body, encoding.strip().lower(), MAX_RESPONSE_BYTES)
            text = _decode(body)
            if raw.status < 300:
                self.pool.check_repeat(raw, text, trial)
        except ResponseTooLargeError as error:
            raise self.malformed_response(f"more than {MAX_RESPONSE_BYTES} bytes") from error
        except RepeatedReplyError as error:
            raise TransientError(
                REPEATED,
                f"{self.where}: the server sent the reply to an earlier call once more; try again.",
            ) from error
        except (TimeoutError, OSError, ProtocolError) as error:
            raise self._transport_error(error) from error
        return raw.status, raw.headers, text

    async def post_json(self, body: Mapping[str, Any], *parts: str) -> dict[str, Any]:
        return self._json_or_raise(await self.post(self.endpoint.url(*parts), body))

    async def get_json(self, *parts: str, **query: str) -> dict[str, Any]:
        address = self.endpoint.url(*parts).update_query(query)
        async with self._request("GET", address) as response:
            return self._json_or_raise(await self._read_response(response))

    async def upload_batch(self, name: str, data: bytes) -> dict[str, Any]:
        from steelyard.providers.http.aiohttp_client import multipart_form

        body = multipart_form({"purpose": "batch"}, name, data)
        kind = {"Content-Type": str(body.headers["Content-Type"])}
        async with self._request("POST", self.endpoint.url("files"), data=body, headers=kind) as response:
            return self._json_or_raise(await self._read_response(response))

    async def get_lines(self, *parts: str) -> AsyncIterator[str]:
        async with self._request("GET", self.endpoint.url(*parts)) as response:
            if response.status != 200:
                self.reply_or_raise(await self._read_response(response))
            rest = b""
            async for piece in self._chunks(response):
                *complete, rest = (rest + piece).split(b"\n")
                for line in complete:
                    if line.strip():
                        yield self.redact(line.decode("utf-8", "replace"))
                if len(rest) > MAX_RESPONSE_BYTES:
                    raise self.malformed_response(f"a line of more than {MAX_RESPONSE_BYTES} bytes")
            if rest.strip():
                yield self.redact(rest.decode("utf-8", "replace"))

    def object_id(self, body: Mapping[str, Any]) -> str:
        name = body.get("id")
        if not isinstance(name, str) or not name:
            raise self.malformed_response("no id")
        return name

    def _json_or_raise(self, response: HttpResponse) -> dict[str, Any]:
        if not response.is_success:
            self.reply_or_raise(response)
        return self.parse_json(response)

    @asynccontextmanager
    async def _request(self, method: str, address: URL, **options: Any) -> AsyncIterator[ClientResponse]:
        if self._aiohttp is None:
            from steelyard.providers.http.aiohttp_client import AiohttpClient

            if self._headers is None:
                raise RuntimeError("open() must come before ask()")
            self._aiohttp = AiohttpClient(
                self._headers, self.endpoint.timeout, proxies=not self.endpoint.is_local
            )
        try:
            async with self._aiohttp.request(method, address, **options) as response:
                self._check_encoding(response.headers.get("Content-Encoding", ""))
                yield response
        except (TimeoutError, OSError, ProtocolError) as error:
            raise self._transport_error(error) from error

    def parse_json(self, response: HttpResponse) -> dict[str, Any]:
        if not response.text or response.text.isspace():
            raise self.malformed_response("an empty body")
        if response.text[0] != "{" and response.text.lstrip()[0] == "<":
            raise self.malformed_response(f"a page ({excerpt(response.text)!r}), which base_url leads to")
        try:
            body = _parse(response.text)
        except (ValueError, RecursionError) as error:
            raise self.malformed_response(f"{excerpt(response.text)!r}") from error
        if not isinstance(body, dict):
            raise self.malformed_response(f"{excerpt(response.text)!r}")
        return body

    def reply_or_raise(self, response: HttpResponse) -> Reply:
        """The reply where an error response is the judge's own refusal; every other error is raised."""
        error = parse_error(response.text)
        if (refusal := refusal_reply(response.status, error)) is not None:
            return Reply(refusal[0], finish=refusal[1], latency_ms=response.latency_ms)
        moment = server_time(response.headers, time.time())
        raise error_for_response(response.status, error, response.headers, self.where, moment)

    def incomplete_response(self, part: str, body: Mapping[str, Any]) -> TransientError:
        """Of a body without what makes it a reply: some servers report an error under status 200."""
        error = find_error(body)
        instead = f"in {excerpt(json.dumps(body))!r}" if error is None else f"but an error ({error.message})"
        return self.malformed_response(f"no {part} {instead}")

    def malformed_response(self, finding: str) -> TransientError:
        return TransientError(
            "garbled_reply",
            f"{self.where}: found {finding}, expected a {self._body_format} JSON object; try again.",
        )

    def _check_encoding(self, encoding: str) -> None:
        if encoding.strip().lower() not in ENCODINGS:
            raise self.malformed_response(f"{UNREQUESTED_ENCODING} ({excerpt(self.redact(encoding))})")

    async def _read_response(self, response: ClientResponse) -> HttpResponse:
        text = self.redact(await self._read_text(response), is_error=response.status >= 400)
        return HttpResponse(response.status, _headers(response), text, 0.0)

    async def _read_text(self, response: ClientResponse) -> str:
        data = bytearray()
        async for piece in self._chunks(response):
            data += piece
            if len(data) > MAX_RESPONSE_BYTES:
                raise self.malformed_response(f"more than {MAX_RESPONSE_BYTES} bytes")
        return _decode(data)

    async def _chunks(self, response: ClientResponse) -> AsyncIterator[bytes]:
        decompressor = Decompressor(response.headers.get("Content-Encoding", ""))
        try:
            async for chunk in response.content.iter_any():
                for piece in decompressor.decompress(chunk):
                    yield piece
        except zlib.error as error:
            raise self.malformed_response(f"a broken reply ({error})") from error
        if not decompressor.is_complete:
            raise self.malformed_response("a broken reply (its compressed body was cut)")

    def redact(self, text: str, *, is_error: bool = False) -> str:
        """The one way from the wire into a message or a file: without the key, which servers quote back."""
        return self._redactor.redact(text, is_error=is_error)

    def _transport_error(self, error: Exception) -> TransientError | UnreachableError:
        """The error for an exchange without a complete response; a certificate gets no better by waiting."""
        cause = excerpt(self.redact(str(error) or type(error).__name__), 200)
        if isinstance(error, ssl.CertificateError):
            complaint = getattr(error, "verify_message", cause)
            return UnreachableError(
                f"{self.where}: its certificate is not accepted ({complaint}); renew it, or name a file with "
                "the authority that signed it in SSL_CERT_FILE."
            )
        if isinstance(error, TimeoutError):
            limit = self.endpoint.timeout
            limit_text = "in time" if limit is None else f"within {limit:g} s"
            return TransientError(
                "timeout", f"{self.where}: no reply {limit_text}; raise timeout or try again."
            )
        if isinstance(error, ConnectError):
            return TransientError(
                "unreachable", f"{self.where}: no connection ({cause}); is the server running?"
            )
        if isinstance(error, ProtocolError):
            broken = UNREQUESTED_ENCODING if "content-encoding" in str(error).lower() else "a broken reply"
            return self.malformed_response(f"{broken} ({cause})")
        return TransientError(
            "connection_dropped", f"{self.where}: the connection broke ({cause}); try again."
        )


def encode(body: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # UTF-8 has no lone surrogates; as escapes of ASCII they go
        return json.dumps(body).encode()


def _parse(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except ValueError:  # perhaps a lone surrogate or NaN, which some servers send
        return json.loads(text)


def _headers(response: ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _decode(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _uses_proxy(address: URL) -> bool:
    host = address.host or ""
    return address.scheme in getproxies() and not proxy_bypass(f"{host}:{address.port}")
