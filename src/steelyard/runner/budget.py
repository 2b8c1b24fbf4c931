"""Money: what is spent, what is in flight, what may still be started."""

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
class Hold:
    """Money set aside for one call while it is made: the most that it can cost."""

    budget: Budget
    price: Price | None
    call: Call
    spent: float = 0.0
    """What the call cost, once it is known."""
    most: float = 0.0
    """What is set aside."""

    async def __aenter__(self) -> Hold:
        if self.budget.limit is not None:
            self.most = dearest(self.price, self.call)
            await self.budget.take([self.most], self.budget.limit)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.budget.limit is not None:
            await self.budget.free(self.most)

    def spend(self, reply: Reply) -> None:
        """Count what the reply cost."""
        self.spent = self.budget.pay(self.price, self.call, reply)


class Budget:
    """A limit that spending and the most that all calls in flight can cost stay under together."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._held = 0.0
        self._owed = 0.0
        self._freed = asyncio.Condition()

    def pay(self, price: Price | None, call: Call, reply: Reply) -> float:
        """Count what a reply cost."""
        dollars = cost(price, call, reply)
        self.spent += dollars
        return dollars

    def reserved(self, price: Price | None, call: Call) -> Hold:
        """Hold the most a call can cost while it is made; wait for calls in flight where that makes room."""
        return Hold(self, price, call)

    async def take(self, each: Sequence[float], limit: float) -> int:
        """Set the most that the first of several calls can cost aside, of as many as there is room for.

        Where there is room for none, calls in flight are waited for, which may turn out cheap.
        """
        async with self._freed:
            while not (many := _fitting(each, limit - self.spent - self._owed - self._held)):
                if not self._held:
                    raise BudgetError(f"the budget of ${limit:g} is reached")
                await self._freed.wait()
            self._held += sum(each[:many])
        return many

    @asynccontextmanager
    async def room(self, each: Sequence[float]) -> AsyncIterator[int]:
        """How many of several calls may be made together; what they can cost is held meanwhile."""
        if self.limit is None:
            yield len(each)
            return
        many = await self.take(each, self.limit)
        try:
            yield many
        finally:
            await self.free(sum(each[:many]))

    def hold(self, most: float) -> None:
        """Set aside what calls that are out already can cost, whether there is room or not."""
        self._held += most

    def owe(self, most: float) -> None:
        """Count what calls that stay out after this sitting can cost; nobody waits for it."""
        self._owed += most

    async def free(self, most: float) -> None:
        """Give back what was set aside."""
        async with self._freed:
            self._held = max(0.0, self._held - most)
            if self._held < 1e-12:
                self._held = 0.0
            self._freed.notify_all()


def _fitting(each: Sequence[float], left: float) -> int:
    """How many calls, from the first on, cost no more than is left; what costs nothing always fits."""
    many = 0
    for most in each:
        if most > 0 and most > left:
            break
        many, left = many + 1, left - most
    return many


def check_prices(judges: Iterable[Judge], limits: RunLimits) -> None:
    """Refuse a budget that can not be kept."""
    asked = (one for judge in judges for one in judge.asked)
    for judge in asked if limits.budget is not None else ():
        if price_of(judge) is None:
            raise ConfigError(
                f"judge {judge.name}: no price is known for {judge.address}, so a budget can not be kept; "
                "give the judge input_price and output_price (dollars per million tokens), "
                "leave --budget out, or use vllm/… or ollama/… for a server of your own."
            )


def likely_tokens(call: Call) -> int:
    """Tokens of a call's prompt and of the longest answer it may get."""
    return call.characters // CHARACTERS_PER_TOKEN + call.decoding.max_tokens


def dearest(price: Price | None, call: Call) -> float:
    """The most that a call can cost: its prompt and the longest answer it may get."""
    if price is None:
        return 0.0
    plain = all(message.content.isascii() for message in call.messages)
    # Letters beyond ASCII take several bytes, and tokens of their own.
    letters = call.characters if plain else _bytes(call)
    return price.dollars(letters // CHARACTERS_PER_TOKEN, call.decoding.max_tokens + _room(call.judge))


def dearest_in_batch(price: Price | None, call: Call) -> float:
    """The most that a call can cost when it is handed in with others."""
    return dearest(price, call) * (1.0 if price is None else price.batch)


def cost(price: Price | None, call: Call, reply: Reply) -> float:
    """Dollars for one reply."""
    return spent(price, reply, call.characters)


def spent(price: Price | None, reply: Reply, characters: int) -> float:
    """Dollars for a reply to a prompt of so many characters."""
    return charged(price, reply.usage, len(reply.text), characters)


def charged(price: Price | None, usage: Usage, letters: int, characters: int) -> float:
    """Dollars for so many letters in answer to so many; tokens that no server counted are estimated."""
    if price is None or price.free:
        return usage.billed or 0.0
    answered = usage.output_tokens or letters // CHARACTERS_PER_TOKEN
    asked = usage.input_tokens or characters // CHARACTERS_PER_TOKEN
    counted = asked == usage.input_tokens and answered == usage.output_tokens
    return price.of(usage if counted else replace(usage, input_tokens=asked, output_tokens=answered))


def _room(judge: Judge) -> int:
    """Tokens that the model may spend on thoughts, beside its answer."""
    return model_info(judge.address).thinking_tokens(judge.model, judge.options)


def _bytes(call: Call) -> int:
    return sum(len(message.content.encode("utf-8", "surrogatepass")) for message in call.messages)
