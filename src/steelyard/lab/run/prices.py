"""What tokens cost, per model; the price table is offline and its version is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

from steelyard.providers.provider import traits_of
from steelyard.trials.judge import PRICE_OPTIONS, Judge
from steelyard.trials.reply import Usage

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import TieredPrices

    Rate: TypeAlias = Decimal | TieredPrices | None
    """Dollars per million tokens as the table lists them."""

MILLION = 1_000_000


@dataclass(frozen=True)
class LongPrompt:
    """Dollars per token of a call whose prompt is long."""

    above: int
    """Prompts of more tokens than this are long."""
    input: float
    """Of every token of the prompt, not of those beyond the limit alone."""
    output: float
    """Of every token of the answer."""


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    input: float
    output: float
    table: str
    """Where the price comes from."""
    long: tuple[LongPrompt, ...] = ()
    """Other prices for long prompts, in rising order."""

    def dollars(self, input_tokens: int, output_tokens: int, calls: int = 1) -> float:
        """Cost of a call, or of several whose prompts are about equally long."""
        rate: Price | LongPrompt = self
        for longer in self.long:
            if input_tokens > longer.above * calls:
                rate = longer
        return rate.input * input_tokens + rate.output * output_tokens

    @property
    def free(self) -> bool:
        """Nothing is ever paid."""
        return not (self.input or self.output or self.long)

    @property
    def listed(self) -> str:
        """Dollars per million tokens in and out, and whose they are."""
        return (
            f"${self.input * MILLION:g} in, ${self.output * MILLION:g} out per million tokens, {self.table}"
        )


def price_of(judge: Judge) -> Price | None:
    """The price of a judge's model, as its owner or the table states it; None where nobody does.

    A judge that is made of others has none of its own: those that are asked have theirs.
    """
    if judge.composition is not None:
        return None
    return price_at(judge.provider, judge.model, judge.options, free=judge.traits.get("free"))


def price_at(
    provider: str, model: str, options: Mapping[str, Any], *, free: bool | None = None
) -> Price | None:
    """The price of a model by its name, or what is stated among its options; `free` where that is known."""
    if all(name in options for name in PRICE_OPTIONS):
        stated = [float(options[name]) / MILLION for name in PRICE_OPTIONS]
        return Price(stated[0], stated[1], "stated with the judge")
    if traits_of(f"{provider}/{model}").free if free is None else free:
        return Price(0.0, 0.0, "runs on this machine")
    return _listed(provider, model)


def dollars_of(judge: Judge) -> Callable[[Usage], float] | None:
    """Dollars of one verdict from its token counts; None where a price is not known."""
    prices = {one.name: price_of(one) for one in judge.asked}
    known = {name: price for name, price in prices.items() if price is not None}
    if len(known) < len(prices):
        return None

    def dollars(usage: Usage) -> float:
        """Each call at the price of who was asked; tokens of nobody in particular at that of all."""
        return sum(
            price.dollars(used.input_tokens, used.output_tokens)
            for name, used in usage.each(judge.name)
            for price in ([known[name]] if name in known else known.values())
        )

    return dollars


@cache
def _listed(provider: str, model: str) -> Price | None:
    """The list price of the provider; where it lists no such model, that of the maker known by its name."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    for seller in (provider, None):
        with suppress(LookupError):
            # One token: the price of a long prompt is another, and stands beside.
            listed = calc_price(Tokens(input_tokens=1, output_tokens=1), model_ref=model, provider_id=seller)
            table = f"{listed.provider.id} list, genai-prices {version('genai-prices')}"
            return _price(listed.model_price.input_mtok, listed.model_price.output_mtok, table)
    return None


def _price(prompt: Rate, answer: Rate, table: str) -> Price:
    """From a table's dollars per million tokens, by length of the prompt or not."""
    starts = sorted({tier.start for rate in (prompt, answer) for tier in getattr(rate, "tiers", ())})
    long = tuple(LongPrompt(start, _rate(prompt, start + 1), _rate(answer, start + 1)) for start in starts)
    return Price(_rate(prompt, 0), _rate(answer, 0), table, long)


def _rate(rate: Rate, tokens: int) -> float:
    """Dollars per token at a prompt of so many tokens; nothing is paid for what is not listed."""
    listed = getattr(rate, "base", rate)
    for tier in getattr(rate, "tiers", ()):
        if tokens > tier.start:
            listed = tier.price
    return float(listed or 0) / MILLION
