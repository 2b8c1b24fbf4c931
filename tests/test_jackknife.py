"""Span from leaving out each task in turn: by hand, and how often they cover."""

from __future__ import annotations

from math import atanh, exp, sqrt, tanh

import numpy as np
import pytest
from scipy.stats import t

from steelyard.metrics.scores.shares import interval
from steelyard.metrics.stats.agreement import kappa
from steelyard.metrics.stats.clusters import around, jackknife, ratio
from steelyard.metrics.stats.intervals import AGREEMENT, POSITIVE, SHARE, UNBOUNDED


def mean(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 0], sums[..., 1])


def test_for_a_mean_it_is_the_t_interval() -> None:
    values = np.array([3.0, 5.0, 4.0, 8.0])
    limits = jackknife(np.column_stack([values, np.ones(4)]), mean, UNBOUNDED)
    assert limits == pytest.approx(t.interval(0.95, 3, values.mean(), values.std(ddof=1) / sqrt(4)))


def test_reach_on_the_scale_of_the_range() -> None:
    assert around(0.5, 0.1, UNBOUNDED) == pytest.approx((0.4, 0.6))
    # Fisher's z: atanh has the slope 1/(1 − .5²) at .5.
    expected = tanh(atanh(0.5) - 0.1 / 0.75), tanh(atanh(0.5) + 0.1 / 0.75)
    assert around(0.5, 0.1, AGREEMENT) == pytest.approx(expected)
    # Half the logit: a share of .75 lies where agreement of .5 does, and its range is half as wide.
    assert around(0.75, 0.05, SHARE) == pytest.approx([(1 + end) / 2 for end in expected])
    assert around(2.0, 0.5, POSITIVE) == pytest.approx((2 * exp(-0.25), 2 * exp(0.25)))


@pytest.mark.parametrize(("value", "ends"), [(0.999, AGREEMENT), (0.001, SHARE), (1e-9, POSITIVE)])
def test_no_limit_passes_an_end(value: float, ends: tuple[float, float]) -> None:
    low, high = around(value, 5.0, ends)
    assert ends[0] <= low < value < high <= ends[1]
    assert around(ends[0], 0.5, ends)[0] == ends[0]


def test_nothing_where_no_task_moves_the_figure() -> None:
    assert jackknife(np.tile([2.0, 4.0], (6, 1)), mean, SHARE) is None
    assert jackknife(np.array([[2.0, 4.0]]), mean, SHARE) is None


def test_tasks_without_which_the_figure_is_undefined_are_passed_over() -> None:
    # Without the last task no call is left to divide by; the others agree on what remains.
    assert jackknife(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]]), mean, SHARE) is None


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [4, 12])
def test_it_covers_kappa_where_percentiles_do_not(tasks: int) -> None:
    # Six calls of a task, three of each label; a fifth of the verdicts is wrong, more in some tasks: κ = .6.
    chance = np.random.default_rng(5)
    hits = np.zeros((400, 2))
    for run in range(400):
        wrong = chance.binomial(3, chance.beta(1.8, 7.2, (tasks, 1)), (tasks, 2))
        columns = [3 - wrong[:, 0], wrong[:, 0], wrong[:, 1], 3 - wrong[:, 1]]
        table = np.stack(columns, axis=1).reshape(tasks, 2, 2).astype(float)
        found = jackknife(table, binary_kappa, AGREEMENT), interval(table, binary_kappa, run)[0]
        hits[run] = [np.nan if limits is None else limits[0] <= 0.6 <= limits[1] for limits in found]
    covered, by_percentiles = np.nanmean(hits, axis=0)
    assert covered >= 0.93
    assert by_percentiles < covered - 0.01


def binary_kappa(table: np.ndarray) -> np.ndarray:
    return kappa(table, np.array([0.0, 1.0]))
