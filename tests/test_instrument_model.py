"""The joint fit: planted parameters come back, ends are derived by hand, labels do not matter."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from math import exp
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from own_judges import measured, study_of
from planted_pairs import PLANTED, QUICK, STANDARD, constant, covered, simulate, unprofiled, vector
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.instrument.estimates import TOO_LITTLE, protocol_estimates
from steelyard.metrics.instrument.fit import HIGHEST, LOWEST, STARTS, best_fit, fit
from steelyard.metrics.instrument.likelihood import NAMES, cell_rates, pattern_scores, patterns_of, rows_of
from steelyard.metrics.instrument.model import (
    _cells,
    _simulated_tables,
    _sorted,
    deviance,
    fit_instrument,
    fit_test,
    sandwich,
)
from steelyard.metrics.instrument.profile import ClusterSpread, held_at, reaches
from steelyard.metrics.pairs.columns import PairAnswer, Pairs
from steelyard.providers.planted.decision_model import Parameters, expected_pair_rates
from strategies import interval, make, shuffled, stack, swap_contents, swap_slots

HEADING = EstimateContext("J", "ladder", {"protocol": "base"}, 7)
LOSS = 2.262157**2 / 2
"""Log-likelihood that a limit may cost with ten tasks: half the square of the 97.5 % quantile of t with 9."""
few = settings(max_examples=3)
TWO_STEPS = {0: 110, 1: 100}
"""As many pairs as the standard profile has, on two steps: every further one takes its time."""


def estimates(pairs: Pairs, refits: int = 0) -> dict[str, Estimate]:
    return {e.metric: e for e in protocol_estimates(HEADING, pairs, fit_instrument(pairs, 7, refits))}


@cache
def constantly(answer: str) -> dict[str, Estimate]:
    return estimates(constant(answer, answer, TWO_STEPS))


@cache
def recovered() -> dict[str, Estimate]:
    return estimates(simulate(PLANTED, 1, replicates=3), 199)


@pytest.mark.parametrize(
    ("metric", "gate"),
    [("resolution", 0.18), ("position_bias", 0.15), ("tie_threshold", 0.13), ("surface_sensitivity", 0.30)],
)
def test_planted_parameters_are_recovered(metric: str, gate: float) -> None:
    found = recovered()[metric]
    assert found.n_calls == 1260
    assert (found.n_units, found.n_clusters) == (210, 10)
    assert found.value == pytest.approx(getattr(PLANTED, metric), abs=gate)
    assert [i.method for i in found.intervals] == ["profile_cluster", "profile", "sandwich_cluster"]
    assert recovered()["fit_probability"].denominator == 200


def test_the_maximum_is_the_one_scipy_finds() -> None:
    patterns = patterns_of(rows_of(simulate(PLANTED, 5)))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, score = pattern_scores(theta[None], patterns)
        return -float(value[0] @ patterns.weights), -(score[0].T @ patterns.weights)

    box = list(zip(LOWEST, HIGHEST, strict=True))
    oracle = min((minimize(loss, start, jac=True, bounds=box) for start in STARTS[:4]), key=lambda r: r.fun)
    found = best_fit(patterns)
    assert -found.value[0] == pytest.approx(oracle.fun, abs=1e-5)
    assert found.theta[0] == pytest.approx(oracle.x, abs=5e-3)


def test_cells_agree_with_the_planted_judge() -> None:
    table = cell_rates(vector(PLANTED)[None], np.array([0.0]))[0, 0]
    expected = expected_pair_rates(PLANTED)
    assert table.sum() == pytest.approx(1)
    assert table[0, 1] + table[1, 0] == pytest.approx(expected.stable_cross_sensitivity, abs=1e-9)
    assert table[0, 0] + table[1, 1] == pytest.approx(expected.positional_false_preference, abs=1e-9)
    # Content labels are arbitrary between equals, so the table of equals is symmetric.
    assert table == pytest.approx(table.T, abs=1e-12)


def test_gradients_are_those_of_the_likelihood() -> None:
    patterns = patterns_of(rows_of(simulate(PLANTED, 5, replicates=2)))
    theta = vector(PLANTED)
    _, score = pattern_scores(theta[None], patterns)
    for index in range(len(NAMES)):
        step = 1e-5 * np.eye(len(NAMES))[index]
        above, below = (pattern_scores((theta + sign * step)[None], patterns)[0] for sign in (1, -1))
        assert score[..., index] == pytest.approx((above - below) / 2e-5, abs=1e-4)


def test_equal_profiles_are_followed_once_and_told_to_all() -> None:
    patterns = patterns_of(rows_of(simulate(PLANTED, 5)))
    which, place = np.array([1, 0, 1, 0, 1]), np.array([0.5, 0.7, 0.5, 0.9, 0.2])
    starts = np.tile(vector(PLANTED), (5, 1))
    together = held_at(patterns, starts, which, place)
    for row in range(5):
        alone = held_at(patterns, starts[row : row + 1], which[row : row + 1], place[row : row + 1])
        assert together.theta[row] == pytest.approx(alone.theta[0], abs=1e-12)
        assert together.value[row] == pytest.approx(alone.value[0], abs=1e-9)
    assert (together.theta[0] == together.theta[2]).all()
    assert together.theta[:, 1][[0, 2, 4]].tolist() == [0.5, 0.5, 0.2]


@pytest.mark.slow
def test_always_first_is_a_bound_derived_by_hand() -> None:
    # 420 calls all say 1: 420 log Φ(bias) = −t²/2 with every other parameter at its best, zero, and t that
    # of ten tasks. Lapses alone would cost 420 log(1 − 2λ/3).
    found = constantly("11")
    lost = LOSS / 420
    bias = found["position_bias"]
    assert bias.value == pytest.approx(norm.ppf(exp(-lost)), abs=0.01)
    assert (bias.censored, bias.intervals[0].high) == ("right", None)
    assert interval(found["lapse_rate"], "profile_cluster") == pytest.approx(
        (0.0, (1 - exp(-lost)) * 1.5), abs=1e-4
    )
    for metric in ("resolution", "tie_threshold", "surface_sensitivity"):
        assert found[metric].value is None
        assert "no limit" in str(found[metric].note)


@pytest.mark.slow
def test_always_second_is_the_mirror_image() -> None:
    first, second = (constantly(a)["position_bias"] for a in ("11", "22"))
    assert second.value == pytest.approx(-float(first.value or 0), abs=0.01)
    assert (second.censored, second.intervals[0].low) == ("left", None)


@pytest.mark.slow
def test_always_tie_bounds_the_threshold_alone() -> None:
    found = constantly("tt")
    # P(tie) = 2Φ(threshold) − 1.
    expected = norm.ppf((1 + exp(-LOSS / 420)) / 2)
    assert found["tie_threshold"].value == pytest.approx(expected, abs=0.01)
    assert found["tie_threshold"].censored == "right"
    assert [found[m].value for m in ("resolution", "position_bias", "surface_sensitivity")] == [None] * 3


@pytest.mark.slow
def test_a_perfect_judge_bounds_resolution_from_below() -> None:
    found = estimates(constant("tt", "12", TWO_STEPS))["resolution"]
    assert found.censored == "right"
    assert found.value is not None
    assert found.value > 3


@pytest.mark.slow
def test_a_coin_has_no_resolution_and_no_bias() -> None:
    answers = np.random.default_rng(3).integers(0, 2, (210, 2))
    rows = ["12"[a] + "12"[b] for a, b in answers]
    deltas = [d for d, n in STANDARD.items() for _ in range(n)]
    kinds = ["prefix" if d else "same_subset" for d in deltas]
    found = estimates(make(rows, tasks=10, kind=kinds, delta=deltas, better=[int(d > 0) for d in deltas]), 19)
    for metric in ("resolution", "position_bias"):
        low, high = interval(found[metric], "profile")
        assert low is not None
        assert high is not None
        assert low - 0.05 < 0 < high + 0.05
    assert found["tie_threshold"].value == 0


def test_a_judge_that_is_no_such_instrument_is_not_read() -> None:
    # Right on one step, wrong on two, right on three: no resolution does that.
    parts = [make(["tt", "12", "21"] * 10, tasks=10)]
    for delta, answer in ((1, "12"), (2, "21"), (3, "12")):
        parts.append(make([answer, answer, "tt"] * 10, tasks=10, kind="prefix", delta=delta, better=1))
    found = estimates(stack(*parts), 199)
    test = found.pop("goodness_of_fit"), found.pop("fit_probability")
    assert all(e.value is None and not e.intervals for e in found.values())
    assert all("does not fit" in str(e.note) for e in found.values())
    assert [e.status for e in test] == ["flagged", "flagged"]
    assert (test[1].numerator, test[1].denominator) == (1, 200)


def test_quick_runs_are_too_little() -> None:
    assert {e.note for e in estimates(simulate(PLANTED, 3, QUICK)).values()} == {str(TOO_LITTLE)}


@pytest.mark.parametrize("sizes", [{0: 100}, {1: 100}, {0: 5, 1: 5}])
def test_too_little_is_said(sizes: dict[int, int]) -> None:
    assert {e.note for e in estimates(simulate(PLANTED, 3, sizes)).values()} == {str(TOO_LITTLE)}


def test_replicates_that_never_differ_count_once() -> None:
    once = simulate(PLANTED, 4, TWO_STEPS)
    thrice = stack(
        *(
            make(
                [a for a in codes for _ in range(3)],
                tasks=10,
                kind="prefix" if d else "same_subset",
                delta=d,
                better=int(d > 0),
                replicates=3,
                name=f"d{d}-",
            )
            for d in TWO_STEPS
            for codes in [["12t"[a] + "12t"[b] for a, b in _codes(once, d)]]
        )
    )
    one, three = estimates(once), estimates(thrice)
    for name in (metric.id for metric in NAMES):
        assert three[name].value == one[name].value
        assert three[name].intervals == one[name].intervals
        assert "counted once" in str(three[name].note)


def _codes(pairs: Pairs, delta: float) -> list[tuple[int, int]]:
    here = pairs.delta == delta
    return list(zip(pairs.u_first[here], pairs.v_first[here], strict=True))


judges = st.builds(
    Parameters,
    resolution=st.floats(0.3, 1.5),
    position_bias=st.floats(-0.8, 0.8),
    tie_threshold=st.floats(0.2, 1.0),
    surface_sensitivity=st.floats(0.3, 1.2),
)


def theta_of(pairs: Pairs) -> np.ndarray:
    return best_fit(patterns_of(rows_of(pairs))).theta[0]


@few
@given(judges, st.integers(0, 1000))
def test_relabelling_flips_what_it_should_and_nothing_else(planted: Parameters, seed: int) -> None:
    pairs = simulate(planted, seed)
    found = theta_of(pairs)
    assert theta_of(swap_slots(pairs)) == pytest.approx(found * [1, -1, 1, 1, 1], abs=0.01)
    assert theta_of(swap_contents(pairs)) == pytest.approx(found, abs=0.01)
    flipped = swap_contents(swap_slots(pairs))
    # Answers and contents are flipped, who is better is not.
    flipped = type(pairs)(**{**vars(flipped), "better": pairs.better})
    assert theta_of(flipped) == pytest.approx(found * [-1, -1, 1, 1, 1], abs=0.01)


def test_the_order_of_rows_changes_no_digit() -> None:
    pairs = simulate(PLANTED, 6, TWO_STEPS)
    assert estimates(pairs, 19) == estimates(shuffled(pairs), 19)


def test_profile_intervals_cover() -> None:
    # 95 % intervals miss more than 2 of 8 runs in six cases in a thousand; `make calibrate` runs many.
    hits = sum(covered(simulate(PLANTED, 100 + seed), vector(PLANTED)).astype(int) for seed in range(8))
    assert (hits >= 6).all(), hits


def test_limits_lose_what_they_should() -> None:
    """A hundredth inside of each limit the fit loses less than half the square of 1.96, outside more."""
    patterns = patterns_of(rows_of(simulate(PLANTED, 9)))
    best = best_fit(patterns)
    places = []
    for index, reach in enumerate(reaches(patterns, best)[:4]):
        assert reach.low is not None
        assert reach.high is not None
        places += [(index, end + step) for end in (reach.low, reach.high) for step in (-1e-2, 1e-2)]
    which, place = (np.array(column) for column in zip(*places, strict=True))
    held = held_at(patterns, np.tile(best.theta, (len(places), 1)), which, place)
    within = best.value[0] - held.value < 1.959964**2 / 2
    assert within.tolist() == [False, True, True, False] * 4


def test_refits_that_stop_early_count_as_refits_to_the_end() -> None:
    rows = rows_of(simulate(PLANTED, 9))
    theta = best_fit(patterns_of(rows)).theta[0]
    found = fit_test(rows, theta, 3, 40)
    assert found is not None
    kept = _sorted(rows)
    deltas, step = np.unique(kept.delta, return_inverse=True)
    drawn = _simulated_tables(kept, step, theta, np.random.default_rng(3), 40)
    fits = fit(_cells(deltas), drawn.reshape(40, -1), np.tile(theta, (40, 1)), gain=1e-3)
    far = deviance(drawn, cell_rates(fits.theta, deltas), deltas)
    assert found.as_far == 1 + int((far >= found.deviance - 1e-9).sum())
    assert 1 < found.as_far < 41


def test_the_sandwich_widens_where_tasks_differ_in_position_bias() -> None:
    # `make calibrate` counts how often either covers; here one judge whose tasks differ a lot.
    found = unprofiled(simulate(PLANTED, 500, tilt=0.8))
    steady = unprofiled(simulate(PLANTED, 500))
    assert sandwich(found)[1] > 1.5 * sandwich(steady)[1]


def test_limits_by_task_are_never_narrower() -> None:
    for tilt in (0.0, 0.8):
        found = fit_instrument(simulate(PLANTED, 500, tilt=tilt), 7, 0)
        assert found is not None
        for name, reach in zip(NAMES, found.reach, strict=True):
            low, high = reach.independent
            assert (reach.low or 0) <= (low or 0), name
            assert reach.high is None or (high is not None and high <= reach.high), name
        low, high = found.reach[1].independent
        ratio = (found.reach[1].high - found.reach[1].low) / (high - low)
        # Student's t alone widens by 2.26 / 1.96; tasks that differ widen by much more.
        assert ratio == pytest.approx(2.262 / 1.96, abs=0.03) if not tilt else ratio > 1.8


def test_few_tasks_leave_the_profile_alone() -> None:
    found = estimates(simulate(PLANTED, 4, tasks=4))["position_bias"]
    assert [i.method for i in found.intervals] == ["profile"]
    assert "fewer than 6 clusters" in str(found.note)


def test_the_inflation_by_hand() -> None:
    # Two parameters matter: variances 4 and 1, covariance 0; effects of three tasks.
    covariance = np.full((5, 5), np.nan)
    covariance[:2, :2] = np.diag([4.0, 1.0])
    effects = np.full((3, 5), np.nan)
    effects[:, :2] = [[2, 1], [-2, 1], [0, -2]]
    spread = ClusterSpread(covariance, effects)
    # First: (4 + 4 + 0) · 3/2 over 4. Second: (1 + 1 + 4) · 3/2 over 1. Sum: (9 + 1 + 4) · 3/2 over 5.
    assert spread.inflation(np.eye(5)[0]) == pytest.approx(3)
    assert spread.inflation(np.eye(5)[1]) == pytest.approx(9)
    assert spread.inflation(np.array([1.0, 1, 0, 0, 0])) == pytest.approx(21 / 5)
    assert spread.inflation(np.eye(5)[3]) == 1
    assert ClusterSpread(10 * covariance, effects).inflation(np.eye(5)[0]) == 1


def test_the_sandwich_of_many_tasks_agrees_with_the_information() -> None:
    # One pair per task and a model that holds: clustering has nothing to add.
    pairs = simulate(PLANTED, 8, tasks=210)
    found = unprofiled(pairs)
    reach = reaches(found.patterns, found.best)[1]
    assert reach.low is not None
    assert reach.high is not None
    assert 3.92 * sandwich(found)[1] == pytest.approx(reach.high - reach.low, rel=0.2)


def test_one_order_is_not_enough() -> None:
    pairs = simulate(PLANTED, 4)
    alone = replace(pairs, v_first=np.full(len(pairs), PairAnswer.ABSENT))
    assert {e.note for e in estimates(alone).values()} == {str(TOO_LITTLE)}


TWO_ARMS = {
    "judges": [
        {
            "name": "one",
            "model": "planted/probit",
            "protocols": {"strict": {"tau": 1.2}, "loose": {"tau": 0.1}},
        }
    ],
    "probes": ["ladder", "criterion", {"criterion": {"protocol": "loose"}}],
}


def test_every_protocol_of_a_judge_is_held_against_base_and_no_baseline_is_fitted(
    tmp_path: Path,
) -> None:
    measured(study_of(TWO_ARMS, ("coin",)), tmp_path / "run")
    rows = json.loads((tmp_path / "run" / "datasheet.json").read_text())["estimates"]
    held = {row["group"]["protocol"]: row["note"] for row in rows if row["metric"] == "resolution_ratio"}
    assert held == dict.fromkeys(
        ("strict", "loose"), "too few pairs under the base protocol for the joint fit"
    )
    fitted = {row["group"]["protocol"] for row in rows if row["metric"] == "resolution"}
    assert fitted == {"base", "strict", "loose"}
    # Baselines have the counted figures, and are never fitted.
    assert {row["judge"] for row in rows if row["metric"] == "resolution"} == {"one"}
    assert {row["note"] for row in rows if row["metric"] in {metric.id for metric in NAMES}} == {
        str(TOO_LITTLE)
    }
    assert {row["judge"] for row in rows if row["metric"] == "target_sensitivity"} == {"one", "coin"}
