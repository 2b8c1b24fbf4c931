"""Hosts are resolved once, their addresses tried in order, and what fails leaves nothing open."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from yarl import URL

from steelyard.providers.http import connection_pool
from steelyard.providers.http.connection import ConnectError
from steelyard.providers.http.connection_pool import ConnectionPool, DnsCache


@contextmanager
def listening() -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    with closing(socket.create_server(("127.0.0.1", 0), backlog=64)) as server:
        yield server, server.getsockname()


@contextmanager
def refusing() -> Iterator[tuple[str, int]]:
    """An address that is taken, and at which nobody listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()


class Names:
    """Answers lookups in turn, the last answer from then on: addresses, or an error; counts them."""

    def __init__(self, *answers: list[tuple[str, int]] | OSError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __call__(self, host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        self.asked.append(host)
        assert self.may_answer.wait(120)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OSError):
            raise answer
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in answer]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Names]:
    def named(*answers: list[tuple[str, int]] | OSError) -> Names:
        made = Names(*answers)
        monkeypatch.setattr(socket, "getaddrinfo", made)
        return made

    return named


async def peers(known: DnsCache, times: int) -> list[tuple[str, int]]:
    """Where so many sockets, opened together, lead to."""
    made = await asyncio.gather(*(known.connect("judge.example", 1) for _ in range(times)))
    ends = [one.getpeername() for one in made]
    for one in made:
        one.close()
    return ends


def test_all_connections_share_one_lookup(names: Callable[..., Names]) -> None:
    with listening() as (_, address):
        asked = names([address, address])

        async def run() -> list[tuple[str, int]]:
            known = DnsCache()
            return await peers(known, 20) + await peers(known, 3)

        assert asyncio.run(run()) == [address] * 23
    assert asked.asked == ["judge.example"]


def test_addresses_grow_old(names: Callable[..., Names], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "TTL", 0.0)
    with listening() as (_, old), listening() as (_, moved):
        asked = names([old], [moved])

        async def run() -> list[tuple[str, int]]:
            known = DnsCache()
            return await peers(known, 1) + await peers(known, 1)

        assert asyncio.run(run()) == [old, moved]
    assert len(asked.asked) == 2


def test_an_address_that_refuses_gives_way_and_comes_last_from_then_on(
    names: Callable[..., Names], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[object]()
    usual = connection_pool._connect

    async def connected(address: connection_pool.Address, seconds: float | None) -> socket.socket:
        tried.append((address[1], seconds))
        return await usual(address, seconds)

    monkeypatch.setattr(connection_pool, "_connect", connected)
    with refusing() as gone, listening() as (_, there):
        asked = names([gone, there])

        async def run() -> list[tuple[str, int]]:
            known = DnsCache()
            return await peers(known, 1) + await peers(known, 1)

        assert asyncio.run(run()) == [there, there]
    assert tried == [
        (gone, connection_pool.CONNECT_TIMEOUT),
        (there, None),
        (there, connection_pool.CONNECT_TIMEOUT),
    ]
    assert len(asked.asked) == 1


def test_an_address_that_is_silent_gives_way(
    names: Callable[..., Names], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has this address: a machine with a network waits in vain, one without is told so at once."""
    monkeypatch.setattr(connection_pool, "CONNECT_TIMEOUT", 0.05)
    with listening() as (_, there):
        names([("192.0.2.1", 9), there])
        assert asyncio.run(peers(DnsCache(), 1)) == [there]


@pytest.mark.parametrize("first", ["unknown", "refusing"])
def test_a_failure_is_not_remembered(first: str, names: Callable[..., Names]) -> None:
    with refusing() as gone, listening() as (_, there):
        unknown = socket.gaierror(-2, "Name or service not known")
        asked = names(unknown if first == "unknown" else [gone], [there])

        async def run() -> list[tuple[str, int]]:
            known = DnsCache()
            with pytest.raises(OSError, match=r"not known|Connect call failed"):
                await known.connect("judge.example", 1)
            return await peers(known, 1)

        assert asyncio.run(run()) == [there]
    assert len(asked.asked) == 2


def test_every_address_that_failed_is_told(names: Callable[..., Names]) -> None:
    async def run() -> None:
        await ConnectionPool({}, 1000).post(URL("http://judge.example/"), {}, b"")

    with refusing() as one, refusing() as other:
        names([one, other])
        with pytest.raises(ConnectError, match=f"{one[1]}.*{other[1]}"):
            asyncio.run(run())


def test_who_gives_up_takes_the_lookup_from_nobody(names: Callable[..., Names]) -> None:
    with listening() as (_, there):
        asked = names([there])
        asked.may_answer.clear()

        async def run() -> tuple[bool, tuple[str, int]]:
            known = DnsCache()
            hasty = asyncio.create_task(known.connect("judge.example", 1))
            patient = asyncio.create_task(known.connect("judge.example", 1))
            await asyncio.sleep(0)
            hasty.cancel()
            await asyncio.gather(hasty, return_exceptions=True)
            asked.may_answer.set()
            with closing(await patient) as made:
                return hasty.cancelled(), made.getpeername()

        assert asyncio.run(run()) == (True, there)
    assert len(asked.asked) == 1


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_that_is_called_off_leaves_nothing_open(names: Callable[..., Names]) -> None:
    """However far it has come when its caller has had enough."""
    with listening() as (_, there):
        names([there])

        async def run(turns: int) -> None:
            call = asyncio.create_task(ConnectionPool({}, 1000).post(URL("http://judge.example/"), {}, b""))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

        for turns in range(12):
            asyncio.run(run(turns))
        gc.collect()


def test_a_lookup_that_fails_when_nobody_waits_is_silent(
    names: Callable[..., Names], caplog: pytest.LogCaptureFixture
) -> None:
    asked = names(socket.gaierror(-2, "Name or service not known"))
    asked.may_answer.clear()

    async def run() -> None:
        known = DnsCache()
        call = asyncio.create_task(known.connect("judge.example", 1))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        lookup = known._lookups["judge.example", 1].addresses
        asked.may_answer.set()
        await asyncio.wait([lookup])

    asyncio.run(run())
    gc.collect()
    assert caplog.records == []
