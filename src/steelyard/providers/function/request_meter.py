"""Request meter: the HTTP requests behind one call of a Python judge, whatever framework makes them.

The clients that frameworks use (httpx, requests, aiohttp, botocore) are wrapped once in the process. Outside
a metered call the wrapper passes everything through. Threads that a framework starts itself are not seen.
Keys that the process knows, and those that a request carried, are struck out of what is kept.
"""

from __future__ import annotations

import functools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from steelyard.core.dotenv import known_keys
from steelyard.providers.http.error_body import token_count
from steelyard.providers.http.redaction import Redactor
from steelyard.trials.reply import Usage

_MODEL_PATH = re.compile(
    r"completions|/responses|/messages|/converse|/invoke|:(stream)?generateContent|:(raw|streamRaw)?predict"
    r"|/api/(chat|generate)$|/v[12]/chat$|/v1/?$",
    re.I,
)
"""Paths of calls to models; what else a framework sends, such as telemetry, is not the judge's."""
_TRUNCATED = re.compile(
    r'"(finish_reason|stop_reason|finishReason|stopReason)":\s*"(length|max_tokens|MAX_TOKENS)"'
    r'|"reason":\s*"max_output_tokens"'
)


@dataclass(frozen=True)
class HttpExchange:
    status: int | None
    """None where no response came."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @property
    def replied(self) -> bool:
        return self.status is not None and self.status < 400

    @functools.cached_property
    def _json(self) -> dict[str, Any]:
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def usage(self) -> Usage:
        used = self._json.get("usage") or self._json.get("usageMetadata") or self._json
        if isinstance(used, dict) and isinstance(used.get("tokens"), dict):
            used = used["tokens"]
        prompt = ("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "prompt_eval_count")
        answer = ("completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "eval_count")
        return Usage(
            max(token_count(used, name) for name in prompt), max(token_count(used, name) for name in answer)
        )

    @property
    def model(self) -> str | None:
        named = self._json.get("model")
        return named if isinstance(named, str) else None

    @property
    def truncated(self) -> bool:
        return _TRUNCATED.search(self.body) is not None

    @property
    def text(self) -> str:
        """What the model wrote, where the body has it in a known place."""
        try:
            message = self._json["choices"][0]["message"]
            calls = "".join(str(call["function"]["arguments"]) for call in message.get("tool_calls") or ())
            return str(message.get("content") or calls)
        except (KeyError, IndexError, TypeError, AttributeError):
            return "".join(re.findall(r'"text":\s*"((?:[^"\\]|\\.)*)"', self.body))


_KEY_HEADERS = frozenset(("authorization", "x-api-key", "api-key", "x-goog-api-key"))


@dataclass
class RequestMeter:
    exchanges: list[HttpExchange] = field(default_factory=list)
    _keys: tuple[str, ...] = field(default_factory=lambda: tuple(known_keys()))

    @property
    def redactor(self) -> Redactor:
        return Redactor(self._keys)

    def sent(self, headers: Iterable[tuple[Any, Any]]) -> None:
        """Learn the keys that a request carries: the environment need not hold them."""
        held = [str(value) for name, value in headers if str(name).lower() in _KEY_HEADERS]
        self._keys = tuple(dict.fromkeys((*self._keys, *(text.rpartition(" ")[2] for text in held))))

    def received(self, status: int, headers: Mapping[str, str], body: str = "") -> None:
        self.exchanges.append(HttpExchange(status, headers, self.redacted_body(status, body)))

    def redacted_body(self, status: int | None, body: str) -> str:
        return self.redactor.redact(body, is_error=status is None or status >= 400)

    @property
    def last(self) -> HttpExchange | None:
        return self.exchanges[-1] if self.exchanges else None

    @property
    def usage(self) -> Usage:
        """Tokens of all requests, those of inner retries among them."""
        used = [exchange.usage for exchange in self.exchanges]
        tokens = Usage(sum(one.input_tokens for one in used), sum(one.output_tokens for one in used))
        return replace(tokens, requests=len(self.exchanges))


_METER: ContextVar[RequestMeter | None] = ContextVar("request_meter", default=None)


@contextmanager
def metered() -> Iterator[RequestMeter]:
    """Count the requests that are made in this context, and in tasks and threads that inherit it."""
    _wrap_clients()
    meter = RequestMeter()
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


@functools.cache
def _wrap_clients() -> None:
    """Wrap each client that is installed; a framework may import one only in its first call."""
    for name, wrap in _CLIENTS.items():
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            wrap(import_module(name))


def _wrap_httpx(module: Any) -> None:
    def body_of(response: Any) -> str:
        try:
            return str(response.text)
        except Exception:  # a stream that nobody has read yet
            return ""

    def wrap(send: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(send)
        def sync_send(self: Any, request: Any, *args: Any, **keys: Any) -> Any:
            meter = _metering(request.method, str(request.url))
            if meter is None:
                return send(self, request, *args, **keys)
            meter.sent(request.headers.items())
            with _lost(meter):
                response = send(self, request, *args, **keys)
            meter.received(response.status_code, response.headers, body_of(response))
            return response

        @functools.wraps(send)
        async def async_send(self: Any, request: Any, *args: Any, **keys: Any) -> Any:
            meter = _metering(request.method, str(request.url))
            if meter is None:
                return await send(self, request, *args, **keys)
            meter.sent(request.headers.items())
            with _lost(meter):
                response = await send(self, request, *args, **keys)
            meter.received(response.status_code, response.headers, body_of(response))
            return response

        return async_send if _is_async(send) else sync_send

    module.Client.send = wrap(module.Client.send)
    module.AsyncClient.send = wrap(module.AsyncClient.send)


def _wrap_requests(module: Any) -> None:
    _wrap_session(module.Session)


def _wrap_botocore(module: Any) -> None:
    _wrap_session(module.URLLib3Session)


def _wrap_session(session: Any) -> None:
    send = session.send

    @functools.wraps(send)
    def metered_send(self: Any, request: Any, **keys: Any) -> Any:
        meter = _metering(request.method, str(request.url))
        if meter is None:
            return send(self, request, **keys)
        meter.sent(request.headers.items())
        with _lost(meter):
            response = send(self, request, **keys)
        streams = keys.get("stream") or getattr(request, "stream_output", False)
        meter.received(response.status_code, response.headers, "" if streams else response.text)
        return response

    session.send = metered_send


def _wrap_aiohttp(module: Any) -> None:
    request, read = module.ClientSession._request, module.ClientResponse.read

    @functools.wraps(request)
    async def metered_request(self: Any, method: str, url: Any, **keys: Any) -> Any:
        meter = _metering(method, str(url))
        if meter is None:
            return await request(self, method, url, **keys)
        with _lost(meter):
            response = await request(self, method, url, **keys)
        meter.sent(response.request_info.headers.items())
        response._steelyard_exchange = (meter, len(meter.exchanges))
        meter.received(response.status, response.headers)
        return response

    @functools.wraps(read)
    async def metered_read(self: Any) -> bytes:
        body: bytes = await read(self)
        if (place := getattr(self, "_steelyard_exchange", None)) is not None:
            meter, number = place
            text = meter.redacted_body(self.status, body.decode("utf-8", "replace"))
            meter.exchanges[number] = replace(meter.exchanges[number], body=text)
        return body

    module.ClientSession._request, module.ClientResponse.read = metered_request, metered_read


_CLIENTS: dict[str, Callable[[Any], None]] = {
    "httpx": _wrap_httpx,
    "httpx2": _wrap_httpx,
    "requests": _wrap_requests,
    "aiohttp": _wrap_aiohttp,
    "botocore.httpsession": _wrap_botocore,
}


def _is_async(function: Any) -> bool:
    return bool(function.__code__.co_flags & 0x80)


def _metering(method: str, url: str) -> RequestMeter | None:
    meter = _METER.get()
    return meter if meter is not None and method.upper() == "POST" and _MODEL_PATH.search(url) else None


@contextmanager
def _lost(meter: RequestMeter) -> Iterator[None]:
    """A request without a response was made all the same, and may be billed."""
    try:
        yield
    except BaseException:
        meter.exchanges.append(HttpExchange(None))
        raise
