from __future__ import annotations

from dataclasses import replace
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.signal_detection import (
    ONE_SIDE,
    TIES,
    criterion_estimates,
    dprime_estimates,
    protocol_shift,
    separation,
)
from strategies import find, interval, letters, make, shuffled, stack, swap_contents

quiet = settings(max_examples=40)
z = NormalDist().inv_cdf


def step(answers: list[str], delta: float = 1, tasks: int = 1, **more: object) -> Pairs:
    better = more.pop("better", 1)
    return make(answers, tasks=tasks, kind="prefix", delta=delta, better=better, **more)  # type: ignore[arg-type]


def estimates_of(pairs: Pairs) -> list[Estimate]:
    return ladder_estimates(EstimateContext.for_protocol("J", "ladder", "base", 7), pairs)


def test_outcomes_by_hand() -> None:
    # u is better: right is 1 with u first and 2 with v first.
    # 12 two right; 21 two wrong; 11 right, wrong; ta none; 1x right, missing.
    estimates = estimates_of(step(["12", "21", "11", "ta", "1x"], tasks=2))
    expected = {"target_sensitivity": (4, 9), "nontie_accuracy": (4, 7), "wrong_choice": (3, 9)}
    expected |= {"miss_by_tie": (2, 9), "tie_rate": (2, 9)}
    for metric, counts in expected.items():
        estimate = find(estimates, metric, delta=1)
        assert (estimate.numerator, estimate.denominator) == counts
        assert estimate.excluded == {"unreadable": 1, "failed": 0}
    assert "1 abstained" in (find(estimates, "target_sensitivity", delta=1).note or "")
    # One missing call: 4/10 … 5/10, and of the decided 4/8 … 5/8.
    assert find(estimates, "target_sensitivity", delta=1).bounds == pytest.approx((0.4, 0.5))
    assert find(estimates, "nontie_accuracy", delta=1).bounds == pytest.approx((0.5, 0.625))


@pytest.mark.slow
@quiet
@given(st.lists(st.tuples(letters, letters).map("".join), min_size=1, max_size=30), st.integers(1, 6))
def test_parts_make_up_the_calls_and_naming_the_contents_the_other_way_changes_no_figure(
    answers: list[str], tasks: int
) -> None:
    pairs = step(answers, tasks=tasks)
    estimates = estimates_of(pairs)
    parts = [find(estimates, m, delta=1) for m in ("target_sensitivity", "wrong_choice", "miss_by_tie")]
    if parts[0].value is not None:
        assert sum(p.numerator or 0 for p in parts) == parts[0].denominator
    assert [e.to_json() for e in estimates] == [e.to_json() for e in estimates_of(swap_contents(pairs))]


def test_steps_and_base_levels_are_groups() -> None:
    pairs = stack(
        step(["12"] * 4, delta=1, tasks=2, base_level=[0, 1, 0, 1]),
        step(["12", "tt"], delta=0.5, tasks=2, base_level=[0.5, 1.0]),
    )
    estimates = estimates_of(pairs)
    assert find(estimates, "target_sensitivity", delta=1, base_level=0).denominator == 4
    assert find(estimates, "target_sensitivity", delta=0.5, base_level=0.5).value == 1.0
    half = find(estimates, "target_sensitivity", delta=0.5)
    whole = find(estimates, "target_sensitivity", delta=1)
    assert half.value == 0.5
    assert isinstance(whole.group["delta"], int)
    assert isinstance(find(estimates, "target_sensitivity", delta=1, base_level=1).group["base_level"], int)
    # Only the pooled first step is read against the limit.
    assert whole.status == "inconclusive"
    assert half.status is None
    assert find(estimates, "target_sensitivity", delta=1, base_level=0).status is None


def test_the_limit_at_the_first_step() -> None:
    assert find(estimates_of(step(["12"] * 50, tasks=10)), "target_sensitivity", delta=1).status == "clear"
    poor = find(estimates_of(step(["12", "tt"] * 25, tasks=9)), "target_sensitivity", delta=1)
    assert poor.status == "flagged"


def test_all_ties_leave_accuracy_undefined() -> None:
    accuracy = find(estimates_of(step(["tt", "tx"], tasks=2)), "nontie_accuracy", delta=1)
    assert accuracy.value is None
    assert accuracy.note == "no call of this condition was decided"


# d′ -------------------------------------------------------------------------------------------------


def test_dprime_at_ceiling_is_a_bound() -> None:
    # 10 + 10 calls, all right: z(10.5/11) − z(.5/11) = 3.3812; the exact lower limit of 20/20 is .8316.
    estimates = estimates_of(step(["12"] * 10, delta=5, tasks=10))
    d = find(estimates, "dprime", delta=5)
    assert d.value == pytest.approx(3.3812, abs=5e-5)
    assert d.censored == "right"
    assert [i.method for i in d.intervals] == ["clopper_pearson_cluster", "clopper_pearson"]
    assert interval(d, "clopper_pearson") == (pytest.approx(2 * z(0.025 ** (1 / 20))), None)
    forced = find(estimates, "dprime_2afc", delta=5)
    assert forced.value == pytest.approx(2.3909, abs=5e-5)
    assert interval(forced, "clopper_pearson") == (pytest.approx(1.3582, abs=5e-5), None)


def test_dprime_at_the_floor_mirrors_the_ceiling() -> None:
    top, bottom = (find(estimates_of(step([a] * 10, tasks=5)), "dprime", delta=1) for a in ("12", "21"))
    assert bottom.value == pytest.approx(-(top.value or 0))
    assert bottom.censored == "left"
    assert bottom.intervals[0].high == pytest.approx(-(top.intervals[0].low or 0))


def test_dprime_with_ties_is_the_mean_of_two_cuts() -> None:
    # Better in 1: said 1 six times, tie three, 2 once. Better in 2: said 1 twice, tie three, 2 five times.
    value = separation(np.array([6, 3, 10, 2, 3, 10]))
    strict = z(6.5 / 11) - z(2.5 / 11)
    lenient = z(9.5 / 11) - z(5.5 / 11)
    assert value == pytest.approx((strict + lenient) / 2)


def test_dprime_does_not_move_with_the_tie_criterion() -> None:
    # A judge with d′ = 1.5 who ties within ±tau: large samples, two criteria, one d′.
    size = 200_000
    for tau in (0.1, 0.8):
        cdf = NormalDist().cdf
        said_1, not_2 = (1 - cdf(t - 0.75) for t in (tau, -tau))
        false_1, false_not_2 = (1 - cdf(t + 0.75) for t in (tau, -tau))
        counts = [said_1, not_2 - said_1, 1, false_1, false_not_2 - false_1, 1]
        assert separation(size * np.array(counts)) == pytest.approx(1.5, abs=1e-3)


def test_always_first_sets_no_limit_on_dprime() -> None:
    d = find(estimates_of(step(["11"] * 10, tasks=5)), "dprime", delta=1)
    assert d.value == pytest.approx(0.0)
    assert (d.intervals[0].low, d.intervals[0].high) == (None, None)
    assert d.censored is None


def test_dprime_needs_both_slots() -> None:
    d = find(estimates_of(step(["1-", "t-"], tasks=2)), "dprime", delta=1)
    assert d.value is None
    assert d.note == ONE_SIDE


def test_dprime_has_limits_from_its_shares_then_a_bootstrap() -> None:
    answers = ["12", "12", "1t", "11", "22", "12", "tt", "12", "12", "12"] * 3
    estimates = estimates_of(step(answers, tasks=7))
    d, forced = (find(estimates, m, delta=1) for m in ("dprime", "dprime_2afc"))
    assert [i.method for i in d.intervals] == ["mover_cluster", "bootstrap_cluster"]
    assert (d.intervals[0].low or 9) < (d.value or 0) < (d.intervals[0].high or -9)
    assert forced.value == pytest.approx((d.value or 0) / sqrt(2))
    assert forced.intervals[0].low == pytest.approx((d.intervals[0].low or 0) / sqrt(2))


# Criterion --------------------------------------------------------------------------------------------


def shift(base: Pairs, strict: Pairs) -> Estimate:
    return protocol_shift(EstimateContext("J", "criterion", {"delta": 0}, 7), TIES, base, strict)


def test_shift_by_hand() -> None:
    # Ties 2 of 8 → 5 of 8.
    estimate = shift(make(["tt", "11", "11", "11"], tasks=4), make(["tt", "tt", "1t", "11"], tasks=4))
    assert (estimate.value, estimate.numerator, estimate.denominator) == (0.375, 3, 8)
    methods = [i.method for i in estimate.intervals]
    assert methods == ["tango_cluster", "bootstrap_cluster_paired", "newcombe"]
    assert "2/8 → 5/8" in (estimate.note or "")


def test_paired_arms_say_more_than_unpaired_ones() -> None:
    # Tie rates differ between tasks from 0 to 1, the shift hardly does: pair by pair the tasks cancel.
    tasks = [name for name in "abcdef" for _ in range(4)]
    base = make([("tt" if i < ties else "11") for ties in (0, 1, 2, 3, 0, 3) for i in range(4)], tasks=tasks)
    strict = make(
        [("tt" if i < ties else "11") for ties in (1, 2, 3, 4, 1, 3) for i in range(4)], tasks=tasks
    )
    paired, _, unpaired = shift(base, strict).intervals
    assert paired.method == "tango_cluster"
    assert (paired.high or 0) - (paired.low or 0) < (unpaired.high or 0) - (unpaired.low or 0)


def test_no_change_anywhere_falls_back_with_a_note() -> None:
    estimate = shift(make(["12"] * 10, tasks=10), make(["12"] * 10, tasks=10))
    assert estimate.value == 0.0
    # Nothing discordant in 20 calls of 10 tasks: Wilson's limit of 0 in 20/1.1 calls, to both sides, by t(9).
    assert interval(estimate, "tango_cluster") == pytest.approx((-0.2196, 0.2196), abs=5e-5)
    assert interval(estimate, "newcombe") == pytest.approx((-0.1611, 0.1611), abs=5e-5)
    assert "assumed" in (estimate.note or "")


def test_lost_calls_alone_may_set_tasks_apart() -> None:
    # Ties 1 of 5 in both arms and no tie changed, yet each arm lost a call of another task.
    estimate = shift(make(["t1", "12", "1x"], tasks=3), make(["tx", "12", "12"], tasks=3))
    low, high = interval(estimate, "tango_cluster")
    assert (estimate.value, low) == (0.0, pytest.approx(-high))
    assert 0 < high < 1


def test_only_shared_pairs_are_compared() -> None:
    base = make(["11", "11", "tt", "tt"], tasks=2)
    strict = base.where(np.array([True, True, False, False]))
    estimate = shift(base, replace(strict, u_first=np.array([2, 2]), v_first=np.array([2, 2])))
    assert (estimate.value, estimate.denominator) == (1.0, 4)
    assert "2 rows" in (estimate.note or "")


def test_arms_without_shared_pairs_are_compared_unpaired() -> None:
    estimate = shift(make(["11"] * 4, tasks=2, name="a"), make(["tt"] * 4, tasks=2, name="b"))
    assert estimate.value == 1.0
    assert [i.method for i in estimate.intervals] == ["newcombe"]
    assert "share no pair" in (estimate.note or "")


def test_a_missing_arm_is_undefined_with_its_name() -> None:
    vacuum, ladder, none = make(["tt"] * 4, kind="empty"), step(["12"] * 4), make([])
    estimates = criterion_estimates(
        EstimateContext.for_protocol("J", "criterion", "careful", 7), vacuum, none, ladder, none
    )
    arm = {"protocol": "careful"}
    assert [e.group for e in estimates] == [
        {**arm, "kind": "vacuum"},
        {**arm, "delta": 0},
        {**arm, "delta": 1},
    ]
    for estimate in estimates:
        assert estimate.value is None
        assert estimate.probe == "criterion"
    assert estimates[0].note == "nothing was measured under the careful protocol"
    failed = criterion_estimates(
        EstimateContext.for_protocol("J", "criterion", "strict", 7),
        vacuum,
        make(["ff"] * 4, kind="empty"),
        ladder,
        none,
    )[0]
    assert failed.note == "no call ended in a verdict under the strict protocol"
    assert failed.excluded == {"unreadable": 0, "failed": 8}


def test_missing_calls_bound_the_shift() -> None:
    # Base ties 1 of 3 with one missing; strict 2 of 4: 2/4 − 2/4 … 2/4 − 1/4.
    estimate = shift(make(["tx", "11"], tasks=2), make(["tt", "11"], tasks=2))
    assert estimate.bounds == pytest.approx((0.0, 0.25))
    assert estimate.denominator is None


def test_figures_do_not_depend_on_the_order_of_rows() -> None:
    pairs = stack(
        step(["12", "t2", "11", "xt", "12", "2f"] * 6, delta=1, tasks=7, replicates=2),
        step(["12", "12", "1t", "12"] * 6, delta=2, tasks=7, replicates=2),
    )
    first = [e.to_json() for e in estimates_of(pairs)]
    assert first == [e.to_json() for e in estimates_of(shuffled(pairs))]
    one = criterion_estimates(
        EstimateContext.for_protocol("J", "criterion", "strict", 7), pairs, pairs, pairs, shuffled(pairs)
    )
    assert [e.to_json() for e in one] == [
        e.to_json()
        for e in criterion_estimates(
            EstimateContext.for_protocol("J", "criterion", "strict", 7), *[pairs] * 4
        )
    ]


def test_an_answer_that_never_came_makes_dprime_a_bound() -> None:
    # 3 of 4 calls right, the fourth a tie, none wrong: "2" never came with the better in slot 1, so only
    # the correction keeps the cut "ties as not 2" finite.
    (estimate, _) = dprime_estimates(
        EstimateContext("J", "ladder", {"delta": 1}, 7), step(["12", "1t", "12", "12"])
    )
    assert estimate.censored == "right"
    assert all(interval.high is None for interval in estimate.intervals)
    assert "log-linear correction" in (estimate.note or "")


def test_dprime_with_every_answer_seen_is_no_bound() -> None:
    pairs = step(["12", "21", "1t", "t2", "11", "22", "12", "12"])
    (estimate, _) = dprime_estimates(EstimateContext("J", "ladder", {"delta": 1}, 7), pairs)
    assert estimate.censored is None
    assert all(interval.high is not None for interval in estimate.intervals)
