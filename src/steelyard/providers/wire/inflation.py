"""Compressed bodies, inflated a piece at a time: a few bytes may stand for gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip", "deflate"))
"""Content encodings that are asked for, and none."""
PIECE = 1_000_000
"""Bytes that are inflated at once."""

_GZIP, _ZLIB, _RAW = 31, 15, -15
"""Formats of a compressed stream, as `zlib` numbers them; servers send either of the last two as deflate."""
_METHOD, _DEFLATE = 0x0F, 8
"""Bits of the first byte of a stream with a header, and what they hold there."""


class Inflation:
    """The body of one reply, as its encoding says."""

    def __init__(self, encoding: str) -> None:
        """One of the encodings that are asked for."""
        self._encoding = encoding.strip().lower()
        self.plain = self._encoding in ("", "identity")
        """Nothing is compressed."""
        self._stream: zlib._Decompress | None = None

    def pieces(self, chunk: bytes | bytearray) -> Iterator[bytes]:
        """What a chunk stands for, in pieces; raises `zlib.error` where it is not compressed as promised."""
        if self.plain:
            yield bytes(chunk)
            return
        if self._stream is None:
            self._stream = zlib.decompressobj(self._format(chunk[0]))
        while chunk and not self._stream.eof:
            yield self._stream.decompress(chunk, PIECE)
            chunk = self._stream.unconsumed_tail

    @property
    def whole(self) -> bool:
        """The body came to its end; one that is not compressed is its own measure."""
        return self._stream is None or self._stream.eof

    def _format(self, first: int) -> int:
        if self._encoding != "deflate":
            return _GZIP
        return _ZLIB if first & _METHOD == _DEFLATE else _RAW
