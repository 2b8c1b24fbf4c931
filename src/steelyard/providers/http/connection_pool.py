"""The HTTP/1.1 connection pool of the hot path, its size unlimited: as many as calls in flight, kept alive.

A connection carries one request at a time. What a client library does beside that (cookies, redirects, hooks,
streams) takes several times as long as the exchange itself, and no call of a judge needs it. Timeouts are the
caller's (`http_client`), retries with backoff the runner's.

A server, or a proxy before it, that sends a response twice answers the next request with the second one, and
every later request on that connection with the response to the one before. So connections are used for more
than one call only by callers who can withdraw replies. A connection rests now and then; bytes that come in a
rest put its replies in `condemned`, and from then on each connection carries one request. A reply that no
rest can condemn any more is in `checked`.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, TypeAlias

from yarl import URL

from steelyard.providers.http.connection import BUFFER_SIZE, ConnectError, Connection, RawResponse

TTL = 60.0
CONNECT_TIMEOUT = 3.0
"""Seconds to connect to an address where there is another: a machine that says it has IPv6 may have none."""

Address: TypeAlias = tuple[socket.AddressFamily, Any]
"""Family, and what its sockets are connected to."""


@dataclass
class _Lookup:
    addresses: asyncio.Future[list[Address]]
    expires: float
    preferred: Address | None = None


class DnsCache:
    """A host is resolved once for all connections, and its addresses are tried one after another.

    asyncio can race them (happy eyeballs), and loses sockets where the race is cancelled.
    """

    def __init__(self) -> None:
        self._lookups: dict[tuple[str, int], _Lookup] = {}

    async def connect(self, host: str, port: int) -> socket.socket:
        """A socket to the first address that takes it; the one that did so last is tried first."""
        lookup = self._lookup(host, port)
        errors: list[OSError] = []
        try:
            # Others wait for the same lookup: who gives up takes it from nobody.
            addresses = await asyncio.shield(lookup.addresses)
            *others, last = sorted(addresses, key=lambda address: address != lookup.preferred)
            for address, seconds in (*((other, CONNECT_TIMEOUT) for other in others), (last, None)):
                try:
                    sock = await _connect(address, seconds)
                except OSError as error:
                    errors.append(error)
                else:
                    lookup.preferred = address
                    return sock
            raise errors[0] if len(errors) == 1 else OSError("; ".join(str(error) for error in errors))
        except OSError:
            if self._lookups.get((host, port)) is lookup:
                del self._lookups[host, port]
            raise

    def _lookup(self, host: str, port: int) -> _Lookup:
        loop = asyncio.get_running_loop()
        lookup = self._lookups.get((host, port))
        if lookup is None or lookup.expires <= loop.time():
            addresses = loop.create_task(_resolve(host, port))
            addresses.add_done_callback(_consume_error)
            lookup = self._lookups[host, port] = _Lookup(addresses, loop.time() + TTL)
        return lookup


async def _resolve(host: str, port: int) -> list[Address]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys((socket.AddressFamily(family), address) for family, _, _, _, address in found)
    if not addresses:
        raise OSError("the name has no address")
    return list(addresses)


def _consume_error(lookup: asyncio.Future[list[Address]]) -> None:
    """A lookup may fail after all who waited for it are gone; asyncio would warn of it."""
    if not lookup.cancelled():
        lookup.exception()


async def _connect(address: Address, seconds: float | None) -> socket.socket:
    """A socket to one address, in time; it is closed where it comes to nothing."""
    family, target = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_connect(sock, target)
    except BaseException:
        sock.close()
        raise
    return sock


BELIEVED = 8
"""Different ids that a server has to give first."""
KEPT = 4096
"""Ids that are remembered: a repeat comes soon after its reply."""
_ID = re.compile(r'"(?:id|responseId)"\s*:\s*"([^"]+)"')


class ReplyIds:
    """Replies by their ids: one that comes twice on a connection is a repeat, and answers no second request.

    Most servers give each reply an id of its own, some give all the same one. Ids are believed once several
    differ, and never again after one came on two connections or with two texts.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._differ = True

    @property
    def believed(self) -> bool:
        return self._differ and len(self._seen) >= BELIEVED

    def is_repeat(self, text: str, connection: int) -> bool:
        """Whether a reply on the connection of this number came there before; else it is remembered."""
        found = _ID.search(text) if self._differ else None
        if found is None:
            return False
        seen = self._seen.get(found[1])
        if seen is None:
            if len(self._seen) >= KEPT:
                del self._seen[next(iter(self._seen))]
            self._seen[found[1]] = connection, hash(text)
            return False
        self._differ = seen == (connection, hash(text))
        return self.believed

    def is_known(self, text: str, connection: int) -> bool:
        """Whether the id in the text is that of a reply on this connection."""
        found = _ID.search(text) if self.believed else None
        return found is not None and self._seen.get(found[1], (0, 0))[0] == connection


IDLE_TIMEOUT = 15.0
"""Seconds after which an idle keep-alive connection is not trusted any more."""
UNRESTED_REPLIES = 64
"""Replies of a connection after which it rests, at the latest."""
REST = 0.05
"""Seconds of a rest, to which the longest reply is added: so long may the response take that is left over."""
ENDED_REPLIES = 4096
"""Replies of connections that ended without a rest; they are condemned if others turn out to be repeated."""
_ERROR = re.compile(rb"HTTP/1\.\d [45]")
_Origin = tuple[str, str, int]
"""Scheme, host and port."""


class RepeatedReplyError(Exception):
    """The response came before on the same connection: it is the answer to another request."""


class ConnectionPool:
    """Connections to one server, as a rule; `trial` names the call that a reply belongs to."""

    def __init__(self, headers: Mapping[str, str], max_bytes: int) -> None:
        self.keep_alive = False
        """Whether a connection carries more than one call: only where the caller looks at `condemned`."""
        self.condemned: list[str] = []
        """Trials whose replies may be those of other trials."""
        self.checked: list[str] = []
        """Trials whose replies are known to be their own."""
        self.suspects: list[str] = []
        """Trials of a run that was killed before a rest: they are condemned as soon as the server repeats."""
        self._repeats = False
        """Whether the server has sent a response that nobody had asked for."""
        self._ids = ReplyIds()
        self._headers = "".join(_header(name, value) for name, value in headers.items())
        self._max_bytes = max_bytes
        self._prefixes: dict[URL, tuple[_Origin, bytes]] = {}
        self._idle: dict[_Origin, list[Connection]] = {}
        self._resting: set[Connection] = set()
        self._ended: deque[str] = deque(maxlen=ENDED_REPLIES)
        self._numbers = count(1)
        self._buffer = memoryview(bytearray(BUFFER_SIZE))
        self._dns = DnsCache()

    async def post(self, url: URL, headers: Mapping[str, str], body: bytes, trial: str = "") -> RawResponse:
        """Send one POST; it is never sent again here, since a request that got lost may have been billed."""
        origin, prefix = self._request_prefix(url)
        connection = (self._free_connection(origin) if trial else None) or await self._connect(origin)
        own = "".join([_header(name, value) for name, value in headers.items()])
        try:
            response = await connection.send(
                b"%b%bContent-Length: %d\r\n\r\n%b" % (prefix, own.encode(), len(body), body)
            )
        except BaseException:
            self._end(connection)
            del connection  # the error, which may be kept for long, holds this frame
            raise
        connection.in_use = False
        connection.unrested.append(trial if response.status < 300 else "")
        is_first = len(connection.unrested) == 1
        if connection.has_second:
            self._condemn(connection)
        elif connection.surplus:
            self._on_surplus(connection)
        elif not (connection.is_reusable and self.keep_alive and trial) or (self._repeats and is_first):
            self._end(connection)
        else:
            self._idle.setdefault(origin, []).append(connection)
            if self._repeats or len(connection.unrested) >= UNRESTED_REPLIES:
                self._start_rest(origin, connection)
        return response

    def check_repeat(self, response: RawResponse, text: str, trial: str) -> None:
        """Raise where the reply of this text came before on its connection; all before it are right."""
        if self._ids.is_repeat(text, response.connection):
            self._stop_reusing()
            for connection in self._resting:
                if connection.number == response.connection:
                    self._settle(connection)
                    connection.drop()
            raise RepeatedReplyError("it came before on the same connection")
        if self._ids.believed and trial:
            self.checked.append(trial)

    async def rest(self) -> None:
        """Wait until every connection has rested; no request may be under way."""
        for origin, idle in self._idle.items():
            for connection in [one for one in idle if len(one.unrested) > 1]:
                self._start_rest(origin, connection)
        while self._resting:
            await asyncio.sleep(max(map(self._rest_of, self._resting)))

    def _start_rest(self, origin: _Origin, connection: Connection) -> None:
        """Use it no more until a timer ends its rest: a timer runs after what has come by then was read."""
        self._idle[origin].remove(connection)
        self._resting.add(connection)
        wait = self._rest_of(connection)
        asyncio.get_running_loop().call_later(wait, self._end_rest, origin, connection)

    def _rest_of(self, connection: Connection) -> float:
        """Seconds; where ids are believed, none of its replies is left over by the server."""
        return REST + (0.0 if self._ids.believed else connection.longest)

    def _end_rest(self, origin: _Origin, connection: Connection) -> None:
        self._resting.discard(connection)
        if not connection.is_reusable:
            self._end(connection)
        else:
            self._settle(connection)
            if self._repeats:
                connection.drop()
            else:
                self._idle.setdefault(origin, []).append(connection)

    async def close(self) -> None:
        """Close every idle connection; one that is in use is aborted by whoever uses it."""
        for connection in (*self._resting, *(one for idle in self._idle.values() for one in idle)):
            connection.drop()
        self._idle.clear()
        self._resting.clear()
        # A transport reports its end in the turn of the loop after it was aborted.
        await asyncio.sleep(0)

    def _on_surplus(self, connection: Connection) -> None:
        """Bytes came on a connection that nobody uses; an error is what servers hang up with."""
        data = connection.surplus
        if data.isspace() or _ERROR.match(data):
            self._end(connection)
        elif self._ids.is_known(data.decode("latin-1"), connection.number):
            self._settle(connection)
            connection.drop()
            self._stop_reusing()
        else:
            self._condemn(connection)

    def _condemn(self, connection: Connection) -> None:
        """Of its replies since the last rest the first is right; each other may be that to another call."""
        self.checked += filter(None, connection.unrested[:1])
        self.condemned += filter(None, (*connection.unrested[1:], *self._ended))
        self._ended.clear()
        connection.drop()
        self._stop_reusing()

    def _stop_reusing(self) -> None:
        """From here on each connection carries one request; those that carried more have a last rest."""
        self._repeats = True
        self.condemned += self.suspects
        self.suspects = []
        for origin, idle in self._idle.items():
            for connection in [*idle]:
                self._start_rest(origin, connection)

    def _settle(self, connection: Connection) -> None:
        """All its replies are right."""
        self.checked += filter(None, connection.unrested)
        connection.rest_is_over()

    def _end(self, connection: Connection) -> None:
        """Close a connection; whether its replies are right can no longer be seen on it."""
        unseen = connection.unrested[1:]
        self.checked += filter(None, connection.unrested[:1])
        if self._repeats:
            self.condemned += filter(None, unseen)
        else:
            self._ended += unseen
        connection.drop()

    def _request_prefix(self, url: URL) -> tuple[_Origin, bytes]:
        prefix = self._prefixes.get(url)
        if prefix is None:
            host = f"[{url.raw_host}]" if ":" in (url.raw_host or "") else url.raw_host
            authority = host if url.is_default_port() else f"{host}:{url.port}"
            start = f"POST {url.raw_path_qs} HTTP/1.1\r\n{_header('Host', authority or '')}"
            origin = (url.scheme, url.host or "", url.port or 0)
            prefix = self._prefixes[url] = origin, (start + self._headers).encode("ascii")
        return prefix

    def _free_connection(self, origin: _Origin) -> Connection | None:
        idle, now = self._idle.get(origin, []), asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.is_reusable and now - connection.last_used < IDLE_TIMEOUT:
                return connection
            self._end(connection)
        return None

    async def _connect(self, origin: _Origin) -> Connection:
        scheme, host, port = origin
        tls = self._tls if scheme == "https" else None
        try:
            sock = await self._dns.connect(host, port)
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(next(self._numbers), self._max_bytes, self._buffer, self._on_surplus),
                sock=sock,
                ssl=tls,
                server_hostname=host if tls else None,
            )
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise ConnectError(f"{host}:{port}: {error}") from error
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context


def _header(name: str, value: str) -> str:
    if "\r" in name or "\n" in name or "\r" in value or "\n" in value:
        raise ValueError(f"header {name!r} holds a line break")
    return f"{name}: {value}\r\n"
