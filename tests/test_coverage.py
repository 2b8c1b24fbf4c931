"""How often the intervals cover, in small seeded simulations."""

from __future__ import annotations

import numpy as np
import pytest

from clustered import beta_events, tallies
from steelyard.metrics.stats.clusters import (
    Tally,
    percentile_limits,
    resample,
    tail,
    wilson_cluster,
    wilson_strict,
)
from steelyard.metrics.stats.intervals import wilson

RUNS = 2000
TASKS, CALLS = 10, 12


def simulate(share: float, correlation: float, seed: int) -> list[Tally]:
    """Runs of 10 tasks × 12 calls whose task rates follow a beta law with this intra-task correlation."""
    return tallies(beta_events(share, correlation, TASKS, CALLS, RUNS, seed), CALLS)


def covers(limits: tuple[float, float], share: float) -> bool:
    return limits[0] <= share <= limits[1]


@pytest.mark.parametrize("correlation", [0.01, 0.1, 0.3])
def test_clustered_wilson_covers(correlation: float) -> None:
    runs = simulate(0.5, correlation, 11)
    clustered = np.mean([covers(wilson_cluster(run), 0.5) for run in runs])
    assert clustered >= 0.935


def test_call_level_wilson_does_not_cover_clustered_calls() -> None:
    runs = simulate(0.5, 0.3, 11)
    assert np.mean([covers(wilson(run.k, run.n), 0.5) for run in runs]) < 0.75


@pytest.mark.parametrize("share", [0.02, 0.05])
def test_rare_events_without_spread_are_covered(share: float) -> None:
    # The assumption steps in when no task shows an event: the limits must still reach a rare truth.
    runs = [run for run in simulate(share, 0.1, 12) if run.k == 0]
    assert len(runs) > 20
    assert all(covers(wilson_cluster(run), share) for run in runs)
    assert all(wilson_strict(run)[1] >= wilson_cluster(run)[1] for run in runs)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_small_shares_are_covered_overall(share: float) -> None:
    runs = simulate(share, 0.1, 13)
    assert np.mean([covers(wilson_cluster(run), share) for run in runs]) >= 0.93


def test_tails_narrow_for_few_tasks() -> None:
    # t(9) = 2.26216, × √(10/9) = 2.38452, beyond which a normal law has .00855.
    assert tail(10) == pytest.approx(0.00855, abs=1e-5)
    assert tail(5000) == pytest.approx(0.025, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [5, 30])
def test_bootstrap_of_a_paired_difference_covers(tasks: int) -> None:
    # Task rates around .3 in one arm; the other arm ties .3 more often in every task.
    generator = np.random.default_rng(14)
    covered = 0
    for run in range(400):
        rates = np.clip(generator.normal(0.3, 0.1, tasks), 0, 0.7)
        counts = generator.binomial(CALLS, np.stack([rates + 0.3, rates], axis=1))
        sums = resample(counts, run)
        limits = percentile_limits((sums[:, 0] - sums[:, 1]) / (tasks * CALLS), tasks)
        covered += limits is not None and covers(limits, 0.3)
    # Without the wider tails five tasks cover .87.
    assert covered / 400 >= 0.91
