"""Calls that a question takes, against the intervals themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from steelyard.metrics.intervals import Z, score
from steelyard.metrics.power import calls_for_half_width, calls_to_decide


@pytest.mark.parametrize(("share", "calls"), [(0.5, 381), (0.25, 286), (0.10, 141)])
def test_calls_for_five_points_either_way(share: float, calls: int) -> None:
    assert calls_for_half_width(share, 0.05) == calls
    assert calls_for_half_width(share, 0.05, design_effect=2.0) == 2 * calls


def test_zero_events_exclude_a_twentieth_after_73_calls() -> None:
    # Wilson's upper limit at zero events is z²/(n + z²): at most 1/20 from n = 19·z² = 72.99.
    assert calls_to_decide(0.0, 0, None, 0.05) == 73
    assert (
        proportion_confint(0, 73, method="wilson")[1] <= 0.05 < proportion_confint(0, 72, method="wilson")[1]
    )


@given(
    value=st.integers(0, 40).map(lambda k: k / 40),
    limit=st.sampled_from([0.02, 0.05, 0.1, 0.33, 0.5, 0.8, 0.97]),
    side=st.sampled_from(["max", "min"]),
    effect=st.sampled_from([1.0, 1.7, 4.0]),
)
def test_the_number_is_the_first_that_excludes_the_limit(
    value: float, limit: float, side: str, effect: float
) -> None:
    calls = calls_to_decide(value, 0, effect, limit, side=side)
    if value == limit:
        assert calls is None
        return
    assert calls is not None
    beyond, short = score(value, calls / effect, Z), score(value, max(calls - 1, 1e-9) / effect, Z)
    assert not beyond[0] + 1e-12 < limit < beyond[1] - 1e-12
    assert calls == 1 or short[0] < limit < short[1]


def test_calls_already_made_are_the_least_and_a_free_limit_needs_no_more() -> None:
    assert calls_to_decide(0.5, 900, 1.0, 0.1) == 900
    assert calls_to_decide(0.5, 12, None, 1.0) == 12
    assert calls_to_decide(0.5, 12, None, 0.0, side="min") == 12
    assert calls_to_decide(0.0, 12, None, 0.0) is None
    # A preference was seen, so "none at all" is refuted by what is there.
    assert calls_to_decide(0.5, 12, None, 0.0) == 12


def test_a_design_effect_below_one_is_no_discount() -> None:
    assert calls_to_decide(0.2, 0, 0.3, 0.1) == calls_to_decide(0.2, 0, None, 0.1) == 35
