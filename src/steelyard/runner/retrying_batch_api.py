"""A vendor's batch API as a run asks it: names of this run alone, timeouts, and retries with backoff."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from steelyard.core.content_hash import content_hash
from steelyard.errors import TransientError
from steelyard.providers.batch_api import BatchApi, BatchRequest, BatchResult, BatchStatus
from steelyard.runner.judge_run import JudgeRun
from steelyard.runner.limits import backoff_delay, retry, sleep
from steelyard.store.in_flight import StoredBatch

LONG_REQUEST = 10.0
"""Timeout of a request with many calls, in timeouts of one call."""

Result = TypeVar("Result")


class RetryingBatchApi:
    """A batch API with timeouts and retries; only questions are retried, never a submission."""

    def __init__(self, run: JudgeRun, vendor: BatchApi) -> None:
        self._run = run
        self._vendor = vendor
        self._run_id = run.control.store.run_id
        self.max_calls = vendor.max_calls
        self.listing_delay = vendor.listing_delay

    def call_name(self, key: str) -> str:
        """A call's id at the vendor: of this run alone, so that no other run takes its result for its own."""
        return content_hash([self._run_id, key]).removeprefix("sha256:")

    def batch_name(self, keys: Iterable[str], number: int) -> str:
        return content_hash([self._run_id, sorted(keys), number]).removeprefix("sha256:")[:32]

    async def submit(self, request: BatchRequest) -> str:
        named = {self.call_name(key): body for key, body in request.requests.items()}
        return await self._with_timeout(self._vendor.submit(replace(request, requests=named)), LONG_REQUEST)

    async def find(self, row: StoredBatch) -> list[str]:
        return await self._retry(
            lambda: self._vendor.find(row.name, len(row.keys), row.created), LONG_REQUEST
        )

    async def progress(self, remote: str) -> BatchStatus:
        return await self._retry(lambda: self._vendor.progress(remote))

    async def results(
        self, remote: str, mine: set[str], progress: BatchStatus, *, certain: bool
    ) -> dict[str, BatchResult]:
        """Results of our calls by their ids; fetched again while some are missing that should be there.

        A call whose result is lost is submitted and paid again. A batch that is not certain to be ours is
        another's if no line of it is ours.
        """
        whole = progress.whole and not progress.cancelled
        # A batch that an earlier version submitted names its calls by their keys.
        named = {self.call_name(key): key for key in mine} | ({key: key for key in mine} if certain else {})
        results = await self._retry(lambda: self._results(remote, named), LONG_REQUEST)
        for tries in range(1, self._run.limits.attempts):
            if not whole or not (results or certain) or mine <= results.keys() or self._run.stopped.is_set():
                break
            cut = TransientError("garbled_reply", "the file of results is incomplete; try again.")
            await sleep(backoff_delay(self._run.limits, tries, cut), self._run.stopped)
            results |= await self._retry(lambda: self._results(remote, named), LONG_REQUEST)
        return results

    async def _results(self, remote: str, named: Mapping[str, str]) -> dict[str, BatchResult]:
        """Results of our calls by their keys; of several for one call the first with an answer."""
        results: dict[str, BatchResult] = {}
        async for result in self._vendor.results(remote):
            key = named.get(result.id)
            known = results.get(key) if key is not None else None
            if key is not None and (known is None or (not _answered(known) and _answered(result))):
                results[key] = replace(result, id=key)
        return results

    async def _with_timeout(self, asked: Awaitable[Result], length: float = 1.0) -> Result:
        limit = length * self._run.call_timeout
        try:
            return await asyncio.wait_for(asked, limit)
        except TimeoutError:
            where = f"judge {self._run.judge.name}"
            raise TransientError(
                "timeout", f"{where}: the batch API gave no reply within {limit:g} s"
            ) from None

    async def _retry(self, ask: Callable[[], Awaitable[Result]], length: float = 1.0) -> Result:
        return await retry(lambda: self._with_timeout(ask(), length), self._run.limits, self._run.stopped)


def _answered(result: BatchResult) -> bool:
    return result.response is not None and result.response.is_success
