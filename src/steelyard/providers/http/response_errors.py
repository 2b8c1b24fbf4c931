"""Maps an error response to an exception: retry with backoff, fail the call, or stop the run.

A rate limit (429) carries the server's retry-after; the runner's backoff waits for at least as long. What
bodies hold comes first: what an error says, token counts, first-token log-probabilities, clean names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

from steelyard.core.text import replace_lone_surrogates
from steelyard.errors import (
    PermanentError,
    ProviderRefusedError,
    SteelyardError,
    TransientError,
    UnreachableError,
)


@dataclass(frozen=True)
class ErrorBody:
    message: str = ""
    code: str = ""
    """Its code and type, joined."""
    param: str = ""
    status: int | None = None
    """A status inside the body, where a server reports failure under 200."""
    wait: str = ""
    withheld_output: str = ""

    def mentions(self, field: str) -> bool:
        """Whether the server objects to this field; the message counts only where no field is named."""
        if self.param:
            return field in re.split(r"[^\w-]+", self.param)
        return re.search(rf"\b{field}\b", self.message) is not None

    def matches(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self.code) is not None or pattern.search(self.message) is not None


def parse_error(text: str) -> ErrorBody:
    """Read an error object; of a page its words, and of anything else the beginning becomes the message."""
    try:
        error = find_error(json.loads(text))
    except (ValueError, RecursionError):
        error = None
    return error or ErrorBody(message=excerpt(_page_text(text) or text))


def find_error(body: Any) -> ErrorBody | None:
    """The error object of a parsed body, alone in a list or by itself; None where there is none."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if not isinstance(body, dict):
        return None
    inner = body.get("error") or body
    if not isinstance(inner, dict):
        return ErrorBody(message=excerpt(str(inner)))
    message = inner.get("message") or inner.get("detail") or inner.get("Message")
    if not message:
        return None
    details = inner.get("details")
    about = [one for one in (details if isinstance(details, list) else [details]) if isinstance(one, dict)]
    reasons = [one.get(name) for one in about for name in ("error_code", "reason")]
    named = (inner.get("code"), inner.get("type"), *reasons, *_quota_ids(about))
    code = " ".join(str(name) for name in named if name)
    wait = next((str(one["retryDelay"]) for one in about if one.get("retryDelay")), "")
    status = inner.get("code") if type(inner.get("code")) is int else None
    withheld_output = inner.get("failed_generation")
    error = ErrorBody(
        excerpt(str(message), 300),
        code,
        str(inner.get("param") or ""),
        status,
        wait,
        clean_text(withheld_output) if isinstance(withheld_output, str) else "",
    )
    return _with_upstream_error(error, inner.get("metadata"))


def _with_upstream_error(error: ErrorBody, metadata: Any) -> ErrorBody:
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if not isinstance(raw, str) or not raw.strip():
        return error
    upstream = parse_error(raw)
    return replace(
        error,
        message=excerpt(f"{error.message}: {upstream.message}", 300),
        code=f"{error.code} {upstream.code}".strip(),
        param=error.param or upstream.param,
        withheld_output=error.withheld_output or upstream.withheld_output,
    )


def _page_text(text: str) -> str:
    if text.lstrip()[:1] != "<":
        return ""
    return re.sub(r"(?is)<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", " ", text[:20_000])


def _quota_ids(details: Sequence[Mapping[str, Any]]) -> list[Any]:
    listed = [one.get("violations") for one in details]
    every = [each for violations in listed if isinstance(violations, list) for each in violations]
    return [each.get("quotaId") for each in every if isinstance(each, dict)]


def excerpt(text: str, length: int = 80) -> str:
    line = " ".join(clean_text(text[: 4 * length]).split())
    return line if len(line) <= length else line[: length - 1] + "…"


clean_text = replace_lone_surrogates
"""No file or database can hold half of a surrogate pair."""


def clean_name(value: Any) -> str | None:
    """A name that a server gives, such as that of the model; None for whatever is no text."""
    return clean_text(value) if isinstance(value, str) else None


MAX_TOKEN_COUNT = 10**12
"""A larger count is a mistake of the server."""


def token_count(fields: Any, name: str) -> int:
    """What a server counted under a name; 0 for whatever is no valid number."""
    value = fields.get(name) if isinstance(fields, dict) else None
    return value if type(value) is int and 0 <= value <= MAX_TOKEN_COUNT else 0


def finish_of(reason: Any, known: Mapping[str, str]) -> str:
    """How an answer ended; `other` for a reason that is not known, `stop` where none is given."""
    return known.get(str(reason), "other") if reason else "stop"


def first_token_logprobs(tokens: Any) -> dict[str, float] | None:
    """Alternatives for the first token that is not blank; spellings that differ in blanks are added up."""
    entries = [entry for entry in tokens if isinstance(entry, dict)] if isinstance(tokens, list) else []
    first = next((entry for entry in entries if str(entry.get("token", "")).strip()), None)
    if first is None:
        return None
    others = first.get("top_logprobs")
    spellings: dict[str, float] = {}
    for entry in [first, *(others if isinstance(others, list) else [])]:
        fields = entry if isinstance(entry, dict) else {}
        token, logprob = fields.get("token"), finite_number(fields.get("logprob"))
        if isinstance(token, str) and logprob is not None:
            spellings[token] = max(logprob, spellings.get(token, logprob))
    names: dict[str, list[float]] = {}
    for token, logprob in spellings.items():
        names.setdefault(clean_text(token.strip().lstrip("▁Ġ")), []).append(logprob)
    return {name: _log_of_sum(logprobs) for name, logprobs in names.items()} or None


def _log_of_sum(logprobs: Sequence[float]) -> float:
    """The logarithm of the summed probabilities; exactly the number where there is one."""
    most = max(logprobs)
    return most + math.log(math.fsum(math.exp(logprob - most) for logprob in logprobs))


def finite_number(value: Any) -> float | None:
    """A number that canonical JSON can hold; None for every other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


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
