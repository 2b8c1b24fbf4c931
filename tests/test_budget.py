"""A budget is kept whatever calls cost and however many are in flight; what was spent is not forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import BudgetError, ConfigError
from steelyard.runner.costs import (
    CHARACTERS_PER_TOKEN,
    Budget,
    check_prices,
    max_cost,
    reply_cost,
)
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import Price
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Pairwise
from steelyard.trials.judge import Decoding, Reply, Usage
from steelyard.trials.prompt import Message
from steelyard.trials.trial import Exchange
from test_store_rows import exchange

DOLLAR = Price(1.0, 1.0, "a dollar a token")
"""A dollar a token, of the prompt and of the answer alike."""


def call(prompt: int = 0, answer: int = 1) -> Exchange:
    """A call with so many tokens in its prompt, and at most so many in its answer."""
    words = "x" * (CHARACTERS_PER_TOKEN * prompt)
    return replace(exchange(), messages=(Message("user", words),), decoding=Decoding(max_tokens=answer))


# What a call costs


def test_the_dearest_outcome_is_the_prompt_and_the_longest_answer() -> None:
    assert max_cost(DOLLAR, call(4, 5)) == pytest.approx(9)
    assert max_cost(None, call(4, 5)) == 0


@settings(max_examples=40)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60), st.integers(0, 30))
def test_tokens_of_the_server_count_and_characters_where_it_counted_none(
    prompt: int, answer: int, characters: int, text: int
) -> None:
    reply = Reply("x" * text, usage=Usage(prompt, answer))
    expected = (prompt or characters // 3) + (answer or text // 3)
    assert reply_cost(DOLLAR, reply, characters) == pytest.approx(expected)
    assert reply_cost(None, reply, characters) == 0


# Keeping the limit


async def make(budget: Budget, most: int, costs: int, flying: list[int], *, fail: bool = False) -> bool:
    """One call; False where the budget refused it."""
    try:
        async with budget.reserve([max_cost(DOLLAR, call(0, most))]):
            flying.append(most)
            await asyncio.sleep(0)
            assert budget.limit is None or budget.spent + sum(flying) <= budget.limit + 1e-9
            flying.remove(most)
            if fail:
                raise ConnectionError("gone")
            _, dollars = budget.pay(DOLLAR, call(0, most), Reply("", usage=Usage(0, costs)))
            assert dollars == pytest.approx(costs)
    except BudgetError:
        return False
    except ConnectionError:
        return True
    return True


calls = st.lists(
    st.integers(1, 8).flatmap(lambda most: st.tuples(st.just(most), st.integers(1, most), st.booleans())),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(calls, st.integers(1, 30))
def test_no_calls_together_pass_the_limit(rows: list[tuple[int, int, bool]], limit: int) -> None:
    async def run() -> tuple[Budget, list[bool]]:
        budget, flying = Budget(float(limit)), list[int]()
        made = await asyncio.gather(*(make(budget, most, c, flying, fail=f) for most, c, f in rows))
        return budget, made

    budget, made = asyncio.run(run())
    paid = sum(c for (_, c, fails), done in zip(rows, made, strict=True) if done and not fails)
    assert budget.spent == pytest.approx(paid)
    assert budget.spent <= limit
    assert budget._reserved == 0


@settings(max_examples=30)
@given(calls)
def test_without_a_limit_every_call_is_made_and_counted(rows: list[tuple[int, int, bool]]) -> None:
    async def run() -> Budget:
        budget, flying = Budget(None), list[int]()
        assert all(await asyncio.gather(*(make(budget, most, c, flying, fail=f) for most, c, f in rows)))
        return budget

    assert asyncio.run(run()).spent == pytest.approx(sum(c for _, c, fails in rows if not fails))


def test_a_call_waits_for_one_in_flight_that_may_turn_out_cheap() -> None:
    async def run() -> tuple[float, list[str]]:
        budget, order = Budget(10.0), list[str]()
        started, release = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            async with budget.reserve([max_cost(DOLLAR, call(0, 8))]):
                started.set()
                await release.wait()
                budget.pay(DOLLAR, call(0, 8), Reply("", usage=Usage(0, 1)))
                order.append("cheap after all")

        async def waiting() -> None:
            await started.wait()
            release.set()
            async with budget.reserve([max_cost(DOLLAR, call(0, 8))]):
                order.append("then this one")
                budget.pay(DOLLAR, call(0, 8), Reply("", usage=Usage(0, 8)))

        await asyncio.gather(slow(), waiting())
        with pytest.raises(BudgetError, match=r"the budget of \$10 is reached"):
            async with budget.reserve([max_cost(DOLLAR, call(0, 2))]):
                pass
        return budget.spent, order

    assert asyncio.run(run()) == (9.0, ["cheap after all", "then this one"])


def test_what_costs_nothing_is_asked_on_an_empty_budget() -> None:
    async def run() -> bool:
        budget = Budget(0.0)
        async with budget.reserve([max_cost(None, call(5, 5))]):
            budget.pay(None, call(5, 5), Reply("x"))
        return budget.spent == 0

    assert asyncio.run(run())


def test_a_call_that_breaks_off_gives_its_money_back() -> None:
    async def run() -> None:
        budget = Budget(5.0)
        for _ in range(3):
            with pytest.raises(ConnectionError, match="gone"):
                async with budget.reserve([max_cost(DOLLAR, call(0, 5))]):
                    raise ConnectionError("gone")
        async with budget.reserve([max_cost(DOLLAR, call(0, 5))]):
            pass
        assert budget.spent == 0

    asyncio.run(run())


# Prices


def test_a_budget_needs_a_price_for_every_judge(tmp_path: Path) -> None:
    unknown = parse_judge("openai/nobody-knows-this", tmp_path, Pairwise())
    stated = parse_judge("openai/nobody-knows-this?input_price=1&output_price=2", tmp_path, Pairwise())
    free = parse_judge("planted/tie", tmp_path, Pairwise())
    check_prices([unknown], RunLimits())
    check_prices([stated, free], RunLimits(budget=1.0))
    with pytest.raises(ConfigError, match="no price is known for openai/nobody-knows-this"):
        check_prices([free, unknown], RunLimits(budget=1.0))


def test_a_budget_below_one_call_says_what_a_call_may_cost() -> None:
    async def run() -> None:
        async with Budget(0.5).reserve([1.4, 0.1]):
            raise AssertionError

    with pytest.raises(BudgetError, match=r"\$0\.5 does not cover one call, which may cost up to \$1\.4$"):
        asyncio.run(run())
