"""Values in response bodies: what an error says, token counts, first-token log-probabilities, clean text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.core.text import replace_lone_surrogates


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
    inner = body.get("error", body)
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
