"""What tokens cost, per model; the price table is offline and its version is recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from steelyard.trials.judge import Judge
from steelyard.trials.reply import Usage

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
    """The price of a judge's model; None where the table does not know it."""
    return price_at(judge.provider, judge.model)


def price_at(provider: str, model: str) -> Price | None:
    """The price of a model by its name."""
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

    million = 1_000_000
    try:
        cost = calc_price(
            Tokens(input_tokens=million, output_tokens=million), model_ref=model, provider_id=provider
        )
    except LookupError:
        return None
    table = f"genai-prices {version('genai-prices')}"
    return Price(float(cost.input_price) / million, float(cost.output_price) / million, table)
