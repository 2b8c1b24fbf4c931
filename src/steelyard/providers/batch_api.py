"""Batch APIs: calls that are submitted together and answered later, and what the vendors have in common.

A batch is submitted under a name of ours and is known by the vendor's from then on. A result carries the
call that it answers, so whatever comes back is recognised, however often it is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from steelyard.core.text import pluralize
from steelyard.errors import UnreachableError
from steelyard.providers.http.endpoint import Dialect
from steelyard.providers.http.http_client import HttpClient, HttpResponse
from steelyard.providers.http.response_errors import excerpt
from steelyard.trials.judge import Presentation, Reply

CLOCK_SKEW = 86_400.0
"""Seconds by which a vendor's clock may differ from ours: a batch that is overlooked is paid for twice."""

ENQUEUED = re.compile(r"token_limit_exceeded|enqueued|in (the )?processing queue", re.I)
"""How vendors say that too much of an account waits already."""


@dataclass(frozen=True)
class BatchRequest:
    name: str
    """Ours, told to vendors that keep one."""
    requests: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class BatchStatus:
    ended: bool
    refused: str = ""
    over_limit: bool = False
    """Refused because too many calls or tokens of the account are enqueued; fewer may be taken later."""
    cancelled: bool = False
    whole: bool = True
    """Every call has a line of its own among the results, be it that it was not reached."""


@dataclass(frozen=True)
class BatchResult:
    id: str
    response: HttpResponse | None
    """As it would have come over the wire; None where the vendor did not get to it."""


class BatchApi(Protocol):
    max_calls: int
    """Calls that one batch may hold."""
    allows_single_calls: bool
    """Calls can be made one by one as well."""
    listing_delay: float
    """Seconds after which `find` shows every batch that was submitted: one overlooked is paid for twice."""

    async def find(self, name: str, size: int, since: float) -> list[str]:
        """Batches that may have been submitted under a name after an epoch time, by the vendor's names.

        A vendor that keeps no names gives those of the same size.
        """

    async def submit(self, request: BatchRequest) -> str:
        """Submit a batch; return the vendor's name for it."""

    async def progress(self, remote: str) -> BatchStatus:
        """How far it is."""

    def results(self, remote: str) -> AsyncIterator[BatchResult]:
        """What has come, in any order."""


@runtime_checkable
class SupportsBatch(Protocol):
    def batch_api(self, folder: Path) -> BatchApi:
        """Where they are submitted; files go into the folder."""

    def build_batch_item(self, presentation: Presentation) -> tuple[dict[str, Any], Dialect]:
        """The body of a call, and the dialect it is in."""

    def parse_batch_item(
        self, presentation: Presentation, response: HttpResponse, dialect: Dialect
    ) -> Reply | None:
        """The reply to a call in a dialect; None where it has to be sent again in another."""


def call_id(key: str) -> str:
    return key.removeprefix("sha256:")


def parse_line(line: str) -> dict[str, Any]:
    """One line of a file of results; one that is broken is nobody's result, and spoils no other."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        body = None
    return body if isinstance(body, dict) else {}


def as_response(status: Any, body: Any) -> HttpResponse:
    return HttpResponse(status if type(status) is int else 500, {}, json.dumps(body), 0.0)


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
    """Shapes: "Message Batches" of the public API reference at platform.claude.com/docs.

    A batch has no name there: one whose submission was cut off is known by its size and time, and its results
    by the calls they answer.
    """

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
            found += [
                str(one["id"])
                for one in recent
                if isinstance(counts := one.get("request_counts"), dict)
                and sum(count for count in counts.values() if type(count) is int) == size
            ]
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


ENDPOINT = "/v1/chat/completions"
MARK = "steelyard"
_ENDED = frozenset(("completed", "failed", "expired", "cancelled"))


def request_lines(request: BatchRequest) -> bytes:
    lines = (
        json.dumps({"custom_id": name, "method": "POST", "url": ENDPOINT, "body": body})
        for name, body in request.requests.items()
    )
    return "".join(f"{line}\n" for line in lines).encode()


def result_of(line: str) -> BatchResult:
    body = parse_line(line)
    response = body.get("response")
    if not isinstance(response, dict):
        return BatchResult(str(body.get("custom_id")), None)
    status, said, error = response.get("status_code"), response.get("body"), body.get("error")
    if said is None and error:  # vLLM puts the reason beside the response, and the true status into it
        said = error if isinstance(error, dict) and "error" in error else {"error": error}
        code = said["error"].get("code") if isinstance(said["error"], dict) else None
        status = code if type(code) is int and code >= 400 else status
    return BatchResult(str(body.get("custom_id")), as_response(status, said))


class OpenAIBatchApi:
    """Shapes: "Batch API" and "Files" of the public API reference at platform.openai.com/docs."""

    max_calls = 10_000
    allows_single_calls = True
    listing_delay = 120.0

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def find(self, name: str, size: int, since: float) -> list[str]:
        del size
        after = ""
        while True:
            body = await self._client.get_json("batches", limit="100", **({"after": after} if after else {}))
            page = [one for one in body.get("data") or [] if isinstance(one, dict)]
            ours = [str(one["id"]) for one in page if (one.get("metadata") or {}).get(MARK) == name]
            moments = [one.get("created_at") for one in page] or [None]
            oldest = min(float(moment) if isinstance(moment, (int, float)) else 0.0 for moment in moments)
            if ours or not body.get("has_more") or oldest < since - CLOCK_SKEW:
                return ours
            after = str(page[-1]["id"])

    async def submit(self, request: BatchRequest) -> str:
        uploaded = await self._client.upload_batch(f"{request.name}.jsonl", request_lines(request))
        batch = {
            "input_file_id": self._client.object_id(uploaded),
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {MARK: request.name},
        }
        return self._client.object_id(await self._client.post_json(batch, "batches"))

    async def progress(self, remote: str) -> BatchStatus:
        body = await self._client.get_json("batches", remote)
        status = str(body.get("status"))
        reasons = (body.get("errors") or {}).get("data") or [] if status == "failed" else []
        said = "; ".join(excerpt(str(reason.get("message")), 200) for reason in reasons[:3])
        refused = (said or "no reason given") if status == "failed" else ""
        over_limit = any(ENQUEUED.search(f"{one.get('code')} {one.get('message')}") for one in reasons)
        return BatchStatus(status in _ENDED, refused, over_limit, status == "cancelled")

    async def results(self, remote: str) -> AsyncIterator[BatchResult]:
        body = await self._client.get_json("batches", remote)
        for file in (body.get("output_file_id"), body.get("error_file_id")):
            if isinstance(file, str) and file:
                async for line in self._client.get_lines("files", file, "content"):
                    yield result_of(line)


class FileBatchApi:
    """Batches as files that another program answers.

    `vllm run-batch` reads and writes the lines of OpenAI's batches ("Offline inference with the OpenAI batch
    file format" in the docs of vLLM).
    """

    max_calls = 50_000
    allows_single_calls = False
    listing_delay = 0.0

    def __init__(self, folder: Path, where: str, model: str) -> None:
        self._folder = folder
        self._where = where
        self._model = model

    async def find(self, name: str, size: int, since: float) -> list[str]:
        del size, since
        return [name] if self._requests(name).is_file() else []

    async def submit(self, request: BatchRequest) -> str:
        """Write the requests, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._requests(request.name).with_suffix(".partial")
        unfinished.write_bytes(request_lines(request))
        unfinished.replace(self._requests(request.name))
        return request.name

    async def progress(self, remote: str) -> BatchStatus:
        requests, results = self._requests(remote), self._results(remote)
        if results.is_file():
            return BatchStatus(ended=True, whole=False)
        with requests.open("rb") as lines:
            calls = pluralize(sum(1 for _ in lines), "request")
        raise UnreachableError(
            f"{self._where}: {calls} in {requests} wait for an answer; run "
            f"`vllm run-batch -i {requests} -o {results} --model {self._model}`, then the same command again"
        )

    async def results(self, remote: str) -> AsyncIterator[BatchResult]:
        with self._results(remote).open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.strip().endswith("}"):
                    yield result_of(line)

    def _requests(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _results(self, name: str) -> Path:
        return self._folder / f"{name}.results.jsonl"
