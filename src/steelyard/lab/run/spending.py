"""What calls have cost, from the replies in the run file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.lab.run.budget import Spending, cost, spent, uncounted
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
    spending: Spending
    """Money, where prices are known."""
    priced: bool
    """False where the price of some call is not known."""

    def to_json(self) -> dict[str, Any]:
        """A plain mapping; dollars are null where they are not known."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            **money(self.spending, priced=self.priced),
        }


def money(spending: Spending, *, priced: bool) -> dict[str, Any]:
    """Dollars, null where a price is not known; and how many calls they are an estimate for, if any."""
    estimated = {"uncounted_calls": spending.uncounted} if spending.uncounted else {}
    return {"dollars": round(spending.dollars, 6) if priced else None, **estimated}


def authoring_cost(store: RunStore) -> AuthoringCost:
    """All exchanges of a run file together."""
    kept = store.exchanges().values()
    prices = [_price(exchange) for exchange in kept]
    bills = list(zip(prices, kept, strict=True))
    dollars = sum(spent(price, e.reply, e.prompt_characters) for price, e in bills)
    return AuthoringCost(
        len(kept),
        sum(e.reply.usage.input_tokens for e in kept),
        sum(e.reply.usage.output_tokens for e in kept),
        Spending(dollars, sum(uncounted(price, e.reply) for price, e in bills)),
        None not in prices,
    )


def paid(calls: Iterable[Call], replies: Mapping[str, StoredReply]) -> Spending:
    """What those calls of one judge cost that have a reply."""
    answered = [(call, replies[call.key].reply) for call in calls if call.key in replies]
    price = price_of(answered[0][0].judge) if answered else None
    dollars = sum(cost(price, call, reply) for call, reply in answered)
    return Spending(dollars, sum(uncounted(price, reply) for _, reply in answered))


def _price(exchange: StoredExchange) -> Price | None:
    provider, _, model = exchange.model.partition("/")
    return price_at(provider, model, exchange.prices)
