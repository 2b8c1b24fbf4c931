"""What calls have cost, from the replies in the run file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.errors import UsageError
from steelyard.lab.run.budget import cost, spent
from steelyard.lab.run.prices import Price, price_at, price_of
from steelyard.store.authoring import StoredExchange
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.exchange import Call


@dataclass(frozen=True)
class AuthoringCost:
    """Calls, tokens and money for everything that was written and confirmed."""

    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float
    """Of those whose price is known."""
    priced: bool = True
    """False where the price of some is not known."""


def authoring_cost(store: RunStore) -> AuthoringCost:
    """All exchanges of a run file together."""
    kept = store.exchanges().values()
    prices = [_price(e) for e in kept]
    dollars = sum(spent(price, e.reply, e.prompt_characters) for price, e in zip(prices, kept, strict=True))
    return AuthoringCost(
        len(kept),
        sum(e.reply.usage.input_tokens for e in kept),
        sum(e.reply.usage.output_tokens for e in kept),
        dollars,
        None not in prices,
    )


def paid(calls: Iterable[Call], replies: Mapping[str, StoredReply]) -> float:
    """Dollars for those calls of one judge that have a reply."""
    answered = [call for call in calls if call.key in replies]
    price = price_of(answered[0].judge) if answered else None
    return sum(cost(price, call, replies[call.key].reply) for call in answered)


def _price(exchange: StoredExchange) -> Price | None:
    provider, _, model = exchange.model.partition("/")
    try:
        return price_at(provider, model, exchange.prices)
    except UsageError:  # a plug-in that brought the author may be gone
        return None
