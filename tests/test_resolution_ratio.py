"""Resolution of two protocols: the profile of their ratio, and what may be claimed from it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy.optimize import minimize

from planted_pairs import PLANTED, STANDARD, constant, simulate
from said import answered
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.instrument.derived import (
    RESOLUTION_RATIO,
    ProfileCurve,
    profile_curve,
    profile_of_ratio,
    ratio_estimate,
    ratio_probability,
    ratio_spread,
    ratio_word,
)
from steelyard.metrics.instrument.fit import HIGHEST, LOWEST
from steelyard.metrics.instrument.likelihood import pattern_scores
from steelyard.metrics.instrument.model import InstrumentFit, fit_instrument
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.pairs.columns import Pairs
from steelyard.providers.planted.decision_model import Parameters

resolution = partial(answered, "Resolution")

STRICT = replace(PLANTED, tie_threshold=1.2)
SMALL = {0: 24, 1: 24, 4: 16}
MANY = {delta: 12 * count for delta, count in STANDARD.items()}
HEADING = EstimateContext("J", "ladder", {"protocol": "strict"}, 7)


def arm(pairs: Pairs) -> InstrumentFit:
    found = fit_instrument(pairs, 7, 0)
    assert found is not None
    return found


@cache
def sound() -> InstrumentFit:
    return arm(simulate(PLANTED, 1))


@cache
def strict() -> InstrumentFit:
    return arm(simulate(STRICT, 2))


@cache
def shown() -> Estimate:
    """Many pairs of a judge whose threshold alone moves."""
    arms = (arm(simulate(planted, seed, MANY, tasks=30)) for seed, planted in ((1, PLANTED), (2, STRICT)))
    return ratio_estimate(HEADING, *arms)


def test_the_profile_is_the_one_scipy_finds() -> None:
    base, other = sound(), strict()
    curves, wanted = (profile_curve(base), profile_curve(other)), 1.3

    def loss(free: np.ndarray) -> float:
        thetas = np.array([free[0], *free[1:5]]), np.array([wanted * free[0], *free[5:]])
        parts = zip((base, other), thetas, strict=True)
        return -sum(float(pattern_scores(t[None], f.patterns)[0][0] @ f.patterns.weights) for f, t in parts)

    start = np.concatenate([base.best.theta[0], other.best.theta[0, 1:]])
    box = list(zip([*LOWEST, *LOWEST[1:]], [*HIGHEST, *HIGHEST[1:]], strict=True))
    oracle = minimize(loss, start, bounds=box)
    top = float(base.best.value[0] + other.best.value[0])
    assert profile_of_ratio(*curves, wanted) == pytest.approx(2 * (oracle.fun + top), abs=0.02)


def test_an_arm_against_itself_has_ratio_one() -> None:
    found = ratio_estimate(HEADING, sound(), sound())
    assert found.value == pytest.approx(1)
    wide, narrow = found.intervals  # A task moves both arms alike, so the sandwich has no width.
    assert [(i.method, i.confidence) for i in (wide, narrow)] == [
        ("profile_cluster", 0.95),
        ("profile_cluster", 0.90),
    ]
    assert wide.low < narrow.low < 1 < narrow.high < wide.high


def test_limits_turn_with_the_ratio() -> None:
    there, back = (ratio_estimate(HEADING, *arms) for arms in ((sound(), strict()), (strict(), sound())))
    assert there.value == pytest.approx(1 / (back.value or 0))
    assert there.intervals[0].low == pytest.approx(1 / (back.intervals[0].high or 0), rel=5e-3)
    assert [i.method for i in there.intervals] == ["profile_cluster", "profile_cluster", "sandwich_cluster"]
    assert there.status == "inconclusive"


def test_an_unmoved_resolution_is_shown_by_many_pairs() -> None:
    assert shown().status == "clear"
    assert shown().value == pytest.approx(1, abs=0.15)


def test_a_moved_resolution_is_flagged() -> None:
    found = ratio_estimate(HEADING, sound(), arm(simulate(replace(STRICT, resolution=2.4), 2)))
    assert found.status == "flagged"
    assert found.value is not None
    assert found.value > 2


def test_the_probability_agrees_with_the_limits() -> None:
    # Where the 95 % limit touches 1 the p is .05: hold the ratio's curve against its own limit.
    found = ratio_estimate(HEADING, sound(), strict())
    curves, spread = (profile_curve(sound()), profile_curve(strict())), ratio_spread(sound(), strict())
    moved = ProfileCurve(curves[1].place / (found.intervals[0].low or 0), curves[1].root)
    assert ratio_probability(curves[0], moved, spread) == pytest.approx(0.05, abs=1e-3)
    assert ratio_estimate(HEADING, sound(), sound()).p == pytest.approx(1)


def test_protocols_are_one_family() -> None:
    # One p of .03 among three tests: flagged alone, not after Holm; one of .001 stays.
    three = [replace(shown(), status="flagged", p=p) for p in (0.03, 0.4, 0.001)]
    words = [(e.status, e.p_corrected) for e in adjust_estimates(three, "protocols", RESOLUTION_RATIO)]
    assert words == [("inconclusive", pytest.approx(0.06)), ("inconclusive", 0.4), ("flagged", 0.003)]
    assert adjust_estimates(three[:1], "protocols", RESOLUTION_RATIO)[0].status == "flagged"


@pytest.mark.parametrize(
    ("narrow", "wide", "word"),
    [
        ((0.85, 1.2), (0.8, 1.3), "clear"),
        ((1.05, 1.24), (1.02, 1.3), "clear"),
        ((1.05, 1.4), (1.02, 1.5), "flagged"),
        ((0.5, 0.7), (0.4, 0.75), "flagged"),
        ((0.9, 1.4), (0.85, 1.5), "inconclusive"),
        ((0.9, None), (0.85, None), "inconclusive"),
    ],
)
def test_words(narrow: tuple[float, float], wide: tuple[float, float], word: str) -> None:
    assert ratio_word(narrow, wide) == word


def why(base: InstrumentFit | None, other: InstrumentFit | None) -> str | None:
    return ratio_estimate(HEADING, base, other).note


def test_bounds_have_no_ratio() -> None:
    perfect, blind = arm(constant("tt", "12", SMALL)), arm(simulate(Parameters(resolution=0), 4, SMALL))
    assert why(sound(), perfect) == "the resolution under the strict protocol is only a bound"
    assert why(perfect, sound()) == "the resolution under the base protocol is only a bound"
    assert why(blind, sound()) == "the resolution under the base protocol cannot be told from zero"
    assert why(sound(), None) == "too few pairs under the strict protocol for the joint fit"


@pytest.mark.parametrize(
    ("shift", "said"), [((0.2, 0.5), "the criterion moved"), ((-0.1, 0.5), "no move of the criterion")]
)
def test_the_claim_in_words(shift: tuple[float, float], said: str) -> None:
    moved = Estimate(
        "J",
        "criterion",
        "criterion_shift",
        {"protocol": "strict", "delta": 0},
        "call",
        0.35,
        intervals=(Interval("newcombe", *shift),),
    )
    word, sentence = resolution(JudgeEstimates("J", EstimateIndex([shown(), moved])), "strict") or ("", "")
    assert word == "clear"
    assert said in sentence
    assert "the resolution did not" in sentence
