"""A vendor of batches, asked with patience: within a time, again where it broke off, until a file is whole.

Nothing is handed in twice by that: only questions are asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from steelyard.errors import TransientError
from steelyard.providers.batch.batch_api import BatchApi, BatchRequest, BatchResult, BatchStatus
from steelyard.runner.judge_run import JudgeRun
from steelyard.runner.throttle import nap
from steelyard.store.batches import StoredBatch

LONG = 10.0
"""Times of a call that many calls may take, there and back."""
OK = 200

Found = TypeVar("Found")


class PatientVendor:
    """The batches of one judge at its vendor, in the time and with the tries of its run."""

    def __init__(self, run: JudgeRun, vendor: BatchApi) -> None:
        """`run` says how long and how often, and when to stop."""
        self._run = run
        self._vendor = vendor
        self.max_calls = vendor.max_calls
        self.listing_delay = vendor.listing_delay

    async def submit(self, handed: BatchRequest) -> str:
        """Hand a batch in, by one try; return the vendor's name for it."""
        return await self._in_time(self._vendor.submit(handed), LONG)

    async def listed(self, row: StoredBatch) -> list[str]:
        """Batches of the vendor's list that may be this one."""
        return await self._patiently(lambda: self._vendor.find(row.name, len(row.keys), row.created), LONG)

    async def progress(self, remote: str) -> BatchStatus:
        """How far a batch is."""
        return await self._patiently(lambda: self._vendor.progress(remote))

    async def results(
        self, remote: str, mine: set[str], progress: BatchStatus, *, certain: bool
    ) -> dict[str, BatchResult]:
        """Results of our calls by their ids; where each should have one, fetched again while some have none.

        What is taken for lost is handed in again, and paid for again. A batch that is not certain to be ours
        is another's where no line of it is ours.
        """
        whole = progress.whole and not progress.cancelled
        results = await self._patiently(lambda: self._results(remote, mine), LONG)
        for tries in range(1, self._run.limits.attempts):
            if not whole or not (results or certain) or mine <= results.keys() or self._run.stopped.is_set():
                break
            cut = TransientError("garbled_reply", "its file of results is not whole; try again.")
            await nap(self._run.pause(tries, cut), self._run.stopped)
            results |= await self._patiently(lambda: self._results(remote, mine), LONG)
        return results

    async def _results(self, remote: str, mine: set[str]) -> dict[str, BatchResult]:
        """Results of our calls, by their ids; of several for one call the first that is an answer."""
        results: dict[str, BatchResult] = {}
        async for result in self._vendor.results(remote):
            kept = results.get(result.id)
            if result.id in mine and (kept is None or (not _answered(kept) and _answered(result))):
                results[result.id] = result
        return results

    async def _in_time(self, asked: Awaitable[Found], length: float = 1.0) -> Found:
        """What a vendor says within the time for a call, or several times that for a long answer."""
        limit = length * self._run.call_timeout
        try:
            return await asyncio.wait_for(asked, limit)
        except TimeoutError:
            where = f"judge {self._run.judge.name}"
            raise TransientError("timeout", f"{where}: its vendor gave no reply within {limit:g} s") from None

    async def _patiently(self, ask: Callable[[], Awaitable[Found]], length: float = 1.0) -> Found:
        """Ask the vendor again where it broke off; nothing is handed in by that."""
        tries = 0
        while True:
            try:
                return await self._in_time(ask(), length)
            except TransientError as error:
                tries += 1
                if tries >= self._run.limits.attempts or self._run.stopped.is_set():
                    raise
                await nap(self._run.pause(tries, error), self._run.stopped)


def _answered(result: BatchResult) -> bool:
    return result.response is not None and result.response.status == OK
