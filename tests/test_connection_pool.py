"""The connection pool: one response or one error whatever bytes come, and no unclean connection is reused."""

from __future__ import annotations

import asyncio
import gc
import gzip
import weakref
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from steelyard.providers.http import connection_pool
from steelyard.providers.http.connection import (
    BUFFER_SIZE,
    ConnectError,
    ProtocolError,
    RawResponse,
    ResponseTooLargeError,
    decompress,
)
from steelyard.providers.http.connection_pool import ConnectionPool, ReplyIds

LARGEST = 1000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n"
UPGRADE = b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxx"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Bytes:
    """A server that answers each request with pieces of bytes, in turn; `None` closes the connection."""

    def __init__(self, *answers: Sequence[bytes | None]) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.tasks: list[asyncio.Task[object]] = []
        self.writers: list[asyncio.StreamWriter] = []

    @property
    def connections(self) -> int:
        """How many were opened."""
        return len(self.tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                for piece in self.answers.pop(0):
                    if piece is None:
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)


def post(server: Bytes, times: int = 1) -> list[RawResponse | BaseException]:
    """So many requests, one after another."""

    async def run() -> list[RawResponse | BaseException]:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        url = URL(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/x?a=b")
        pool = ConnectionPool({"X-Same": "yes"}, LARGEST)
        pool.keep_alive = True
        try:
            outcomes: list[RawResponse | BaseException] = []
            for number in range(times):
                outcomes += await asyncio.gather(
                    pool.post(url, {"X-Own": "1"}, b"{}", f"trial {number}"), return_exceptions=True
                )
            return outcomes
        finally:
            await pool.close()
            listening.close()
            await asyncio.gather(*server.tasks)

    return asyncio.run(run())


def test_a_request_as_it_goes_out() -> None:
    server = Bytes([HELLO])
    (reply,) = post(server)
    assert isinstance(reply, RawResponse)
    assert (reply.status, bytes(reply.body), reply.headers) == (200, b"hello", {"content-length": "5"})
    first, *headers = server.requests[0].split(b"\r\n\r\n")[0].split(b"\r\n")
    assert first == b"POST /v1/x?a=b HTTP/1.1"
    assert headers[0].startswith(b"Host: 127.0.0.1:")
    assert headers[1:] == [b"X-Same: yes", b"X-Own: 1", b"Content-Length: 2"]
    assert server.requests[0].endswith(b"\r\n\r\n{}")


WHOLE = {
    "in one piece": [HELLO],
    "byte by byte": [HELLO[n : n + 1] for n in range(len(HELLO))],
    "in chunks": [
        CHUNKED + b"2;x=y\r\nhe\r\n",
        b"3\r\nllo\r\n0\r\nT: 1\r\n\r\n",
    ],
    "after a promise": [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", HELLO],
    "until the connection ends": [ENDLESS, b"hello", None],
    "of an old server": [b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", None],
}


@pytest.mark.parametrize("pieces", WHOLE.values(), ids=WHOLE)
def test_a_reply_is_whole_however_it_comes(pieces: list[bytes | None]) -> None:
    (reply,) = post(Bytes(pieces))
    assert isinstance(reply, RawResponse), reply
    assert (reply.status, bytes(reply.body)) == (200, b"hello")


BROKEN: dict[str, tuple[list[bytes | None], type[Exception]]] = {
    "nothing": ([None], ConnectionResetError),
    "half a head": ([HELLO[:20], None], ProtocolError),
    "half a body": ([HELLO[:-2], None], ProtocolError),
    "half a chunk": ([CHUNKED, b"9\r\nhe", None], ProtocolError),
    "no chunk": ([CHUNKED, b"zz\r\nhe"], ProtocolError),
    "another protocol": ([b"220 SMTP ready\r\n"], ProtocolError),
    "another protocol, agreed upon": ([UPGRADE], ProtocolError),
    "two lengths": ([HELLO.replace(b"OK", b"OK\r\nContent-Length: 6")], ProtocolError),
    "a head without end": ([ENDLESS[:-2], *[b"X: y\r\n" * 6000] * 2], ResponseTooLargeError),
    "a body too long": ([HELLO.replace(b"5", b"1001") + b"x" * 996], ResponseTooLargeError),
    "a body without end": ([ENDLESS, *[b"x" * 100] * 11], ResponseTooLargeError),
}


@pytest.mark.parametrize(("pieces", "error"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_reply_is_an_error(pieces: list[bytes | None], error: type[Exception]) -> None:
    (outcome,) = post(Bytes(pieces))
    assert isinstance(outcome, error), outcome


def test_a_line_is_used_again_only_where_it_is_clean() -> None:
    clean = Bytes(*[[HELLO]] * 3)
    assert all(isinstance(reply, RawResponse) for reply in post(clean, 3))
    assert clean.connections == 1
    for answer in (
        HELLO.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"),
        HELLO.replace(b"HTTP/1.1", b"HTTP/1.0"),
        HELLO + HELLO.replace(b"hello", b"other"),
        HELLO.replace(b"hello", b"hello and more"),
    ):
        server = Bytes(*[[answer]] * 3)
        replies = post(server, 3)
        assert [bytes(reply.body) for reply in replies if isinstance(reply, RawResponse)] == [b"hello"] * 3
        assert server.connections == 3


CLOSING = HELLO.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")
HANGS_UP = b"HTTP/1.1 408 Request Time-out\r\nConnection: close\r\n\r\n"


def condemned(server: Bytes, times: int, late: bytes = b"") -> list[str]:
    """Trials, of so many in turn, whose replies may be those to others once all connections have rested.

    The server sends `late` on every connection after the last reply.
    """

    async def run() -> list[str]:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        url = URL(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/")
        pool = ConnectionPool({}, LARGEST)
        pool.keep_alive = True
        for number in range(times):
            await pool.post(url, {}, b"{}", f"trial {number}")
        for writer in server.writers if late else ():
            writer.write(late)
        await pool.rest()
        found = sorted(pool.condemned)
        await pool.close()
        listening.close()
        await asyncio.gather(*server.tasks)
        return found

    return asyncio.run(run())


def test_a_response_that_is_left_over_condemns_all_replies_but_the_first() -> None:
    assert condemned(Bytes([HELLO], [HELLO], [HELLO]), 3) == []
    assert condemned(Bytes([HELLO], [HELLO], [HELLO + HELLO]), 3) == ["trial 1", "trial 2"]
    assert condemned(Bytes([HELLO], [HELLO], [HELLO]), 3, late=HELLO) == ["trial 1", "trial 2"]
    assert condemned(Bytes([HELLO + HELLO]), 1) == []


def test_words_of_a_server_that_hangs_up_condemn_nothing() -> None:
    assert condemned(Bytes([HELLO], [HELLO]), 2, late=HANGS_UP) == []
    assert condemned(Bytes([HELLO], [HELLO]), 2, late=b"\r\n") == []


def test_replies_of_a_connection_that_ended_are_condemned_with_those_of_others() -> None:
    assert condemned(Bytes([HELLO], [HELLO], [CLOSING], [HELLO]), 4) == []
    assert condemned(Bytes([HELLO], [HELLO], [CLOSING], [HELLO + HELLO]), 4) == ["trial 1", "trial 2"]


def test_after_a_response_too_many_each_connection_carries_one_request() -> None:
    server = Bytes([HELLO], [HELLO + HELLO], *[[HELLO]] * 3)
    assert condemned(server, 5) == ["trial 1"]
    assert server.connections == 4


def test_only_who_can_withdraw_replies_uses_a_connection_twice() -> None:
    async def run() -> int:
        server = Bytes(*[[HELLO]] * 4)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        url = URL(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/")
        pool = ConnectionPool({}, LARGEST)
        for trial in ("a", "b"):
            await pool.post(url, {}, b"{}", trial)
        pool.keep_alive = True
        for _ in range(2):  # what belongs to no trial, such as a batch that is submitted
            await pool.post(url, {}, b"{}")
        await pool.close()
        listening.close()
        await asyncio.gather(*server.tasks)
        return server.connections

    assert asyncio.run(run()) == 4


def test_a_connection_rests_after_so_many_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one is opened meanwhile: nobody waits."""
    monkeypatch.setattr(connection_pool, "UNRESTED_REPLIES", 2)
    monkeypatch.setattr(connection_pool, "REST", 60.0)
    server = Bytes(*[[HELLO]] * 5)
    assert all(isinstance(reply, RawResponse) for reply in post(server, 5))
    assert server.connections == 3


def replied(ids: Sequence[str], connections: Sequence[int]) -> list[bool]:
    """Which of these replies are repeats."""
    known = ReplyIds()
    return [
        known.is_repeat(f'{{"id": "{name}"}}', number) for name, number in zip(ids, connections, strict=True)
    ]


def test_a_reply_whose_id_came_before_on_its_connection_is_a_repeat() -> None:
    names = [*"abcdefgh", "c", "i"]
    assert replied(names, [1] * 10) == [False] * 8 + [True, False]
    assert replied(names[1:], [1] * 9) == [False] * 9  # too few ids to believe them


def test_ids_that_are_not_unique_say_nothing() -> None:
    assert not any(replied("x" * 20, [1] * 20))
    assert not any(replied([*"abcdefgh", "a", "a", "b"], [1] * 8 + [2, 1, 1]))
    known = ReplyIds()
    texts = [f'{{"id": "{name}", "text": "{number}"}}' for number, name in enumerate([*"abcdefgh", "a", "a"])]
    assert not any(known.is_repeat(text, 1) for text in [*texts, texts[0]])


def test_loops_of_other_makers_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application, or a cluster, may have set another loop for all."""
    uvloop = pytest.importorskip("uvloop")
    monkeypatch.setattr(asyncio, "run", uvloop.run)
    server = Bytes([HELLO], [HELLO], [None])
    assert [type(outcome) for outcome in post(server, 3)] == [RawResponse, RawResponse, ConnectionResetError]
    assert server.connections == 1


def test_a_line_that_broke_leaves_the_next_one_whole() -> None:
    server = Bytes([HELLO[:-2], None], [HELLO], [None], [HELLO])
    outcomes = post(server, 4)
    assert [isinstance(outcome, RawResponse) for outcome in outcomes] == [False, True, False, True]


def test_connections_that_share_a_buffer_keep_their_replies_apart() -> None:
    """Replies longer than the buffer come piece by piece on several connections at once."""
    sizes = [BUFFER_SIZE - 1, BUFFER_SIZE, BUFFER_SIZE + 1, 3 * BUFFER_SIZE]
    bodies = [bytes([65 + number]) * size for number, size in enumerate(sizes)]

    async def run() -> list[bytes]:
        everybody, tasks = asyncio.Barrier(len(bodies)), list[asyncio.Task[object] | None]()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.append(asyncio.current_task())
            body = bodies[int((await reader.readuntil(b"!"))[-2:-1])]
            await everybody.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
            for start in range(0, len(body), 10_000):
                writer.write(body[start : start + 10_000])
                await writer.drain()
                await asyncio.sleep(0)
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = URL(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/")
        pool = ConnectionPool({}, max(sizes))
        asked = (pool.post(url, {}, b"%d!" % number) for number in range(len(bodies)))
        replies = await asyncio.gather(*asked)
        await pool.close()
        listening.close()
        await asyncio.gather(*filter(None, tasks))
        return [bytes(reply.body) for reply in replies]

    assert asyncio.run(run()) == bodies


def test_who_is_cancelled_takes_no_other_reply() -> None:
    """A request that was given up has its answer on a connection that nobody uses again."""

    async def run() -> tuple[int, bytes]:
        asked, aborted, tasks = asyncio.Event(), asyncio.Event(), list[asyncio.Task[object] | None]()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.append(asyncio.current_task())
            first = len(tasks) == 1
            await reader.readuntil(b"{}")
            asked.set()
            if first:
                await aborted.wait()
            writer.write(HELLO.replace(b"hello", b"first") if first else HELLO)
            await asyncio.gather(reader.read(), return_exceptions=True)
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = URL(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/")
        pool = ConnectionPool({}, LARGEST)
        call = asyncio.create_task(pool.post(url, {}, b"{}"))
        await asked.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        aborted.set()
        reply = await pool.post(url, {}, b"{}")
        await pool.close()
        listening.close()
        await asyncio.gather(*filter(None, tasks))
        return len(tasks), bytes(reply.body)

    assert asyncio.run(run()) == (2, b"hello")


def test_nobody_listens() -> None:
    async def run() -> None:
        listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        listening.close()
        await listening.wait_closed()
        await ConnectionPool({}, LARGEST).post(URL(f"http://127.0.0.1:{port}/"), {}, b"")

    with pytest.raises(ConnectError, match=r"127\.0\.0\.1"):
        asyncio.run(run())


def test_a_header_is_one_line() -> None:
    with pytest.raises(ValueError, match="line break"):
        ConnectionPool({"X": "a\r\nY: b"}, LARGEST)


@given(text=st.binary(max_size=LARGEST))
def test_what_was_packed_is_unpacked(text: bytes) -> None:
    bare = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    for packed, encoding in (
        (text, ""),
        (text, "identity"),
        (gzip.compress(text), "gzip"),
        (zlib.compress(text), "deflate"),
        (bare.compress(text) + bare.flush(), "deflate"),
    ):
        assert decompress(packed, encoding, LARGEST) == text


@settings(max_examples=50)
@given(cut=st.integers(1, 40), junk=st.binary(min_size=1, max_size=30))
def test_what_is_not_wholly_packed_is_broken(cut: int, junk: bytes) -> None:
    packed = gzip.compress(b"a fair number of letters, none of them wasted")
    for data in (packed[: -min(cut, len(packed) - 1)], b"no gzip " + junk):
        with pytest.raises(ProtocolError):
            decompress(data, "gzip", LARGEST)
    with pytest.raises(ResponseTooLargeError):
        decompress(gzip.compress(bytes(LARGEST + 1)), "gzip", LARGEST)


def test_a_closed_connection_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connection and parser hold each other: bodies of megabytes would wait for a garbage collection."""
    made: list[weakref.ref[object]] = []
    usual = connection_pool.Connection

    def connection(*given: Any) -> object:
        one = usual(*given)
        made.append(weakref.ref(one))
        return one

    monkeypatch.setattr(connection_pool, "Connection", connection)
    half = [b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + b"x" * 500, None]
    gc.collect()
    gc.disable()
    try:
        outcomes = post(Bytes(half, [HELLO], [b"no HTTP at all", None], [ENDLESS, b"hi", None]), times=4)
        assert [type(one) for one in outcomes] == [ProtocolError, RawResponse, ProtocolError, RawResponse]
        del outcomes
        assert len(made) == 3
        assert [one() for one in made] == [None] * 3
    finally:
        gc.enable()
