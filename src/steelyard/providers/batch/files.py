"""Batches as files: requests are written, another program answers them, its results are read.

`vllm run-batch` reads and writes the lines of OpenAI's batches ("Offline inference with the OpenAI batch file
format" in the public documentation of vLLM).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.errors import UnreachableError
from steelyard.providers.batch.batch_api import BatchRequest, BatchResult, BatchStatus
from steelyard.providers.batch.openai import request_lines, result_of


class FileBatchApi:
    """Batches of one judge in a folder."""

    max_calls = 50_000
    allows_single_calls = False
    listing_delay = 0.0

    def __init__(self, folder: Path, where: str, model: str) -> None:
        """`where` begins every message."""
        self._folder = folder
        self._where = where
        self._model = model

    async def find(self, name: str, size: int, since: float) -> list[str]:
        """The file of this name, where it was written whole."""
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
        """Ended once there are results; until then somebody has to run the other program."""
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
        """What the other program wrote, finished or not."""
        with self._results(remote).open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.strip().endswith("}"):
                    yield result_of(line)

    def _requests(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _results(self, name: str) -> Path:
        return self._folder / f"{name}.results.jsonl"
