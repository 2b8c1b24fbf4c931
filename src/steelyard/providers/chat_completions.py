"""Any server that speaks chat completions: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter and others.

One attempt per call: the runner retries. The only repeats here are of requests that the server refused
unread because it does not know one of our fields; what it does not know is remembered and put on record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from steelyard.errors import CallError, ConfigError, ProviderRefusedError
from steelyard.providers.chat_reply import PROTOCOL, read_embedding, read_reply
from steelyard.providers.chat_request import (
    TOKEN_LIMITS,
    Dialect,
    effective,
    embedding_body,
    request_body,
)
from steelyard.providers.http_endpoint import Endpoint, Server
from steelyard.providers.http_errors import failure, parse_error
from steelyard.providers.http_wire import Answer, Wire
from steelyard.providers.options import WireOptions
from steelyard.providers.traits import Traits
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

OPENAI = Server("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL")
"""The public server, and the variables that are honoured for any other of its kind."""


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
        endpoint = Endpoint.of(judge, self.server)
        self._wire = Wire(endpoint, f"judge {judge.address} at {endpoint.place}", PROTOCOL)
        self._dialect = Dialect()
        """What was learnt from refusals that an answer followed."""
        self._answered = False

    async def open(self) -> None:
        """Find the key and make the session."""
        await self._wire.open()

    async def close(self) -> None:
        """Close every connection."""
        await self._wire.close()

    async def ask(self, presentation: Presentation) -> Reply:
        """Make one attempt at one call, in the server's dialect."""
        if presentation.wants == "embedding":
            return await self._embed(presentation)
        dialect = self._dialect
        while True:
            body = request_body(self._judge.model, presentation, dialect)
            answer = await self._wire.post(
                self._wire.endpoint.at("chat", "completions"), body, presentation.trial
            )
            if answer.status == 200:
                reply = self._read(answer)
                self._dialect, self._answered = self._dialect.merged(dialect), True
                return replace(
                    reply, effective=effective(presentation, dialect), latency_ms=answer.latency_ms
                )
            learnt = self._objection(answer, dialect, body)
            if learnt is None:
                return self._wire.refused(answer)
            dialect = dialect.merged(learnt).merged(self._dialect)

    async def _embed(self, presentation: Presentation) -> Reply:
        """The vector of the one text that is shown."""
        body = embedding_body(self._judge.model, presentation)
        answer = await self._wire.post(self._wire.endpoint.at("embeddings"), body, presentation.trial)
        if answer.status != 200:
            return self._wire.refused(answer)
        vector = read_embedding(self._wire.parsed(answer), self._wire.where)
        return replace(vector, latency_ms=answer.latency_ms)

    def _objection(self, answer: Answer, dialect: Dialect, body: dict[str, Any]) -> Dialect | None:
        """What a refusal teaches about the server's dialect."""
        if answer.status not in (400, 422):
            return None
        error = parse_error(answer.text)
        exception = failure(answer.status, error, answer.headers, self._wire.where, 0.0)
        # An overflow may name max_tokens too, but no other field would make the prompt fit.
        if not isinstance(exception, CallError) or exception.reason == "context_overflow":
            return None
        learnt = dialect.after(error, body)
        if learnt is None and dialect.limitless(error, body) and not self._answered:
            names = " nor ".join(TOKEN_LIMITS)
            raise ProviderRefusedError(
                f"{self._wire.where}: the server takes neither {names} ({error.message}); "
                f"set max_tokens, {body[TOKEN_LIMITS[1]]} here, to what it allows, or use another server."
            )
        return learnt

    def _read(self, answer: Answer) -> Reply:
        body = self._wire.parsed(answer)
        error = parse_error(answer.text) if "error" in body and not body.get("choices") else None
        if error is not None and error.status is not None and 400 <= error.status < 600:
            return self._wire.refused(replace(answer, status=error.status))
        return read_reply(body, self._wire.where)
