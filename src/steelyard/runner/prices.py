"""What tokens cost, per model; the price table is offline and its version is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from time import time
from typing import TYPE_CHECKING, Any, TypeAlias

from steelyard.errors import UsageError
from steelyard.providers.provider import model_info, sends_schema
from steelyard.tasks.task import BestOf, Pairwise
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import PRICE_OPTIONS, Judge, Usage
from steelyard.trials.prompt import expected_tokens
from steelyard.trials.trial import Call, Trial

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices

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
    cached: float | None = None
    """Of a token that was read from the vendor's cache; that of any other where none is listed."""
    written: float | None = None


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    input: float
    output: float
    table: str
    long: tuple[LongPrompt, ...] = ()
    cached: float | None = None
    """Of a token that was read from the vendor's cache; that of any other where none is listed."""
    written: float | None = None
    batch: float = 1.0

    def dollars(self, input_tokens: int, output_tokens: float, calls: int = 1) -> float:
        rate = self._rate(input_tokens, calls)
        return rate.input * input_tokens + rate.output * output_tokens

    def of(self, usage: Usage) -> float:
        """Cost of one call: as it was billed, else by the price of its moment.

        A call that has neither on record costs what was counted, where cache and batch have prices.
        """
        known = usage.dollars if usage.billed is None else usage.billed
        if known is not None:
            return known
        rate = self._rate(usage.input_tokens, 1)
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        plain = usage.input_tokens - cached - written
        dollars = (
            rate.input * plain
            + (rate.input if rate.cached is None else rate.cached) * cached
            + (rate.input if rate.written is None else rate.written) * written
            + rate.output * usage.output_tokens
        )
        return dollars * (self.batch if usage.batched else 1.0)

    def _rate(self, input_tokens: int, calls: int) -> Price | LongPrompt:
        rate: Price | LongPrompt = self
        for longer in self.long:
            if input_tokens > longer.above * calls:
                rate = longer
        return rate

    @property
    def free(self) -> bool:
        return not (self.input or self.output or self.long)

    @property
    def description(self) -> str:
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
    if all(name in options for name in PRICE_OPTIONS):
        stated = [float(options[name]) / MILLION for name in PRICE_OPTIONS]
        return Price(stated[0], stated[1], "stated with the judge", batch=_seller(provider, model)[1])
    if model_info(f"{provider}/{model}").free if free is None else free:
        return Price(0.0, 0.0, "runs on this machine")
    return _list_price(provider, model, int(time() // 60))


class PriceClock:
    """The price of a judge at every moment of a run; looked up once a minute, as the list is."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._minute: float | None = None
        self._price: Price | None = None

    @property
    def now(self) -> Price | None:
        minute = time() // 60
        if minute != self._minute:
            self._minute, self._price = minute, price_of(self._judge)
        return self._price

    @property
    def is_free(self) -> bool:
        price = self.now
        return price is not None and price.free


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


def dollars_of(judge: Judge) -> Callable[[Usage], float] | None:
    """Dollars of one verdict from its token counts; None where a price is not known."""
    prices = {one.name: price_of(one) for one in judge.leaf_judges}
    known = {name: price for name, price in prices.items() if price is not None}
    if len(known) < len(prices):
        return None

    def dollars(usage: Usage) -> float:
        """Each call at the price of who was asked; tokens of nobody in particular at that of all."""
        return sum(
            price.of(used)
            for name, used in usage.each(judge.name)
            for price in ([known[name]] if name in known else known.values())
        )

    return dollars


def _seller(provider: str, model: str) -> tuple[str, float]:
    try:
        info = model_info(f"{provider}/{model}")
    except UsageError:
        return provider, 1.0
    return info.prices or provider, info.batch_price


@lru_cache(maxsize=256)
def _list_price(provider: str, model: str, minute: int) -> Price | None:
    """The list price of the provider in a minute since 1970: some prices change by the hour of the day.

    Where the provider lists no such model, that of the maker known by its name.
    """
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    own, batch = _seller(provider, model)
    # The seller's list, then the maker's; then both for the name without folders before it.
    names, moment = dict.fromkeys((model, model.rpartition("/")[2])), datetime.fromtimestamp(60 * minute, UTC)
    for name, seller in ((name, seller) for name in names for seller in (own, None)):
        with suppress(LookupError):
            # One token: the price of a long prompt is another, and stands beside.
            description = calc_price(
                Tokens(input_tokens=1, output_tokens=1),
                model_ref=name,
                provider_id=seller,
                genai_request_timestamp=moment,
            )
            table = f"{description.provider.id} list, genai-prices {version('genai-prices')}"
            return _price(description.model_price, table, batch)
    return None


def _price(description: ModelPrice, table: str, batch: float) -> Price:
    rates: tuple[Rate, ...] = (description.input_mtok, description.output_mtok)
    caches: tuple[Rate, ...] = (description.cache_read_mtok, description.cache_write_mtok)
    starts = sorted({tier.start for rate in rates + caches for tier in getattr(rate, "tiers", ())})

    def at(tokens: int) -> tuple[float, float, float | None, float | None]:
        prompt, answer = (_rate(rate, tokens) for rate in rates)
        cached, written = (None if rate is None else _rate(rate, tokens) for rate in caches)
        return prompt, answer, cached, written

    prompt, answer, cached, written = at(0)
    long = tuple(LongPrompt(start, *at(start + 1)) for start in starts)
    return Price(prompt, answer, table, long, cached, written, batch)


def _rate(rate: Rate, tokens: int) -> float:
    """Dollars per token at a prompt of so many tokens; nothing is paid for what is not listed."""
    description = getattr(rate, "base", rate)
    for tier in getattr(rate, "tiers", ()):
        if tokens > tier.start:
            description = tier.price
    return float(description or 0) / MILLION
