"""Where a host is: looked up once for all lines, and its addresses tried one after another.

asyncio can race them, and loses sockets where the race is called off.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Any, TypeAlias

FRESH = 60.0
"""Seconds for which addresses stay as they were found."""
PATIENCE = 3.0
"""Seconds for an address where there is another: a machine that says it has IPv6 may have none."""

Address: TypeAlias = tuple[socket.AddressFamily, Any]
"""Family, and what its sockets are connected to."""


@dataclass
class _Lookup:
    """Addresses of one host and port, found or being looked for."""

    addresses: asyncio.Future[list[Address]]
    until: float
    """When to look again, in the time of the loop."""
    preferred: Address | None = None
    """The last that answered."""


class Hosts:
    """The addresses of hosts, kept for a short while."""

    def __init__(self) -> None:
        self._lookups: dict[tuple[str, int], _Lookup] = {}

    async def connected(self, host: str, port: int) -> socket.socket:
        """A socket to the first address that takes it; the one that did so last is tried first."""
        lookup = self._lookup(host, port)
        errors: list[OSError] = []
        try:
            # Others wait for the same lookup: who gives up takes it from nobody.
            addresses = await asyncio.shield(lookup.addresses)
            *others, last = sorted(addresses, key=lambda address: address != lookup.preferred)
            for address, seconds in (*((other, PATIENCE) for other in others), (last, None)):
                try:
                    made = await _connected(address, seconds)
                except OSError as error:
                    errors.append(error)
                else:
                    lookup.preferred = address
                    return made
            raise errors[0] if len(errors) == 1 else OSError("; ".join(str(error) for error in errors))
        except OSError:
            if self._lookups.get((host, port)) is lookup:
                del self._lookups[host, port]
            raise

    def _lookup(self, host: str, port: int) -> _Lookup:
        loop = asyncio.get_running_loop()
        lookup = self._lookups.get((host, port))
        if lookup is None or lookup.until <= loop.time():
            addresses = loop.create_task(_addresses(host, port))
            addresses.add_done_callback(_heard)
            lookup = self._lookups[host, port] = _Lookup(addresses, loop.time() + FRESH)
        return lookup


async def _addresses(host: str, port: int) -> list[Address]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys((socket.AddressFamily(family), address) for family, _, _, _, address in found)
    if not addresses:
        raise OSError("the name has no address")
    return list(addresses)


def _heard(lookup: asyncio.Future[list[Address]]) -> None:
    """A lookup may fail after all who waited for it are gone."""
    if not lookup.cancelled():
        lookup.exception()


async def _connected(address: Address, seconds: float | None) -> socket.socket:
    """A socket to one address, in time; it is closed where it comes to nothing."""
    family, place = address
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_connect(made, place)
    except BaseException:
        made.close()
        raise
    return made
