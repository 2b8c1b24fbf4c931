"""The joint fit where pairs were asked many times: what is integrated is narrow, and the peak far away."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import logsumexp

from planted_pairs import PLANTED, simulate, vector
from steelyard.metrics.instrument.fit import STARTS, Fits, best_fit, fit, starts_of
from steelyard.metrics.instrument.likelihood import (
    FEW_CALLS,
    NODES,
    Patterns,
    answer_rates,
    node_counts,
    pattern_scores,
    patterns_of,
    rows_of,
    surface_nodes,
)
from steelyard.metrics.instrument.model import InstrumentFit, fit_instrument
from steelyard.metrics.instrument.profile import held_at

SMALL = {0: 25, 1: 15, 2: 15, 4: 15}
REPEATS = 40


def integrated(theta: np.ndarray, patterns: Patterns) -> np.ndarray:
    """Log-likelihood of each pattern, summed over four thousand places."""
    place = np.linspace(-9, 9, 4_001)
    weight = np.exp(-(place**2) / 2) / np.exp(-(place**2) / 2).sum()
    push = theta[0] * patterns.deltas[:, None] + theta[3] * place
    rates = np.concatenate([answer_rates(theta, push), answer_rates(theta, -push)], axis=-1)
    each = (np.log(rates[step]) @ counts for step, counts in zip(patterns.step, patterns.counts, strict=True))
    return np.array([logsumexp(logs, b=weight) for logs in each])


@cache
def peak() -> Fits:
    """The best fit from every start."""
    return best_fit(patterns_of(rows_of(simulate(PLANTED, 3, SMALL, REPEATS))))


@pytest.mark.parametrize("repeats", [5, 40, 300])
@pytest.mark.parametrize("surface", [0.05, 0.7, 1.5, 2.5])
def test_the_integral_is_exact_however_often_a_pair_was_asked(surface: float, repeats: int) -> None:
    planted = replace(PLANTED, surface_sensitivity=surface)
    patterns = patterns_of(rows_of(simulate(planted, 5, {0.0: 4, 3.0: 4}, repeats)))
    theta = vector(planted)
    value, score = pattern_scores(theta[None], patterns)
    assert value[0] == pytest.approx(integrated(theta, patterns), abs=2e-5)
    for index, step in enumerate(1e-4 * np.eye(5)):
        above, below = integrated(theta + step, patterns), integrated(theta - step, patterns)
        assert score[0, :, index] == pytest.approx((above - below) / 2e-4, abs=5e-3, rel=5e-4)


def test_few_calls_take_the_same_nodes_whatever_the_spread() -> None:
    spread = np.array([0.01, 1.0, 2.5])
    assert node_counts(FEW_CALLS, spread).tolist() == [NODES] * 3
    more = node_counts(FEW_CALLS + 1, spread).tolist()
    assert more == sorted(more)
    assert more[0] > NODES


@pytest.mark.parametrize("count", [NODES, 45, 1419])
def test_nodes_integrate_a_normal_law(count: int) -> None:
    nodes = surface_nodes(count)
    moments = [float(nodes.weights @ nodes.places**power) for power in range(5)]
    assert moments == pytest.approx([1, 0, 1, 0, 3], abs=1e-6)


@pytest.mark.parametrize("surface", [0.7, 1.6])
def test_limits_hold_what_was_planted(surface: float) -> None:
    planted = replace(PLANTED, surface_sensitivity=surface)
    found = fit_instrument(simulate(planted, 5, SMALL, REPEATS), 7, refits=0)
    assert isinstance(found, InstrumentFit)
    for truth, reach in zip(vector(planted), found.reach, strict=True):
        assert reach.low is not None
        assert reach.high is not None
        assert reach.low < truth < reach.high


def test_the_peak_of_the_first_calls_leads_to_that_of_all() -> None:
    rows = rows_of(simulate(PLANTED, 3, SMALL, REPEATS))
    patterns = patterns_of(rows)
    starts = starts_of(rows, patterns)
    assert len(starts) < len(STARTS)
    near, far = best_fit(patterns, starts), peak()
    assert near.value[0] == pytest.approx(far.value[0], abs=1e-6)
    assert near.theta[0] == pytest.approx(far.theta[0], abs=1e-4)


def test_the_first_rows_of_each_pair_are_taken_in_their_order() -> None:
    rows = rows_of(simulate(PLANTED, 3, {0: 3, 1: 2}, 5))
    shuffled = rows.take(np.random.default_rng(1).permutation(len(rows)))
    first = shuffled.first(2)
    assert np.unique(first.pair, return_counts=True)[1].tolist() == [2] * 5
    for pair in np.unique(rows.pair):
        mine = shuffled.take(np.flatnonzero(shuffled.pair == pair))
        kept = first.take(np.flatnonzero(first.pair == pair))
        assert kept.better_first.tolist() == mine.better_first[:2].tolist()
        assert kept.better_second.tolist() == mine.better_second[:2].tolist()
    assert len(rows.first(9)) == len(rows)


def test_a_fit_that_can_not_come_to_what_is_asked_of_it_stops_and_all_others_are_the_same() -> None:
    patterns = patterns_of(rows_of(simulate(PLANTED, 3, SMALL, REPEATS)))
    place = np.array([-10.0, -1.0, 0.7, 0.8, 10.0])
    starts, which = np.tile(peak().theta, (5, 1)), np.zeros(5, dtype=np.intp)
    least = np.full(5, peak().value[0] - 50)
    whole, short = (held_at(patterns, starts, which, place, least=each) for each in (None, least))
    reached = whole.value >= least
    assert reached.tolist() == [False, False, True, True, False]
    assert (short.theta[reached] == whole.theta[reached]).all()
    assert (short.value[reached] == whole.value[reached]).all()
    assert (short.value[~reached] < least[~reached]).all()
    assert (short.value <= whole.value).all()


def test_a_fit_that_is_out_of_reach_from_the_start_stays_there() -> None:
    patterns = patterns_of(rows_of(simulate(PLANTED, 3, SMALL, REPEATS)))
    weights = np.tile(patterns.weights, (1, 1))
    none = fit(patterns, weights, STARTS[:1], least=np.array([1e9]))
    assert (none.theta == STARTS[:1]).all()
