"""Request meter: the HTTP requests behind one call of a Python judge, and the outcome of one that raised.

The clients that frameworks use (httpx, requests, aiohttp, botocore) are wrapped once in the process. Outside
a metered call the wrapper passes everything through. Threads that a framework starts itself are not seen.
Keys that the process knows, and those that a request carried, are struck out of what is kept.

An exception alone does not tell an unreadable reply from a failed call, or one to try again: frameworks wrap
a busy server, a wrong key and an unreadable reply in one class. The last HTTP exchange behind it does. After
a reply nothing is tried again: that would ask until an answer can be read, and hide how often it can not.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

from steelyard.core.dotenv import known_keys
from steelyard.errors import CallError, PermanentError, SteelyardError, TransientError, UnreadableError
from steelyard.providers.http.redaction import Redactor
from steelyard.providers.http.response_errors import (
    error_for_response,
    parse_error,
    refusal_reply,
    server_time,
    token_count,
)
from steelyard.trials.judge import Reply, Usage

PACKAGE = Path(__file__).parents[2]
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
            with _sending(request) as received:
                response = send(self, request, *args, **keys)
            received(response, body_of)
            return response

        @functools.wraps(send)
        async def async_send(self: Any, request: Any, *args: Any, **keys: Any) -> Any:
            with _sending(request) as received:
                response = await send(self, request, *args, **keys)
            received(response, body_of)
            return response

        return async_send if inspect.iscoroutinefunction(send) else sync_send

    module.Client.send = wrap(module.Client.send)
    module.AsyncClient.send = wrap(module.AsyncClient.send)


def _wrap_session(session: Any) -> None:
    """A session of requests or of botocore."""
    send = session.send

    @functools.wraps(send)
    def metered_send(self: Any, request: Any, **keys: Any) -> Any:
        with _sending(request) as received:
            response = send(self, request, **keys)
        streams = keys.get("stream") or getattr(request, "stream_output", False)
        received(response, lambda response: "" if streams else response.text)
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
    "requests": lambda module: _wrap_session(module.Session),
    "aiohttp": _wrap_aiohttp,
    "botocore.httpsession": lambda module: _wrap_session(module.URLLib3Session),
}


def _metering(method: str, url: str) -> RequestMeter | None:
    meter = _METER.get()
    return meter if meter is not None and method.upper() == "POST" and _MODEL_PATH.search(url) else None


@contextmanager
def _sending(request: Any) -> Iterator[Callable[[Any, Callable[[Any], str]], None]]:
    """Meter a request; what it yields takes the response, and how its body is read where it is metered."""
    meter = _metering(request.method, str(request.url))
    if meter is None:
        yield lambda *_: None
        return
    meter.sent(request.headers.items())
    with _lost(meter):
        yield lambda response, body: meter.received(response.status_code, response.headers, body(response))


@contextmanager
def _lost(meter: RequestMeter) -> Iterator[None]:
    """A request without a response was made all the same, and may be billed."""
    try:
        yield
    except BaseException:
        meter.exchanges.append(HttpExchange(None))
        raise


MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""Errors of the function's own making: calling it again would end the same way."""

UNREADABLE = frozenset(
    (
        "InstructorRetryException",
        "JSONDecodeError",
        "OutputParserException",
        "RagasOutputParserException",
        "ValidationError",
    )
)
"""Names of exceptions that say that a model's reply was not in the form that was asked for."""

TRUNCATED = frozenset(("IncompleteOutputException", "LLMDidNotFinishException", "LengthFinishReasonError"))

BUGS = (ImportError, NameError)
"""Errors that no reply of a model can cause."""

LONGEST = 500
"""Characters of an error or a model's reply that are kept."""


def outcome(
    error: Exception, meter: RequestMeter, where: str, unreadable: Collection[str] = (), owned: bool = False
) -> Reply | SteelyardError:
    """A reply without a verdict, or what to raise.

    `unreadable` are further names of exceptions; `owned` says that a known framework reads the model's reply
    itself, so that any exception after a reply means that it could not.
    """
    for each in _chain(error):
        if isinstance(each, UnreadableError):
            cut = owned and meter.last is not None and meter.last.truncated
            return Reply(str(each), finish="length" if cut else each.finish)
        if isinstance(each, SteelyardError):
            return redacted_error(each, meter.redactor)
    names = {kind.__name__ for each in _chain(error) for kind in type(each).__mro__}
    last, kind = meter.last, type(error).__name__
    if names & set(unreadable):
        return Reply(_text(error, meter), finish="unreadable")
    if names & TRUNCATED or (last is not None and last.replied and last.truncated):
        return Reply(_text(error, meter), finish="length")
    if last is not None and last.status is not None and not last.replied:
        return _refused(last, where, len(meter.exchanges))
    replied = last is not None and last.replied
    # A plain client where an async one is awaited is no reply that cannot be read either.
    is_bug = isinstance(error, BUGS) or (isinstance(error, TypeError) and "'await'" in str(error))
    unanswered = last is not None and last.status is None
    if (replied and owned and not is_bug) or (names & UNREADABLE and not unanswered):
        return Reply(_text(error, meter), finish="unreadable")
    sentence = f"{where}: raised {kind}: {_words(error, meter)}{_line_of(error)}"
    if replied or isinstance(error, MISTAKES):
        return PermanentError(f"raised {kind}", sentence)
    return TransientError(f"raised {kind}", sentence)


def _line_of(error: BaseException) -> str:
    """The line of the judge's own file on the way to the exception, by name and number."""
    frames = [f for f in extract_tb(error.__traceback__) if not Path(f.filename).is_relative_to(PACKAGE)]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those behind it: causes, contexts, and the last attempt of a retry."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        attempt: Any = getattr(each, "last_attempt", None)
        behind = attempt.exception() if hasattr(attempt, "exception") else None
        waiting += [behind, each.__cause__, each.__context__]


def _refused(last: HttpExchange, where: str, requests: int) -> Reply | SteelyardError:
    assert last.status is not None
    body = parse_error(last.body)
    headers = {str(name).lower(): str(value) for name, value in last.headers.items()}
    refusal = refusal_reply(last.status, body)
    if refusal is not None:
        text, finish = refusal
        return Reply(text, finish="unreadable" if finish == "stop" else finish)
    place = where if requests == 1 else f"{where}, request {requests} of one call"
    return error_for_response(last.status, body, headers, place, server_time(headers, time.time()))


def _text(error: Exception, meter: RequestMeter) -> str:
    raised = f"{type(error).__name__}: {_words(error, meter)}"
    written = meter.last.text[:LONGEST] if meter.last is not None else ""
    return f"{raised}; the model wrote: {written}" if written else raised


def _words(error: Exception, meter: RequestMeter) -> str:
    return meter.redactor.redact(str(error), is_error=True)[:LONGEST]


def redacted_error(error: SteelyardError, redactor: Redactor) -> SteelyardError:
    """The same error without the keys that its words hold."""
    error.args = tuple(redactor.redact_all(error.args, is_error=True))
    if isinstance(error, CallError):
        error.reason = redactor.redact(error.reason)
    return error


def redacted_reply(reply: Reply, redactor: Redactor) -> Reply:
    """The same reply without the keys that its texts hold."""
    return replace(
        reply,
        text=redactor.redact_all(reply.text),
        finish=redactor.redact_all(reply.finish),
        served_model=redactor.redact_all(reply.served_model),
        effective=redactor.redact_all(reply.effective),
        logprobs=redactor.redact_all(reply.logprobs),
    )
