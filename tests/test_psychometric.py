from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.ladder import isotonic, ladder_estimates, reaches, thresholds
from steelyard.probes.catalogue import Ladder
from steelyard.probes.probe import Design
from strategies import find, make, stack

quiet = settings(max_examples=40)
curves = st.lists(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=7
)


def columns(curve: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(curve, dtype=np.float64)
    return array[:, 0], array[:, 1]


def ladder(curve: dict[float, tuple[int, int]], tasks: int = 10) -> Pairs:
    """Pairs with so many right of so many calls at each step; the rest are ties."""
    parts = []
    for delta, (right, calls) in curve.items():
        outcomes = [True] * right + [False] * (calls - right)
        answers = [
            ("1" if a else "t") + ("2" if b else "t")
            for a, b in zip(outcomes[::2], outcomes[1::2], strict=True)
        ]
        # Spread the right answers over the tasks.
        order = np.random.default_rng(4).permutation(len(answers))
        parts.append(make([answers[i] for i in order], tasks=tasks, kind="prefix", delta=delta, better=1))
    return stack(*parts)


def delta75_of(pairs: Pairs) -> Estimate:
    return find(ladder_estimates(EstimateContext.for_protocol("J", "ladder", "base", 7), pairs), "delta75")


@pytest.mark.slow
@quiet
@given(curves)
def test_isotonic_agrees_with_sklearn(curve: list[tuple[int, int]]) -> None:
    correct, calls = columns(curve)
    expected = IsotonicRegression().fit_transform(np.arange(len(curve)), correct / calls, sample_weight=calls)
    assert np.allclose(isotonic(correct, calls), expected, atol=1e-9)


@quiet
@given(curves)
def test_rows_are_fitted_independently(curve: list[tuple[int, int]]) -> None:
    correct, calls = columns(curve)
    both = isotonic(np.stack([correct, correct[::-1]]), np.stack([calls, calls[::-1]]))
    assert np.allclose(both[0], isotonic(correct, calls))
    assert np.allclose(both[1], isotonic(correct[::-1], calls[::-1]))


@quiet
@given(curves)
def test_reaching_is_monotone_and_agrees_with_the_fit(curve: list[tuple[int, int]]) -> None:
    correct, calls = columns(curve)
    reached = reaches(correct, calls) > 0
    fit = isotonic(correct, calls)
    assert np.array_equal(reached, np.sort(reached))
    clear = np.abs(fit - 0.75) > 1e-9
    assert np.array_equal(reached[clear], (fit >= 0.75)[clear])


def test_exactly_three_quarters_reaches() -> None:
    # Pooled 1/3 is below, 3·k ones that make exactly 3/4 are not: 30/40 and, pooled, (20 + 10)/40.
    assert reaches(np.array([30.0]), np.array([40.0])) == 1
    assert np.array_equal(reaches(np.array([20.0, 10.0]), np.array([25.0, 15.0])), [1, 1])
    assert np.array_equal(reaches(np.array([20.0, 9.0]), np.array([25.0, 15.0])), [0, 0])


def test_interpolation_by_hand() -> None:
    # .50 at 1, .70 at 2, .90 at 3: .75 lies a quarter of the way from 2 to 3.
    value = thresholds(np.array([1.0, 2, 3]), np.array([10.0, 14, 18]), np.array([20.0, 20, 20]))
    assert value == pytest.approx(2.25)


def test_violators_are_pooled_before_interpolation() -> None:
    # .6, .4, .9 with 20 calls each: the first two pool to .5; .75 is at 2 + .25/.4 = 2.625.
    value = thresholds(np.array([1.0, 2, 3]), np.array([12.0, 8, 18]), np.array([20.0, 20, 20]))
    assert value == pytest.approx(2.625)


def test_weights_are_calls() -> None:
    # (30/40, 5/10) pool to 35/50 = .70; .75 at 2 + .05/.30.
    value = thresholds(np.array([1.0, 2, 3]), np.array([30.0, 5, 10]), np.array([40.0, 10, 10]))
    assert value == pytest.approx(2 + 0.05 / 0.30)


def test_steps_without_calls_say_nothing() -> None:
    value = thresholds(np.array([1.0, 2, 3]), np.array([10.0, 0, 20]), np.array([20.0, 0, 20]))
    assert 1 < value <= 3
    assert thresholds(np.array([1.0, 2]), np.array([20.0, 0]), np.array([20.0, 0])) == -inf


def test_one_step_is_censored_either_way() -> None:
    assert thresholds(np.array([1.0]), np.array([3.0]), np.array([4.0])) == -inf
    assert thresholds(np.array([1.0]), np.array([2.0]), np.array([4.0])) == inf


def test_reached_at_the_first_step() -> None:
    estimate = delta75_of(ladder({1: (94, 100), 2: (40, 40), 5: (20, 20)}))
    assert (estimate.value, estimate.censored) == (1.0, "left")
    assert estimate.intervals[0].low is None
    assert estimate.intervals[0].high == 1.0
    assert (estimate.note or "").startswith("≤ 1")


def test_never_reached() -> None:
    estimate = delta75_of(ladder({1: (10, 100), 5: (4, 20)}))
    assert (estimate.value, estimate.censored) == (5.0, "right")
    assert estimate.intervals[0].high is None
    assert (estimate.note or "").startswith("> 5")


def test_published_threshold_of_four() -> None:
    # .61 at 1 and exactly 30/40 at 4 with lower steps between: the published 4.0.
    curve = {1: (61, 100), 2: (26, 40), 3: (28, 40), 4: (30, 40), 5: (20, 20)}
    estimate = delta75_of(ladder(curve))
    assert (estimate.value, estimate.censored) == (4.0, None)
    low, high = estimate.intervals[0].low, estimate.intervals[0].high
    assert estimate.intervals[0].method == "bootstrap_cluster"
    assert low is None or low <= 4.0
    assert high is None or high >= 4.0


def test_replicates_censor_the_same_way() -> None:
    # At .75 ± a little at the first of two steps, some replicates fall below and some do not.
    estimate = delta75_of(ladder({1: (76, 100), 2: (98, 100)}))
    assert estimate.censored == "left"
    assert estimate.intervals[0].low is None
    assert 1.0 < (estimate.intervals[0].high or 0) < 2.0


def test_agreeing_tasks_fall_back_on_the_limits_of_each_step() -> None:
    # 2 calls per task and step, all right: 10 calls cannot exclude .75 at the first step.
    few = delta75_of(ladder({1: (10, 10), 2: (10, 10)}, tasks=5))
    assert few.intervals[0].method == "wilson_steps"
    assert few.intervals[0].high is None
    many = delta75_of(ladder({1: (400, 400), 2: (400, 400)}, tasks=20))
    assert (many.intervals[0].low, many.intervals[0].high) == (None, 1.0)


def test_half_steps_are_steps() -> None:
    estimate = delta75_of(ladder({0.5: (20, 40), 1: (40, 40)}))
    # .5 at .5 and 1 at 1: .75 is at .75.
    assert estimate.value == pytest.approx(0.75)
    assert "steps 0.5 and 1" in (estimate.note or "")


def test_no_ladder_is_undefined() -> None:
    assert delta75_of(make(["tt"] * 4)).value is None
    unread = delta75_of(make(["xx"] * 4, kind="prefix", delta=1, better=1))
    assert unread.value is None
    assert unread.excluded == {"unreadable": 8, "failed": 0}


def test_half_steps_resolve_a_threshold_below_one_element() -> None:
    # .60 at a half step, .90 at one: .75 lies half-way between them, and nothing is censored.
    estimate = delta75_of(ladder({0.5: (60, 100), 1: (90, 100), 2: (80, 80), 5: (20, 20)}))
    assert estimate.value == pytest.approx(0.75)
    assert estimate.censored is None
    assert (estimate.note or "") == "interpolated between steps 0.5 and 1"


def test_the_full_profile_measures_half_steps() -> None:
    found = Counter(s.stimulus.delta for s in Ladder().showings(Design(7, "full"), ("base",)))
    assert found[0.5] == 480
    assert 0.5 not in Counter(s.stimulus.delta for s in Ladder().showings(Design(7, "standard"), ("base",)))
