"""The open trials of one judge: retries, backoff, and when to give up."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from steelyard.errors import (
    BudgetError,
    CallError,
    PermanentError,
    SteelyardError,
    TransientError,
    UnreachableError,
)
from steelyard.lab.prices import price_of
from steelyard.lab.throttle import Throttle, nap
from steelyard.providers.provider import Provider, connect
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial

if TYPE_CHECKING:
    from steelyard.lab.runner import Runner


class JudgeRun:
    """Brings each open trial of a judge to a reply or a failure on disk."""

    def __init__(self, runner: Runner, judge: Judge, trials: list[Trial]) -> None:
        self.runner = runner
        self.limits = runner.limits
        self.judge = judge
        self.trials = sorted(trials, key=_prefix_order)
        self.price = price_of(judge)
        self.given_up = False
        self._exhausted_in_a_row = 0
        self._jitter = random.Random()

    async def execute(self) -> None:
        """Open the provider, work the trials off, close it; do nothing when all are answered."""
        if not self.trials or self._done:
            return
        provider = connect(self.judge)
        try:
            await provider.open()
            await self._work(provider)
        except SteelyardError as error:
            self._give_up(error)
        finally:
            await provider.close()

    @property
    def _done(self) -> bool:
        return self.given_up or self.runner.stopped.is_set()

    async def _work(self, provider: Provider) -> None:
        workers = min(self.limits.concurrency, provider.concurrency, len(self.trials))
        throttle = Throttle(workers, self.runner.stopped)
        waiting = iter(self.trials)

        async def worker() -> None:
            for trial in waiting:
                if self._done:
                    return
                try:
                    await self._settle(provider, throttle, trial)
                except SteelyardError as error:
                    self._give_up(error)

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())

    async def _settle(self, provider: Provider, throttle: Throttle, trial: Trial) -> None:
        errors: list[CallError] = []
        deadline = asyncio.get_running_loop().time() + self.limits.trial_timeout
        while True:
            try:
                async with throttle.slot():
                    if self._done:
                        return
                    reply = await self._call(provider, trial)
            except PermanentError as error:
                await self._fail(trial, [*errors, error])
                return
            except TransientError as error:
                errors.append(error)
                if error.reason == "rate_limited":
                    throttle.refused(error.retry_after)
                pause = self._pause(len(errors), error)
                late = asyncio.get_running_loop().time() + pause > deadline
                if late or len(errors) >= self.limits.attempts:
                    await self._fail(trial, errors)
                    self._count_exhausted(error)
                    return
                await nap(pause, self.runner.stopped)
            else:
                throttle.succeeded()
                await self._keep(trial, reply, len(errors) + 1)
                return

    async def _call(self, provider: Provider, trial: Trial) -> Reply:
        reserved = self.runner.budget.reserve(self.price, trial)
        if reserved is None:
            limit, spent = self.runner.budget.limit, self.runner.budget.spent
            raise BudgetError(f"the budget of ${limit:g} is reached (${spent:.4f} spent)")
        try:
            return await asyncio.wait_for(provider.ask(trial.presentation()), self.limits.call_timeout)
        except TimeoutError:
            raise TransientError("timeout", f"no reply within {self.limits.call_timeout:g} s") from None
        finally:
            self.runner.budget.release(reserved)

    async def _keep(self, trial: Trial, reply: Reply, attempts: int) -> None:
        self._exhausted_in_a_row = 0
        dollars = self.runner.budget.spend(self.price, reply)
        await self.runner.store.save_reply(trial, reply, attempts)
        self.runner.replied(self.judge.name, dollars)

    async def _fail(self, trial: Trial, errors: list[CallError]) -> None:
        last = errors[-1]
        await self.runner.store.save_failure(trial, last.reason, str(last), len(errors))
        self.runner.failed(self.judge.name, last.reason)

    def _pause(self, tries: int, error: TransientError) -> float:
        """Exponential backoff with jitter; a server's own wish counts in full."""
        longest = min(self.limits.longest_backoff, self.limits.backoff * 2.0 ** (tries - 1))
        return max(error.retry_after or 0.0, longest * (0.5 + self._jitter.random() / 2))

    def _count_exhausted(self, error: TransientError) -> None:
        self._exhausted_in_a_row += 1
        if error.reason == "unreachable":
            self._give_up(UnreachableError(f"judge {self.judge.name}: {error}"))
        elif self._exhausted_in_a_row >= self.limits.hopeless:
            count = self._exhausted_in_a_row
            self._give_up(
                UnreachableError(
                    f"judge {self.judge.name}: given up after {count} trials in a row without a reply; "
                    f"the last try ended with: {error}"
                )
            )

    def _give_up(self, error: SteelyardError) -> None:
        """Leave this judge; anything but an unreachable server stops the whole run before it costs more."""
        if self.given_up:
            return
        self.given_up = True
        if isinstance(error, UnreachableError):
            self.runner.outcome.stopped.append(error)
        else:
            self.runner.stop(error)


def _prefix_order(trial: Trial) -> tuple[str, ...]:
    """Trials that share a prompt's beginning stand together, for providers that cache prefixes."""
    return (
        trial.protocol,
        trial.stimulus.request,
        *(message.content for message in trial.messages),
        trial.key,
    )
