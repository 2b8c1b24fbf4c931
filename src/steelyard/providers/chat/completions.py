"""Any server that speaks chat completions: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter and others."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar

from yarl import URL

from steelyard.providers.chat.reply import PROTOCOL, read_embedding, read_reply
from steelyard.providers.chat.request import FIELDS, TOGGLE, TOKEN_LIMITS, embedding_body, request_body
from steelyard.providers.http.dialect import Dialect, ThinkingOptions, thinking_tokens
from steelyard.providers.http.endpoint import ServerDefaults
from steelyard.providers.http.error_body import parse_error
from steelyard.providers.http.http_client import HttpResponse
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.provider_info import ProviderInfo
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply

OPENAI = ServerDefaults("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL")
"""The public server, and the variables that are honoured for any other of its kind."""

_UNKNOWN_URL = re.compile("unexpected endpoint or method", re.I)
"""How LM Studio says, under status 200, that base_url leads nowhere."""


class ChatCompletions(HttpProvider):
    server: ClassVar[ServerDefaults] = OPENAI
    info: ClassVar[ProviderInfo] = ProviderInfo(options=ThinkingOptions, thinking_tokens=thinking_tokens)
    protocol = PROTOCOL
    fields = FIELDS

    def request_url(self) -> URL:
        return self.client.endpoint.url("chat", "completions")

    def requested_fields(self, presentation: Presentation) -> dict[str, Any]:
        """No effort at all is a budget of none, where a server has a word for that."""
        requested = super().requested_fields(presentation)
        if requested.get("effort") == "none" and any(TOGGLE in each.forms for each in self.fields):
            del requested["effort"]
            requested.setdefault("thinking_tokens", 0)
        return requested

    def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        return request_body(self.judge.model, presentation, self.sent_fields(presentation, dialect))

    def parse_body(self, body: dict[str, Any]) -> Reply:
        return read_reply(body, self.client.where)

    def effective(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
        """The parameters in force instead of ours; the token limit under the name it went by."""
        changed = super().effective(presentation, dialect)
        form, limit = self.sent_fields(presentation, dialect).get("max_tokens", (TOKEN_LIMITS[0], None))
        return changed if form == TOKEN_LIMITS[0] else changed | {"max_tokens": None, form: limit}

    async def ask(self, presentation: Presentation) -> Reply:
        if presentation.wants == "embedding":
            return await self._embed(presentation)
        return await super().ask(presentation)

    def parse_reply(self, response: HttpResponse) -> Reply:
        """The reply; some servers report a failure under status 200."""
        body = self.client.parse_json(response)
        error = parse_error(response.text) if "error" in body and not body.get("choices") else None
        status = None if error is None else 404 if error.matches(_UNKNOWN_URL) else error.status
        if status is not None and 400 <= status < 600:
            return self.client.reply_or_raise(replace(response, status=status))
        return self.parse_checked(body)

    async def _embed(self, presentation: Presentation) -> Reply:
        body = embedding_body(self.judge.model, presentation)
        response = await self.client.post(self.client.endpoint.url("embeddings"), body, presentation.trial)
        if not response.is_success:
            return self.client.reply_or_raise(response)
        vector = read_embedding(self.client.parse_json(response), self.client.where)
        return replace(vector, latency_ms=response.latency_ms)
