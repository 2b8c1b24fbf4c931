"""What tokens cost, per model; the price table is offline and its version is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from steelyard.trials.judge import PRICE_OPTIONS, Judge
from steelyard.trials.reply import Usage

MILLION = 1_000_000
FREE_PROVIDERS = ("embedded", "planted", "recorded", "vllm", "ollama")
"""Providers that run on the user's own machine."""


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    input: float
    output: float
    table: str
    """Where the price comes from."""

    def dollars(self, input_tokens: int, output_tokens: int) -> float:
        """Cost of a call or of many."""
        return self.input * input_tokens + self.output * output_tokens


def price_of(judge: Judge) -> Price | None:
    """The price of a judge's model, as its owner or the table states it; None where nobody does."""
    return price_at(judge.provider, judge.model, judge.options)


def price_at(provider: str, model: str, options: Mapping[str, Any]) -> Price | None:
    """The price of a model by its name, and by what is stated among its options."""
    if all(name in options for name in PRICE_OPTIONS):
        stated = [float(options[name]) / MILLION for name in PRICE_OPTIONS]
        return Price(stated[0], stated[1], "stated with the judge")
    if provider in FREE_PROVIDERS:
        return Price(0.0, 0.0, "runs on this machine")
    return _listed(provider, model)


def dollars_of(judge: Judge) -> Callable[[Usage], float] | None:
    """Dollars of one call from its token counts; None where the price is not known."""
    price = price_of(judge)
    if price is None:
        return None
    return lambda usage: price.dollars(usage.input_tokens, usage.output_tokens)


@cache
def _listed(provider: str, model: str) -> Price | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        cost = calc_price(
            Tokens(input_tokens=MILLION, output_tokens=MILLION), model_ref=model, provider_id=provider
        )
    except LookupError:
        return None
    table = f"genai-prices {version('genai-prices')}"
    return Price(float(cost.input_price) / MILLION, float(cost.output_price) / MILLION, table)
