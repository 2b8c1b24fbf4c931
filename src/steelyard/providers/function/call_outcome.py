"""Outcome of a Python judge that raised: an unreadable reply, a failed call, or one to try again.

An exception alone does not tell: frameworks wrap a busy server, a wrong key and an unreadable reply in one
class. The last HTTP exchange behind it does. After a reply nothing is tried again: that would ask until an
answer can be read, and hide how often it can not. Known keys are struck out of whatever is kept.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from steelyard.errors import CallError, PermanentError, SteelyardError, TransientError, UnreadableError
from steelyard.providers.function.request_meter import HttpExchange, RequestMeter
from steelyard.providers.http.error_body import parse_error
from steelyard.providers.http.redaction import Redactor
from steelyard.providers.http.response_errors import error_for_response, refusal_reply, server_time
from steelyard.trials.reply import Reply

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
    if (replied and owned and not _is_bug(error)) or (names & UNREADABLE and not _unanswered(last)):
        return Reply(_text(error, meter), finish="unreadable")
    sentence = f"{where}: raised {kind}: {_words(error, meter)}"
    if replied or isinstance(error, MISTAKES):
        return PermanentError(f"raised {kind}", sentence)
    return TransientError(f"raised {kind}", sentence)


def _is_bug(error: Exception) -> bool:
    """A plain client where an async one is awaited is no reply that cannot be read either."""
    return isinstance(error, BUGS) or (isinstance(error, TypeError) and "'await'" in str(error))


def _unanswered(last: HttpExchange | None) -> bool:
    return last is not None and last.status is None


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
