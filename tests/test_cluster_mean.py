from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.metrics.stats.clusters import ClusterMean, Tally
from steelyard.metrics.stats.intervals import DIFFERENCE

units = st.lists(st.lists(st.integers(-1, 1), min_size=1, max_size=6), min_size=2, max_size=12)


def rows(values: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Unit and value of each row."""
    number = np.repeat(np.arange(len(values)), [len(unit) for unit in values])
    return number, np.array([value for unit in values for value in unit])


@pytest.mark.slow
@given(units)
def test_the_error_is_that_of_a_clustered_regression_on_a_constant(values: list[list[int]]) -> None:
    import statsmodels.api as sm  # takes a second, in one process of the suite

    number, value = rows(values)
    mean = ClusterMean.of(number, value)
    if mean.even:
        return
    oracle = sm.OLS(value, np.ones(len(value))).fit(cov_type="cluster", cov_kwds={"groups": number})
    assert mean.mean == pytest.approx(oracle.params[0], abs=1e-12)
    assert mean.error == pytest.approx(oracle.bse[0])


@given(units)
def test_integers_and_floats_tell_the_same(values: list[list[int]]) -> None:
    number, value = rows(values)
    floats = ClusterMean.of(number, value)
    whole = ClusterMean(np.rint(floats.sums).astype(np.int64), floats.sizes)
    assert (floats.even, floats.total, floats.mean) == (whole.even, whole.total, whole.mean)
    assert floats.variance == pytest.approx(whole.variance)
    assert floats.effective_size(0.25) == pytest.approx(whole.effective_size(0.25))


def test_limits_and_reach_by_hand() -> None:
    # Sums 1 and 3 of two values each: mean 1, residuals −1 and +1, V = (1 + 1)/4² · 2/1 = ¼, error ½.
    # Student's t with one degree of freedom: 12.7062 at .975, 1.3764 at .8.
    mean = ClusterMean(np.array([1, 3]), np.array([2, 2]))
    assert (mean.mean, mean.error) == (1.0, 0.5)
    assert mean.limits(0.975) == pytest.approx((1 - 6.3531, 1 + 6.3531), abs=1e-4)
    assert mean.limits(0.975, DIFFERENCE) == (-1.0, 1.0)
    assert mean.detectable == pytest.approx((12.7062 + 1.3764) / 2, abs=1e-4)
    # As eight such units the error is halved: t(7) = 2.36462.
    assert mean.limits(0.975, units=8) == pytest.approx((1 - 0.59116, 1 + 0.59116), abs=1e-4)
    # t = 2 on one degree of freedom: p = 1 − 2·atan(2)/π.
    assert mean.p() == pytest.approx(1 - 2 * np.arctan(2) / np.pi)


@pytest.mark.parametrize("sums", [np.array([3, 6, 9]), np.array([0.3, 0.6, 0.9])], ids=["whole", "thirds"])
def test_units_that_do_not_differ_have_no_spread(sums: np.ndarray) -> None:
    mean = ClusterMean(sums, np.array([1, 2, 3]))
    assert mean.even
    assert (mean.error, mean.limits(0.975), mean.detectable) == (0.0, None, None)
    # Signs of three units can be flipped in 8 ways, of which two are as far from 0.
    assert mean.p() == 0.25
    # 6 values in 3 units of 2 on average, correlation .1: 6/(1 + 1 · .1).
    assert mean.effective_size(1.0) == pytest.approx(6 / 1.1)


def test_a_single_unit_knows_no_spread() -> None:
    alone = ClusterMean(np.array([5]), np.array([10]))
    assert (alone.even, alone.limits(0.975), alone.effective_size(0.25)) == (True, None, 10.0)


def test_a_share_is_the_mean_of_its_events() -> None:
    counts = Tally(np.array([3, 1]), np.array([4, 4]), n_calls=8, n_units=8)
    assert (counts.share.mean, counts.share.variance) == (0.5, 1 / 16)
