"""Compressed bodies (gzip, deflate), decompressed a chunk at a time: a few bytes may stand for gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from steelyard.providers.http.connection import ProtocolError, ResponseTooLargeError

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
