"""A server that sends some of its responses once more, a moment later: over real sockets.

Run as a program it takes the seconds of an answer, the share of responses that it repeats, the most seconds
until it does so, and whether replies have ids; it prints its port and serves until its standard input ends.
Every reply names the request that it answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sys
from typing import Any
from uuid import uuid4

USAGE = {"prompt_tokens": 100, "completion_tokens": 5}


def name_of(prompt: str) -> str:
    """What a reply to this prompt holds."""
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


def body_for(request: bytes, *, has_id: bool) -> bytes:
    """The completion that answers a request, and no other."""
    prompt = json.loads(request)["messages"][-1]["content"]
    answer = {"reason": name_of(prompt), "winner": "1"}
    message = {"role": "assistant", "content": json.dumps(answer)}
    completion: dict[str, Any] = {
        "model": "repeating",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": USAGE,
    }
    return json.dumps({"id": uuid4().hex, **completion} if has_id else completion).encode()


def response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )


class RepeatingServer:
    def __init__(self, latency: float, share: float, longest: float, *, has_id: bool) -> None:
        self.latency, self.share, self.longest, self.has_id = latency, share, longest, has_id
        self.requests = self.repeats = 0
        self._random = random.Random(7)

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request after the other; repeats go out beside them."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
                body = body_for(await reader.readexactly(length), has_id=self.has_id)
                self.requests += 1
                if self.latency:
                    await asyncio.sleep(self.latency)
                writer.write(response(body))
                if self._random.random() < self.share:
                    self.repeats += 1
                    loop.call_later(self._random.uniform(0, self.longest), self._repeat, writer, body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @staticmethod
    def _repeat(writer: asyncio.StreamWriter, body: bytes) -> None:
        if not writer.is_closing():
            writer.write(response(body))


async def serve(latency: str, share: str, longest: str, ids: str) -> None:
    """Listen on a free port, say which, and end with the standard input."""
    one = RepeatingServer(float(latency), float(share), float(longest), has_id=ids == "ids")
    server = await asyncio.start_server(one.connection, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps({"requests": one.requests, "repeats": one.repeats}), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
