"""How often the intervals cover, in small seeded simulations."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.metrics.clusters import wilson_cluster, wilson_tasks
from steelyard.metrics.intervals import wilson
from steelyard.metrics.tally import Tally

RUNS = 2000
TASKS, CALLS = 10, 12


def simulate(share: float, correlation: float, seed: int) -> list[Tally]:
    """Runs of 10 tasks × 12 calls whose task rates follow a beta law with this intra-task correlation."""
    generator = np.random.default_rng(seed)
    scale = (1 - correlation) / correlation
    rates = generator.beta(share * scale, (1 - share) * scale, (RUNS, TASKS))
    events = generator.binomial(CALLS, rates)
    trials = np.full(TASKS, CALLS)
    return [Tally(row, trials, TASKS * CALLS, TASKS * CALLS) for row in events]


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
    assert all(wilson_tasks(run)[1] >= wilson_cluster(run)[1] for run in runs)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_small_shares_are_covered_overall(share: float) -> None:
    runs = simulate(share, 0.1, 13)
    assert np.mean([covers(wilson_cluster(run), share) for run in runs]) >= 0.93
