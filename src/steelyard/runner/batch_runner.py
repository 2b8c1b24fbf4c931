"""Batches of one judge at a vendor's batch API, from submission to the last result.

The intention to submit is on disk before the request, and the vendor's id of the batch after it. A start that
finds the first without the second asks the vendor whether the batch was submitted. Results name the calls
that they answer, so collecting a batch twice changes nothing. Only questions are retried, never a submission.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from steelyard.core.content_hash import content_hash
from steelyard.core.text import pluralize
from steelyard.errors import (
    CallError,
    PermanentError,
    ProviderRefusedError,
    SteelyardError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.batch.batch_api import (
    BatchApi,
    BatchRequest,
    BatchResult,
    BatchStatus,
    SupportsBatch,
)
from steelyard.providers.http.dialect import Dialect
from steelyard.runner.budget import cost, dearest_in_batch
from steelyard.runner.judge_run import JudgeRun
from steelyard.runner.rate_limit import nap
from steelyard.store.batches import SETTLED, SUBMITTED, StoredBatch
from steelyard.trials.exchange import Call

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


NOT_REACHED = "batch_expired"
"""Reason of a call that its vendor did not get to."""
FIRST_LOOK = 1.0
"""Seconds before the first look at a batch; each wait is half as long again, up to the limit."""
LARGEST = 90_000_000
"""Bytes of a batch, about; vendors take 200 MB and more."""
TOGETHER = 256
"""Results that are written at the same time: a commit costs the same for one and for many."""

NOTHING_TAKEN = frozenset(("unreachable", "rate_limited"))
"""Reasons of a broken handing in that leave no doubt: the vendor took nothing."""

NOT_FOUND = 404
KEPT = 30 * 86_400.0
"""Seconds for which vendors keep the results of a batch."""


class BatchSitting:
    """Collects what is out, hands in what is open, and waits, until nothing is open."""

    def __init__(
        self, run: JudgeRun, provider: SupportsBatch, vendor: BatchApi, calls: Mapping[str, Call]
    ) -> None:
        """`calls` have no reply, by their ids."""
        self._run = run
        self._store = run.control.store
        self._provider = provider
        self._vendor = PatientVendor(run, vendor)
        self._open = dict(calls)
        self._tries: dict[str, list[CallError]] = {}
        self._cut = 0
        """Batches in a row whose handing in came to nothing."""

    @property
    def open(self) -> list[Call]:
        """Calls that have neither a reply nor a failure."""
        return list(self._open.values())

    @property
    def owed(self) -> float:
        """The most that calls in batches which are still out can cost."""
        rows = [row for row in self._store.batches(self._run.judge.name) if row.state != SETTLED]
        out = {key for row in rows for key in row.keys if key in self._open}
        return sum(dearest_in_batch(self._run.price, self._open[key]) for key in out)

    async def collect(self, unsettled: Sequence[StoredBatch]) -> None:
        """Bring in what earlier sittings handed in."""
        await self._side_by_side([self._resumed(row) for row in unsettled])

    async def hand_in(self) -> None:
        """Go on until every call has a reply or a failure, or the run is stopped."""
        while self._open and not self._run.stopped.is_set():
            calls = list(self._open.items())
            most = [dearest_in_batch(self._run.price, call) for _, call in calls]
            async with self._run.control.budget.room(most) as many:
                if not self._run.stopped.is_set():
                    parts = _parted(dict(calls[:many]), self._vendor.max_calls)
                    await self._side_by_side([self._handed_in(part) for part in parts])
                    self._run.control.budget.owe(self.owed)

    async def _side_by_side(self, jobs: Sequence[Awaitable[None]]) -> None:
        """A fault of one batch leaves the judge; the others are collected by the next sitting."""

        async def guarded(job: Awaitable[None]) -> None:
            try:
                await job
            except SteelyardError as error:
                self._run.leave(UnreachableError(str(error)) if isinstance(error, CallError) else error)
            except Exception as error:  # a vendor's answer of no known shape, or a provider of a plug-in
                where = f"judge {self._run.judge.name}"
                self._run.leave(
                    UnreachableError(f"{where}: its batch broke ({type(error).__name__}: {error})")
                )

        await asyncio.gather(*map(guarded, jobs))

    async def _handed_in(self, part: Mapping[str, Call]) -> None:
        row = await self._submit(part)
        if row is not None:
            await self._collect(row, certain=True)

    async def _resumed(self, row: StoredBatch) -> None:
        """A batch of an earlier sitting; one without a vendor's name may have been handed in or not."""
        if not set(row.keys) & self._open.keys():
            return
        if row.remote is not None:
            try:
                await self._collect(row, certain=True)
            except ProviderRefusedError as error:
                await self._missed(row, error)
            return
        if await self._found(row) or self._run.stopped.is_set():
            return
        await self._store.save_batch(replace(row, state=SETTLED))
        calls = pluralize(len(row.keys), "call")
        self._run.control.progress.say(
            f"judge {self._run.judge.name}: its vendor lists no batch of {calls} whose handing in broke off"
        )

    async def _found(self, row: StoredBatch) -> bool:
        """Look for a batch whose handing in was cut off, until every list shows it that ever will."""
        loop, pause, looked = asyncio.get_running_loop(), FIRST_LOOK, set[str]()
        age = max(0.0, time.time() - row.created)
        patience = loop.time() + max(0.0, self._vendor.listing_delay - age)
        while True:
            rows = self._store.batches(self._run.judge.name)
            looked |= {one.remote for one in rows if one.remote is not None}
            for remote in await self._vendor.listed(row):
                # Another's batch may have no results that we may read.
                with suppress(ProviderRefusedError):
                    ours = replace(row, remote=remote)
                    if remote not in looked and await self._collect(ours, certain=False):
                        return True
                looked.add(remote)
                if self._run.stopped.is_set():
                    return False
            left = patience - loop.time()
            if left <= 0:
                return False
            await nap(min(pause, left), self._run.stopped)
            if self._run.stopped.is_set():
                return False
            pause *= 1.5

    async def _missed(self, row: StoredBatch, error: ProviderRefusedError) -> None:
        """A batch that its vendor does not know: of another account, or so old that its results are gone."""
        if error.status != NOT_FOUND:
            raise error
        where = f"judge {self._run.judge.name}: its batch {row.remote}"
        if time.time() - row.created < KEPT:
            raise ProviderRefusedError(
                f"{where} is not known to the owner of this key ({error}); use the key that it was handed in "
                "with, or choose another --out."
            ) from error
        await self._store.save_batch(replace(row, state=SETTLED))
        self._run.control.progress.say(f"{where} is gone after a month; its calls are made again")

    async def _submit(self, part: Mapping[str, Call]) -> StoredBatch | None:
        """Hand calls in, with the intention on disk before and the vendor's name after."""
        prepared = {key: self._provider.build_batch_item(call.presentation()) for key, call in part.items()}
        number = len(self._store.batches(self._run.judge.name))
        row = StoredBatch(
            name=content_hash([sorted(part), number]).removeprefix("sha256:")[:32],
            judge=self._run.judge.name,
            keys=tuple(part),
            dialect=next(iter(prepared.values()))[1].steps,
            created=time.time(),
        )
        await self._store.save_batch(row)
        try:
            handed = BatchRequest(row.name, {key: prepared[key][0] for key in prepared})
            remote = await self._vendor.submit(handed)
        except TransientError as error:
            await self._doubted(row, error)
            return None
        self._cut = 0
        row = replace(row, state=SUBMITTED, remote=remote)
        await self._store.save_batch(row)
        self._run.control.progress.say(
            f"judge {self._run.judge.name}: {pluralize(len(row.keys), 'call')} handed in as {remote}; "
            "the run may be stopped, and goes on with the same command"
        )
        return row

    async def _doubted(self, row: StoredBatch, error: TransientError) -> None:
        """A handing in that broke off may have succeeded: the vendor is asked before another is made."""
        self._cut += 1
        if self._cut >= self._run.limits.attempts:
            raise UnreachableError(str(error)) from error
        if error.reason in NOTHING_TAKEN:
            await self._store.save_batch(replace(row, state=SETTLED))
        await nap(self._run.pause(self._cut, error), self._run.stopped)
        if error.reason not in NOTHING_TAKEN and not self._run.stopped.is_set():
            await self._resumed(row)

    async def _collect(self, row: StoredBatch, *, certain: bool) -> bool:
        """Wait for a batch and keep what came of it; False where it was not ours, or is not there yet."""
        remote, pause = row.remote or "", FIRST_LOOK
        while not (progress := await self._vendor.progress(remote)).ended:
            await nap(min(pause, self._run.limits.poll), self._run.stopped)
            if self._run.stopped.is_set():
                return False
            pause *= 1.5
        if progress.refused and certain:
            await self._store.save_batch(replace(row, state=SETTLED))
            where = f"judge {self._run.judge.name}"
            raise UnreachableError(f"{where}: its vendor refused the batch ({progress.refused})")
        results = await self._vendor.results(remote, set(row.keys), progress, certain=certain)
        if not results and not certain:
            return False
        missing = [BatchResult(key, None) for key in row.keys if key not in results]
        everything = [*results.values(), *missing]
        for start in range(0, len(everything), TOGETHER):
            together = everything[start : start + TOGETHER]
            await asyncio.gather(*(self._settle(result, Dialect(row.dialect)) for result in together))
        await self._store.save_batch(replace(row, state=SETTLED))
        if progress.cancelled and self._open.keys() & set(row.keys):
            raise UnreachableError(f"judge {self._run.judge.name}: its batch {remote} was cancelled")
        return True

    async def _settle(self, result: BatchResult, dialect: Dialect) -> None:
        """Keep a reply or count a failure; what may come out otherwise stays open."""
        call = self._open.get(result.id)
        if call is None:
            return
        tries = self._tries.setdefault(result.id, [])
        try:
            if result.response is None:
                raise TransientError(NOT_REACHED, "the vendor did not get to the call; try again.")
            reply = self._provider.parse_batch_item(call.presentation(), result.response, dialect)
        except (PermanentError, TransientError) as error:
            tries.append(error)
            if isinstance(error, PermanentError) or len(tries) >= self._run.limits.attempts:
                await self._run.lose(call, tries)
                del self._open[result.id]
            return
        if reply is not None:
            dollars = cost(self._run.price, call, reply)
            await self._run.keep(call, reply, len(tries) + 1, dollars)
            self._run.control.budget.spent += dollars
            del self._open[result.id]


def _parted(calls: Mapping[str, Call], most: int) -> Iterator[dict[str, Call]]:
    """Calls in parts that a vendor takes: of so many, and no larger than it reads."""
    part, size = dict[str, Call](), 0
    for key, call in calls.items():
        weight = 2 * call.characters + 2000
        if part and (len(part) >= most or size + weight > LARGEST):
            yield part
            part, size = {}, 0
        part[key] = call
        size += weight
    yield part
