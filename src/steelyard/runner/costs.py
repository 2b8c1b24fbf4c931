"""Costs of a run: the budget and the most that calls in flight can cost, what replies on disk have cost, and
what further calls will."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from math import ceil, fsum

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.content_hash import digests_of
from steelyard.errors import BudgetError, ConfigError, UsageError
from steelyard.providers.provider import model_info
from steelyard.runner.answers import Answers
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import Price, price_at, price_of, schema_tokens
from steelyard.store.authoring import StoredExchange
from steelyard.store.run_store import RunStore
from steelyard.store.trials import StoredReply
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import Judge, Reply, Usage
from steelyard.trials.trial import Call, Trial
from steelyard.trials.trials import Trials

CHARACTERS_PER_TOKEN = 3
"""Fewer than in English prose: a reservation must not be too small."""


class Budget:
    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._owed = 0.0
        self._released = asyncio.Condition()

    def pay(
        self, price: Price | None, call: Call, reply: Reply, lost: Sequence[float] = ()
    ) -> tuple[Reply, float]:
        """The reply with its price on record, and its dollars.

        Tries before it whose replies nobody could use were counted at `lost`, and cost about as much.
        """
        if price is None or price.free or reply.usage.billed is not None:
            dollars = reply.usage.billed or 0.0
        else:
            dollars = reply_cost(price, reply, 0 if reply.usage.input_tokens else call.characters)
            reply = reply.paid(dollars)
        self.spent += dollars * (1 + len(lost)) - sum(lost)
        return reply, dollars

    def reserve(self, each: Sequence[float]) -> AbstractAsyncContextManager[int]:
        """Reserve the most that each of several calls can cost; yield how many, from the first, it allows.

        If the budget allows none, wait for calls in flight, which may turn out cheap.
        """
        return nullcontext(len(each)) if self.limit is None else self._reserve(each, self.limit)

    @asynccontextmanager
    async def _reserve(self, each: Sequence[float], limit: float) -> AsyncIterator[int]:
        async with self._released:
            while not (many := _affordable(each, limit - self.spent - self._owed - self._reserved)):
                if not self._reserved:
                    if self.spent or self._owed:
                        raise BudgetError(f"the budget of ${limit:g} is reached")
                    cost = f"one call, which may cost up to ${each[0]:.2g}"
                    raise BudgetError(f"the budget of ${limit:g} does not cover {cost}")
                await self._released.wait()
            self._reserved += sum(each[:many])
        try:
            yield many
        finally:
            await self.release(sum(each[:many]))

    def reserve_submitted(self, most: float) -> None:
        """Reserve what calls that were submitted before can cost, whatever the budget says."""
        self._reserved += most

    def add_pending_cost(self, most: float) -> None:
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
    asked = (one for judge in judges for one in judge.leaf_judges)
    for judge in asked if limits.budget is not None else ():
        if price_of(judge) is None:
            raise ConfigError(
                f"judge {judge.name}: no price is known for {judge.address}, so --budget cannot be kept; "
                "give the judge input_price and output_price (dollars per million tokens), "
                "leave --budget out, or use vllm/… or ollama/… for a server of your own."
            )


def estimate_tokens(call: Call) -> int:
    prompt = call.characters // CHARACTERS_PER_TOKEN + ceil(schema_tokens(call))
    return prompt + call.decoding.max_tokens


def max_cost(price: Price | None, call: Call) -> float:
    if price is None:
        return 0.0
    letters = call.characters
    if not all(message.content.isascii() for message in call.messages):
        # Letters beyond ASCII take several bytes, and tokens of their own.
        letters = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in call.messages)
    judge = call.judge
    thoughts = model_info(judge.address).thinking_tokens(judge.model, judge.options)
    prompt = letters // CHARACTERS_PER_TOKEN + ceil(schema_tokens(call))
    return price.dollars(prompt, call.decoding.max_tokens + thoughts)


def max_batch_cost(price: Price | None, call: Call) -> float:
    return max_cost(price, call) * (1.0 if price is None else price.batch)


def reply_cost(price: Price | None, reply: Reply, characters: int) -> float:
    return usage_cost(price, reply.usage, reply.letters, characters)


def usage_cost(price: Price | None, usage: Usage, letters: int, characters: int) -> float:
    """Dollars for the tokens used; if the server counted none, they are estimated from characters."""
    if price is None or price.free:
        return usage.billed or usage.dollars or 0.0
    answered = usage.output_tokens or letters // CHARACTERS_PER_TOKEN
    asked = usage.input_tokens or characters // CHARACTERS_PER_TOKEN
    counted = asked == usage.input_tokens and answered == usage.output_tokens
    return price.of(usage if counted else replace(usage, input_tokens=asked, output_tokens=answered))


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
    usages = [e.reply.usage for e in kept]
    tokens = sum(usage.input_tokens for usage in usages), sum(usage.output_tokens for usage in usages)
    return AuthoringCost(len(kept), *tokens, dollars, None not in prices)


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
        for counts in ([usage.input_tokens for usage in usages], [usage.output_tokens for usage in usages])
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


@dataclass(frozen=True)
class PlanRow:
    judge: str
    probe: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    """None where no price is known."""
    seconds: float

    @classmethod
    def total(cls, judge: str, rows: Collection[PlanRow], probe: str = "") -> PlanRow:
        known = [row.dollars for row in rows if row.dollars is not None]
        return cls(
            judge,
            probe,
            sum(row.calls for row in rows),
            sum(row.input_tokens for row in rows),
            sum(row.output_tokens for row in rows),
            sum(known) if len(known) == len(rows) else None,
            sum(row.seconds for row in rows),
        )


def plan_rows(calls: Mapping[tuple[str, str], list[Trial]]) -> list[PlanRow]:
    """Calls, tokens, dollars and time of the calls that a judge and a probe ask for."""
    return [PlanRow.total(judge, _parts(trials), probe) for (judge, probe), trials in calls.items()]


def estimate_cost(calls: list[Trial]) -> float | None:
    """Dollars for calls by the length of their prompts; None where a price is not known."""
    return PlanRow.total("", _parts(calls)).dollars


def _parts(calls: list[Trial]) -> list[PlanRow]:
    by_judge: dict[str, list[Trial]] = {}
    for call in calls:
        by_judge.setdefault(call.judge.name, []).append(call)
    return [_part(mine) for mine in by_judge.values()]


def _part(calls: list[Trial]) -> PlanRow:
    instrument = calls[0].judge
    prompts = [call.rendered.tokens + schema_tokens(call) for call in calls]
    tokens_in = round(sum(prompts))
    tokens_out = sum(response_format(call.judge.protocols[call.protocol].reader).tokens for call in calls)
    row = plan_row(instrument, instrument.name, "", len(calls), tokens_in, tokens_out)
    price = price_of(instrument)
    if price is None or not price.long:
        return row
    # Each call at the price of its own length.
    dollars = fsum(price.dollars(round(prompt), tokens_out / len(calls)) for prompt in prompts)
    return replace(row, dollars=dollars)


def plan_row(model: Judge, name: str, probe: str, calls: int, tokens_in: int, tokens_out: int) -> PlanRow:
    """What calls of a model will take, by the price of their mean length."""
    price, seconds = price_of(model), model_info(model.address).seconds_per_call * calls
    dollars = None if price is None else price.dollars(tokens_in, tokens_out, calls)
    return PlanRow(name, probe, calls, tokens_in, tokens_out, dollars, seconds)
