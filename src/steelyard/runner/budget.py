"""The budget of a run: dollars spent, reserved for calls in flight, and left; stops before it is exceeded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import cache
from math import ceil

from steelyard.errors import BudgetError, ConfigError
from steelyard.providers.provider import model_info, sends_schema
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import Price, price_of
from steelyard.tasks.scale import BestOf, Pairwise
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.expected_tokens import expected_tokens
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply, Usage
from steelyard.trials.trial import Call, Trial

CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose: a reservation must not be too small."""


class Budget:
    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._owed = 0.0
        self._released = asyncio.Condition()

    def pay(
        self, price: Price | None, call: Call, reply: Reply, lost: Sequence[float] = ()
    ) -> tuple[Reply, float]:
        """The reply with its price on record, and its dollars.

        Tries before it whose replies nobody could use were counted at `lost`, and cost about as much.
        """
        if price is None or price.free or reply.usage.billed is not None:
            dollars = reply.usage.billed or 0.0
        else:
            dollars = reply_cost(price, reply, 0 if reply.usage.input_tokens else call.characters)
            reply = reply.paid(dollars)
        self.spent += dollars * (1 + len(lost)) - sum(lost)
        return reply, dollars

    def reserve(self, each: Sequence[float]) -> AbstractAsyncContextManager[int]:
        """Reserve the most that each of several calls can cost; yield how many, from the first, it allows.

        If the budget allows none, wait for calls in flight, which may turn out cheap.
        """
        return nullcontext(len(each)) if self.limit is None else self._reserve(each, self.limit)

    @asynccontextmanager
    async def _reserve(self, each: Sequence[float], limit: float) -> AsyncIterator[int]:
        async with self._released:
            while not (many := _affordable(each, limit - self.spent - self._owed - self._reserved)):
                if not self._reserved:
                    if self.spent or self._owed:
                        raise BudgetError(f"the budget of ${limit:g} is reached")
                    cost = f"one call, which may cost up to ${each[0]:.2g}"
                    raise BudgetError(f"the budget of ${limit:g} does not cover {cost}")
                await self._released.wait()
            self._reserved += sum(each[:many])
        try:
            yield many
        finally:
            await self.release(sum(each[:many]))

    def reserve_submitted(self, most: float) -> None:
        """Reserve what calls that were submitted before can cost, whatever the budget says."""
        self._reserved += most

    def add_pending_cost(self, most: float) -> None:
        """Count what calls that stay in batches after this run can cost; nobody waits for it."""
        self._owed += most

    async def release(self, most: float) -> None:
        async with self._released:
            self._reserved = max(0.0, self._reserved - most)
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self._released.notify_all()


def _affordable(each: Sequence[float], left: float) -> int:
    """How many calls, from the first on, fit into the dollars left; a free call always fits."""
    many = 0
    for most in each:
        if most > 0 and most > left:
            break
        many, left = many + 1, left - most
    return many


def check_prices(judges: Iterable[Judge], limits: RunLimits) -> None:
    asked = (one for judge in judges for one in judge.leaf_judges)
    for judge in asked if limits.budget is not None else ():
        if price_of(judge) is None:
            raise ConfigError(
                f"judge {judge.name}: no price is known for {judge.address}, so --budget cannot be kept; "
                "give the judge input_price and output_price (dollars per million tokens), "
                "leave --budget out, or use vllm/… or ollama/… for a server of your own."
            )


def schema_tokens(call: Call) -> float:
    """Tokens of the answer's schema, which vendors count as part of the prompt; 0 where none is sent."""
    if not isinstance(call, Trial) or not sends_schema(call.judge.provider):
        return 0.0
    if response_format(call.judge.protocols[call.protocol].reader).wants != "json":
        return 0.0
    return _schema_tokens(
        call.effective_task.scale.answers, isinstance(call.effective_task.scale, (Pairwise, BestOf))
    )


@cache
def _schema_tokens(answers: tuple[str, ...], several: bool) -> float:
    from steelyard.providers.http.http_provider import answer_schema

    return expected_tokens(json.dumps(answer_schema(answers, several)))


def estimate_tokens(call: Call) -> int:
    prompt = call.characters // CHARACTERS_PER_TOKEN + ceil(schema_tokens(call))
    return prompt + call.decoding.max_tokens


def max_cost(price: Price | None, call: Call) -> float:
    if price is None:
        return 0.0
    letters = call.characters
    if not all(message.content.isascii() for message in call.messages):
        # Letters beyond ASCII take several bytes, and tokens of their own.
        letters = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in call.messages)
    judge = call.judge
    thoughts = model_info(judge.address).thinking_tokens(judge.model, judge.options)
    prompt = letters // CHARACTERS_PER_TOKEN + ceil(schema_tokens(call))
    return price.dollars(prompt, call.decoding.max_tokens + thoughts)


def max_batch_cost(price: Price | None, call: Call) -> float:
    return max_cost(price, call) * (1.0 if price is None else price.batch)


def reply_cost(price: Price | None, reply: Reply, characters: int) -> float:
    return usage_cost(price, reply.usage, reply.letters, characters)


def usage_cost(price: Price | None, usage: Usage, letters: int, characters: int) -> float:
    """Dollars for the tokens used; if the server counted none, they are estimated from characters."""
    if price is None or price.free:
        return usage.billed or usage.dollars or 0.0
    answered = usage.output_tokens or letters // CHARACTERS_PER_TOKEN
    asked = usage.input_tokens or characters // CHARACTERS_PER_TOKEN
    counted = asked == usage.input_tokens and answered == usage.output_tokens
    return price.of(usage if counted else replace(usage, input_tokens=asked, output_tokens=answered))
