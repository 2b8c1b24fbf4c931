"""Normal, beta, binomial and Student's law: against forty digits, scipy, fractions and closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import atan, comb, erfc, exp, inf, isnan, log, pi, sqrt, tan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special as oracle
from scipy.stats import betabinom

from steelyard.metrics.stats.distributions import (
    ALLOWED_CORRELATION,
    _beta_binomial,
    beta_quantile,
    beta_sides,
    binomial_probability,
    normal_law,
    normal_probabilities,
    normal_probability,
    normal_quantile,
    normal_quantiles,
    t_probability,
    t_quantile,
)
from steelyard.metrics.stats.intervals import _binomial, mcnemar_exact, mcnemar_mid_p

BETA_SHARES = (
    (0.001, 0.001, 0.25, 0.499451507519294),
    (0.001, 5000.0, 0.001, 0.9999988517191502),
    (0.5, 0.5, 1e-12, 6.366197723676875e-07),
    (0.3, 40.0, 0.02, 0.8864026495185509),
    (1.5, 200.0, 0.001, 0.05990210981833617),
    (3.0, 7.0, 0.9, 0.999997002),
    (10.0, 1000000.0, 1e-05, 0.5420821709850846),
    (29.5, 0.5, 0.4, 2.408466031176416e-13),
    (40.0, 0.25, 0.999, 0.51156262386371),
    (120.0, 80.0, 0.35, 3.2564225149957546e-13),
    (1000.0, 1000000.0, 0.00105, 0.9450856562629049),
)
"""a, b, value, the share below it: computed with forty digits, as the tables below."""
STUDENT_SHARES = (
    (-1e-06, 0.001, 0.49999998419956104),
    (-50.0, 0.001, 0.4959868733873678),
    (-0.3, 0.1, 0.4608822046802208),
    (-1000000.0, 0.5, 0.00032070097541419884),
    (-1.7, 2.5, 0.10280610857994192),
    (-0.1, 3, 0.4633261744004029),
    (-12.0, 9, 3.849943111492826e-07),
    (-40.0, 29, 3.173438664864674e-27),
    (-2.0452, 29, 0.02500155356887332),
    (-1.0, 200, 0.15925942395487333),
    (-9.0, 200, 8.854691461632395e-17),
    (-1.65, 10000.0, 0.04948717099243316),
)
"""Value, degrees of freedom, the share below it."""
BETA_QUANTILES = (
    (0.005, 0.3, 0.2, 2.9178666583713938e-139),
    (0.3, 2.0, 0.2, 0.0019540774017538167),
    (1.0, 30.0, 0.025, 0.0008435709266304788),
    (3.0, 28.0, 0.025, 0.021117137029722566),
    (4.0, 27.0, 0.975, 0.26528845047420807),
    (40.5, 0.5, 0.7, 0.9981573661171768),
    (12.0, 1.0, 1e-12, 0.1),
    (250.0, 751.0, 0.05, 0.22754347967160923),
)
"""a, b, share, the value with that share below it."""
STUDENT_QUANTILES = (
    (0.3, 0.01, -7.684541870447358e20),
    (1e-10, 3, -2225.7692846830932),
    (0.025, 4, -2.7764451051977943),
    (0.4999999, 9, -2.5770877237220146e-07),
    (0.05, 29, -1.6991270265334977),
    (0.1, 123, -1.2884722425478436),
)
"""Share, degrees of freedom, the value with that share below it."""

few = settings(max_examples=150, deadline=None)
SIZES = [10.0**power for power in (-3, -2, -1, -0.3, 0, 0.5, 1, 1.7, 2.5, 3.5, 5, 6)]
SHARES = (1e-100, 1e-12, 1e-3, 0.025, 0.05, 0.3, 0.5, 0.8, 0.95, 0.975, 1 - 1e-9)
sizes = st.floats(-3, 6).map(lambda power: 10.0**power)
chances = st.floats(1e-9, 1 - 1e-9)


def beta_probability(a: float, b: float, value: float) -> float:
    return beta_sides(a, b, value, 1 - value)[0]


def apart(value: float, wanted: float) -> float:
    return abs(value - wanted) / max(abs(wanted), 1e-290)


def test_shares_of_the_normal_law_are_those_of_erfc_to_the_far_tail() -> None:
    half = np.linspace(0.001, 37, 10_000)
    values = np.concatenate([-half[::-1], half])
    below, above, density = normal_law(values)
    wanted = np.array([erfc(-each / sqrt(2)) / 2 for each in values])
    # The exponent is rounded at its own size: x²/2 of the last digit.
    allowed = 5e-15 + values * values * 2.3e-16
    assert np.all(np.abs(below / wanted - 1) <= allowed)
    assert np.array_equal(above, below[::-1])
    assert np.all(np.abs(below + above - 1) <= 2.3e-16)
    assert np.array_equal(normal_probabilities(values), below)
    assert np.all(np.abs(below / oracle.ndtr(values) - 1) <= 2 * allowed)
    wanted = np.exp(-values * values / 2) / sqrt(2 * pi)
    assert np.all(np.abs(density / wanted - 1) <= 5e-15)


def test_few_values_and_many_have_the_same_shares_and_the_same_shape() -> None:
    many = np.linspace(-9, 9, 600).reshape(3, 200)
    few_by_few = np.stack([normal_probabilities(part) for part in many.reshape(60, 10)]).reshape(3, 200)
    assert normal_probabilities(many) == pytest.approx(few_by_few, rel=2e-14)
    assert normal_law(many[:, :2])[1] == pytest.approx(few_by_few[::-1, ::-1][:, :2], rel=2e-14)
    assert normal_probabilities(np.array([[0.0]])).tolist() == [[0.5]]
    assert normal_probabilities(np.array([])).tolist() == []


@pytest.mark.parametrize("times", [1, 200])
def test_beyond_all_numbers_a_share_is_nothing_or_all(times: int) -> None:
    below, above, density = normal_law(np.tile([-inf, -60.0, 60.0, inf], times))
    assert below[:4].tolist() == above[:4][::-1].tolist() == [0, 0, 1, 1]
    assert not density.any()
    assert np.isnan(normal_law(np.full(4 * times, np.nan))[0]).all()


def test_quantiles_of_the_normal_law_are_those_of_scipy() -> None:
    shares = np.concatenate([np.geomspace(1e-300, 0.4999, 3000), 1 - np.geomspace(1e-15, 0.4999, 3000)])
    wanted = oracle.ndtri(shares)
    assert np.all(np.abs(normal_quantiles(shares) / wanted - 1) <= 1e-13)
    assert (
        normal_quantiles(shares.reshape(2, 3000)).tolist()
        == normal_quantiles(shares).reshape(2, 3000).tolist()
    )
    assert [normal_quantile(share) for share in shares[:50]] == normal_quantiles(shares[:50]).tolist()


@few
@given(st.floats(-30, 8))
def test_share_and_quantile_of_the_normal_law_undo_each_other(value: float) -> None:
    share = normal_probability(value)
    # Near 1 a share keeps less of the value than near 0.
    lost = 1e-16 / max(exp(-value * value / 2) / sqrt(2 * pi), 1e-300) if value > 0 else 0.0
    assert normal_quantile(share) == pytest.approx(value, rel=1e-12, abs=1e-12 + 2 * lost)


def test_shares_and_quantiles_are_those_of_forty_digits() -> None:
    assert max(apart(beta_probability(a, b, value), share) for a, b, value, share in BETA_SHARES) < 1e-14
    assert max(apart(beta_quantile(a, b, share), value) for a, b, share, value in BETA_QUANTILES[1:]) < 1e-14
    assert max(apart(t_probability(value, of), share) for value, of, share in STUDENT_SHARES) < 2e-14
    assert max(apart(t_quantile(share, of), value) for share, of, value in STUDENT_QUANTILES[1:]) < 1e-14
    # Where a is a two-hundredth the value is the two-hundredth power of a share.
    assert apart(beta_quantile(*BETA_QUANTILES[0][:3]), BETA_QUANTILES[0][3]) < 1e-12
    assert apart(t_quantile(*STUDENT_QUANTILES[0][:2]), STUDENT_QUANTILES[0][2]) < 1e-12


def test_shares_of_the_beta_law_are_those_of_scipy() -> None:
    """To what scipy knows: at a million to ten it is off by 5e-11 itself."""
    worst = 0.0
    for a, b in product(SIZES, SIZES):
        mean = a / (a + b)
        spread = sqrt(mean * (1 - mean) / (a + b + 1))
        for value in (*(mean + spread * step for step in (-8, -3, -1, 0, 1, 3, 8)), 0.5, 1e-3, 0.999):
            wanted = float(oracle.betainc(a, b, value)) if 0 < value < 1 else 0.0
            if wanted > 1e-280:
                # 1 − value is exact; what is subtracted from 1 is known to the last digit of 1.
                worst = max(worst, apart(beta_probability(a, b, value), wanted) - 1e-15 / wanted)
    assert worst < 1e-10


@pytest.mark.slow
def test_quantiles_of_the_beta_law_have_their_share_below_them() -> None:
    """By the share and the density of scipy: its own quantiles are off by up to 4e-9 at these sizes."""
    for a, b, share in product(SIZES, SIZES, SHARES):
        value = beta_quantile(a, b, share)
        assert 0 <= value <= 1
        if 1e-280 < value < 1 - 1e-12:
            slope = exp((a - 1) * log(value) + (b - 1) * np.log1p(-value) - oracle.betaln(a, b))
            off = (float(oracle.betainc(a, b, value)) - share) / slope
            assert abs(off) < 1e-10 * value + 1e-15 / slope, (a, b, share)


@pytest.mark.slow
@few
@given(sizes, sizes, chances)
def test_share_and_quantile_of_the_beta_law_undo_each_other(a: float, b: float, share: float) -> None:
    value = beta_quantile(a, b, share)
    if not 1e-280 < value < 1:
        return
    slope = exp((a - 1) * log(value) + (b - 1) * np.log1p(-value) - oracle.betaln(a, b))
    assert beta_probability(a, b, value) == pytest.approx(share, rel=1e-11, abs=3e-16 * value * slope + 1e-15)


@pytest.mark.slow
@few
@given(sizes, sizes, st.floats(1e-6, 1 - 1e-6))
def test_the_beta_law_seen_from_the_other_side(a: float, b: float, value: float) -> None:
    mirrored = 1 - beta_probability(b, a, 1 - value)
    assert beta_probability(a, b, 1 - (1 - value)) == pytest.approx(mirrored, rel=1e-11, abs=1e-13)


@few
@given(sizes, st.floats(1e-9, 1 - 1e-9))
def test_a_beta_law_with_one_side_is_a_power(a: float, value: float) -> None:
    assert beta_probability(a, 1.0, value) == pytest.approx(value**a, rel=1e-12)


def test_the_ends_of_the_beta_law() -> None:
    assert [beta_quantile(2, 3, share) for share in (0, 1, -1, 2)] == [0, 1, 0, 1]
    assert [beta_probability(2, 3, value) for value in (0, 1)] == [0, 1]
    assert isnan(beta_quantile(2, 3, float("nan")))
    assert beta_quantile(1e-3, 1e-3, 0.2) == 0
    assert beta_quantile(1e-3, 1e-3, 0.8) == 1
    assert beta_quantile(1, 1, 0.3) == pytest.approx(0.3, rel=1e-15)


def binomial_by_fractions(most: int, trials: int, share: Fraction) -> Fraction:
    chance = (
        comb(trials, event) * share**event * (1 - share) ** (trials - event) for event in range(most + 1)
    )
    return sum(chance, Fraction(0))


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 16), Fraction(15, 16)])
def test_the_binomial_law_is_that_of_exact_fractions(share: Fraction) -> None:
    for trials in (1, 2, 3, 10, 57, 200):
        for most in sorted({0, 1, trials // 3, trials // 2, trials - 1, trials}):
            wanted = float(binomial_by_fractions(most, trials, share))
            assert apart(binomial_probability(most, trials, float(share)), wanted) < 1e-13, (most, trials)
    assert binomial_probability(-1, 5, 0.5) == 0


def test_a_million_even_chances() -> None:
    """Half of all that is not the middle, whose chance is a product of fractions."""
    trials = 1_000_000
    middle = 1.0
    for step in range(1, trials // 2 + 1):
        middle *= (2 * step - 1) / (2 * step)
    assert binomial_probability(trials // 2 - 1, trials, 0.5) == pytest.approx((1 - middle) / 2, rel=1e-13)
    assert binomial_probability(trials // 2, trials, 0.5) == pytest.approx((1 + middle) / 2, rel=1e-13)


def test_mcnemar_by_hand() -> None:
    assert mcnemar_exact(1, 8) == pytest.approx(2 * 10 / 512, rel=1e-14)
    assert mcnemar_mid_p(1, 8) == pytest.approx((10 + 1) / 512, rel=1e-14)
    assert (mcnemar_exact(0, 0), mcnemar_mid_p(0, 0), mcnemar_exact(5, 5)) == (1, 1, 1)
    assert mcnemar_mid_p(0, 3) == pytest.approx(1 / 8, rel=1e-14)


@pytest.mark.parametrize("value", [1e-8, 0.01, 0.7, 1.5, 4.0, 100.0, 1e6])
def test_students_law_with_one_and_two_degrees_has_closed_forms(value: float) -> None:
    one, two = 0.5 + atan(value) / pi, 0.5 + value / (2 * sqrt(2 + value * value))
    assert (t_probability(value, 1), t_probability(value, 2)) == pytest.approx((one, two), rel=2e-15)
    tail = atan(1 / value) / pi if value > 1 else 0.5 - atan(value) / pi
    assert t_probability(-value, 1) == pytest.approx(tail, rel=1e-14)
    assert t_quantile(tail, 1) == pytest.approx(-1 / tan(pi * tail), rel=1e-13)


DEGREES = (0.001, 0.1, 0.5, 1, 2, 2.5, 3, 9, 29, 30, 200, 1e4, 1e6)


@pytest.mark.parametrize("degrees", DEGREES[3:])
def test_students_law_is_a_beta_law_of_scipy(degrees: float) -> None:
    """Its share is asked of scipy's beta law: scipy's own of Student is off by up to 3e-9 near zero."""
    for value in (0.0, 1e-6, 0.1, 0.5, 1.0, 1.7, 2.0, 3.0, 5.0, 10.0):
        square = value * value
        middle = float(oracle.betainc(0.5, degrees / 2, square / (degrees + square)))
        assert t_probability(value, degrees) == pytest.approx(0.5 + middle / 2, rel=1e-10)


@pytest.mark.parametrize("degrees", DEGREES)
def test_share_and_quantile_of_students_law_undo_each_other(degrees: float) -> None:
    for share in (1e-50, 1e-10, 1e-4, 0.01, 0.025, 0.2, 0.4, 0.49, 0.4999999, 0.5):
        value = t_quantile(share, degrees)
        if share >= 0.01:
            assert t_quantile(1 - share, degrees) == pytest.approx(-value, rel=1e-12 / min(1.0, degrees))
        if value > -1e150:
            assert t_probability(value, degrees) == pytest.approx(share, rel=1e-12, abs=0)
    assert (t_quantile(0.0, degrees), t_quantile(1.0, degrees)) == (-inf, inf)
    assert (t_probability(-inf, degrees), t_probability(inf, degrees)) == (0, 1)


def test_students_quantiles_as_they_stand_in_tables() -> None:
    table = {
        (0.975, 1): 12.7062,
        (0.975, 5): 2.5706,
        (0.95, 10): 1.8125,
        (0.995, 30): 2.7500,
        (0.9, 3): 1.6377,
    }
    for (share, degrees), value in table.items():
        assert t_quantile(share, degrees) == pytest.approx(value, abs=5e-5)
    assert t_quantile(0.975, 10**7) == pytest.approx(normal_quantile(0.975), rel=1e-6)


@pytest.mark.parametrize("share", [1e-6, 0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("size", [1, 2, 9, 300])
def test_chances_of_a_cluster_are_the_beta_binomial_of_scipy(size: int, share: float) -> None:
    scale = (1 - ALLOWED_CORRELATION) / ALLOWED_CORRELATION
    wanted = betabinom.pmf(np.arange(size + 1), size, share * scale, (1 - share) * scale)
    assert _beta_binomial(size, share) == pytest.approx(wanted, rel=1e-11)


def test_chances_of_barnards_test_are_those_of_exact_fractions() -> None:
    rates = np.array([0.25, 0.5])
    for size in (0, 1, 7, 40):
        wanted = [
            [
                float(comb(size, event) * rate**event * (1 - rate) ** (size - event))
                for event in range(size + 1)
            ]
            for rate in map(Fraction, rates.tolist())
        ]
        assert _binomial(size, rates) == pytest.approx(np.array(wanted), rel=1e-12)
