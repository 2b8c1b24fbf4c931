"""OpenAI's batch API, and batches as files that another program answers.

Shapes: "Batch API" and "Files" of the public API reference at platform.openai.com/docs. `vllm run-batch`
reads and writes the same lines ("Offline inference with the OpenAI batch file format" in the docs of vLLM).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.errors import UnreachableError
from steelyard.providers.batch.batch_api import (
    CLOCK_SKEW,
    ENQUEUED,
    BatchRequest,
    BatchResult,
    BatchStatus,
    as_response,
    parse_line,
)
from steelyard.providers.http.error_body import excerpt
from steelyard.providers.http.http_client import HttpClient

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
            oldest = min((_number(one.get("created_at")) for one in page), default=0.0)
            if ours or not body.get("has_more") or oldest < since - CLOCK_SKEW:
                return ours
            after = str(page[-1]["id"])

    async def submit(self, request: BatchRequest) -> str:
        uploaded = await self._client.upload_file(
            "files", {"purpose": "batch"}, f"{request.name}.jsonl", request_lines(request)
        )
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


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


class FileBatchApi:
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
