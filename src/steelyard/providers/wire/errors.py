"""What a server's refusal means for the call and for the run; error objects of several dialects."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from steelyard.errors import (
    PermanentError,
    ProviderRefusedError,
    SteelyardError,
    TransientError,
    UnreachableError,
)
from steelyard.whole_signs import whole_signs

_OVERFLOW = re.compile(
    r"context[ _](length|window|size|limit)|maximum context|max_tokens must be at least 1"
    r"|(prompt|input) is too long|exceeds the maximum number of tokens",
    re.I,
)
_UNKNOWN_MODEL = re.compile(
    r"invalid model id|model\b.{0,80}\b(not found|does not exist|identifier is invalid)"
    r"|inference profile that contains this model",
    re.I | re.S,
)
_WRONG_KEY = re.compile(r"API_KEY_INVALID|API key not valid|API key expired", re.I)
_FILTERED = re.compile(r"content[_ ](filter|policy_violation)|moderation|input was flagged", re.I)
_NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|balance|credit)|exceeded your current quota|credit_balance|spend_limit"
    r"|credit balance is too low|reached your specified \w* ?usage limits",
    re.I,
)

_DAILY = re.compile(r"PerDay|\bper day\b", re.I)
"""Allowances of a day; a wait that is told beside the name of one is that of another allowance."""

RATE_LIMIT_HEADERS = ("retry-after", "x-ratelimit-reset", "x-ratelimit-reset-requests")
"""Where a 429 says how long to wait; with other statuses a reset says nothing about the failure."""


@dataclass(frozen=True)
class ErrorBody:
    """The error object of a reply, whatever dialect it came in."""

    message: str = ""
    """What the server says."""
    code: str = ""
    """Its code and type, joined."""
    param: str = ""
    """The field it objects to, where it says so."""
    status: int | None = None
    """A status inside the body, where a server reports failure under 200."""
    wait: str = ""
    """How long to wait, where the body says so."""

    def names(self, field: str) -> bool:
        """Whether the server objects to this field; the message counts only where no field is named."""
        if self.param:
            return field in re.split(r"[^\w-]+", self.param)
        return re.search(rf"\b{field}\b", self.message) is not None

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether code or message match."""
        return pattern.search(self.code) is not None or pattern.search(self.message) is not None


def parse_error(text: str) -> ErrorBody:
    """Read an error object; anything else becomes the message, cut short."""
    try:
        error = error_in(json.loads(text))
    except (ValueError, RecursionError):
        error = None
    return error or ErrorBody(message=excerpt(text))


def error_in(body: Any) -> ErrorBody | None:
    """The error object of a parsed body; None where there is none."""
    if not isinstance(body, dict):
        return None
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return ErrorBody(message=excerpt(str(inner)))
    message = inner.get("message") or inner.get("detail") or inner.get("Message")
    if not message:
        return None
    details = inner.get("details")
    about = [one for one in (details if isinstance(details, list) else [details]) if isinstance(one, dict)]
    reasons = [one.get(name) for one in about for name in ("error_code", "reason")]
    named = (inner.get("code"), inner.get("type"), *reasons, *_quotas(about))
    code = " ".join(str(name) for name in named if name)
    wait = next((str(one["retryDelay"]) for one in about if one.get("retryDelay")), "")
    status = inner.get("code") if type(inner.get("code")) is int else None
    return ErrorBody(excerpt(str(message), 300), code, str(inner.get("param") or ""), status, wait)


def _quotas(details: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Names of the allowances that were used up, where a server lists them."""
    listed = [one.get("violations") for one in details]
    every = [each for violations in listed if isinstance(violations, list) for each in violations]
    return [each.get("quotaId") for each in every if isinstance(each, dict)]


def is_filtered(status: int, error: ErrorBody) -> bool:
    """Whether the prompt itself was filtered: that is a refusal by the judge, not a failed call."""
    return status in (400, 403) and error.says(_FILTERED)


def failure(
    status: int, error: ErrorBody, headers: Mapping[str, str], where: str, now: float
) -> SteelyardError:
    """The exception for a reply that is not a success."""
    answer = f"{where}: the server answered {status}" + (f" ({error.message})" if error.message else "")
    if status == 401 or status == 403 or (status == 400 and error.says(_WRONG_KEY)):
        return ProviderRefusedError(f"{answer}; check the key, and that it may use this model.")
    wait = retry_after(headers, now, RATE_LIMIT_HEADERS if status == 429 else ("retry-after",))
    if status == 429 and _spent_for_today(error, wait):
        return UnreachableError(f"{answer}; the day's allowance is used up, raise it or go on tomorrow")
    if status == 402 or (status in (400, 429) and error.says(_NO_CREDIT) and not error.wait):
        return ProviderRefusedError(
            f"{answer}; the account has no credit left, top it up or use another key."
        )
    if status == 404 or (status == 400 and (error.says(_UNKNOWN_MODEL) or "model_not_found" in error.code)):
        return ProviderRefusedError(f"{answer}; check the model's name and base_url.", status=status)
    if 300 <= status < 400:
        return ProviderRefusedError(f"{answer}, a redirect; set base_url to the final address.")
    if status == 429:
        told = wait or _seconds(error.wait)
        return TransientError("rate_limited", f"{answer}; slow down.", status=status, retry_after=told)
    if status in (408, 409, 424, 425) or status >= 500:
        return TransientError("server_error", f"{answer}; try again.", status=status, retry_after=wait)
    if status == 413 or error.says(_OVERFLOW):
        return PermanentError("context_overflow", f"{answer}; the prompt is too long.", status=status)
    return PermanentError("bad_request", f"{answer}; correct the request.", status=status)


def _spent_for_today(error: ErrorBody, wait: float | None) -> bool:
    """Whether nothing is to be had before tomorrow: by the allowance's name, or in words without a wait."""
    said = _DAILY.search(error.message) is not None and wait is None and not error.wait
    return said or _DAILY.search(error.code) is not None


def retry_after(
    headers: Mapping[str, str], now: float, names: Sequence[str] = ("retry-after",)
) -> float | None:
    """Seconds the server asks us to wait; `now` is the epoch time when the reply was sent."""
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    for name in names:
        text = headers.get(name, "")
        seconds = _seconds(text)
        if seconds is None:
            seconds = _until(text, now)
        elif seconds > 1e9:
            seconds = seconds / (1000 if seconds > 1e12 else 1) - now
        if seconds is not None and math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def sent_at(headers: Mapping[str, str], otherwise: float) -> float:
    """The server's own clock, so that a skewed one does not distort a waiting time."""
    moment = _until(headers.get("date", ""), 0.0)
    return otherwise if moment is None else moment


def excerpt(text: str, length: int = 80) -> str:
    """The first characters of a text, on one line."""
    line = " ".join(printable(text[: 4 * length]).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def printable(text: str) -> str:
    """Replace half surrogate pairs, which no file or database can hold."""
    return whole_signs(text)


def _seconds(text: str) -> float | None:
    """Plain seconds, or a duration such as `6m0s` or `120ms`."""
    try:
        value = float(text)
        return value if math.isfinite(value) else None
    except ValueError:
        parts = re.findall(r"([\d.]+)(ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    sizes = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    try:
        return math.fsum(float(number) * sizes[unit] for number, unit in parts)
    except ValueError:
        return None


def _until(text: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
