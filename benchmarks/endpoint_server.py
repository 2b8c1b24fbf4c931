"""A server of chat completions that answers after a fixed time, with as little work of its own as can be.

Run: .venv/bin/python benchmarks/endpoint_server.py [SECONDS]     prints its port, serves until it is ended
"""

from __future__ import annotations

import asyncio
import json
import sys

ANSWER = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"winner": "1"}'},
            }
        ],
        "usage": {"prompt_tokens": 300, "completion_tokens": 6, "total_tokens": 306},
    }
).encode()
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(ANSWER)).encode()
    + b"\r\n\r\n"
    + ANSWER
)


class Connection(asyncio.Protocol):
    """Counts the bytes of requests and answers each once, in time."""

    def __init__(self, seconds: float) -> None:
        """Each answer comes so many seconds after its request is there."""
        self._seconds = seconds
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            start = head.find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._received) < end + 4 + length:
                return
            self._received = self._received[end + 4 + length :]
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(RESPONSE)


async def serve(seconds: float) -> None:
    """Listen on a free port and say which."""
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(seconds), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]) if len(sys.argv) > 1 else 0.02))
