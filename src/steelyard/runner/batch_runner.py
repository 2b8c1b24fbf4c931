"""Batches of one judge at a vendor's batch API, from submission to the last result.

The intention to submit is on disk before the request, and the vendor's id of the batch after it. A start that
finds the first without the second asks the vendor whether the batch was submitted. Results name the calls
that they answer, so collecting a batch twice changes nothing. Only questions are retried, never a submission.
Preflight calls are made one by one: whether a judge can be parsed should not be learnt a day later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from steelyard.core.text import pluralize
from steelyard.errors import (
    CallError,
    ConfigError,
    PermanentError,
    ProviderRefusedError,
    SteelyardError,
    TransientError,
    UnreachableError,
)
from steelyard.providers.batch_api import (
    ENQUEUED,
    BatchApi,
    BatchRequest,
    BatchResult,
    SupportsBatch,
    call_id,
)
from steelyard.providers.http.endpoint import Dialect
from steelyard.providers.provider import Provider, connect, model_info
from steelyard.runner.costs import max_batch_cost
from steelyard.runner.judge_run import JudgeQueue, JudgeRun
from steelyard.runner.limits import backoff_delay, sleep
from steelyard.runner.rate_limit import Throttle
from steelyard.runner.record import StoredReplies
from steelyard.runner.retrying_batch_api import RetryingBatchApi
from steelyard.runner.session import RunControl
from steelyard.store.in_flight import SETTLED, SUBMITTED, StoredBatch
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Call

EXPIRED = "batch_expired"
FIRST_POLL = 1.0
"""Seconds before the first status check; each wait is half as long again, up to the limit."""
MAX_BATCH_BYTES = 90_000_000
"""Bytes of a batch, about; vendors take 200 MB and more."""
WRITE_CHUNK = 256
"""Results that are saved at the same time: a commit costs the same for one and for many."""

NOT_SUBMITTED = frozenset(("unreachable", "rate_limited"))
"""Reasons of a failed submission after which nothing can have been submitted."""

NOT_FOUND = 404
RETENTION = 30 * 86_400.0
"""Seconds for which vendors keep the results of a batch."""


class BatchRunner:
    def __init__(
        self, run: JudgeRun, provider: SupportsBatch, vendor: BatchApi, calls: Mapping[str, Call]
    ) -> None:
        self._run = run
        self._where = f"judge {run.judge.name}"
        self._store = run.control.store
        self._provider = provider
        self._vendor = RetryingBatchApi(run, vendor)
        self._open = dict(calls)
        self._tries: dict[str, list[CallError]] = {}
        self._failed_submissions = 0
        self._size = min(vendor.max_calls, run.limits.batch_size)
        self._taken: list[int] = []
        self._over_limit: list[int] = []
        """Calls of the batches of this round that the vendor took, and of those that were too much for it."""
        self._is_limited = False
        self._waits = 0
        self._refusal = ""

    @property
    def open(self) -> list[Call]:
        """Calls that have neither a reply nor a failure."""
        return list(self._open.values())

    @property
    def open_cost(self) -> float:
        """The most that calls in batches without results can cost."""
        rows = [row for row in self._store.batches(self._run.judge.name) if row.state != SETTLED]
        out = {key for row in rows for key in row.keys if key in self._open}
        return sum(max_batch_cost(self._run.price, self._open[key]) for key in out)

    async def collect(self, unsettled: Sequence[StoredBatch]) -> None:
        await self._run_all([self._resume(row) for row in unsettled])

    async def submit_all(self) -> None:
        while self._open and not self._run.stopped.is_set():
            calls = list(self._open.items())
            most = [max_batch_cost(self._run.price, call) for _, call in calls]
            async with self._run.control.budget.reserve(most) as many:
                if not self._run.stopped.is_set():
                    parts = list(_split(dict(calls[:many]), self._size))
                    self._taken, self._over_limit = [], []
                    # Over the limit, one after the other: each takes the place of the one before.
                    await self._run_all(
                        [self._submit(part) for part in parts[: 1 if self._is_limited else None]]
                    )
                    self._run.control.budget.add_pending_cost(self.open_cost)
            if self._over_limit and not self._run.stopped.is_set():
                await self._on_enqueued_limit()

    async def _on_enqueued_limit(self) -> None:
        """The vendor has too much of the account in its queue: send less at a time, and wait."""
        self._is_limited = True
        self._size = max(self._taken, default=max(1, min(self._over_limit) // 2))
        if not self._taken:
            self._waits += 1
        if max(self._over_limit) == 1 and self._waits > self._run.limits.attempts:
            raise UnreachableError(f"{self._where}: the vendor rejected the batch ({self._refusal})")
        self._run.control.progress.say(
            f"{self._where}: the vendor's queue is full ({self._refusal}); going on with batches of "
            f"{pluralize(self._size, 'call')}, one after the other"
        )
        await sleep(min(FIRST_POLL * 1.5**self._waits, self._run.limits.poll), self._run.stopped)

    async def _run_all(self, jobs: Sequence[Awaitable[None]]) -> None:
        """An error of one batch stops the judge; the next run collects the others."""

        async def guarded(job: Awaitable[None]) -> None:
            try:
                await job
            except SteelyardError as error:
                self._run.abort_judge(UnreachableError(str(error)) if isinstance(error, CallError) else error)
            except Exception as error:  # a vendor's answer of no known shape, or a provider of a plug-in
                broken = f"{self._where}: its batch broke ({type(error).__name__}: {error})"
                self._run.abort_judge(UnreachableError(broken))

        await asyncio.gather(*map(guarded, jobs))

    async def _resume(self, row: StoredBatch) -> None:
        """Collect a batch of an earlier run; one without a vendor's id may have been submitted or not."""
        if not set(row.keys) & self._open.keys():
            return
        if row.remote is not None:
            try:
                await self._collect(row, certain=True)
            except ProviderRefusedError as error:
                await self._on_unknown_batch(row, error)
            return
        if await self._find_submitted(row) or self._run.stopped.is_set():
            return
        await self._store.save_batch(replace(row, state=SETTLED))
        calls = pluralize(len(row.keys), "call")
        self._run.control.progress.say(
            f"{self._where}: the vendor has no batch of {calls} whose "
            "submission was interrupted; they are submitted again"
        )

    async def _find_submitted(self, row: StoredBatch) -> bool:
        """Look for a batch whose submission was interrupted, until the vendor's list must show it."""
        loop, pause, seen = asyncio.get_running_loop(), FIRST_POLL, set[str]()
        age = max(0.0, time.time() - row.created)
        deadline = loop.time() + max(0.0, self._vendor.listing_delay - age)
        while True:
            rows = self._store.batches(self._run.judge.name)
            seen |= {one.remote for one in rows if one.remote is not None}
            for remote in await self._vendor.find(row):
                # Another's batch may have no results that we may read.
                with suppress(ProviderRefusedError):
                    ours = replace(row, remote=remote)
                    if remote not in seen and await self._collect(ours, certain=False):
                        return True
                seen.add(remote)
                if self._run.stopped.is_set():
                    return False
            left = deadline - loop.time()
            if left <= 0:
                return False
            await sleep(min(pause, left), self._run.stopped)
            if self._run.stopped.is_set():
                return False
            pause *= 1.5

    async def _on_unknown_batch(self, row: StoredBatch, error: ProviderRefusedError) -> None:
        if error.status != NOT_FOUND:
            raise error
        where = f"{self._where}: its batch {row.remote}"
        if time.time() - row.created < RETENTION:
            raise ProviderRefusedError(
                f"{where} is unknown under this API key ({error}); use the key that submitted it, "
                "or choose another --out."
            ) from error
        await self._store.save_batch(replace(row, state=SETTLED))
        self._run.control.progress.say(f"{where} has expired after a month; its calls are made again")

    async def _submit(self, part: Mapping[str, Call]) -> None:
        """Submit calls, with the intention on disk before and the vendor's id after; then collect them."""
        prepared = {key: self._provider.build_batch_item(call.presentation()) for key, call in part.items()}
        number = len(self._store.batches(self._run.judge.name))
        row = StoredBatch(
            name=self._vendor.batch_name(part, number),
            judge=self._run.judge.name,
            keys=tuple(part),
            dialect=next(iter(prepared.values()))[1].steps,
            created=time.time(),
        )
        await self._store.save_batch(row)
        try:
            request = BatchRequest(row.name, {key: prepared[key][0] for key in prepared})
            remote = await self._vendor.submit(request)
        except TransientError as error:
            if error.reason == "rate_limited" and ENQUEUED.search(str(error)):
                await self._reject(row, str(error).rstrip("."))
            else:
                await self._on_failed_submission(row, error)
            return
        self._failed_submissions = 0
        row = replace(row, state=SUBMITTED, remote=remote)
        await self._store.save_batch(row)
        self._run.control.progress.say(
            f"{self._where}: {pluralize(len(row.keys), 'call')} submitted as batch {remote}; "
            "you may stop the run and collect the results later with the same command"
        )
        await self._collect(row, certain=True)

    async def _on_failed_submission(self, row: StoredBatch, error: TransientError) -> None:
        """A failed submission may have succeeded: ask the vendor before another is made."""
        self._failed_submissions += 1
        if self._failed_submissions >= self._run.limits.attempts:
            raise UnreachableError(str(error)) from error
        if error.reason in NOT_SUBMITTED:
            await self._store.save_batch(replace(row, state=SETTLED))
        await sleep(backoff_delay(self._run.limits, self._failed_submissions, error), self._run.stopped)
        if error.reason not in NOT_SUBMITTED and not self._run.stopped.is_set():
            await self._resume(row)

    async def _collect(self, row: StoredBatch, *, certain: bool) -> bool:
        remote, pause = row.remote or "", FIRST_POLL
        while not (progress := await self._vendor.progress(remote)).ended:
            await sleep(min(pause, self._run.limits.poll), self._run.stopped)
            if self._run.stopped.is_set():
                return False
            pause *= 1.5
        if progress.over_limit and certain:
            await self._reject(row, progress.refused)
            return False
        if progress.refused and certain:
            await self._store.save_batch(replace(row, state=SETTLED))
            raise UnreachableError(f"{self._where}: the vendor rejected the batch ({progress.refused})")
        self._taken.append(len(row.keys))
        results = await self._vendor.results(remote, set(row.keys), progress, certain=certain)
        if not results and not certain:
            return False
        missing = [BatchResult(key, None) for key in row.keys if key not in results]
        everything = [*results.values(), *missing]
        for start in range(0, len(everything), WRITE_CHUNK):
            together = everything[start : start + WRITE_CHUNK]
            await asyncio.gather(*(self._save_result(result, Dialect(row.dialect)) for result in together))
        await self._store.save_batch(replace(row, state=SETTLED))
        if progress.cancelled and self._open.keys() & set(row.keys):
            raise UnreachableError(f"{self._where}: its batch {remote} was cancelled")
        return True

    async def _reject(self, row: StoredBatch, reason: str) -> None:
        """Nothing of this batch is in the vendor's queue; its calls stay open."""
        self._refusal = reason
        self._over_limit.append(len(row.keys))
        await self._store.save_batch(replace(row, state=SETTLED))

    async def _save_result(self, result: BatchResult, dialect: Dialect) -> None:
        """Save a reply or a failure; a call that may still succeed stays open."""
        call = self._open.get(result.id)
        if call is None:
            return
        tries = self._tries.setdefault(result.id, [])
        try:
            if result.response is None:
                raise TransientError(EXPIRED, "the batch ended before the vendor got to the call; try again.")
            reply = self._provider.parse_batch_item(call.presentation(), result.response, dialect)
        except (PermanentError, TransientError) as error:
            tries.append(error)
            if isinstance(error, PermanentError) or len(tries) >= self._run.limits.attempts:
                await self._run.save_failure(call, tries)
                del self._open[result.id]
            return
        if reply is not None:
            reply, dollars = self._run.control.budget.pay(self._run.price, call, reply)
            await self._run.save_reply(call, reply, len(tries) + 1, dollars)
            del self._open[result.id]


def _split(calls: Mapping[str, Call], most: int) -> Iterator[dict[str, Call]]:
    part, size = dict[str, Call](), 0
    for key, call in calls.items():
        weight = 2 * call.characters + 2000
        if part and (len(part) >= most or size + weight > MAX_BATCH_BYTES):
            yield part
            part, size = {}, 0
        part[key] = call
        size += weight
    yield part


FOLDER = "batches"


def judges_without_batches(judges: Iterable[Judge]) -> list[str]:
    asked = (one for judge in judges if not judge.baseline for one in judge.leaf_judges)
    return list(dict.fromkeys(one.name for one in asked if not model_info(one.address).batch))


class BatchJudgeRun(JudgeRun):
    """Brings each open call of a judge to a reply or a failure on disk, by batches.

    Without --batch it collects what was submitted before, and makes the other calls one by one.
    """

    def __init__(self, control: RunControl, queue: JudgeQueue, stored: StoredReplies) -> None:
        """Reserve what batches of earlier runs may still cost, before any judge starts."""
        super().__init__(control, queue, stored)
        waiting = {key for row in self._unsettled() for key in row.keys}
        submitted = (call for call in queue.trials if call.key not in stored and call_id(call.key) in waiting)
        self._submitted_cost = sum(max_batch_cost(self.price, call) for call in submitted)
        control.budget.reserve_submitted(self._submitted_cost)

    async def execute(self) -> None:
        """As one by one; at the end nobody waits for batches that stay open."""
        try:
            await super().execute()
        finally:
            await self._release(self._submitted_cost)

    async def _release(self, remaining: float) -> None:
        """End the reservation for submitted calls; `remaining` is left to a later run."""
        submitted, self._submitted_cost = self._submitted_cost, 0.0
        self.control.budget.add_pending_cost(remaining)
        await self.control.budget.release(submitted)

    def _connect(self) -> Provider:
        """In this process, whatever the engine: a batch is one request."""
        return connect(self.judge)

    def _unsettled(self) -> list[StoredBatch]:
        return [row for row in self.control.store.batches(self.judge.name) if row.state != SETTLED]

    async def _work(self, provider: Provider, throttle: Throttle, batch: Sequence[Call]) -> None:
        if not isinstance(provider, SupportsBatch):
            raise ConfigError(f"judge {self.judge.name}: its provider has no batch API; leave --batch out.")
        vendor = provider.batch_api(self.control.store.path.parent / FOLDER)
        unsettled = self._unsettled()
        preflight_rows = self._preflight.rows(batch) if vendor.allows_single_calls and not unsettled else []
        if preflight_rows and self.limits.batch:
            await super()._work(provider, throttle, [batch[row] for row in preflight_rows])
            asked = set(preflight_rows)
            batch = [call for row, call in enumerate(batch) if row not in asked]
        runner = BatchRunner(self, provider, vendor, {call_id(call.key): call for call in batch})
        await runner.collect(unsettled)
        await self._release(runner.open_cost)
        if self.limits.batch:
            await runner.submit_all()
        elif runner.open and not self.stopped.is_set():
            await super()._work(provider, throttle, runner.open)
