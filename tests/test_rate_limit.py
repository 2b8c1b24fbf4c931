"""Judges at one address share its places, its pauses and its allowances."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers import Answer, Received, ScriptedServer, fails, wins
from steelyard.commands.measure import measure
from steelyard.errors import ConfigError
from steelyard.providers.provider import PROVIDERS, connect
from steelyard.providers.provider_info import ProviderInfo
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.rate_limit import Endpoints, LeakyBucket, RateLimit, Throttle
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.trials.judge import Judge, Presentation, Reply


def study(*judges: str, **more: object) -> Study:
    return build_study(load_config(None, {"judges": list(judges), "profile": "quick", **more}), Path())


def throttle_of(endpoints: Endpoints, address: str) -> Throttle:
    judge = study(address).judges[0]
    return endpoints.throttle_for(judge, connect(judge))


def test_the_same_address_is_the_same_throttle() -> None:
    endpoints = Endpoints(16)
    here = throttle_of(endpoints, "openai/a?base_url=http://127.0.0.1:9/v1")
    assert throttle_of(endpoints, "openai/b?base_url=http://127.0.0.1:9/v1/") is here
    assert throttle_of(endpoints, "vllm/c?base_url=http://127.0.0.1:9/v1") is here
    assert throttle_of(endpoints, "openai/a?base_url=http://127.0.0.1:8/v1") is not here
    assert throttle_of(endpoints, "planted/tie") is not throttle_of(endpoints, "planted/first")
    assert here.maximum == 16


def test_the_strictest_statement_counts_for_all() -> None:
    endpoints = Endpoints(16)
    server = "base_url=http://127.0.0.1:9/v1"
    rate = throttle_of(endpoints, f"openai/a?{server}").rate
    assert rate.unlimited
    throttle_of(endpoints, f"openai/b?{server}&requests_per_minute=120")
    throttle_of(endpoints, f"openai/c?{server}&requests_per_minute=60&tokens_per_minute=6000")
    throttle_of(endpoints, f"openai/d?{server}&requests_per_minute=240")
    assert [rate.wait(0, 0.0) for _ in range(3)] == [0.0, 1.0, 2.0]


def test_what_a_pace_is_does_not_make_another_judge() -> None:
    plain, paced = (study(f"openai/a{query}").judges[0] for query in ("", "?requests_per_minute=5"))
    assert plain.fingerprint("base") == paced.fingerprint("base")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "x"])
def test_a_pace_is_a_number_above_zero(value: str) -> None:
    with pytest.raises(ConfigError, match="requests_per_minute"):
        study(f"openai/a?requests_per_minute={value}")


def test_tokens_by_hand() -> None:
    """6,000 a minute are 100 a second: 250 tokens make the next call wait 2.5 s, 50 given back 2 s."""
    rate = RateLimit(tokens=6000)
    assert rate.wait(250, 10.0) == 0
    assert rate.wait(100, 10.0) == 2.5
    rate.correct(expected=250, tokens=200)
    assert rate.wait(100, 10.0) == pytest.approx(3.0)  # 250 + 100 - 50 tokens
    assert rate.wait(1, 100.0) == 0


def test_a_server_that_counts_no_tokens_gives_none_back() -> None:
    rate = RateLimit(tokens=6000)
    rate.wait(250, 0.0)
    rate.correct(expected=250, tokens=0)
    assert rate.wait(1, 0.0) == 2.5


def test_the_slower_of_two_allowances_decides() -> None:
    rate = RateLimit(requests=60, tokens=600)
    assert rate.wait(5, 0.0) == 0
    assert rate.wait(100, 0.0) == 1.0  # by requests; its tokens had their turn after 0.5 s
    assert rate.wait(1, 0.0) == 10.5  # by tokens: 105 of 10 a second


@given(st.floats(0.1, 1e4), st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 50)), min_size=1, max_size=30))
def test_no_window_holds_more_than_its_allowance(per_minute: float, calls: list[tuple[float, float]]) -> None:
    """Between any call and a later one lies the time that everything from it on needs."""
    meter, now, starts = LeakyBucket(per_minute), 0.0, list[tuple[float, float]]()
    for amount, later in calls:
        now += later
        starts.append((now + meter.reserve(amount, now), amount))
    for first in range(len(starts)):
        for last in range(first + 1, len(starts)):
            needed = sum(amount for _, amount in starts[first:last]) * 60 / per_minute
            assert starts[last][0] - starts[first][0] >= needed - 1e-6 * (1 + needed + starts[last][0])


@pytest.mark.parametrize("hourly", [(1 / 60, None), (None, 100 / 60)], ids=["calls", "tokens"])
def test_a_stop_ends_the_wait_for_a_turn(hourly: tuple[float | None, float | None]) -> None:
    """An hour's allowance is used up by one call of 100 tokens."""

    async def scenario() -> None:
        throttle, stopped = Throttle(2), asyncio.Event()
        throttle.rate.tighten(*hourly)
        async with throttle.slot(stopped, 100):
            pass

        async def call() -> None:
            async with throttle.slot(stopped, 100):
                pass

        waiting = asyncio.create_task(call())
        await asyncio.sleep(0)
        assert not waiting.done()
        stopped.set()
        await waiting

    asyncio.run(scenario())


def test_turns_come_in_the_order_of_waiting() -> None:
    async def scenario() -> list[int]:
        throttle, never, order = Throttle(1), asyncio.Event(), list[int]()

        async def call(number: int) -> None:
            async with throttle.slot(never):
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(number) for number in range(5)))
        return order

    assert asyncio.run(scenario()) == [0, 1, 2, 3, 4]


def test_a_turn_that_is_cancelled_is_the_next_ones() -> None:
    async def scenario() -> None:
        throttle, never, order = Throttle(1), asyncio.Event(), list[str]()
        leave = asyncio.Event()

        async def call(name: str, until: asyncio.Event | None = None) -> None:
            async with throttle.slot(never):
                order.append(name)
                if until is not None:
                    await until.wait()

        first = asyncio.create_task(call("first", leave))
        await asyncio.sleep(0)
        second, third = asyncio.create_task(call("second")), asyncio.create_task(call("third"))
        await asyncio.sleep(0)
        leave.set()
        await first  # the second has been called by now, and is cancelled before it comes
        second.cancel()
        await asyncio.gather(second, third, return_exceptions=True)
        assert order in (["first", "third"], ["first", "second", "third"])

    asyncio.run(scenario())


def test_two_judges_of_one_server_come_to_their_end(tmp_path: Path) -> None:
    """With one place for both, and an allowance that is wide enough."""
    with ScriptedServer(wins("1")) as server:
        where = f"base_url={server.url}&requests_per_minute=60000000"
        done = measure(
            study(f"openai/a?{where}", f"openai/b?{where}", probes=["vacuum"]),
            RunFolder(tmp_path / "run"),
            RunLimits(concurrency=1),
        )
    assert not done.errors
    models = [request.body["model"] for request in server.requests]
    assert models.count("a") == models.count("b") == done.session.calls / 2
    turns = sum(one != other for one, other in itertools.pairwise(models))
    assert turns > len(models) / 2  # neither waits for the other's end


class Shared:
    """Judges at one address; the model's name says how many calls make sense at the same time."""

    info = ProviderInfo(free=True, uses_prompt=False, can_write=False, can_score=False)
    endpoint = "there"
    in_flight: Counter[str]
    most: Counter[str]

    def __init__(self, judge: Judge) -> None:
        self.model, self.concurrency = judge.model, int(judge.model)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, presentation: Presentation) -> Reply:
        self.in_flight[self.model] += 1
        self.most[self.model] = max(self.most[self.model], self.in_flight[self.model])
        for _ in range(5):
            await asyncio.sleep(0)
        self.in_flight[self.model] -= 1
        return Reply('{"winner": "1"}')


def test_who_takes_few_calls_at_a_time_gets_no_more_beside_one_that_takes_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDERS._factories, "shared", Shared)
    monkeypatch.setattr(Shared, "in_flight", Counter(), raising=False)
    monkeypatch.setattr(Shared, "most", Counter(), raising=False)
    asked = study("shared/64", "shared/2", probes=["vacuum", "ladder"])
    done = measure(asked, RunFolder(tmp_path / "run"), RunLimits(concurrency=48))
    assert not done.errors
    assert Shared.most["2"] == 2
    assert 2 < Shared.most["64"] <= 48


def test_a_reset_without_retry_after_is_waited_for(tmp_path: Path) -> None:
    """No call is made before the moment that the server named, though the backoff is a thousandth of it."""
    opens, early = list[float](), itertools.count()

    def script(_: Received) -> Answer:
        now = time.monotonic()
        if not opens:
            opens.append(now + 0.2)
            return fails(429, "Slow down", headers={"x-ratelimit-reset-requests": "200ms"})
        if now < opens[0]:
            next(early)
        return wins("tie")

    with ScriptedServer(script) as server:
        asked = study(f"openai/a?base_url={server.url}", probes=["vacuum"])
        done = measure(asked, RunFolder(tmp_path / "run"), RunLimits(concurrency=1, backoff=0.0002))
    assert done.errors == ()
    assert (next(early), len(server.requests)) == (0, 13)
