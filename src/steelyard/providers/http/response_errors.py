"""Maps an error response to an exception: retry with backoff, fail the call, or stop the run.

A rate limit (429) carries the server's retry-after; the runner's backoff waits for at least as long.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime

from steelyard.errors import (
    PermanentError,
    ProviderRefusedError,
    SteelyardError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.http.error_body import ErrorBody

_CONTEXT_OVERFLOW = re.compile(
    r"context[ _](length|window|size|limit)|maximum context|max_tokens must be at least 1"
    r"|(prompt|input) is too long|exceeds the maximum number of tokens",
    re.I,
)
_UNKNOWN_MODEL = re.compile(
    r"invalid model (id|name)|model\b.{0,80}\b(not found|does not exist|identifier is invalid)"
    r"|inference profile that contains this model",
    re.I | re.S,
)
_WRONG_KEY = re.compile(r"API_KEY_INVALID|API key not valid|API key expired|incorrect API key", re.I)
_REGION_BLOCKED = re.compile(r"location is not supported|not available in your (country|region)", re.I)
_CONTENT_FILTER = re.compile(
    r"content[_ ]?(filter|policy_?violation)|content (violates|management policy)|moderation"
    r"|(input|prompt) was flagged",
    re.I,
)
_NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|balance|credit)|exceeded your current quota|credit_balance|spend_limit"
    r"|credit balance is too low|reached your specified \w* ?usage limits|used all available credits",
    re.I,
)
_TRUNCATED = re.compile(
    r"could not finish the message because max_tokens|max completion tokens reached before", re.I
)
"""A model that spent its tokens before it came to an answer; some servers call that a wrong request."""
_INVALID_JSON = "json_validate_failed"
"""Code of servers that withhold an answer which is not in the form that was asked for."""

_DAILY_QUOTA = re.compile(r"PerDay|\bper day\b", re.I)
"""Daily quotas; a retry-after beside the name of one is that of another quota."""

_RESETS = ("x-ratelimit-reset", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens")
RATE_LIMIT_HEADERS = ("retry-after", *_RESETS)
"""Where a 429 (rate limit) says how long to wait; with other statuses a reset says nothing of the failure."""


def refusal_reply(status: int, error: ErrorBody) -> tuple[str, str] | None:
    """Text and finish where the refusal is the judge's own answer, and no failed call; else None.

    A filtered prompt is a refusal by the judge; one that came to no end, or not to JSON, has answered badly.
    """
    if status in (400, 403) and error.matches(_CONTENT_FILTER):
        return error.message, "filter"
    if status == 400 and error.matches(_TRUNCATED):
        return error.withheld_output, "length"
    if status == 400 and _INVALID_JSON in error.code:
        return error.withheld_output, "stop"
    return None


def error_for_response(
    status: int, error: ErrorBody, headers: Mapping[str, str], where: str, now: float
) -> SteelyardError:
    answer = f"{where}: the server answered {status}" + (f" ({error.message})" if error.message else "")
    wait = retry_after(headers, now, RATE_LIMIT_HEADERS if status == 429 else ("retry-after",))
    if status == 429 and _daily_quota_exceeded(error, wait):
        return UnreachableError(f"{answer}; the day's allowance is used up, raise it or go on tomorrow")
    if (remedy := _remedy(status, error)) is not None:
        return ProviderRefusedError(f"{answer}; {remedy}.", status=status)
    if 300 <= status < 400:
        return ProviderRefusedError(f"{answer}, a redirect; set base_url to the final address.")
    if status == 429:
        seconds = wait or _parse_seconds(error.wait)
        return TransientError("rate_limited", f"{answer}; slow down.", status=status, retry_after=seconds)
    if status in (408, 409, 424, 425, 498, 499) or status >= 500:
        return TransientError("server_error", f"{answer}; try again.", status=status, retry_after=wait)
    if status == 413 or error.matches(_CONTEXT_OVERFLOW):
        return PermanentError("context_overflow", f"{answer}; the prompt is too long.", status=status)
    return PermanentError("bad_request", f"{answer}; correct the request.", status=status)


def _remedy(status: int, error: ErrorBody) -> str | None:
    if status == 402 or (status in (400, 403, 429) and error.matches(_NO_CREDIT) and not error.wait):
        return "the account has no credit left, top it up or use another key"
    if status in (400, 403) and error.matches(_REGION_BLOCKED):
        return "the vendor does not serve this place, use another server"
    if status in (401, 403) or (status == 400 and error.matches(_WRONG_KEY)):
        return "check the key, and that it may use this model"
    if status == 407:
        return "check the name and password of the proxy"
    is_unknown = error.matches(_UNKNOWN_MODEL) or "model_not_found" in error.code
    if status in (404, 405, 410) or (status == 400 and is_unknown):
        return "check the model's name and base_url"
    return None


def _daily_quota_exceeded(error: ErrorBody, wait: float | None) -> bool:
    """Whether the quota of the day is exceeded: by its name, or in words without a retry-after."""
    in_words = _DAILY_QUOTA.search(error.message) is not None and wait is None and not error.wait
    return in_words or _DAILY_QUOTA.search(error.code) is not None


def retry_after(
    headers: Mapping[str, str], now: float, names: Sequence[str] = ("retry-after",)
) -> float | None:
    """Retry-after: seconds the server asks us to wait; `now` is the epoch time when the reply was sent."""
    milliseconds = _parse_seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    for name in names:
        if _is_left(headers, name):
            continue
        text = headers.get(name, "")
        seconds = _parse_seconds(text)
        if seconds is None:
            seconds = _seconds_until(text, now)
        elif seconds > 1e9:
            seconds = seconds / (1000 if seconds > 1e12 else 1) - now
        if seconds is not None and math.isfinite(seconds):
            # A whole number of seconds until a reset was rounded, mostly down: half a second early is a 429.
            return max(0.0, seconds) + (1.0 if name in _RESETS and seconds == int(seconds) else 0.0)
    return None


def _is_left(headers: Mapping[str, str], name: str) -> bool:
    """Whether the limit that a header speaks of is not the one that was reached: some of it remains."""
    kind = name.rpartition("-")[2]
    remaining = _parse_seconds(headers.get(f"x-ratelimit-remaining-{kind}", "")) if name in _RESETS else None
    return remaining is not None and remaining > 0


def server_time(headers: Mapping[str, str], otherwise: float) -> float:
    """The server's own clock, so that a skewed one does not distort a waiting time."""
    moment = _seconds_until(headers.get("date", ""), 0.0)
    return otherwise if moment is None else moment


def _parse_seconds(text: str) -> float | None:
    """Seconds, or a duration such as `6m0s` or `120ms`."""
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


def _seconds_until(text: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
