"""Cells and d′ with clusters taken as independent: limits by hand, and how often they cover."""

from __future__ import annotations

from math import pi, sqrt, tan

import numpy as np
import pytest
from scipy.stats import norm, t

from clustered import CORRELATIONS, TASKS, cell_counts, slot_answers, tallies
from steelyard.metrics.pairs.signal_detection import from_shares, separation
from steelyard.metrics.stats.clusters import Tally, goodman_cluster, percentile_limits, resample
from steelyard.metrics.stats.intervals import goodman

LAWS = ((0.1, 0.3, 0.2, 0.4), (0.03, 0.05, 0.12, 0.8), (0.45, 0.5, 0.03, 0.02))
"""Shares of the cells of a noisy judge, of a good one, and of one that never ties."""
PAIRS = 6
EASE = 0.45
"""Correlation on the scale of the decision that makes right answers correlate by about .3."""


def test_goodman_cluster_by_hand() -> None:
    # Tasks 3/4 and 1/4 are worth 4 pairs; t(1) at 1 − .05/8 is cot(.00625 π) = 50.923.
    reach = 1 / tan(0.00625 * pi)
    spread = reach * sqrt(1 / 16 + reach**2 / 64) / (1 + reach**2 / 4)
    tally = Tally(np.array([3, 1]), np.array([4, 4]), n_calls=16, n_units=8)
    assert goodman_cluster(tally, 4) == pytest.approx((0.5 - spread, 0.5 + spread))


def test_replicates_add_no_pairs() -> None:
    # Three replicates of six pairs that agree: tasks do not differ, and 6 pairs are all there is.
    tally = Tally(np.array([3, 3, 3]), np.array([6, 6, 6]), n_calls=36, n_units=6)
    q = t.ppf(1 - 0.05 / 8, 2)
    low, high = goodman_cluster(tally, 4)
    assert (low + high) / 2 == pytest.approx(0.5)
    assert high - low == pytest.approx(2 * q * sqrt(1 / 24 + q**2 / 144) / (1 + q**2 / 6))


def together(counts: np.ndarray, shares: tuple[float, ...]) -> tuple[float, float]:
    """How often the limits of all cells hold at once: with clusters taken as independent, and without."""
    hits = np.zeros((len(counts), 2, len(shares)), dtype=bool)
    for cell, share in enumerate(shares):
        for run, tally in enumerate(tallies(counts[..., cell], PAIRS)):
            for method, (low, high) in enumerate(
                (goodman_cluster(tally, len(shares)), goodman(tally.k, tally.n, len(shares)))
            ):
                hits[run, method, cell] = low <= share <= high
    clustered, plain = hits.all(axis=2).mean(axis=0)
    return float(clustered), float(plain)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_cells_are_covered_together(correlation: float) -> None:
    clustered, plain = together(cell_counts(LAWS[0], correlation, 10, PAIRS, 400, 21), LAWS[0])
    assert clustered >= 0.95 - 2 * sqrt(0.95 * 0.05 / 400)
    if correlation == 0.3:
        assert plain < 0.75


def cover(distance: float, latent: float, tasks: int, pairs: int, runs: int, *, ease: bool) -> float:
    """How often the first limits of d′ hold."""
    counts = slot_answers(distance, latent, tasks, pairs, runs, 22, ease=ease)
    found = [from_shares(run) for run in counts]
    return float(
        np.mean(
            [(i.low is None or i.low <= distance) and (i.high is None or distance <= i.high) for i in found]
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1.0, 2.0, 3.2, 4.4])
@pytest.mark.parametrize("ease", [True, False])
def test_dprime_is_covered_up_to_its_ceiling(distance: float, ease: bool) -> None:
    assert cover(distance, EASE, 10, 4, 250, ease=ease) >= 0.95 - 2 * sqrt(0.95 * 0.05 / 250)


def test_limits_of_dprime_by_hand() -> None:
    # Eight tasks, two calls an order, no ties: of 16 hits 8 and of 16 alarms 2.
    hits, alarms = np.array([2, 2, 2, 2, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 0, 0, 1, 1])
    two, none = np.full(8, 2), np.zeros(8, dtype=np.int64)
    found = from_shares(np.stack([hits, none, two, alarms, none, two], axis=1))
    q = t.ppf(0.975, 7)

    def wilson(share: float, size: float) -> tuple[float, float]:
        middle = share + q**2 / (2 * size)
        spread = q * sqrt(share * (1 - share) / size + q**2 / (4 * size**2))
        return (middle - spread) / (1 + q**2 / size), (middle + spread) / (1 + q**2 / size)

    # Residuals ±1 of hits: V = 8/16² · 8/7 = 1/28, worth ¼ · 28 = 7 calls. Alarms: six of −¼, two of ¾,
    # together 3/2: V = 1.5/16² · 8/7, worth (7/64)/V = 16.33, more than the 16 there are.
    (low_hit, high_hit), (low_alarm, high_alarm) = wilson(0.5, 7), wilson(0.125, 16)
    # They move together: Σ (1 · ¼) over four, −1 · ¼ over two and 1 · ¾ over two, signs turned: 2/√(8 · 1.5).
    r = (4 * 0.25 - 2 * 0.25 + 2 * 0.75) / sqrt(8 * 1.5)
    z = norm.ppf
    hit, alarm = z(8.5 / 17), z(2.5 / 17)
    down = (hit - z(low_hit), z(high_alarm) - alarm)
    up = (z(high_hit) - hit, alarm - z(low_alarm))
    reach = [sqrt(a * a + b * b + 2 * r * a * b) for a, b in (down, up)]
    assert found.method == "mover_cluster"
    assert found.low == pytest.approx(hit - alarm - reach[0])
    assert found.high == pytest.approx(hit - alarm + reach[1])


@pytest.mark.calibrate
@pytest.mark.parametrize("shares", LAWS)
def test_cells_at_every_size(shares: tuple[float, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for tasks in TASKS:
        for correlation in CORRELATIONS:
            clustered, plain = together(cell_counts(shares, correlation, tasks, PAIRS, 2000, 23), shares)
            with capsys.disabled():
                print(
                    f"\ncells {shares}, {tasks} tasks, correlation {correlation}: goodman_cluster "
                    f"{clustered:.3f}, goodman {plain:.3f}",
                    end="",
                )
            assert clustered >= 0.94


@pytest.mark.calibrate
@pytest.mark.parametrize("tasks", [2, 3, 6, *TASKS])
def test_dprime_at_every_size(tasks: int, capsys: pytest.CaptureFixture[str]) -> None:
    for distance in (1.0, 2.0, 3.2, 4.4):
        for latent, ease in ((0.0, True), (EASE, True), (EASE, False)):
            rate = cover(distance, latent, tasks, 4, 1000, ease=ease)
            drawn = bootstrap_cover(distance, latent, tasks, ease=ease)
            with capsys.disabled():
                print(
                    f"\nd′ {distance}, {tasks} tasks, {'ease' if ease else 'slot'} {latent}: mover_cluster "
                    f"{rate:.3f}, bootstrap_cluster {drawn:.3f}",
                    end="",
                )
            assert rate >= 0.93


def bootstrap_cover(distance: float, latent: float, tasks: int, *, ease: bool) -> float:
    covered = 0
    counts = slot_answers(distance, latent, tasks, 4, 200, 24, ease=ease)
    for number, run in enumerate(counts):
        limits = percentile_limits(separation(resample(run, number)), tasks)
        covered += limits is not None and limits[0] <= distance <= limits[1]
    return covered / len(counts)
