"""Any server that speaks chat completions: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter and others.

One attempt per call: the runner retries. The only repeats here are of requests that the server refused
unread because it does not know one of our fields; what it does not know is remembered and put on record.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import aiohttp
from yarl import URL

from steelyard.errors import (
    CallError,
    ConfigError,
    ProviderRefusedError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.chat_endpoint import OPENAI, Endpoint, Server
from steelyard.providers.chat_errors import excerpt, failure, is_filtered, parse_error, sent_at
from steelyard.providers.chat_reply import garbled, parse_body, read_embedding, read_reply
from steelyard.providers.chat_request import (
    TOKEN_LIMITS,
    Dialect,
    effective,
    embedding_body,
    request_body,
)
from steelyard.providers.options import WireOptions
from steelyard.providers.traits import Traits
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply
from steelyard.version import __version__

LARGEST_REPLY = 4_000_000
"""Bytes; no verdict is longer, and a server gone wild must not fill the memory."""

ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip", "deflate"))
"""Content encodings that are asked for, and none."""
NOT_ASKED_FOR = "a content encoding that was not asked for"

_SHORTEST_SECRET = 8


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: dict[str, str]
    text: str
    latency_ms: float


class ChatCompletions:
    """One judge's connection to a chat-completions server."""

    server: ClassVar[Server] = OPENAI
    """Where it is and how it is addressed unless the judge says otherwise."""
    traits: ClassVar[Traits] = Traits(options=WireOptions)
    """A model behind an address: prompted, paid for, able to write."""

    concurrency = 1024

    def __init__(self, judge: Judge) -> None:
        """Check the options; nothing is sent yet."""
        known = self.traits.options.model_fields
        for option in sorted(set(judge.options) - set(known)):
            raise ConfigError(
                f"judge {judge.address}: unknown option {option!r}; known here: {', '.join(known)}."
            )
        self._judge = judge
        self._endpoint = Endpoint.of(judge, server=self.server)
        self._where = f"judge {judge.address} at {self._endpoint.place}"
        self._dialect = Dialect()
        """What was learnt from refusals that an answer followed."""
        self._answered = False
        self._key = ""
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Find the key and make the session."""
        self._key = self._endpoint.key(self._where)
        headers = {"Content-Type": "application/json", "User-Agent": f"steelyard/{__version__}"}
        headers["Accept-Encoding"] = "gzip, deflate"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        # The runner limits concurrency: a second limit here would count waiting as latency.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=self._endpoint.timeout),
            trust_env=not self._endpoint.local,
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(self, presentation: Presentation) -> Reply:
        """Make one attempt at one call, in the server's dialect."""
        if presentation.wants == "embedding":
            return await self._embed(presentation)
        dialect = self._dialect
        while True:
            body = request_body(self._judge.model, presentation, dialect)
            answer = await self._post(self._endpoint.calls, body, presentation.trial)
            if answer.status == 200:
                reply = self._read(answer)
                self._dialect, self._answered = self._dialect.merged(dialect), True
                return replace(
                    reply, effective=effective(presentation, dialect), latency_ms=answer.latency_ms
                )
            learnt = self._objection(answer, dialect, body)
            if learnt is None:
                return self._refused(answer)
            dialect = dialect.merged(learnt).merged(self._dialect)

    async def _embed(self, presentation: Presentation) -> Reply:
        """The vector of the one text that is shown."""
        body = embedding_body(self._judge.model, presentation)
        answer = await self._post(self._endpoint.embeddings, body, presentation.trial)
        if answer.status != 200:
            return self._refused(answer)
        vector = read_embedding(parse_body(answer.text, self._where), self._where)
        return replace(vector, latency_ms=answer.latency_ms)

    def _objection(self, answer: _Answer, dialect: Dialect, body: dict[str, Any]) -> Dialect | None:
        """What a refusal teaches about the server's dialect."""
        if answer.status not in (400, 422):
            return None
        error = parse_error(answer.text)
        exception = failure(answer.status, error, answer.headers, self._where, 0.0)
        # An overflow may name max_tokens too, but no other field would make the prompt fit.
        if not isinstance(exception, CallError) or exception.reason == "context_overflow":
            return None
        learnt = dialect.after(error, body)
        if learnt is None and dialect.limitless(error, body) and not self._answered:
            names = " nor ".join(TOKEN_LIMITS)
            raise ProviderRefusedError(
                f"{self._where}: the server takes neither {names} ({error.message}); "
                f"set max_tokens, {body[TOKEN_LIMITS[1]]} here, to what it allows, or use another server."
            )
        return learnt

    def _read(self, answer: _Answer) -> Reply:
        body = parse_body(answer.text, self._where)
        error = parse_error(answer.text) if "error" in body and not body.get("choices") else None
        if error is not None and error.status is not None and 400 <= error.status < 600:
            return self._refused(replace(answer, status=error.status))
        return read_reply(body, self._where)

    def _refused(self, answer: _Answer) -> Reply:
        """A filtered prompt is a reply of the judge; every other refusal is raised."""
        error = parse_error(answer.text)
        if is_filtered(answer.status, error):
            return Reply(error.message, finish="filter", latency_ms=answer.latency_ms)
        now = sent_at(answer.headers, time.time())
        raise failure(answer.status, error, answer.headers, self._where, now)

    async def _post(self, address: URL, body: dict[str, Any], trial: str) -> _Answer:
        if self._session is None:
            raise RuntimeError("open() must come before ask()")
        started = time.perf_counter()
        try:
            async with self._session.post(
                address,
                data=json.dumps(body).encode(),
                headers={"Idempotency-Key": trial} if trial else None,
                allow_redirects=False,
            ) as response:
                self._check_encoding(response.headers.get("Content-Encoding", ""))
                text = self._scrubbed(await self._text(response))
                headers = {name.lower(): value for name, value in response.headers.items()}
                return _Answer(response.status, headers, text, 1000 * (time.perf_counter() - started))
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._broken(error) from error

    def _check_encoding(self, encoding: str) -> None:
        if encoding.strip().lower() not in ENCODINGS:
            raise garbled(self._where, f"{NOT_ASKED_FOR} ({excerpt(encoding)})")

    async def _text(self, response: aiohttp.ClientResponse) -> str:
        data = bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > LARGEST_REPLY:
                raise garbled(self._where, f"more than {LARGEST_REPLY} bytes")
        return data.decode("utf-8", "replace").removeprefix("\ufeff")

    def _scrubbed(self, text: str) -> str:
        """A server may quote our key back; it must reach neither a message nor the store."""
        return text.replace(self._key, "[key]") if len(self._key) >= _SHORTEST_SECRET else text

    def _broken(self, error: Exception) -> TransientError | UnreachableError:
        """The error for an exchange that came to no whole reply; a certificate gets no better by waiting."""
        found = self._scrubbed(excerpt(str(error) or type(error).__name__, 200))
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            told = getattr(error.certificate_error, "verify_message", found)
            return UnreachableError(
                f"{self._where}: its certificate is not accepted ({told}); renew it, or name a file with the "
                "authority that signed it in SSL_CERT_FILE."
            )
        if isinstance(error, TimeoutError):
            limit = self._endpoint.timeout
            spell = "in time" if limit is None else f"within {limit:g} s"
            return TransientError("timeout", f"{self._where}: no reply {spell}; raise timeout or try again.")
        if isinstance(error, aiohttp.ClientConnectorError):
            return TransientError(
                "unreachable", f"{self._where}: no connection ({found}); is the server running?"
            )
        if isinstance(error, (aiohttp.ClientPayloadError, aiohttp.ClientResponseError)):
            broken = NOT_ASKED_FOR if "content-encoding" in str(error).lower() else "a broken reply"
            return garbled(self._where, f"{broken} ({found})")
        return TransientError(
            "connection_dropped", f"{self._where}: the connection broke ({found}); try again."
        )
