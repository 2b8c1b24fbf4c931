"""The joint fit copes with every judge: extreme, sharp, constant, on designs large and small."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite

import numpy as np
import pytest

from planted_pairs import STANDARD, constant, simulate
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.instrument.derived import ratio_estimate
from steelyard.metrics.instrument.estimates import INSTRUMENT, protocol_estimates
from steelyard.metrics.instrument.likelihood import NAMES
from steelyard.metrics.instrument.model import fit_instrument
from steelyard.metrics.pairs.columns import Pairs
from steelyard.providers.planted.decision_model import Parameters

SHARP = Parameters(resolution=4, position_bias=2.5, tie_threshold=2.2, surface_sensitivity=0, lapse_rate=0)
HEADING = EstimateContext("J", "ladder", {"protocol": "base"}, 7)
GRID = {
    "resolution": (0.0, 0.05, 0.37, 0.8, 2.4, 4.0, 8.0, -1.0),
    "position_bias": (0.0, 0.05, -0.55, 1.5, 2.5, -2.5, 4.0, -4.0),
    "tie_threshold": (0.0, 0.05, 0.6, 1.5, 2.2, 4.0),
    "surface_sensitivity": (0.0, 0.7, 1.1, 2.5),
    "lapse_rate": (0.0, 0.0, 0.02, 0.04, 0.5),
}
DESIGNS = (
    STANDARD,
    {0: 30, 1: 30},
    {0: 59, 3: 1},
    {0: 1, 5: 59},
    {0: 10, 1: 10, 2: 10, 3: 10, 4: 10, 5: 10},
    {0: 60, 0.5: 100, 1: 50, 2: 40, 3: 30, 4: 20, 5: 10},
)


def sound(estimate: Estimate) -> bool:
    """Finite, inside its own intervals, with a reason where undefined, and writable."""
    json.dumps(estimate.to_json(), allow_nan=False)
    ends = [(interval.low, interval.high) for interval in estimate.intervals]
    numbers = [number for number in (estimate.value, *sum(ends, ())) if number is not None]
    if estimate.value is None:
        return bool(estimate.note) and not ends
    inside = all(
        (low is None or low <= estimate.value + 1e-9) and (high is None or estimate.value <= high + 1e-9)
        for low, high in ends
    )
    censored = (estimate.censored == "right" and ends[0][1] is None) or (
        estimate.censored == "left" and ends[0][0] is None
    )
    return all(map(isfinite, numbers)) and inside and (censored or estimate.censored is None)


def check(pairs: Pairs, case: object, refits: int = 0) -> Sequence[Estimate]:
    found = fit_instrument(pairs, 7, refits)
    estimates = protocol_estimates(HEADING, pairs, found)
    assert [estimate.metric for estimate in estimates] == [metric.id for metric in INSTRUMENT]
    for estimate in (*estimates, ratio_estimate(HEADING, found, found)):
        assert sound(estimate), (case, estimate)
    return estimates


def drawn(number: int) -> tuple[Parameters, dict[str, object]]:
    """One case of the sweep: a judge, and how it is shown."""
    chance = np.random.default_rng([11, number])
    judge = Parameters(**{name: values[chance.integers(len(values))] for name, values in GRID.items()})
    shown = {
        "seed": int(chance.integers(1 << 30)),
        "sizes": DESIGNS[chance.integers(len(DESIGNS))],
        "replicates": (1, 1, 1, 3)[chance.integers(4)],
        "tasks": (1, 2, 6, 10, 24)[chance.integers(5)],
        "tilt": (0.0, 0.0, 0.8)[chance.integers(3)],
    }
    return judge, shown


def test_a_sharp_leaning_judge_gets_its_figures() -> None:
    # Without noise to speak of some answers become impossible along a profile.
    rows = {estimate.metric: estimate for estimate in check(simulate(SHARP, 7), SHARP, refits=3)}
    for metric, planted in zip(NAMES[:3], (4, 2.5, 2.2), strict=True):
        limits = rows[metric.id].intervals[0]
        assert limits.low is not None
        assert limits.low < planted
        assert limits.high is None or limits.high > planted


@pytest.mark.slow
@pytest.mark.parametrize(
    "answers",
    [("11", "12"), ("12", "21"), pytest.param(("tt", "11"), marks=pytest.mark.calibrate), ("1t", "t2")],
)
def test_judges_of_one_mind(answers: tuple[str, str]) -> None:
    check(constant(*answers, {0: 40, 1: 20, 3: 10}), answers)


@pytest.mark.parametrize("number", [10, 16, 21, 27, 31, 35])
def test_every_judge_gets_figures(number: int) -> None:
    """Every design once, one of them with replicates and one with a tilt."""
    judge, shown = drawn(number)
    check(simulate(judge, **shown), (judge, shown))  # type: ignore[arg-type]


@pytest.mark.calibrate
@pytest.mark.parametrize("block", range(8))
def test_every_judge_of_a_wide_sweep_gets_figures(block: int) -> None:
    for number in range(100 * block, 100 * block + 100):
        judge, shown = drawn(number)
        check(simulate(judge, **shown), (judge, shown), refits=9)  # type: ignore[arg-type]
