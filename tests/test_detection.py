"""The limit of detection: derived by hand, bounded at the ends, its limits those of a profile."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from planted_pairs import PLANTED, constant, simulate, unprofiled, vector
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.derived import (
    CHART,
    detection,
    limit_of_detection,
    needed_drive,
)
from steelyard.metrics.instrument.estimates import _limit_of_detection
from steelyard.metrics.instrument.likelihood import cell_rates
from steelyard.metrics.instrument.profile import held_at
from steelyard.metrics.pairs.columns import Pairs
from steelyard.providers.planted.decision_model import Parameters, expected_rates

quiet = settings(max_examples=40)
thetas = st.tuples(
    st.floats(0.2, 3), st.floats(-1.5, 1.5), st.floats(0, 2), st.floats(0.05, 2), st.floats(0, 0.06)
).map(np.array)


def estimate(pairs: Pairs) -> Estimate:
    row = Estimate("J", "ladder", "", {"protocol": "base"}, "pair", None, n_units=len(pairs))
    return _limit_of_detection(row, unprofiled(pairs), "profile", [])


def share_named(theta: np.ndarray, step: float) -> float:
    """Calls that name the better text a step apart, mean of both orders, from the model's own sentence."""
    resolution, bias, tie, surface, lapse = theta
    slots = [norm.cdf((resolution * step + sign * bias - tie) / np.hypot(1, surface)) for sign in (1, -1)]
    return float((1 - lapse) * np.mean(slots) + lapse / 3)


def test_by_hand() -> None:
    # No bias, no surface, no lapses: Φ(1 · step − 0.5) = .95 at 0.5 + 1.6449.
    assert limit_of_detection(np.array([1.0, 0, 0.5, 0, 0])) == pytest.approx(2.1449, abs=1e-4)
    # Surface sensitivity √3 doubles the spread; half the resolution doubles the step.
    assert limit_of_detection(np.array([1.0, 0, 0.5, np.sqrt(3), 0])) == pytest.approx(3.7897, abs=1e-4)
    assert limit_of_detection(np.array([0.5, 0, 0.5, 0, 0])) == pytest.approx(4.2897, abs=1e-4)


@pytest.mark.parametrize("theta", [[-1, 0, 0.5, 0, 0], [0, 0, 0.5, 0, 0], [2, 0, 0.5, 0, 0.08]])
def test_no_step_is_enough(theta: list[float]) -> None:
    # Lapses above .075 leave at most 1 − 2/3 · .075 = .95 of calls to be right.
    assert limit_of_detection(np.array(theta, dtype=float)) == inf


@quiet
@given(thetas, st.floats(0, 5))
def test_the_share_is_that_of_the_tables(theta: np.ndarray, step: float) -> None:
    table = cell_rates(theta[None], np.array([step]))[0, 0]
    expected = (table[0].sum() + table[:, 1].sum()) / 2
    assert share_named(theta, step) == pytest.approx(expected, abs=2e-4)


@quiet
@given(thetas)
def test_at_the_limit_95_of_100_calls_name_the_better_text(theta: np.ndarray) -> None:
    assert share_named(theta, limit_of_detection(theta)) == pytest.approx(0.95, abs=1e-6)


def test_it_agrees_with_the_planted_judge() -> None:
    limit = limit_of_detection(vector(PLANTED))
    assert expected_rates(PLANTED, limit).better == pytest.approx(0.95, abs=1e-6)


@pytest.mark.slow
@quiet
@given(thetas)
def test_the_slopes_of_the_coordinates(theta: np.ndarray) -> None:
    place = theta.copy()
    place[0] = 0.7
    _, turn = CHART.parameters(place[None])
    assert turn is not None
    for index in range(5):
        step = 1e-5 * np.eye(5)[index]
        above, below = (CHART.parameters((place + sign * step)[None])[0][0] for sign in (1, -1))
        assert turn[0][:, index] == pytest.approx((above - below) / 2e-5, abs=2e-3)


def test_the_drive_is_the_smallest_that_is_enough() -> None:
    drive = needed_drive(np.array([[9.0, 0, 0.2, 0, 0]]))[0]
    assert drive == pytest.approx(0.2 + norm.ppf(0.95))


def test_profile_limits_lose_what_they_should() -> None:
    found = unprofiled(simulate(Parameters(lapse_rate=0.0), 6))
    limit = detection(found)
    assert limit.low is not None
    assert limit.low < limit.value
    start = found.best.theta.copy()
    start[:, 0] = np.log(limit.value)
    held = held_at(found.patterns, start, np.array([0]), np.log(np.array([limit.low])), CHART)
    assert found.best.value[0] - held.value[0] == pytest.approx(2.5587, abs=0.02)


def test_beyond_the_ladder_it_is_a_bound() -> None:
    blunt = estimate(simulate(Parameters(resolution=0.15), 3))
    assert (blunt.value, blunt.censored) == (5.0, "right")
    first = estimate(constant("11", "11"))
    assert (first.value, first.censored) == (5.0, "right")
    assert (first.intervals[0].low, first.intervals[0].high) == (5.0, None)


@pytest.mark.slow
def test_a_judge_that_is_always_right_has_an_upper_bound() -> None:
    # 100 calls at one step, none wrong: .95 at that step would cost 100 · log .95, more than 1.92.
    found = estimate(constant("tt", "12"))
    assert (found.value, found.censored) == (1.0, "left")
    assert (found.intervals[0].low, found.intervals[0].high) == (None, 1.0)


def test_half_steps_resolve_a_keen_judge() -> None:
    sizes = {0: 144, 0.5: 240, 1: 120, 2: 96, 3: 72, 4: 48, 5: 24}
    keen = Parameters(resolution=3.0, position_bias=0.1, tie_threshold=0.3, surface_sensitivity=0.2)
    found = estimate(simulate(keen, 5, sizes, tasks=24))
    assert found.censored is None
    assert found.value == pytest.approx(limit_of_detection(vector(keen)), abs=0.25)
