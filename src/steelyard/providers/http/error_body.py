"""Error objects of several vendors in one form, and excerpts of them for messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.core.text import replace_lone_surrogates


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
    """Retry-after of the body, where it has one."""
    withheld_output: str = ""
    """What the model wrote, where the server withheld it."""

    def mentions(self, field: str) -> bool:
        """Whether the server objects to this field; the message counts only where no field is named."""
        if self.param:
            return field in re.split(r"[^\w-]+", self.param)
        return re.search(rf"\b{field}\b", self.message) is not None

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether code or message match."""
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
        printable(withheld_output) if isinstance(withheld_output, str) else "",
    )
    return _with_upstream_error(error, inner.get("metadata"))


def _with_upstream_error(error: ErrorBody, metadata: Any) -> ErrorBody:
    """A gateway's error, with what the vendor behind it said where it passes that on."""
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
    """The visible text of an HTML page; empty where the text is no page."""
    if text.lstrip()[:1] != "<":
        return ""
    return re.sub(r"(?is)<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", " ", text[:20_000])


def _quota_ids(details: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Ids of the quotas that were exceeded, where a server lists them."""
    listed = [one.get("violations") for one in details]
    every = [each for violations in listed if isinstance(violations, list) for each in violations]
    return [each.get("quotaId") for each in every if isinstance(each, dict)]


def excerpt(text: str, length: int = 80) -> str:
    """The first characters of a text, on one line."""
    line = " ".join(printable(text[: 4 * length]).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def printable(text: str) -> str:
    """Replace half surrogate pairs, which no file or database can hold."""
    return replace_lone_surrogates(text)
