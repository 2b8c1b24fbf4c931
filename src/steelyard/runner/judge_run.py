"""The open calls of one judge: queue, retries with exponential backoff and jitter, circuit breaker."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from steelyard.errors import (
    CallError,
    PermanentError,
    SteelyardError,
    TransientError,
    UnreachableError,
    without_frames,
)
from steelyard.providers.provider import Provider, SyncProvider, model_info
from steelyard.runner.budget import likely_tokens
from steelyard.runner.circuit_breaker import Patience
from steelyard.runner.engine import prime_provider
from steelyard.runner.limits import Watch, no_reply, time_limit
from steelyard.runner.preflight import Pilot
from steelyard.runner.prices import price_of
from steelyard.runner.rate_limit import Throttle, nap
from steelyard.runner.record import Stored
from steelyard.runner.session import RunControl
from steelyard.trials.exchange import Call
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials


class CallQueue:
    """The open calls of a batch; each that is taken is to be ended."""

    def __init__(
        self, batch: Sequence[Call], pilot: Pilot, patience: Patience, stopped: asyncio.Event
    ) -> None:
        """`stopped` is the sign that no further call is to be made."""
        self._batch = batch
        self._protocols = _protocols(batch)
        self._waiting = deque(pilot.in_order(batch))
        """Places in the batch: a call is made when it is taken."""
        self._left = Counter(self._protocols)
        self._pilot = pilot
        self._patience = patience
        self._stopped = stopped
        self._ended = asyncio.Event()
        self._chance = random.Random()

    async def take(self) -> Call | None:
        """The next call; None where none is left, or none is to be made.

        A protocol is full only while a call of it is under way, so whoever waits here is woken.
        """
        while self._waiting and not self._stopped.is_set():
            if self._patience.doubtful:
                self._waiting.rotate(-self._chance.randrange(len(self._waiting)))
            if (turn := self._admitted()) is not None:
                call = self._batch[self._waiting[turn]]
                del self._waiting[turn]
                self._left[call.protocol] -= 1
                self._pilot.begin(call)
                return call
            self._ended.clear()
            await self._ended.wait()
        return None

    def end(self, call: Call) -> None:
        """A call that was taken came to its end, whatever that was."""
        self._pilot.end(call)
        self._ended.set()

    def _admitted(self) -> int | None:
        """Which of those that wait may be made first; nobody looks for one where no protocol admits any."""
        if self._pilot.settled:
            return 0
        admitted = {
            protocol for protocol, left in self._left.items() if left and self._pilot.admits(protocol)
        }
        if not admitted:
            return None
        return next(turn for turn, place in enumerate(self._waiting) if self._protocols[place] in admitted)


def _protocols(batch: Sequence[Call]) -> list[str]:
    """The protocol of each call."""
    if not isinstance(batch, Trials):
        return [call.protocol for call in batch]
    names, codes = batch.coded(attrgetter("protocol"))
    return [names[code] for code in codes[batch.question].tolist()]


STEP = 128
"""Calls that are answered and kept together where nobody is waited for."""
FEW = 32
"""Calls at a time up to which a place stays free while a reply goes to disk; see `_workers`."""


@dataclass(frozen=True)
class Agenda:
    """What one judge may have to do."""

    judge: Judge
    """Who is asked."""
    trials: Sequence[Call]
    """Every trial that may be run, the answered ones included."""
    batches: Iterable[Sequence[Call]]
    """Open trials; a batch is taken when the one before it is settled."""
    heard: Callable[[Call, Reply], None] | None = None
    """Told of each reply as soon as it is on disk."""

    @property
    def items(self) -> int:
        """How many things are asked about."""
        calls = self.trials.asked if isinstance(self.trials, Trials) else self.trials
        return len({call.item for call in calls})

    @property
    def piloted(self) -> Sequence[Trial]:
        """What a pilot is for: the trials of a judge that answers a prompt; a baseline is no such judge."""
        if not model_info(self.judge.address).prompted or self.judge.baseline:
            return ()
        if isinstance(self.trials, Trials):
            return self.trials
        return [call for call in self.trials if isinstance(call, Trial)]


class JudgeRun:
    """Brings each open trial of a judge to a reply or a failure on disk.

    A batch is asked for when the one before it is settled, so that its replies may decide what comes next.
    """

    def __init__(self, control: RunControl, agenda: Agenda, stored: Stored) -> None:
        """`stored` are the replies of earlier sittings, to calls of the agenda and to others."""
        self.control = control
        self.limits = control.limits
        self.judge = agenda.judge
        self._batches, self._heard = iter(agenda.batches), agenda.heard
        self.price = price_of(self.judge)
        self.call_timeout = time_limit(self.judge, self.limits.call_timeout)
        self.stopped = control.signal()
        answered = bool(stored.of(agenda.trials).any())
        self._patience = Patience(self.limits.hopeless, agenda.items, answered)
        self._pilot = Pilot(self.judge, agenda.piloted if self.limits.pilot else ())
        self._unreadable = self._pilot.recall(stored, control.read)
        self._jitter = random.Random()
        self._watch = Watch(self.call_timeout)

    async def execute(self) -> None:
        """Open the provider, work the trials off, close it; do nothing when all are answered."""
        batch = None if self.stopped.is_set() else next(self._batches, None)
        if not batch:
            return
        if self._unreadable is not None:
            self.leave(self._unreadable)
            return
        provider = self._connected()
        try:
            await provider.open()
            self._watch = Watch(time_limit(self.judge, self.limits.call_timeout, provider.concurrency))
            throttle = self.control.endpoints.of(self.judge, provider)
            while batch and not self.stopped.is_set():
                await self._work(provider, throttle, batch)
                batch = None if self.stopped.is_set() else next(self._batches, None)
        except SteelyardError as error:
            self.leave(error)
        finally:
            await provider.close()

    def _connected(self) -> Provider:
        """The judge's provider, where the run's calls are made; not yet open."""
        return self.control.engine.connect(self.judge)

    async def _work(self, provider: Provider, throttle: Throttle, batch: Sequence[Call]) -> None:
        prime_provider(provider, batch)
        if isinstance(provider, SyncProvider) and self._unguarded:
            # Neighbours in the run file go in together, which takes half as long.
            neighbours = batch.by_key if isinstance(batch, Trials) else sorted(batch, key=attrgetter("key"))
            await self._answer(provider.reply, neighbours, partial(self._settle, provider, throttle))
            return
        queue = CallQueue(batch, self._pilot, self._patience, self.stopped)

        async def worker() -> None:
            while (call := await queue.take()) is not None:
                try:
                    await self._settle(provider, throttle, call)
                except SteelyardError as error:
                    self.leave(error)
                finally:
                    queue.end(call)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(_workers(throttle.maximum, provider.concurrency), len(batch))):
                group.create_task(worker())

    @property
    def _unguarded(self) -> bool:
        """No pilot is to be passed and no money to be held, so that calls need not go one by one."""
        free = self.price is None or self.price.free
        return self._pilot.settled and (free or self.limits.budget is None)

    async def _answer(
        self,
        answer: Callable[[Presentation], Reply],
        batch: Sequence[Call],
        settle: Callable[[Call], Awaitable[None]],
    ) -> None:
        """Many calls a step where nobody is waited for; one that raises goes the way of all calls."""
        counted = self._heard is not None or not self.judge.baseline
        for start in range(0, len(batch), STEP):
            if self.stopped.is_set():
                return
            answers, rest = list[tuple[Call, Reply, int]](), list[Call]()
            for call in batch[start : start + STEP]:
                try:
                    answers.append((call, answer(call.presentation()), 1))
                except Exception:  # `settle` asks again and tells what it is
                    rest.append(call)
            await self.control.store.save_replies(answers)
            for call, reply, _ in answers if counted else ():
                self._count(call, reply, self.control.budget.pay(self.price, call, reply))
            for call in rest:
                await settle(call)

    async def _settle(self, provider: Provider, throttle: Throttle, trial: Call) -> None:
        errors: list[CallError] = []
        doubtful = self._patience.doubtful
        expected, deadline = 0 if throttle.pace.unlimited else likely_tokens(trial), math.inf
        while True:
            try:
                async with throttle.place(self.stopped, expected):
                    if self.stopped.is_set():
                        return
                    # Waiting for one's turn is not waiting for the server.
                    deadline = min(deadline, asyncio.get_running_loop().time() + self.limits.trial_timeout)
                    async with self.control.budget.reserved(self.price, trial) as hold:
                        if self.stopped.is_set():
                            return
                        reply = await self._call(provider, trial)
                        hold.spend(reply)
                        throttle.pace.used(expected, reply.usage.input_tokens + reply.usage.output_tokens)
            except PermanentError as error:
                await self.lose(trial, [*errors, error])
                return
            except TransientError as error:
                # With its frames it would hold this list, and bodies of replies, until the next collection.
                errors.append(without_frames(error))
                if error.reason == "rate_limited":
                    throttle.refused(error.retry_after)
                pause = self.pause(len(errors), error)
                if pause > self.limits.trial_timeout:
                    await self.lose(trial, errors)
                    raise UnreachableError(
                        f"{str(error).rstrip('.')}, and the server asks to wait {pause:,.0f} s"
                    ) from error
                late = asyncio.get_running_loop().time() + pause > deadline
                if late or len(errors) >= self.limits.attempts:
                    await self.lose(trial, errors)
                    self._lose(trial, errors, error, doubtful)
                    return
                await nap(pause, self.stopped)
            else:
                throttle.succeeded()
                await self.keep(trial, reply, len(errors) + 1, hold.spent)
                return

    async def _call(self, provider: Provider, trial: Call) -> Reply:
        """One try; whatever goes wrong in it is this trial's alone."""
        try:
            return await self._watch.within(provider.ask(trial.presentation()))
        except TimeoutError:
            raise no_reply(self.judge, self._watch.seconds) from None
        except (SteelyardError, asyncio.CancelledError):
            raise
        except Exception as error:
            raise PermanentError("internal_error", f"{type(error).__name__}: {error}") from error

    async def keep(self, trial: Call, reply: Reply, attempts: int, dollars: float) -> None:
        """Put a reply on disk, then count it."""
        await self.control.store.save_reply(trial, reply, attempts)
        self._count(trial, reply, dollars)

    def _count(self, trial: Call, reply: Reply, dollars: float) -> None:
        """Take note of a reply that is on disk."""
        if self._heard is not None:
            self._heard(trial, reply)
        self._patience.answered()
        if self.judge.baseline:
            return
        verdict = self.control.read(trial, reply) if isinstance(trial, Trial) else None
        self.control.replied(self.judge, dollars, verdict)
        error = self._pilot.hear(trial, reply, verdict)
        if error is not None:
            self.leave(error)

    async def lose(self, trial: Call, errors: list[CallError]) -> None:
        """Put a failure on disk, then count it."""
        last = errors[-1]
        await self.control.store.save_failure(trial, last.reason, str(last), len(errors))
        self.control.failed(self.judge, last.reason)

    def pause(self, tries: int, error: TransientError) -> float:
        """Exponential backoff with jitter; a server's own wish counts in full."""
        longest = min(self.limits.longest_backoff, self.limits.backoff * 2.0 ** (tries - 1))
        return max(error.retry_after or 0.0, longest * (0.5 + self._jitter.random() / 2))

    def _lose(self, trial: Call, errors: list[CallError], last: TransientError, doubtful: bool) -> None:
        """Count a call that used up its tries, and leave a server that is not there or answers nothing."""
        hopeless = self._patience.lost(trial, last, doubtful)
        if all(error.reason == "unreachable" for error in errors):
            self.leave(UnreachableError(str(last)))
        elif hopeless is not None:
            self.leave(hopeless)

    def leave(self, error: SteelyardError) -> None:
        """Leave this judge, once."""
        if self.stopped.is_set():
            return
        self.stopped.set()
        self.control.give_up(self.judge, error)


def _workers(places: int, own: int) -> int:
    """One for each call in flight; where these are many, some more, whose replies are on their way to disk.

    A call is over when its reply is on disk, so that no more than these are lost with the process. Places may
    be shared with judges whose providers take more calls at the same time than this one's `own`.
    """
    return own if own < places else places + max(0, places - FEW) // 2
