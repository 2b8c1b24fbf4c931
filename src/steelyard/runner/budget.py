"""The budget of a run: dollars spent, reserved for calls in flight, and left; what a call can cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from steelyard.errors import BudgetError, ConfigError
from steelyard.providers.provider import model_info
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import Price, price_of
from steelyard.trials.exchange import Call
from steelyard.trials.judge import Judge
from steelyard.trials.reply import Reply, Usage

CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose: a reservation must not be too small."""


@dataclass(slots=True)
class Reservation:
    """Money set aside for one call while it is made: the most that it can cost."""

    budget: Budget
    price: Price | None
    call: Call
    spent: float = 0.0
    most: float = 0.0
    """What is set aside."""

    async def __aenter__(self) -> Reservation:
        if self.budget.limit is not None:
            self.most = max_cost(self.price, self.call)
            await self.budget.reserve_first([self.most], self.budget.limit)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.budget.limit is not None:
            await self.budget.release(self.most)

    def spend(self, reply: Reply) -> None:
        self.spent = self.budget.pay(self.price, self.call, reply)


class Budget:
    """A limit in dollars for what was spent and the most that calls in flight can cost."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._owed = 0.0
        self._released = asyncio.Condition()

    def pay(self, price: Price | None, call: Call, reply: Reply) -> float:
        dollars = call_cost(price, call, reply)
        self.spent += dollars
        return dollars

    def reserve(self, price: Price | None, call: Call) -> Reservation:
        """Reserve the most a call can cost while it is made; wait for calls in flight if that helps."""
        return Reservation(self, price, call)

    async def reserve_first(self, each: Sequence[float], limit: float) -> int:
        """Reserve the most that the first of several calls can cost, for as many as the budget allows.

        If it allows none, wait for calls in flight, which may turn out cheap.
        """
        async with self._released:
            while not (many := _affordable(each, limit - self.spent - self._owed - self._reserved)):
                if not self._reserved:
                    raise BudgetError(f"the budget of ${limit:g} is reached")
                await self._released.wait()
            self._reserved += sum(each[:many])
        return many

    @asynccontextmanager
    async def reserve_many(self, each: Sequence[float]) -> AsyncIterator[int]:
        """Reserve what several calls can cost; yield how many of them the budget allows."""
        if self.limit is None:
            yield len(each)
            return
        many = await self.reserve_first(each, self.limit)
        try:
            yield many
        finally:
            await self.release(sum(each[:many]))

    def set_aside(self, most: float) -> None:
        """Reserve what calls that were submitted before can cost, whatever the budget says."""
        self._reserved += most

    def owe(self, most: float) -> None:
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
    """Refuse a budget for a judge whose price is unknown."""
    asked = (one for judge in judges for one in judge.asked)
    for judge in asked if limits.budget is not None else ():
        if price_of(judge) is None:
            raise ConfigError(
                f"judge {judge.name}: no price is known for {judge.address}, so --budget cannot be kept; "
                "give the judge input_price and output_price (dollars per million tokens), "
                "leave --budget out, or use vllm/… or ollama/… for a server of your own."
            )


def estimate_tokens(call: Call) -> int:
    """Expected tokens: the prompt and the longest answer."""
    return call.characters // CHARACTERS_PER_TOKEN + call.decoding.max_tokens


def max_cost(price: Price | None, call: Call) -> float:
    """The most that a call can cost: its prompt and the longest answer it may get."""
    if price is None:
        return 0.0
    plain = all(message.content.isascii() for message in call.messages)
    # Letters beyond ASCII take several bytes, and tokens of their own.
    letters = call.characters if plain else _bytes(call)
    return price.dollars(
        letters // CHARACTERS_PER_TOKEN, call.decoding.max_tokens + _thinking_tokens(call.judge)
    )


def max_batch_cost(price: Price | None, call: Call) -> float:
    """The most that a call can cost in a batch."""
    return max_cost(price, call) * (1.0 if price is None else price.batch)


def call_cost(price: Price | None, call: Call, reply: Reply) -> float:
    return reply_cost(price, reply, call.characters)


def reply_cost(price: Price | None, reply: Reply, characters: int) -> float:
    """Dollars for a reply to a prompt of so many characters."""
    return usage_cost(price, reply.usage, len(reply.text), characters)


def usage_cost(price: Price | None, usage: Usage, letters: int, characters: int) -> float:
    """Dollars for the tokens used; if the server counted none, they are estimated from characters."""
    if price is None or price.free:
        return usage.billed or 0.0
    answered = usage.output_tokens or letters // CHARACTERS_PER_TOKEN
    asked = usage.input_tokens or characters // CHARACTERS_PER_TOKEN
    counted = asked == usage.input_tokens and answered == usage.output_tokens
    return price.of(usage if counted else replace(usage, input_tokens=asked, output_tokens=answered))


def _thinking_tokens(judge: Judge) -> int:
    return model_info(judge.address).thinking_tokens(judge.model, judge.options)


def _bytes(call: Call) -> int:
    return sum(len(message.content.encode("utf-8", "surrogatepass")) for message in call.messages)
