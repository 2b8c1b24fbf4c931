from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import multinomial_proportions_confint, proportion_confint

from steelyard.metrics.estimate import NO_CALLS, NO_VERDICTS, EstimateContext
from steelyard.metrics.findings import bare_share, calls_total, difference_word, judge_limit, span_state
from steelyard.metrics.metric import Limit
from steelyard.metrics.pairs.equals import vacuum_estimates
from steelyard.metrics.proportions import share_bounds
from steelyard.metrics.stats.clusters import (
    Tally,
    design_effect,
    effective_size,
    percentile_limits,
    resample,
    wilson_cluster,
    wilson_strict,
)
from steelyard.metrics.stats.intervals import clopper_pearson, goodman, newcombe, score, wilson
from strategies import find, interval, make, shuffled

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def tally_of(events: list[int], trials: list[int], unreadable: int = 0, failed: int = 0) -> Tally:
    return Tally(np.array(events), np.array(trials), sum(trials), sum(trials), unreadable, failed)


@given(counts)
def test_wilson_agrees_with_statsmodels(count: tuple[int, int]) -> None:
    expected = proportion_confint(*count, method="wilson")
    assert wilson(*count) == pytest.approx(np.clip(expected, 0, 1), abs=1e-12)


@given(st.lists(st.integers(0, 60), min_size=4, max_size=4).filter(any))
def test_goodman_agrees_with_statsmodels(cells: list[int]) -> None:
    expected = np.clip(multinomial_proportions_confint(cells, method="goodman"), 0, 1)
    ours = [goodman(cell, sum(cells), 4) for cell in cells]
    assert np.allclose(ours, expected, atol=1e-9)


@given(counts)
def test_clopper_pearson_agrees_with_statsmodels(count: tuple[int, int]) -> None:
    assert clopper_pearson(*count) == pytest.approx(proportion_confint(*count, method="beta"), abs=1e-9)


@given(counts)
def test_limits_hold_the_share_and_stay_in_range(count: tuple[int, int]) -> None:
    low, high = wilson(*count)
    assert 0 <= low <= count[0] / count[1] <= high <= 1


def test_newcombe_reproduces_his_published_example() -> None:
    # Newcombe (1998), example (a): 56/70 − 48/80, method 10: 0.0524 to 0.3339.
    assert newcombe((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_cluster_variance_by_hand() -> None:
    # Tasks 3/4 and 1/4: share 1/2, residual sums +1 and −1; (1 + 1)/8² · 2/1 = 1/16.
    # Independent trials would have ¼/8 = 1/32, so the design effect is 2 and the 8 trials are worth 4.
    tally = tally_of([3, 1], [4, 4])
    assert tally.share.variance == pytest.approx(1 / 16)
    assert design_effect(tally) == pytest.approx(2.0)
    assert effective_size(tally) == pytest.approx(4.0)
    # Wilson with n = 4 and t(1) = 12.7062: ½ ± t·√(1/16 + t²/64) / (1 + t²/4).
    assert wilson_cluster(tally) == pytest.approx((0.5 - 0.493919, 0.5 + 0.493919), abs=1e-5)


def test_effective_size_never_exceeds_the_trials() -> None:
    # Tasks 5/10, 5/10, 6/10, 4/10 differ by less than independent trials would.
    tally = tally_of([5, 5, 6, 4], [10] * 4)
    assert design_effect(tally) < 1
    assert effective_size(tally) == 40


@pytest.mark.parametrize("events", [0, 12, 6])
def test_without_spread_the_assumed_correlation_steps_in(events: int) -> None:
    # 10 tasks of 12: n_eff = 120 / (1 + 11 · .1) = 57.14.
    tally = tally_of([events] * 10, [12] * 10)
    assert design_effect(tally) is None
    assert effective_size(tally) == pytest.approx(120 / 2.1)
    low, high = wilson_cluster(tally)
    strict_low, strict_high = wilson_strict(tally)
    assert strict_low <= low
    assert high <= strict_high


def test_repeats_of_few_pairs_clear_no_limit_in_one_task() -> None:
    # No event in 40 calls: z²/(n + z²) is .088 on 40 calls, .56 on the 3 pairs behind them.
    calls = Tally(np.array([0]), np.array([40]), n_calls=40, n_units=40)
    pairs = replace(calls, n_units=3)
    assert [judge_limit(counts, Limit(0.1)) for counts in (calls, pairs)] == ["clear", "inconclusive"]
    # Wilson excludes .1 from 0 of 35 (3.8415 · .09/.01 = 34.57): 34.57 pairs of 40/3 calls each.
    assert calls_total(bare_share(pairs), Limit(0.1).allowed) == 461


def test_zero_of_120_in_ten_tasks() -> None:
    # Upper limit at zero events is q²/(n + q²): t(9) = 2.26216 → 5.1174/(57.143 + 5.1174) = .0822.
    estimate = find(
        vacuum_estimates(
            EstimateContext.for_protocol("J", "vacuum", "base", 7), make(["tt"] * 60, tasks=10, kind="empty")
        ),
        "dark_current",
    )
    assert [i.method for i in estimate.intervals] == ["wilson_cluster", "wilson_tasks", "wilson"]
    assert interval(estimate, "wilson_cluster") == pytest.approx((0.0, 0.0822), abs=5e-5)
    assert interval(estimate, "wilson") == pytest.approx((0.0, 0.0310), abs=5e-5)
    assert "correlation of 0.1 is assumed" in (estimate.note or "")
    # One-sided: t(9) = 1.83311 → 3.3603/(57.143 + 3.3603) = .0555 < .10.
    assert estimate.status == "clear"


def test_one_task_counts_its_pairs() -> None:
    # 8 of 16 calls on 8 pairs: as sure as 4 of 8.
    estimate = find(
        vacuum_estimates(
            EstimateContext.for_protocol("J", "vacuum", "base", 7), make(["11", "tt"] * 4, kind="empty")
        ),
        "dark_current",
    )
    assert [i.method for i in estimate.intervals] == ["wilson_units", "wilson", "decides"]
    assert interval(estimate, "decides") == pytest.approx(proportion_confint(4, 8, method="beta"))
    assert interval(estimate, "wilson_units") == pytest.approx(proportion_confint(4, 8, method="wilson"))
    assert interval(estimate, "wilson") == pytest.approx(proportion_confint(8, 16, method="wilson"))
    assert "this cluster only" in (estimate.note or "")
    assert (estimate.value, estimate.n_calls, estimate.n_units, estimate.n_clusters) == (0.5, 16, 8, 1)


def test_bootstrap_is_seeded_and_of_the_right_size() -> None:
    table = np.array([[1, 4], [3, 4], [2, 4]])
    sums = resample(table, seed=5)
    assert sums.shape == (2000, 2)
    assert (sums[:, 1] == 12).all()
    assert np.array_equal(sums, resample(table, seed=5))
    assert not np.array_equal(sums, resample(table, seed=6))
    # The mean of replicate sums is the sum itself; its standard error here is √(3·(2/3))/√2000 = .03.
    assert sums[:, 0].mean() == pytest.approx(6, abs=0.15)


def test_bootstrap_enumerated_for_two_tasks() -> None:
    # Drawing two tasks of two gives shares 0, ½, 1 with chances ¼, ½, ¼: percentiles are the extremes.
    assert tally_of([0, 4], [4, 4]).share.bootstrap(1) == (0.0, 1.0)


def test_bootstrap_without_width_is_no_interval() -> None:
    assert tally_of([4, 4], [4, 4]).share.bootstrap(1) is None
    assert percentile_limits(np.array([np.nan]), 5) is None


def test_worst_and_best_case_of_missing_calls() -> None:
    # 3 of 8 read, 2 missing: 3/10 … 5/10.
    assert share_bounds(tally_of([3], [8], unreadable=1, failed=1)) == (0.3, 0.5)


def test_rates_of_missing_calls_count_every_call() -> None:
    estimates = vacuum_estimates(
        EstimateContext.for_protocol("J", "vacuum", "base", 7),
        make(["tx", "tf", "1t", "t-"], tasks=2, kind="empty"),
    )
    for metric in ("unreadable_rate", "failed_rate"):
        rate = find(estimates, metric)
        assert (rate.numerator, rate.denominator) == (1, 7)
    dark = find(estimates, "dark_current")
    # 5 verdicts, 1 of them a commit; 2 calls missing: 1/7 … 3/7.
    assert (dark.numerator, dark.denominator, dark.excluded) == (1, 5, {"unreadable": 1, "failed": 1})
    assert dark.bounds == pytest.approx((1 / 7, 3 / 7))


def test_dark_current_per_kind() -> None:
    # A pooled 1/2 made of two constants.
    rows = make(["11"] * 6 + ["ta"] * 6, tasks=3, kind=["empty"] * 6 + ["blank"] * 6)
    estimates = vacuum_estimates(EstimateContext.for_protocol("J", "vacuum", "strict", 7), rows)
    assert find(estimates, "dark_current").value == 0.5
    assert find(estimates, "dark_current", kind="empty").value == 1.0
    blank = find(estimates, "dark_current", kind="blank")
    assert blank.value == 0.0
    assert "6 abstained" in (blank.note or "")
    assert all(e.group["protocol"] == "strict" and e.probe == "vacuum" for e in estimates)


def test_figures_do_not_depend_on_the_order_of_rows() -> None:
    rows = make(["11", "tt", "1t", "xt"] * 10, tasks=7, kind=["empty", "blank"] * 20)
    first = [
        e.to_json() for e in vacuum_estimates(EstimateContext.for_protocol("J", "vacuum", "base", 7), rows)
    ]
    assert first == [
        e.to_json()
        for e in vacuum_estimates(EstimateContext.for_protocol("J", "vacuum", "base", 7), shuffled(rows))
    ]


def test_all_calls_failed_is_undefined_not_zero() -> None:
    estimates = vacuum_estimates(
        EstimateContext.for_protocol("J", "vacuum", "base", 7), make(["ff"] * 4, tasks=2, kind="empty")
    )
    dark = find(estimates, "dark_current")
    assert dark.value is None
    assert dark.status is None
    assert dark.note == NO_VERDICTS
    assert find(estimates, "failed_rate").value == 1.0


def test_no_pairs_is_undefined_with_a_reason() -> None:
    for estimate in vacuum_estimates(EstimateContext.for_protocol("J", "vacuum", "base", 7), make([])):
        assert estimate.value is None
        assert estimate.note == NO_CALLS


@pytest.mark.parametrize(
    ("limits", "side", "word"),
    [
        ((0.0, 0.09), "max", "clear"),
        ((0.11, 0.3), "max", "flagged"),
        ((0.05, 0.15), "max", "inconclusive"),
        ((0.0, 0.10), "max", "clear"),
        ((0.2, 0.3), "min", "clear"),
        ((0.01, 0.09), "min", "flagged"),
        ((0.05, 0.15), "min", "inconclusive"),
    ],
)
def test_words_for_a_limit(limits: tuple[float, float], side: str, word: str) -> None:
    assert span_state(limits, Limit(0.10, side).allowed) == word


def test_words_for_a_difference() -> None:
    # Inside the margin is clear even where a test would call the difference significant.
    assert difference_word((0.01, 0.05), 0.001) == "clear"
    assert difference_word((0.01, 0.15), 0.03) == "flagged"
    assert difference_word((-0.05, 0.15), 0.2) == "inconclusive"


def test_score_of_a_fractional_size() -> None:
    assert score(0.0, 7.5, 2.0) == pytest.approx((0.0, 4 / 11.5))


def test_many_tasks_of_few_kinds_are_drawn_by_kind() -> None:
    counts = np.repeat([[0, 2], [1, 2], [2, 2]], (150, 30, 20), axis=0)
    sums = resample(counts, 7)
    assert np.array_equal(sums, resample(np.random.default_rng(1).permutation(counts), 7))
    assert np.all(sums[:, 1] == 400)
    events = counts[:, 0]
    error = np.sqrt(200 * events.var())
    assert sums[:, 0].mean() == pytest.approx(events.sum(), abs=4 * error / np.sqrt(2000))
    assert sums[:, 0].std() == pytest.approx(error, rel=0.08)
