"""Compressed bodies: the same however they are cut, and none larger in memory than a reply may be."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers import Answer, ScriptedServer
from steelyard.errors import TransientError
from steelyard.providers.http.connection import CHUNK_SIZE, Decompressor
from steelyard.providers.http.http_client import MAX_RESPONSE_BYTES
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.provider import connect
from steelyard.trials.judge import Judge
from vendors import ANTHROPIC, KEY, PROTOCOLS, error_of


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ANTHROPIC.variable, KEY)


@given(
    st.binary(max_size=5000), st.sampled_from(["gzip", "x-gzip", "deflate", "raw", ""]), st.integers(1, 400)
)
def test_a_body_is_the_same_however_it_is_compressed_and_cut(data: bytes, encoding: str, size: int) -> None:
    raw = zlib.compressobj(wbits=-15)
    sent = {
        "gzip": gzip.compress(data),
        "x-gzip": gzip.compress(data),
        "deflate": zlib.compress(data),
        "raw": raw.compress(data) + raw.flush(),
        "": data,
    }[encoding]
    decompressor = Decompressor("deflate" if encoding == "raw" else encoding)
    chunks = [sent[start : start + size] for start in range(0, len(sent), size)]
    assert b"".join(piece for chunk in chunks for piece in decompressor.decompress(chunk)) == data
    assert decompressor.is_complete


def test_a_few_bytes_that_stand_for_many_are_taken_in_pieces() -> None:
    pieces = Decompressor("gzip").decompress(gzip.compress(bytes(5 * CHUNK_SIZE)))
    assert max(len(piece) for piece in pieces) <= CHUNK_SIZE


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_takes_no_memory(encoding: str) -> None:
    packed = gzip.compress if encoding == "gzip" else zlib.compress
    bomb = Answer(200, packed(bytes(16 * MAX_RESPONSE_BYTES), 1), {"Content-Encoding": encoding})
    tracemalloc.start()
    error = error_of(ANTHROPIC, bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "more than 4000000 bytes" in str(error)
    assert peak < 8 * MAX_RESPONSE_BYTES


def test_a_bomb_in_place_of_a_list_of_batches_takes_none_either() -> None:
    bomb = Answer(200, gzip.compress(bytes(16 * MAX_RESPONSE_BYTES), 1), {"Content-Encoding": "gzip"})

    async def fetched() -> int:
        async with ScriptedServer(bomb) as server:
            provider = connect(Judge("j", "openai", "m", PROTOCOLS, options={"base_url": server.url}))
            assert isinstance(provider, HttpProvider)
            await provider.open()
            tracemalloc.start()
            with pytest.raises(TransientError, match="more than 4000000 bytes"):
                await provider.client.get_json("batches")
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            await provider.close()
            return peak

    assert asyncio.run(fetched()) < 8 * MAX_RESPONSE_BYTES


def test_a_compressed_body_that_was_cut_is_no_reply() -> None:
    whole = gzip.compress(ANTHROPIC.says("1").data)
    error = error_of(ANTHROPIC, Answer(200, whole[:-12], {"Content-Encoding": "gzip"}))
    assert isinstance(error, TransientError)
    assert error.reason == "garbled_reply"
