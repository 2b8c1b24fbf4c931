"""The HTTP/1.1 connection pool of the hot path: keep-alive connections, with httptools as the parser.

A connection carries one request at a time. What a client library does beside that (cookies, redirects, hooks,
streams) takes several times as long as the exchange itself, and no call of a judge needs it. Timeouts are the
caller's (`http_client`), retries with backoff the runner's.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import httptools
from yarl import URL

from steelyard.providers.http.dns_cache import DnsCache

IDLE_TIMEOUT = 15.0
"""Seconds after which an idle keep-alive connection is not trusted any more."""
BUFFER_SIZE = 65_536
MAX_HEADER_BYTES = 65_536
_INFORMATIONAL = range(100, 200)
_Origin = tuple[str, str, int]
"""Scheme, host and port."""


class ConnectError(OSError):
    """The server could not be reached at all."""


class ProtocolError(Exception):
    """What came is not, or not wholly, a response in HTTP."""


class ResponseTooLargeError(Exception):
    """More came than was allowed."""


class RawResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray
    """Still compressed where the server compresses."""


class ConnectionPool:
    def __init__(self, headers: Mapping[str, str], max_bytes: int) -> None:
        self._headers = "".join(_header(name, value) for name, value in headers.items())
        self._max_bytes = max_bytes
        self._prefixes: dict[URL, tuple[_Origin, bytes]] = {}
        self._idle: dict[_Origin, list[Connection]] = {}
        self._buffer = memoryview(bytearray(BUFFER_SIZE))
        self._tls: ssl.SSLContext | None = None
        self._dns = DnsCache()

    async def post(self, url: URL, headers: Mapping[str, str], body: bytes) -> RawResponse:
        """Send one POST; it is never sent again here, since a request that got lost may have been billed."""
        origin, prefix = self._request_prefix(url)
        connection = self._idle_connection(origin) or await self._connect(origin)
        own = "".join([_header(name, value) for name, value in headers.items()])
        try:
            response = await connection.send(
                b"%b%bContent-Length: %d\r\n\r\n%b" % (prefix, own.encode(), len(body), body)
            )
        except BaseException:
            connection.abort()
            del connection  # the error, which may be kept for long, holds this frame
            raise
        if connection.is_reusable:
            self._idle.setdefault(origin, []).append(connection)
        else:
            connection.abort()
        return response

    async def close(self) -> None:
        """Close every idle connection; one that is in use is aborted by whoever uses it."""
        for connection in (connection for idle in self._idle.values() for connection in idle):
            connection.abort()
        self._idle.clear()
        # A transport reports its end in the turn of the loop after it was aborted.
        await asyncio.sleep(0)

    def _request_prefix(self, url: URL) -> tuple[_Origin, bytes]:
        prefix = self._prefixes.get(url)
        if prefix is None:
            host = f"[{url.raw_host}]" if ":" in (url.raw_host or "") else url.raw_host
            authority = host if url.is_default_port() else f"{host}:{url.port}"
            start = f"POST {url.raw_path_qs} HTTP/1.1\r\n{_header('Host', authority or '')}"
            origin = (url.scheme, url.host or "", url.port or 0)
            prefix = self._prefixes[url] = origin, (start + self._headers).encode("ascii")
        return prefix

    def _idle_connection(self, origin: _Origin) -> Connection | None:
        idle, now = self._idle.get(origin, []), asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.is_reusable and now - connection.last_used < IDLE_TIMEOUT:
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: _Origin) -> Connection:
        scheme, host, port = origin
        tls = self._tls_context() if scheme == "https" else None
        try:
            sock = await self._dns.connect(host, port)
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._max_bytes, self._buffer),
                sock=sock,
                ssl=tls,
                server_hostname=host if tls else None,
            )
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise ConnectError(f"{host}:{port}: {error}") from error
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class Connection(asyncio.BufferedProtocol):
    """One connection of the pool; the methods that begin with `on_` are called by the parser."""

    def __init__(self, max_bytes: int, buffer: memoryview) -> None:
        """What comes is put into `buffer` and taken out at once, so that all connections share it."""
        self._buffer = buffer
        self.last_used = 0.0
        self._max_bytes = max_bytes
        self._parser: Any = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._pending: asyncio.Future[RawResponse] | None = None
        self._keep_alive = True
        self._reset()

    def _reset(self) -> None:
        self._size = 0
        self._has_begun = False
        self._has_headers = False
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    @property
    def is_reusable(self) -> bool:
        return self._keep_alive and self._transport is not None and not self._transport.is_closing()

    def send(self, request: bytes) -> asyncio.Future[RawResponse]:
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        self._pending = asyncio.get_running_loop().create_future()
        self._reset()
        self._transport.write(request)
        return self._pending

    def abort(self) -> None:
        self._keep_alive = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other loops bring transports of their own

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._pending is None:
            self.abort()
            return
        self._size += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ProtocolError(str(error) or type(error).__name__))
        if not self._has_headers and self._size > MAX_HEADER_BYTES:
            self._fail(ResponseTooLargeError())

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is closed; a body that has no other end ends here."""
        self._keep_alive = False
        has_length = bool({"content-length", "transfer-encoding"} & {*self._headers})
        if self._has_headers and error is None and not has_length:
            self._finish()
        elif self._size:
            self._fail(ProtocolError(f"it ends after {self._size} bytes"))
        else:
            self._fail(error or ConnectionResetError("the server closed the connection"))
        # Connection and parser hold each other: without this, both stay until a garbage collection.
        self._transport = self._parser = None

    def on_message_begin(self) -> None:
        """A response starts; a second one is nobody's."""
        self._keep_alive = self._keep_alive and not self._has_begun
        self._has_begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a trailer behind a chunked body."""
        if not self._has_headers:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._has_headers = True

    def on_body(self, data: bytes) -> None:
        """Part of the body; of a second response nothing is taken."""
        if self._pending is None:
            return
        self._body += data
        if len(self._body) > self._max_bytes:
            self._fail(ResponseTooLargeError())

    def on_message_complete(self) -> None:
        """The response is complete; an informational one only announces another and is skipped."""
        if self._parser.get_status_code() in _INFORMATIONAL:
            self._reset()
            return
        self._keep_alive = self._keep_alive and bool(self._parser.should_keep_alive())
        self._finish()

    def _finish(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and not pending.done():
            self.last_used = pending.get_loop().time()
            pending.set_result(RawResponse(self._parser.get_status_code(), self._headers, self._body))
        self._body = bytearray()

    def _fail(self, error: Exception) -> None:
        pending, self._pending = self._pending, None
        self._keep_alive = False
        self._body = bytearray()
        if pending is not None and not pending.done():
            pending.set_exception(error)


def _header(name: str, value: str) -> str:
    if "\r" in name or "\n" in name or "\r" in value or "\n" in value:
        raise ValueError(f"header {name!r} holds a line break")
    return f"{name}: {value}\r\n"
