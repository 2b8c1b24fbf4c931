"""Anthropic's message batches.

Shapes: "Message Batches" of the public API reference at platform.claude.com/docs. A batch has no name there:
one whose submission was cut off is known by its size and time, and its results by the calls they answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from steelyard.providers.batch.batch_api import (
    CLOCK_SKEW,
    BatchRequest,
    BatchResult,
    BatchStatus,
    as_response,
    parse_line,
)
from steelyard.providers.http.http_client import HttpClient

PLACE = ("messages", "batches")

STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""The status that goes with an error's type; of all others it is that of a fault of the server."""


class AnthropicBatchApi:
    max_calls = 10_000
    allows_single_calls = True
    listing_delay = 120.0

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def find(self, name: str, size: int, since: float) -> list[str]:
        del name
        found: list[str] = []
        after = ""
        while True:
            body = await self._client.get_json(*PLACE, limit="100", **({"after_id": after} if after else {}))
            page = [one for one in body.get("data") or [] if isinstance(one, dict)]
            recent = [one for one in page if _moment(one.get("created_at")) >= since - CLOCK_SKEW]
            found += [str(one["id"]) for one in recent if _size(one.get("request_counts")) == size]
            if len(recent) < len(page) or not page or not body.get("has_more"):
                return found
            after = str(page[-1]["id"])

    async def submit(self, request: BatchRequest) -> str:
        requests = [{"custom_id": name, "params": body} for name, body in request.requests.items()]
        return self._client.object_id(await self._client.post_json({"requests": requests}, *PLACE))

    async def progress(self, remote: str) -> BatchStatus:
        body = await self._client.get_json(*PLACE, remote)
        return BatchStatus(
            body.get("processing_status") == "ended", cancelled=bool(body.get("cancel_initiated_at"))
        )

    async def results(self, remote: str) -> AsyncIterator[BatchResult]:
        async for line in self._client.get_lines(*PLACE, remote, "results"):
            body = parse_line(line)
            yield BatchResult(str(body.get("custom_id")), _answer(body.get("result") or {}))


def _answer(result: dict[str, Any]) -> Any:
    if result.get("type") == "succeeded":
        return as_response(200, result.get("message"))
    if result.get("type") != "errored":
        return None
    error = result.get("error") or {}
    inner = error.get("error") or error
    return as_response(STATUS.get(str(inner.get("type")), 500), {"error": inner})


def _moment(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def _size(counts: Any) -> int:
    return sum(count for count in counts.values() if type(count) is int) if isinstance(counts, dict) else 0
