"""DNS cache: a host is resolved once for all connections, and its addresses are tried one after another.

asyncio can race them (happy eyeballs), and loses sockets where the race is cancelled.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Any, TypeAlias

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
