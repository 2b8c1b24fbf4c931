"""One HTTP/1.1 connection: a request, then its response as httptools parses it.

Compressed bodies (gzip, deflate) are decompressed a chunk at a time: a few bytes may stand for gigabytes.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import httptools

BUFFER_SIZE = 65_536
MAX_HEADER_BYTES = 65_536
_INFORMATIONAL = range(100, 200)


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
    connection: int
    """Its number."""


class Connection(asyncio.BufferedProtocol):
    """One connection of the pool; the methods that begin with `on_` are called by the parser."""

    def __init__(
        self, number: int, max_bytes: int, buffer: memoryview, on_surplus: Callable[[Connection], None]
    ) -> None:
        """What comes is put into `buffer` and taken out at once, so that all connections share it."""
        self.number = number
        self._buffer = buffer
        self._on_surplus = on_surplus
        self.last_used = 0.0
        self._sent = 0.0
        self.longest = 0.0
        """Seconds that the slowest response since the last rest took."""
        self.unrested: list[str] = []
        """Trials that were answered since the last rest."""
        self.in_use = False
        """From the request until its response was taken."""
        self.has_second = False
        """Whether another response, or what is none, came with a response."""
        self.surplus = bytearray()
        """What came later, before another request."""
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
        is_clean = self._keep_alive and not (self.has_second or self.surplus)
        return is_clean and self._transport is not None and not self._transport.is_closing()

    def send(self, request: bytes) -> asyncio.Future[RawResponse]:
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        loop = asyncio.get_running_loop()
        self._pending, self._sent, self.in_use = loop.create_future(), loop.time(), True
        self._reset()
        self._transport.write(request)
        return self._pending

    def rest_is_over(self) -> None:
        self.unrested, self.longest = [], 0.0

    def drop(self) -> None:
        self.rest_is_over()
        self.abort()

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
            self.surplus += self._buffer[:nbytes]
            if self._keep_alive and not self.in_use:
                self._on_surplus(self)
            return
        self._size += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.has_second = self.has_second or self._pending is None
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
        self.has_second = self.has_second or self._has_begun
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
            self.longest = max(self.longest, self.last_used - self._sent)
            status = self._parser.get_status_code()
            pending.set_result(RawResponse(status, self._headers, self._body, self.number))
        self._body = bytearray()

    def _fail(self, error: Exception) -> None:
        pending, self._pending = self._pending, None
        self._keep_alive = False
        self._body = bytearray()
        if pending is not None and not pending.done():
            pending.set_exception(error)


ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip", "deflate"))
CHUNK_SIZE = 1_000_000

_GZIP, _ZLIB, _RAW = 31, 15, -15
"""Formats of a compressed stream, as `zlib` numbers them; servers send either of the last two as deflate."""
_METHOD, _DEFLATE = 0x0F, 8
"""Bits of the first byte of a stream with a header, and what they hold there."""


class Decompressor:
    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self.is_identity = self._encoding in ("", "identity")
        self._stream: zlib._Decompress | None = None

    def decompress(self, data: bytes | bytearray) -> Iterator[bytes]:
        """What the data stand for, in chunks; raises `zlib.error` where they are not as promised."""
        if self.is_identity:
            yield bytes(data)
            return
        if self._stream is None:
            self._stream = zlib.decompressobj(self._format(data[0]))
        while data and not self._stream.eof:
            yield self._stream.decompress(data, CHUNK_SIZE)
            data = self._stream.unconsumed_tail

    @property
    def is_complete(self) -> bool:
        return self._stream is None or self._stream.eof

    def _format(self, first: int) -> int:
        if self._encoding != "deflate":
            return _GZIP
        return _ZLIB if first & _METHOD == _DEFLATE else _RAW


def decompress(data: bytes | bytearray, encoding: str, max_bytes: int) -> bytes | bytearray:
    decompressor = Decompressor(encoding)
    if decompressor.is_identity or not data:
        return data
    body = bytearray()
    try:
        for chunk in decompressor.decompress(data):
            body += chunk
            if len(body) > max_bytes:
                raise ResponseTooLargeError
    except zlib.error as error:
        raise ProtocolError(str(error)) from error
    if not decompressor.is_complete:
        raise ProtocolError("the compressed body is not whole")
    return body
