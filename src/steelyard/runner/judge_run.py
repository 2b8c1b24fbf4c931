"""The open calls of one judge: queue, retries with exponential backoff and jitter, circuit breaker."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from steelyard.errors import (
    REPEATED,
    CallError,
    PermanentError,
    SteelyardError,
    StoreError,
    TransientError,
    UnreachableError,
    without_frames,
)
from steelyard.providers.provider import KeepsConnections, Provider, SyncProvider, model_info
from steelyard.runner.costs import estimate_tokens, max_cost
from steelyard.runner.limits import MAYBE_BILLED, backoff_delay, sleep, timeout_error, timeout_for
from steelyard.runner.preflight import CallQueue, CircuitBreaker, Preflight, Refusals
from steelyard.runner.prices import Price, PriceClock
from steelyard.runner.rate_limit import Throttle
from steelyard.runner.record import StoredReplies
from steelyard.runner.session import RunControl, Withdrawals, prime_provider
from steelyard.trials.judge import Judge, Presentation, Reply
from steelyard.trials.trial import Call, Trial
from steelyard.trials.trials import Trials

CHUNK = 128
"""Calls of a synchronous provider that are answered and saved together."""
FEW_SLOTS = 32
"""Slots up to which one stays free while a reply goes to disk; see `_workers`."""


@dataclass(frozen=True)
class JudgeQueue:
    judge: Judge
    trials: Sequence[Call]
    """Every call that may be made, the answered ones included."""
    batches: Iterable[Sequence[Call]]
    """Open calls; the next batch is taken when every call of the one before has ended."""
    on_reply: Callable[[Call, Reply], None] | None = None

    @property
    def items(self) -> int:
        calls = self.trials.distinct_trials if isinstance(self.trials, Trials) else self.trials
        return len({call.item for call in calls})

    @property
    def preflight_trials(self) -> Sequence[Trial]:
        if not model_info(self.judge.address).is_read or self.judge.baseline:
            return ()
        if isinstance(self.trials, Trials):
            return self.trials
        return [call for call in self.trials if isinstance(call, Trial)]


class JudgeRun:
    def __init__(self, control: RunControl, queue: JudgeQueue, stored: StoredReplies) -> None:
        self.control = control
        self.limits = control.limits
        self.judge = queue.judge
        self._batches, self._on_reply = iter(queue.batches), queue.on_reply
        self.call_timeout = timeout_for(self.judge, self.limits.call_timeout)
        self.stopped = control.stop_signal()
        has_answered = bool(stored.of(queue.trials).any())
        # Not by name: each try of an author has one of its own.
        self._identity = self.judge.fingerprint(next(iter(self.judge.protocols)))
        if has_answered:
            control.answering.add(self._identity)
        self._breaker = CircuitBreaker(self.limits.failure_threshold, queue.items, has_answered)
        watched = len(queue.trials) if self.limits.preflight else 0
        self._refusals = Refusals(self.judge, watched, self._identity in control.answering)
        self._preflight = Preflight(self.judge, queue.preflight_trials if self.limits.preflight else ())
        self._preflight_error = self._preflight.restore(stored, control.parse_verdict)
        self._prices = PriceClock(self.judge)
        self._withdrawals = Withdrawals(control, self.judge, queue.trials, self._prices)

    @property
    def price(self) -> Price | None:
        """That of this moment: prices may change by the hour of the day."""
        return self._prices.now

    async def execute(self) -> None:
        batch = None if self.stopped.is_set() else next(self._batches, None)
        if not batch:
            return
        if self._preflight_error is not None:
            self.abort_judge(self._preflight_error)
            return
        provider = self._connect()
        try:
            await provider.open()
            if isinstance(provider, KeepsConnections) and self._on_reply is None:
                self._withdrawals.start(provider)
            self.call_timeout = timeout_for(self.judge, self.limits.call_timeout, provider.concurrency)
            throttle = self.control.endpoints.throttle_for(self.judge, provider)
            while batch and not self.stopped.is_set():
                await self._work(provider, throttle, batch)
                batch = None if self.stopped.is_set() else next(self._batches, None)
            self._withdrawals.end()
        except SteelyardError as error:
            self.abort_judge(error)
        finally:
            await provider.close()

    def _connect(self) -> Provider:
        return self.control.connect(self.judge)

    async def _work(self, provider: Provider, throttle: Throttle, batch: Sequence[Call]) -> None:
        prime_provider(provider, batch)
        if isinstance(provider, SyncProvider) and self._needs_no_queue:
            # Neighbours in the run file go in together, which takes half as long.
            neighbours = batch.by_key if isinstance(batch, Trials) else sorted(batch, key=attrgetter("key"))
            retry = partial(self._call_with_retries, provider, throttle)
            await self._answer_in_process(provider.reply, neighbours, retry)
            return
        queue = CallQueue(batch, self._preflight, self._breaker, self._refusals, self.stopped)
        withdrawals = self._withdrawals

        async def worker() -> None:
            while (call := await queue.take()) is not None:
                withdrawals.under_way.add(call.key)
                try:
                    await self._call_with_retries(provider, throttle, call)
                    await withdrawals.collect()
                except SteelyardError as error:
                    self.abort_judge(error)
                finally:
                    withdrawals.under_way.discard(call.key)
                    queue.end(call)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(_workers(throttle.maximum, provider.concurrency), len(batch))):
                group.create_task(worker())
        if isinstance(provider, KeepsConnections):
            await provider.rest()
            await withdrawals.collect()
        again, withdrawals.again = withdrawals.again, []
        if again and not self.stopped.is_set():
            await self._work(provider, throttle, again)

    @property
    def _needs_no_queue(self) -> bool:
        unbounded = self._prices.is_free or self.price is None or self.limits.budget is None
        return self._preflight.passed and unbounded

    async def _answer_in_process(
        self,
        answer: Callable[[Presentation], Reply],
        batch: Sequence[Call],
        retry: Callable[[Call], Awaitable[None]],
    ) -> None:
        is_counted = self._on_reply is not None or not self.judge.baseline
        for start in range(0, len(batch), CHUNK):
            if self.stopped.is_set():
                return
            answers, retries = list[tuple[Call, Reply]](), list[Call]()
            failures: list[tuple[Call, CallError]] = []
            for call in batch[start : start + CHUNK]:
                try:
                    answers.append((call, answer(call.presentation())))
                except PermanentError as error:
                    failures.append((call, error))
                except SteelyardError:  # a transient error, or one that aborts the judge when it comes again
                    retries.append(call)
                except Exception as error:
                    failures.append((call, _internal_error(error)))
            price = self.price
            paid = [(call, *self.control.budget.pay(price, call, reply)) for call, reply in answers]
            await self.control.store.save_replies([(call, reply, 1) for call, reply, _ in paid])
            for call, reply, dollars in paid if is_counted else ():
                self._count_reply(call, reply, dollars)
            for call, failure in failures:
                await self.save_failure(call, [failure])
            for call in retries:
                await retry(call)

    async def _call_with_retries(self, provider: Provider, throttle: Throttle, call: Call) -> None:
        """Make a call until it has a reply, fails for good, or its tries or its time are used up.

        The order is load-bearing. Throttle first: who waits for a slot must hold no dollars, or calls in
        flight would starve the budget. Then the budget, then the record of calls in flight: what a kill
        leaves there was sent and may be billed. A reply is in doubt before anybody else sees its connection,
        and it is paid, or a lost one counted, before its reservation is released, or the budget would be
        passed. The slot is released before the reply goes to disk, and the call is in flight until it is
        there.
        """
        errors: list[CallError] = []
        in_flight = self.control.store.in_flight
        lost_before = self.control.lost_before.get(call.key, 0)
        lost = [max_cost(self.price, call)] * lost_before if lost_before else []
        is_free, was_half_open = self._prices.is_free, self._breaker.half_open
        most = 0.0 if self.limits.budget is None else max_cost(self.price, call)
        expected, deadline = 0 if throttle.rate.unlimited else estimate_tokens(call), math.inf
        while True:
            try:
                async with throttle.slot(self.stopped, expected) as started:
                    if self.stopped.is_set():
                        return
                    # Waiting for a slot is not waiting for the server.
                    deadline = min(deadline, asyncio.get_running_loop().time() + self.limits.trial_timeout)
                    async with self.control.budget.reserve([most]):
                        if self.stopped.is_set():
                            return
                        if not is_free:
                            in_flight.begin(call.key)
                        try:
                            reply = await self._call(provider, call)
                        except TransientError as error:
                            if error.reason in MAYBE_BILLED:  # counted before its reservation is released
                                lost.append(max_cost(self.price, call))
                                self.control.budget.spent += lost[-1]
                            raise
                        self._withdrawals.doubt(call)
                        reply, dollars = self.control.budget.pay(self.price, call, reply, lost)
                        throttle.rate.correct(expected, reply.usage.input_tokens + reply.usage.output_tokens)
            except asyncio.CancelledError:
                in_flight.leave(call.key)
                raise
            except PermanentError as error:
                await self._count_requests(call, error)
                await self.save_failure(call, [*errors, error])
                is_code = model_info(self.judge.address).is_code
                stop = self._preflight.fail(call, error) if is_code else self._refusals.record(error)
                if stop is not None:
                    self.abort_judge(stop)
                return
            except TransientError as error:
                # With its frames it would hold this list, and bodies of replies, until the next collection.
                errors.append(without_frames(error))
                await self._count_requests(call, error)
                if error.reason in MAYBE_BILLED:
                    await self._save_lost(call, error.reason)
                delay = backoff_delay(self.limits, len(errors), error)
                if error.reason == "rate_limited":
                    throttle.on_rate_limit(delay, error.retry_after)
                if delay > self.limits.trial_timeout:
                    await self.save_failure(call, errors)
                    raise UnreachableError(
                        f"{str(error).rstrip('.')}, and the server asks to wait {delay:,.0f} s"
                    ) from error
                is_late = asyncio.get_running_loop().time() + delay > deadline
                if is_late or len(errors) >= self.limits.attempts:
                    await self.save_failure(call, errors)
                    self.count_failure(call, errors, error, was_half_open)
                    return
                await sleep(delay, self.stopped)
            else:
                throttle.on_success(started)
                try:
                    await self.save_reply(call, reply, len(errors) + 1, dollars)
                except StoreError:
                    in_flight.leave(call.key)  # it was answered, and is made again
                    raise
                in_flight.saved(call.key)
                return
            finally:
                in_flight.end(call.key)

    async def _count_requests(self, call: Call, error: CallError) -> None:
        """Record the requests that a judge made inside a try that failed: they may be billed."""
        if error.requests:
            await self.control.store.save_failed_requests(call, error.requests)

    async def _save_lost(self, call: Call, reason: str) -> None:
        """Record a call whose reply nobody could use and which may be billed."""
        if reason == REPEATED and isinstance(call, Trial):
            await self.control.store.save_repeated([call], billed=not self._prices.is_free)
        elif not self._prices.is_free:
            await self.control.store.save_lost(call)

    async def _call(self, provider: Provider, call: Call) -> Reply:
        """One try; whatever goes wrong in it concerns this call alone."""
        try:
            async with asyncio.timeout(self.call_timeout):
                return await provider.ask(call.presentation())
        except TimeoutError as error:
            late = timeout_error(self.judge, self.call_timeout)
            late.requests = getattr(error.__cause__ or error.__context__, "requests", 0)
            raise late from None
        except (SteelyardError, asyncio.CancelledError):
            raise
        except Exception as error:
            raise _internal_error(error) from error

    async def save_reply(self, call: Call, reply: Reply, attempts: int, dollars: float) -> None:
        """Put a reply on disk, then count it."""
        await self.control.store.save_reply(call, reply, attempts)
        self._count_reply(call, reply, dollars)

    def _count_reply(self, call: Call, reply: Reply, dollars: float) -> None:
        if self._on_reply is not None:
            self._on_reply(call, reply)
        self._breaker.record_reply()
        self._refusals.record_reply()
        self.control.answering.add(self._identity)
        if self.judge.baseline:
            return
        verdict = self.control.parse_verdict(call, reply) if isinstance(call, Trial) else None
        self.control.count_reply(self.judge, dollars, verdict)
        error = self._preflight.record(call, reply, verdict)
        if error is not None:
            self.abort_judge(error)

    async def save_failure(self, call: Call, errors: list[CallError]) -> None:
        """Put a failure on disk, then count it."""
        last = errors[-1]
        await self.control.store.save_failure(call, last.reason, str(last), len(errors))
        self.control.count_failure(self.judge, last.reason)

    def count_failure(
        self, call: Call, errors: list[CallError], last: TransientError, was_half_open: bool
    ) -> None:
        opened = self._breaker.record_failure(call, last, was_half_open)
        if all(error.reason == "unreachable" for error in errors):
            self.abort_judge(UnreachableError(str(last)))
        elif opened is not None:
            self.abort_judge(opened)

    def abort_judge(self, error: SteelyardError) -> None:
        """Make no further call of this judge; only the first error counts."""
        if self.stopped.is_set():
            return
        self.stopped.set()
        self.control.abort_judge(self.judge, error)


def _internal_error(error: Exception) -> PermanentError:
    return PermanentError("internal_error", f"{type(error).__name__}: {error}")


def _workers(slots: int, own: int) -> int:
    """One worker for each call in flight; of many slots some more, whose replies are on their way to disk.

    A call is over when its reply is on disk, so that no more than these are lost with the process. Slots may
    be shared with judges whose providers take more calls at the same time than this one's `own`.
    """
    return own if own < slots else slots + max(0, slots - FEW_SLOTS) // 2
