"""Costs of calls, from the replies in the run file, and the cost of calls still to be made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.content_hash import digests_of
from steelyard.errors import UsageError
from steelyard.runner.answers import Answers
from steelyard.runner.budget import max_cost, reply_cost, usage_cost
from steelyard.runner.planner import estimate_cost
from steelyard.runner.prices import Price, price_at, price_of
from steelyard.store.authoring import StoredExchange
from steelyard.store.run_store import RunStore
from steelyard.store.trials import StoredReply
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Call
from steelyard.trials.trials import Trials


@dataclass(frozen=True)
class AuthoringCost:
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float
    """Of those whose price is known."""
    priced: bool = True


def authoring_cost(store: RunStore) -> AuthoringCost:
    """Of what was written and confirmed; a call whose reply was lost cost as much as the one in its place."""
    found, lost = store.exchanges(), store.lost_calls()
    kept = found.values()
    prices = [_price(e) for e in kept]
    dollars = sum(
        reply_cost(price, e.reply, e.prompt_characters) * (1 + lost.get(key, 0))
        for price, (key, e) in zip(prices, found.items(), strict=True)
    )
    return AuthoringCost(
        len(kept),
        sum(e.reply.usage.input_tokens for e in kept),
        sum(e.reply.usage.output_tokens for e in kept),
        dollars,
        None not in prices,
    )


def stored_cost(calls: Iterable[Call], replies: Mapping[str, StoredReply]) -> float:
    answered = [call for call in calls if call.key in replies]
    price = price_of(answered[0].judge) if answered else None
    return sum(reply_cost(price, replies[call.key].reply, call.characters) for call in answered)


def lost_cost(calls: Iterable[Call], store: RunStore) -> tuple[int, float]:
    """How many of these calls were sent in vain, and what they may have cost.

    A call that was made again cost about as much as the reply to it; else the most that it can.
    """
    lost = store.lost_calls()
    if isinstance(calls, Trials):
        rows = calls.lookup(digests_of(list(lost)))
        calls = [calls[row] for row in rows[rows >= 0].tolist()]
    mine = {call.key: call for call in calls if call.key in lost}
    replies: Mapping[str, StoredReply] = {**store.replies(mine), **store.exchanges(mine)} if mine else {}
    dollars = 0.0
    for key, call in mine.items():
        reply, price = replies.get(key), price_of(call.judge)
        once = max_cost(price, call) if reply is None else reply_cost(price, reply.reply, call.characters)
        dollars += lost[key] * once
    return sum(lost[key] for key in mine), dollars


@dataclass(frozen=True)
class Costs:
    dollars: Floats
    known: Mask
    estimated: Mask

    @classmethod
    def of(cls, answers: Answers, rows: Ints) -> Costs:
        """Calls of these rows, in their order; those that cost the same are priced once."""
        costs = cls(np.zeros(len(rows)), *np.zeros((2, len(rows)), dtype=np.bool_))
        for judge in answers.calls.judges:
            mine = np.flatnonzero(answers.calls.of_judge(judge.name)[rows])
            price = price_of(judge)
            classes = _price_classes(answers, rows[mine], price)
            _, first, way = np.unique(classes, return_index=True, return_inverse=True)
            priced = [_cost(price, answers, row) for row in rows[mine][first].tolist()]
            columns = np.array(priced, dtype=np.float64).reshape(-1, 3)[way.reshape(-1)].T
            costs.dollars[mine], costs.known[mine], costs.estimated[mine] = columns
        return costs


def _price_classes(answers: Answers, rows: Ints, price: Price | None) -> Ints:
    """A number for what the price of each call depends on; lengths matter where tokens were not counted."""
    usages = answers.usages.values
    bare = price is None or price.free
    no_input, no_output = (
        np.array([not bare and not tokens for tokens in counts], dtype=np.bool_)
        for counts in (
            [usage.input_tokens for usage in usages],
            [usage.output_tokens for usage in usages],
        )
    )
    usage = answers.usage[rows]
    letters = np.where(no_output[usage], answers.letters[rows], np.minimum(answers.letters[rows], 1))
    question = np.where(no_input[usage], answers.calls.question[rows] + 1, 0)
    number = usage * (int(letters.max(initial=0)) + 1) + letters
    classes: Ints = number * (int(question.max(initial=0)) + 1) + question
    return classes


def _cost(price: Price | None, answers: Answers, row: int) -> tuple[float, bool, bool]:
    """Dollars of a call, whether they are known, and whether its tokens had to be estimated."""
    usage, letters = answers.usages.values[answers.usage[row]], int(answers.letters[row])
    lengths = price is not None and not price.free and usage.billed is None
    characters = answers.calls[row].characters if lengths and not usage.input_tokens else 0
    dollars = usage_cost(price, usage, letters, characters)
    counted = usage.input_tokens and (usage.output_tokens or not letters)
    known = price is not None or usage.billed is not None or usage.dollars is not None
    return dollars, known, not counted and usage.billed is None and dollars > 0


def _price(exchange: StoredExchange) -> Price | None:
    provider, _, model = exchange.model.partition("/")
    try:
        return price_at(provider, model, exchange.prices)
    except UsageError:  # a plug-in that brought the author may be gone
        return None


SAMPLE = 200
"""Calls of a judge whose prompts tell what a call costs before any was answered."""


@dataclass(frozen=True)
class CallPrices:
    answers: Answers
    batched: bool = False
    _known: dict[str, float | None] = field(default_factory=dict, repr=False)

    def pending_cost(self, waiting: Collection[str]) -> float | None:
        """Dollars for the calls that have no reply and do not wait in batches; None without a price."""
        calls = self.answers.calls
        places = calls.lookup(digests_of(list(waiting)))
        out = ~self.answers.answered
        out[places[places >= 0]] = False
        dollars = 0.0
        for judge in calls.judges:
            many = int(np.count_nonzero(out & calls.of_judge(judge.name)))
            if judge.baseline or not many:
                continue
            rate = self.per_call([judge])
            if rate is None:
                return None
            dollars += many * rate
        return round(dollars, 6)

    def per_call(self, judges: Iterable[Judge]) -> float | None:
        """Dollars for a call of these judges in the mean; None where a price is not known."""
        asked = {one.name: one for judge in judges for one in judge.leaf_judges}
        calls = [np.flatnonzero(self.answers.calls.of_judge(name)) for name in asked]
        for (name, judge), rows in zip(asked.items(), calls, strict=True):
            if name not in self._known:
                self._known[name] = self._rate(judge, rows)
        rates = [self._known[name] for name in asked]
        known = [rate for rate in rates if rate is not None]
        many = sum(map(len, calls))
        if not many or len(known) < len(rates):
            return None
        return sum(rate * len(rows) for rate, rows in zip(known, calls, strict=True)) / many

    def _rate(self, judge: Judge, rows: Ints) -> float | None:
        price = price_of(judge)
        if price is None:
            return None
        share = price.batch if self.batched else 1.0
        made = rows[self.answers.answered[rows]]
        if len(made):
            batched = np.array([usage.batched for usage in self.answers.usages.values], dtype=np.bool_)
            alone = ~batched[self.answers.usage[made]]
            dollars = Costs.of(self.answers, made).dollars
            return float(np.where(alone, share * dollars, dollars).mean())
        ahead = [self.answers.calls[row] for row in rows[:SAMPLE].tolist()]
        costs = estimate_cost(ahead) if ahead else 0.0
        return None if costs is None else share * costs / max(1, len(ahead))
