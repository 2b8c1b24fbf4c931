"""The sequence against exact probabilities: a walk over (units, sum) leaves nothing to chance or seeds."""

from __future__ import annotations

from collections.abc import Callable
from math import comb, exp, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from steelyard.metrics.stats.intervals import ALPHA, log_evidence, refuted, sequence_limits

EVERY = 5
Next = Callable[[int, int], float]
"""Probability that the next unit is 1, after n units with sum s."""


def walk(chance: Next, limit: float, cap: int, calls: int = 1) -> list[tuple[int, float, float]]:
    """(units, newly decided above, newly decided below) at each look; a pair may count as several calls."""
    states, looks = {0: 1.0}, []
    for n in range(cap):
        after: dict[int, float] = {}
        for s, mass in states.items():
            p = chance(n, s)
            after[s + 1] = after.get(s + 1, 0.0) + mass * p
            after[s] = after.get(s, 0.0) + mass * (1 - p)
        states = {s: mass for s, mass in after.items() if mass}
        if (n + 1) % EVERY == 0:
            out = {s for s in states if refuted(calls * s, calls * (n + 1), limit)}
            above = sum(states[s] for s in out if s > limit * (n + 1))
            looks.append((n + 1, above, sum(states.pop(s) for s in out) - above))
    return looks


def test_evidence_by_hand() -> None:
    """Two units, sum 1: B(1.5, 1.5) = π/8 and B(½, ½) = π, so M(½) = (π/8)/(π·¼) = ½."""
    assert exp(log_evidence(1, 2, 0.5)) == pytest.approx((pi / 8) / pi / 0.25)


@given(st.integers(1, 60), st.data())
def test_evidence_is_the_mixture_over_alternatives(units: int, data: st.DataObject) -> None:
    total = data.draw(st.integers(0, units))
    share = data.draw(st.floats(0.05, 0.95))
    mixed = stats.betabinom(units, 0.5, 0.5).pmf(total) / comb(units, total)
    assert exp(log_evidence(total, units, share)) == pytest.approx(
        mixed / (share**total * (1 - share) ** (units - total))
    )


@given(st.integers(1, 300), st.data())
def test_limits_are_where_the_evidence_reaches_the_level(units: int, data: st.DataObject) -> None:
    total = data.draw(st.integers(0, 2 * units)) / 2
    low, high = sequence_limits(total, units)
    assert low <= total / units <= high
    for edge in (low, high):
        if 0 < edge < 1:
            assert exp(log_evidence(total, units, edge)) == pytest.approx(1 / ALPHA, rel=1e-6)


def test_nothing_seen_and_ends() -> None:
    assert sequence_limits(0, 0) == (0.0, 1.0)
    assert sequence_limits(0, 20)[0] == 0.0
    assert sequence_limits(20, 20)[1] == 1.0


def test_a_unit_between_0_and_1_never_adds_evidence_on_average() -> None:
    """E f(x) ≤ 1 for the factor f of every alternative, here with x uniform on [0, 1] and p = ½."""
    for other in (0.05, 0.3, 0.5, 0.9):
        grown, _ = integrate.quad(lambda x, q=other: (q / 0.5) ** x * ((1 - q) / 0.5) ** (1 - x), 0, 1)
        assert grown <= 1 + 1e-12


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("nudge", [-0.005, 0.0, 0.005])
def test_wrong_decisions_with_independent_units(limit: float, nudge: float) -> None:
    p = limit + nudge
    looks = walk(lambda n, s: p, limit, 400)
    above, below = sum(look[1] for look in looks), sum(look[2] for look in looks)
    wrong = above + below if nudge == 0 else above if nudge < 0 else below
    assert wrong <= ALPHA


@pytest.mark.parametrize("size", [48, 120, 144, 400])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.5, 0.8])
def test_wrong_decisions_with_pairs_drawn_once_from_a_finite_catalogue(size: int, share: float) -> None:
    """Drawing without return is what a run does; the sum then strays less, never more."""
    ones = round(share * size)
    looks = walk(lambda n, s: (ones - s) / (size - n), ones / size, size)
    assert sum(above + below for _, above, below in looks) <= ALPHA / 2


def test_calls_as_units_would_err() -> None:
    """Where both orders agree, each pair counted as two calls errs several times as often as promised."""
    pairs, calls = (walk(lambda n, s: 0.5, 0.5, 400, calls) for calls in (1, 2))
    assert sum(above + below for _, above, below in pairs) <= ALPHA
    assert sum(above + below for _, above, below in calls) > 3 * ALPHA


@pytest.mark.parametrize(("p", "units"), [(0.0, 55), (0.5, 10)])
def test_median_number_of_units(p: float, units: int) -> None:
    done = 0.0
    for n, above, below in walk(lambda _n, _s: p, 0.1, 400):
        done += above + below
        if done >= 0.5:
            assert n == units
            return
    pytest.fail("not decided in half of the walks")
