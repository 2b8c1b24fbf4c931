"""Calls that a question takes, against the intervals themselves."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from steelyard.datasheet.questions.more_data import BEYOND_FULL, ON_LIMIT, more_data, profile_calls
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import bare_share, calls_total, judge_limit
from steelyard.metrics.metric import Limit
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.stats.clusters import Tally
from steelyard.metrics.stats.intervals import Z, score
from steelyard.metrics.stats.sample_size import trials_total
from steelyard.tasks.checklist import subjects
from strategies import find, make


def test_zero_events_exclude_a_twentieth_after_73_calls() -> None:
    # Wilson's upper limit at zero events is z²/(n + z²): at most 1/20 from n = 19·z² = 72.99.
    assert ceil(trials_total(0.0, 0.05, Z) or 0) == 73
    assert (
        proportion_confint(0, 73, method="wilson")[1] <= 0.05 < proportion_confint(0, 72, method="wilson")[1]
    )


@given(
    value=st.integers(0, 40).map(lambda k: k / 40),
    limit=st.sampled_from([0.02, 0.05, 0.1, 0.33, 0.5, 0.8, 0.97]),
)
def test_the_number_is_the_first_that_excludes_the_limit(value: float, limit: float) -> None:
    trials = trials_total(value, limit, Z)
    if value == limit:
        assert trials is None
        return
    assert trials is not None
    calls = max(1, ceil(trials * (1 - 1e-9)))
    beyond, short = score(value, calls, Z), score(value, max(calls - 1, 1e-9), Z)
    assert not beyond[0] + 1e-12 < limit < beyond[1] - 1e-12
    assert calls == 1 or short[0] < limit < short[1]


AT_ZERO = {"delta": 0, "kind": "same_subset"}


def equals(answers: list[str], tasks: int, times: int = 1) -> list[Estimate]:
    """Figures of the rows, which go round the tasks; `times` repeats all of it in further tasks."""
    names = [f"t{again}-{row % tasks}" for again in range(times) for row in range(len(answers))]
    return ladder_estimates(
        EstimateContext.for_protocol("J", "ladder", "base", 7), make(answers * times, tasks=names)
    )


@pytest.mark.slow
def test_an_inconclusive_share_says_how_many_calls_would_decide_it() -> None:
    # One pair in twelve is stable: .083 against a limit of .10, with 12 pairs in 4 tasks.
    rows = ["12", "tt", "tt", "tt", "tt", "tt", "tt", "tt", "tt", "tt", "tt", "tt"]
    stable = find(equals(rows, 4), "stable_cross_sensitivity", **AT_ZERO)
    assert stable.status == "inconclusive"
    assert stable.calls_needed is not None
    times = stable.calls_needed // stable.n_calls
    assert times > 10
    # At the share itself half would do; the rest is for shares that fall short of it by chance.
    enough = find(equals(rows, 4, times + 1), "stable_cross_sensitivity", **AT_ZERO)
    short = find(equals(rows, 4, times // 3), "stable_cross_sensitivity", **AT_ZERO)
    assert enough.value == short.value == stable.value
    assert (enough.status, short.status) == ("clear", "inconclusive")


def test_a_share_on_its_limit_is_decided_by_no_number_of_calls() -> None:
    stable = find(equals(["12", *["tt"] * 9], 5), "stable_cross_sensitivity", **AT_ZERO)
    assert (stable.value, stable.status, stable.calls_needed) == (0.1, "inconclusive", None)
    assert stable.minimum_detectable is not None


def test_a_decided_share_needs_no_more_calls() -> None:
    found = find(equals(["11"] * 60, 10), "positional_false_preference", **AT_ZERO)
    assert (found.status, found.calls_needed) == ("flagged", None)


@pytest.mark.parametrize(
    ("rows", "word"),
    [(["11", "22", "1t"], "flagged"), (["tt", "tt", "12"], "clear"), (["11", "22", "12", "21"], "clear")],
)
def test_a_slot_balance_is_decided_by_as_many_calls_as_it_says(rows: list[str], word: str) -> None:
    four = find(equals(rows, 4), "net_slot_preference", **AT_ZERO)
    assert four.status == "inconclusive"
    assert four.calls_needed is not None
    assert four.minimum_detectable is not None
    times = -(-four.calls_needed // four.n_calls)
    again = find(equals(rows, 4, times), "net_slot_preference", **AT_ZERO)
    assert again.value == pytest.approx(four.value)
    assert again.status == word


def test_every_finding_stands_with_what_it_could_have_seen() -> None:
    for rows in (["11"] * 8, ["tt"] * 8, ["12", "1t", "tt", "22"] * 2, ["11"]):
        for tasks in (1, 2, 4):
            for found in equals(rows, tasks):
                if found.status and len(rows) > 1:
                    assert found.minimum_detectable is not None, (found.metric, rows, tasks)
                if found.status != "inconclusive":
                    assert found.calls_needed is None


def tally(events: np.ndarray, each: int) -> Tally:
    trials = np.full(len(events), each)
    return Tally(events, trials, n_calls=int(trials.sum()), n_units=int(trials.sum()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "limit"),
    [(0.05, Limit(0.10)), (0.18, Limit(0.10)), (0.88, Limit(0.80, "min")), (0.70, Limit(0.80, "min"))],
)
def test_what_is_bought_decides_in_four_runs_of_five(share: float, limit: Limit) -> None:
    """A pilot of 10 tasks × 12 calls (correlation .1) that shows the true share; then the number it names."""
    chance = np.random.default_rng(12)

    def draw(tasks: int) -> Tally:
        rates = chance.beta(9 * share, 9 * (1 - share), tasks)
        return tally(chance.binomial(12, rates), 12)

    decided = []
    while len(decided) < 150:
        pilot = draw(10)
        if abs(pilot.k - 120 * share) > 1.5 or judge_limit(pilot, limit) != "inconclusive":
            continue
        calls = calls_total(bare_share(pilot), limit.allowed)
        assert calls is not None
        decided.append(judge_limit(draw(-(-calls // 12)), limit) != "inconclusive")
    assert np.mean(decided) >= 0.7


def test_the_power_of_a_plan_by_hand() -> None:
    # .2 against .1: (1.96·√.09 + .8416·√.16)² / .1² = (.588 + .3366)² / .01 = 85.5; half the runs need 35.
    assert ceil(trials_total(0.2, 0.1, Z, power=0.8) or 0) == 86
    assert ceil(trials_total(0.2, 0.1, Z) or 0) == 35
    assert ceil(trials_total(0.0, 0.05, Z, power=0.8) or 0) == 73


@pytest.mark.parametrize(
    ("metric", "probe", "units", "clusters", "words"),
    [
        ("net_slot_preference", "position", 60, 60, "about 36 more rows (72 calls)"),
        ("accuracy", "typos", 60, 60, "about 36 more labelled rows (72 calls)"),
        ("dark_current", "vacuum", 60, 1, "about 72 more calls (a larger profile, or rows of your own)"),
        ("failed_rate", "run", 60, 60, "about 72 more calls (a larger profile, or rows of your own)"),
        (
            *("merit", "runs", 12, 12),
            "about 8 more runs of agents (a larger profile, or runs of your own; 72 calls)",
        ),
        ("accuracy", "original", 60, 1, "about 36 more labelled rows (72 calls)"),
        ("accuracy", "original", 1, 1, "about 1 more labelled row (72 calls)"),
    ],
)
def test_tasks_or_rows_are_what_is_missing(
    metric: str, probe: str, units: int, clusters: int, words: str
) -> None:
    estimate = Estimate("J", probe, metric, {}, "call", 0.1, n_calls=120, n_units=units, n_clusters=clusters)
    assert more_data(estimate, 72) == f"{words} would decide in four runs of five, if the value stays"


@pytest.mark.parametrize(("probe", "group"), [("vacuum", {}), ("ladder", {"delta": 1})])
def test_pairs_of_the_catalogue_are_bought_by_the_profile(probe: str, group: dict[str, float]) -> None:
    """Never more than the largest profile has."""
    sizes = profile_calls(probe, tuple(group.items()))
    assert 4 < sizes["standard"] < sizes["full"]
    few = Estimate("J", probe, "dark_current", group, "call", 0.1, n_calls=4, n_units=2, n_clusters=2)
    for profile, size in sizes.items():
        assert more_data(few, size - 4) == (
            f"profile {profile} ({size:,} calls of this kind, here 4) would decide in four runs of five, "
            "if the value stays"
        )
    assert more_data(few, sizes["full"]) == BEYOND_FULL
    # No run has more clusters than there are subjects: such pairs were recorded elsewhere.
    most = replace(few, n_calls=240, n_units=120, n_clusters=len(subjects()))
    assert more_data(most, 100 * sizes["full"]) == BEYOND_FULL
    assert "more cluster" in more_data(replace(most, n_clusters=len(subjects()) + 1), 240)
    # Three repeats of each call are bought with the profile.
    thrice = replace(few, n_calls=12)
    assert f"({3 * sizes['full']:,} calls of this kind, here 12)" in more_data(thrice, 3 * sizes["full"] - 12)


def test_a_forecast_that_nobody_can_buy_is_a_figure_on_its_limit() -> None:
    runs = Estimate(
        "j", "runs", "missed_failure_rate", {"protocol": "base"}, "call", 0.2, n_calls=80, n_units=10
    )
    assert more_data(runs, 560_000, of_agents=True) == ON_LIMIT
    assert more_data(runs, 400, of_agents=True).startswith("about 50 more runs of agents")
