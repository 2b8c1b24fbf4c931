"""What a study has cost beside the trials of its judges, from the replies in the run file."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.lab.run.budget import cost, spent
from steelyard.lab.run.prices import Price, price_at, price_of
from steelyard.lab.study.reference import reference_judge, reference_trial
from steelyard.lab.study.study import Study
from steelyard.store.authoring import StoredExchange
from steelyard.store.run_store import RunStore


@dataclass(frozen=True)
class AuthoringCost:
    """Calls, tokens and money for everything that was written and confirmed."""

    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float
    """0 where no price is known."""


def authoring_cost(store: RunStore) -> AuthoringCost:
    """All exchanges of a run file together."""
    kept = store.exchanges().values()
    dollars = sum(spent(_price(e), e.reply, e.prompt_characters) for e in kept)
    return AuthoringCost(
        len(kept),
        sum(e.reply.usage.input_tokens for e in kept),
        sum(e.reply.usage.output_tokens for e in kept),
        dollars,
    )


def reference_cost(study: Study, store: RunStore) -> float:
    """What the reference has cost, in dollars."""
    if study.reference is None:
        return 0.0
    price, replies = price_of(reference_judge(study)), store.replies()
    trials = [reference_trial(study, item) for item in study.items]
    return sum(cost(price, trial, replies[trial.key].reply) for trial in trials if trial.key in replies)


def _price(exchange: StoredExchange) -> Price | None:
    provider, _, model = exchange.model.partition("/")
    return price_at(provider, model, exchange.prices)
