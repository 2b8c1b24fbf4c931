"""A server that does to its clients what servers do: by turns of a seeded die, over real sockets.

Run as a program it prints its port and serves until its standard input ends. What it does with a request is a
function of the request alone and of how often that request came, so a run can be told what to expect.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import sys
from collections import Counter
from typing import Any

GOOD = {
    "model": "chaos",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "1"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1},
}
LIES: tuple[Any, ...] = (
    {"prompt_tokens": -5, "completion_tokens": 10**30},
    {"prompt_tokens": "many", "completion_tokens": None},
    {"prompt_tokens": 1.5, "completion_tokens": [1]},
    "none",
    None,
)
"""Token counts that are none."""

FAULTS = (
    *("refuse", "overload", "limit", "reset", "half", "empty", "html", "wrong_type", "not_json", "array"),
    *("invalid_utf8", "long_reply", "bomb", "drip", "lie", "spike", "no_choices", "deep", "wrong_encoding"),
)
"""What may happen; `lie` and `spike` come to an answer all the same."""
GOOD_SHARE = 0.6


def fate(body: bytes, turn: int) -> str:
    """What happens to a request at its so-manieth try."""
    drawn = hashlib.sha256(body + bytes([turn % 256])).digest()
    if drawn[0] < 256 * GOOD_SHARE:
        return "good"
    return FAULTS[drawn[1] % len(FAULTS)]


def response(status: int, data: bytes, promise: int | None = None, **headers: str) -> bytes:
    """An HTTP response, which may promise more than it holds."""
    lines = {"Content-Type": "application/json", "Content-Length": str(promise or len(data))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Chaos\r\n{head}\r\n".encode() + data


def good(usage: Any = None) -> bytes:
    """A sound answer, with these token counts."""
    return json.dumps(GOOD if usage is None else {**GOOD, "usage": usage}).encode()


BOMB = gzip.compress(b" " * 60_000_000, 1)
LONG = b'{"choices": [{"message": {"content": "' + b"x" * 10_000_000 + b'"}}]}'
CLOSING = {
    "reset": b"",
    "half": response(200, good()[:40], promise=len(good())),
    "drip": b"",
}
"""After these the connection is closed."""
WHOLE = {
    "good": response(200, good()),
    "refuse": response(400, b'{"error": {"message": "no", "type": "invalid_request_error"}}'),
    "overload": response(503, b"busy"),
    "limit": response(429, b'{"error": {"message": "slow down"}}', Retry_After="0"),
    "empty": response(200, b""),
    "html": response(502, b"<html><body>Bad gateway</body></html>", Content_Type="text/html"),
    "wrong_type": response(200, good(), Content_Type="image/png"),
    "not_json": response(200, b'{"choices": ['),
    "array": response(200, b"[1, 2, 3]"),
    "invalid_utf8": response(200, b'{"choices": [{"message": {"content": "\xff\xfe\x80"}}]}'),
    "long_reply": response(200, LONG),
    "bomb": response(200, BOMB, Content_Encoding="gzip"),
    "no_choices": response(200, b'{"choices": []}'),
    "deep": response(200, b"[" * 100_000),
    "wrong_encoding": response(200, good(), Content_Encoding="br"),
}


class Chaos:
    """Counts how often each request came."""

    def __init__(self) -> None:
        self._turns: Counter[bytes] = Counter()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve requests until one of them ends the connection."""
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        body = await reader.readexactly(length)
        turn = self._turns[body]
        self._turns[body] += 1
        name = fate(body, turn)
        if name == "spike":
            await asyncio.sleep(0.2)
        if name == "drip":
            for byte in response(200, good()):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)
            return False
        usage = LIES[body[-2] % len(LIES)] if name == "lie" else None
        writer.write(CLOSING.get(name) or WHOLE.get(name) or response(200, good(usage)))
        await writer.drain()
        return name not in CLOSING


async def serve() -> None:
    """Listen on a free port, say which, and end with the standard input."""
    server = await asyncio.start_server(Chaos().connection, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
