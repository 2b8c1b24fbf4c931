"""Lines to servers that are kept open: a request goes out as bytes, and its reply is taken as it comes.

One line carries one exchange at a time. What a client library does beside that (cookies, redirects, hooks,
streams) takes several times as long as the exchange itself, and no call of a judge needs it.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import httptools
from yarl import URL

from steelyard.providers.wire.hosts import Hosts
from steelyard.providers.wire.inflation import Inflation

IDLE = 15.0
"""Seconds after which a line that nobody used is not trusted any more."""
BUFFER = 65_536
"""Bytes that are taken from a line at a time."""
LARGEST_HEAD = 65_536
"""Bytes before the body of a reply."""
_INFORMATIONAL = range(100, 200)
_Place = tuple[str, str, int]
"""Scheme, host and port."""


class NoLineError(OSError):
    """The server could not be reached at all."""


class BrokenReplyError(Exception):
    """What came is not, or not wholly, a reply in HTTP."""


class LongReplyError(Exception):
    """More came than was allowed."""


class Received(NamedTuple):
    """One reply as it came."""

    status: int
    """Its status."""
    headers: Mapping[str, str]
    """By names in lower case."""
    data: bytes | bytearray
    """Its body, still compressed where the server compresses."""


class Lines:
    """Open lines to any number of servers, each request with the same headers."""

    def __init__(self, headers: Mapping[str, str], largest: int) -> None:
        """`largest` is how many bytes a body may have."""
        self._headers = "".join(_header(name, value) for name, value in headers.items())
        self._largest = largest
        self._routes: dict[URL, tuple[_Place, bytes]] = {}
        self._idle: dict[_Place, list[_Line]] = {}
        self._buffer = memoryview(bytearray(BUFFER))
        self._tls: ssl.SSLContext | None = None
        self._hosts = Hosts()

    async def post(self, address: URL, headers: Mapping[str, str], data: bytes) -> Received:
        """Send one request and take its reply; the line is kept where both sides may."""
        place, head = self._route(address)
        line = self._free(place) or await self._connected(place)
        own = "".join([_header(name, value) for name, value in headers.items()])
        try:
            received = await line.exchange(
                b"%b%bContent-Length: %d\r\n\r\n%b" % (head, own.encode(), len(data), data)
            )
        except BaseException:
            line.drop()
            del line  # the error, which may be kept for long, holds this frame
            raise
        if line.reusable:
            self._idle.setdefault(place, []).append(line)
        else:
            line.drop()
        return received

    async def close(self) -> None:
        """Close every line that is idle; one that is in use is dropped by whoever uses it."""
        for line in (line for lines in self._idle.values() for line in lines):
            line.drop()
        self._idle.clear()
        # A transport says goodbye in the turn of the loop after it was dropped.
        await asyncio.sleep(0)

    def _route(self, address: URL) -> tuple[_Place, bytes]:
        """Where a request goes, and how it begins."""
        known = self._routes.get(address)
        if known is None:
            host = f"[{address.raw_host}]" if ":" in (address.raw_host or "") else address.raw_host
            where = host if address.is_default_port() else f"{host}:{address.port}"
            start = f"POST {address.raw_path_qs} HTTP/1.1\r\n{_header('Host', where or '')}"
            place = (address.scheme, address.host or "", address.port or 0)
            known = self._routes[address] = place, (start + self._headers).encode("ascii")
        return known

    def _free(self, place: _Place) -> _Line | None:
        """The line that was used last, where it is still good."""
        idle, now = self._idle.get(place, []), asyncio.get_running_loop().time()
        while idle:
            line = idle.pop()
            if line.reusable and now - line.used < IDLE:
                return line
            line.drop()
        return None

    async def _connected(self, place: _Place) -> _Line:
        scheme, host, port = place
        secured = self._secured() if scheme == "https" else None
        try:
            made = await self._hosts.connected(host, port)
            _, line = await asyncio.get_running_loop().create_connection(
                lambda: _Line(self._largest, self._buffer),
                sock=made,
                ssl=secured,
                server_hostname=host if secured else None,
            )
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise NoLineError(f"{host}:{port}: {error}") from error
        return line

    def _secured(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class _Line(asyncio.BufferedProtocol):
    """One connection; the methods that begin with `on_` are called by the parser."""

    def __init__(self, largest: int, buffer: memoryview) -> None:
        """What comes is put into `buffer` and taken out at once, so that all lines share it."""
        self._buffer = buffer
        self.used = 0.0
        self._largest = largest
        self._parser: Any = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Received] | None = None
        self._sound = True
        self._begin()

    def _begin(self) -> None:
        self._size = 0
        self._begun = False
        self._headed = False
        self._headers: dict[str, str] = {}
        self._data = bytearray()

    @property
    def reusable(self) -> bool:
        """The line is open, and nothing is on it that nobody asked for."""
        return self._sound and self._transport is not None and not self._transport.is_closing()

    def exchange(self, request: bytes) -> asyncio.Future[Received]:
        """Send a request; the reply comes later."""
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        self._waiting = asyncio.get_running_loop().create_future()
        self._begin()
        self._transport.write(request)
        return self._waiting

    def drop(self) -> None:
        """Use the line no more."""
        self._sound = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The line is open."""
        self._transport = cast(asyncio.Transport, transport)  # other loops bring transports of their own

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next part is to be put."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Part of a reply came, or of something else."""
        if self._waiting is None:
            self.drop()
            return
        self._size += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(BrokenReplyError(str(error) or type(error).__name__))
        if not self._headed and self._size > LARGEST_HEAD:
            self._fail(LongReplyError())

    def connection_lost(self, error: Exception | None) -> None:
        """The line is closed; a body that has no other end ends here."""
        self._sound = False
        if self._headed and error is None and not {"content-length", "transfer-encoding"} & {*self._headers}:
            self._finish()
        elif self._size:
            self._fail(BrokenReplyError(f"it ends after {self._size} bytes"))
        else:
            self._fail(error or ConnectionResetError("the server closed the connection"))
        # Line and parser hold each other: without this, both stay until somebody looks for garbage.
        self._transport = self._parser = None

    def on_message_begin(self) -> None:
        """A reply starts; a second one is nobody's."""
        self._sound = self._sound and not self._begun
        self._begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a line behind a body in chunks."""
        if not self._headed:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The body comes next."""
        self._headed = True

    def on_body(self, data: bytes) -> None:
        """Part of the body; of a second reply nothing is taken."""
        if self._waiting is None:
            return
        self._data += data
        if len(self._data) > self._largest:
            self._fail(LongReplyError())

    def on_message_complete(self) -> None:
        """The reply is whole; one that only promises another is passed over."""
        if self._parser.get_status_code() in _INFORMATIONAL:
            self._begin()
            return
        self._sound = self._sound and bool(self._parser.should_keep_alive())
        self._finish()

    def _finish(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            self.used = waiting.get_loop().time()
            waiting.set_result(Received(self._parser.get_status_code(), self._headers, self._data))
        self._data = bytearray()

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, None
        self._sound = False
        self._data = bytearray()
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)


def unpacked(data: bytes | bytearray, encoding: str, largest: int) -> bytes | bytearray:
    """A body as it was before the server compressed it."""
    inflation = Inflation(encoding)
    if inflation.plain or not data:
        return data
    text = bytearray()
    try:
        for piece in inflation.pieces(data):
            text += piece
            if len(text) > largest:
                raise LongReplyError
    except zlib.error as error:
        raise BrokenReplyError(str(error)) from error
    if not inflation.whole:
        raise BrokenReplyError("the compressed body is not whole")
    return text


def _header(name: str, value: str) -> str:
    if "\r" in name or "\n" in name or "\r" in value or "\n" in value:
        raise ValueError(f"header {name!r} holds a line break")
    return f"{name}: {value}\r\n"
