"""Youden's J and Cohen's κ of few clusters and a rare label: limits by hand, and how often they cover."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import beta, t

from calibration.urn import shared
from steelyard.metrics.stats.agreement import balanced_accuracy, kappa
from steelyard.metrics.stats.two_class import table_limits, youden_limits

LEVELS = np.array([0.0, 1.0])
DESIGNS = ((6, 5), (15, 2), (30, 1))
"""Clusters and items of each, in which intervals over clusters left out covered .80 to .92."""


def cohen(table: np.ndarray) -> np.ndarray:
    return kappa(table, LEVELS)


def youden(table: np.ndarray) -> np.ndarray:
    return 2 * balanced_accuracy(table, LEVELS) - 1


def test_every_verdict_right_has_exact_limits_on_clusters() -> None:
    # Two items of either label in each of six clusters, all right: 6 of 6 clusters, whose exact limit is
    # .05^(1/6) = .607. The same clusters hold both labels, so both shares may be as low at once.
    found = youden_limits(np.tile(2.0 * np.eye(2), (6, 1, 1)))
    away = 1 - 0.05 ** (1 / 6)
    assert found == pytest.approx((1.0, 1 - 2 * away, 1.0))
    assert found is not None
    assert found[1] == pytest.approx(0.21, abs=0.005)


def test_labels_in_clusters_of_their_own_are_independent() -> None:
    # Six clusters of either label: the shares have no cluster in common, and squares add up.
    table = np.zeros((12, 2, 2))
    table[:6, 0, 0] = table[6:, 1, 1] = 2
    away = 1 - 0.05 ** (1 / 6)
    assert youden_limits(table) == pytest.approx((1.0, 1 - sqrt(2) * away, 1.0))
    # Four of the eight clusters hold both: six a label, four in common, a correlation of 4/6.
    table = np.zeros((8, 2, 2))
    table[:6, 0, 0] = table[2:, 1, 1] = 1
    assert youden_limits(table) == pytest.approx((1.0, 1 - sqrt(2 + 2 * 4 / 6) * away, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "rows"), [(8, 5), (6, 10), (10, 10), (15, 4), (30, 1)])
@pytest.mark.parametrize("both", [False, True])
def test_errors_never_raise_the_lower_limit(clusters: int, rows: int, both: bool) -> None:
    chance = np.random.default_rng([clusters, rows, both])
    for _ in range(60):
        label = chance.integers(0, 2, (clusters, rows if both else 1)) * np.ones((1, rows), dtype=np.int64)
        right = chance.random((clusters, rows)) < 0.95
        table, perfect = np.zeros((2, clusters, 2, 2))
        place = np.arange(clusters)[:, None]
        np.add.at(table, (place, label, np.where(right, label, 1 - label)), 1)
        np.add.at(perfect, (place, label, label), 1)
        for limits in (lambda each: (youden_limits(each) or (0, 0, 0))[1:], lambda e: table_limits(e, cohen)):
            found, best = limits(table), limits(perfect)
            assert found is None or best is None or found[0] <= best[0]


@pytest.mark.slow
def test_a_judge_right_on_six_runs_of_ten_is_hardly_ever_of_use() -> None:
    """A judge that is right on every version of a run or on none: J .2, below the floor of .30."""
    chance = np.random.default_rng(8)
    runs = 4000
    shown = 0
    for right in chance.random((runs, 10)) < 0.6:
        table = np.where(right[:, None, None], 3 * np.eye(2), 3 * (1 - np.eye(2)))
        found = youden_limits(table)
        shown += found is not None and found[1] > 0.30
    # All ten right, .6^10 = .006, is the one way.
    assert shown / runs <= 0.01


@pytest.mark.slow
def test_a_perfect_judge_is_shown_at_least_as_often_as_one_with_errors() -> None:
    chance = np.random.default_rng(7)
    for clusters, rows in ((8, 5), (6, 10), (10, 10), (15, 4)):
        shown = {1.0: 0, 0.95: 0}
        for _ in range(150):
            label = chance.integers(0, 2, (clusters, 1)) * np.ones((1, rows), dtype=np.int64)
            draw = chance.random((clusters, rows))
            for share in shown:
                table = np.zeros((clusters, 2, 2))
                given = np.where(draw < share, label, 1 - label)
                np.add.at(table, (np.arange(clusters)[:, None], label, given), 1)
                found = youden_limits(table)
                shown[share] += found is not None and found[1] > 0.30
        assert shown[1.0] >= shown[0.95]


def test_repeats_of_the_same_verdict_make_nothing_surer() -> None:
    one, three = (youden_limits(np.tile(times * np.eye(2), (6, 1, 1))) for times in (1.0, 3.0))
    assert one == three


def test_a_constant_judge_has_no_merit() -> None:
    # Passes everything: sensitivity 1, specificity 0, each with exact limits on 10 clusters.
    table = np.tile(np.array([[0.0, 1.0], [0.0, 1.0]]), (10, 1, 1))
    away = 1 - 0.05 ** (1 / 10)
    assert youden_limits(table) == pytest.approx((0.0, -away, away))
    assert away < 0.30


def test_limits_by_hand() -> None:
    # Eight clusters, one call on either label each: label 1 is missed in two, label 0 in the first of these.
    table = np.tile(np.eye(2), (8, 1, 1))
    table[:2, 1] = [1, 0]
    table[0, 0] = [0, 1]
    reach = t.ppf(0.975, 7)

    def wilson(share: float) -> tuple[float, float]:
        # V is p(1 − p)/7 where every cluster has one call, so that 8 calls are worth 7.
        middle, square = share + reach**2 / 14, reach * sqrt(share * (1 - share) / 7 + reach**2 / 196)
        return (middle - square) / (1 + reach**2 / 7), (middle + square) / (1 + reach**2 / 7)

    (low_1, high_1), (low_0, high_0) = wilson(6 / 8), wilson(7 / 8)
    # Σ of products: (−¾)(−⅞) in the first, (−¾)(⅛) in the second, (¼)(⅛) in six; over √(1.5 · .875).
    together = (0.75 * 0.875 - 0.75 * 0.125 + 6 * 0.25 * 0.125) / sqrt(1.5 * 0.875)
    down, up = (0.75 - low_1, 0.875 - low_0), (high_1 - 0.75, high_0 - 0.875)
    reaches = [sqrt(a * a + b * b + 2 * together * a * b) for a, b in (down, up)]
    found = youden_limits(table)
    assert found == pytest.approx((0.625, 0.625 - reaches[0], min(1.0, 0.625 + reaches[1])))
    low, high = table_limits(table, youden) or (0.0, 0.0)
    assert found is not None
    assert (low, min(1.0, high)) == pytest.approx(found[1:], abs=0.003)


@pytest.mark.slow
def test_kappa_takes_its_extremes_on_the_ellipsoid() -> None:
    # One item a cluster: 20 of label 1, 2 missed; 10 of label 0, 3 passed. Classes share no cluster.
    rows = [(1, 1)] * 18 + [(1, 0)] * 2 + [(0, 0)] * 7 + [(0, 1)] * 3
    table = np.zeros((30, 2, 2))
    for number, (label, given) in enumerate(rows):
        table[number, label, given] = 1

    def wilson(share: float, calls: int) -> tuple[float, float]:
        size, reach = calls - 1, t.ppf(0.975, calls - 1)
        middle = share + reach**2 / (2 * size)
        half = reach * sqrt(share * (1 - share) / size + reach**2 / (4 * size**2))
        return (middle - half) / (1 + reach**2 / size), (middle + half) / (1 + reach**2 / size)

    shares = (0.7, 10), (0.9, 20), (2 / 3, 30)
    limits = [wilson(*part) for part in shares]

    def at(direction: np.ndarray) -> float:
        unit = direction / np.linalg.norm(direction)
        right_0, right_1, common = (
            share + d * ((share - low) if d < 0 else (high - share))
            for d, (share, _), (low, high) in zip(unit, shares, limits, strict=True)
        )
        cells = [
            [(1 - common) * right_0, (1 - common) * (1 - right_0)],
            [common * (1 - right_1), common * right_1],
        ]
        return float(cohen(np.array(cells)))

    starts = np.random.default_rng(1).normal(size=(6, 3))
    low = min(minimize(at, start, method="Nelder-Mead").fun for start in starts)
    high = -min(minimize(lambda x: -at(x), start, method="Nelder-Mead").fun for start in starts)
    assert table_limits(table, cohen) == pytest.approx((low, high), abs=0.003)


def test_one_label_alone_says_nothing() -> None:
    table = np.tile(np.array([[0.0, 0.0], [0.0, 1.0]]), (5, 1, 1))
    assert youden_limits(table) is None
    assert table_limits(table, cohen) is None


def test_exact_limits_of_one_cluster_are_those_of_one_trial() -> None:
    # All of label 0 in one cluster: 1 of 1; label 1 in each of four. One cluster holds both: 1/√(1 · 4).
    table = np.zeros((4, 2, 2))
    table[:, 1, 1] = 2
    table[0, 0, 0] = 5
    found = youden_limits(table)
    assert found is not None
    first, second = 1 - beta.ppf(0.05, 1, 1), 1 - 0.05**0.25
    assert found[1] == pytest.approx(1 - sqrt(first**2 + second**2 + 2 * 0.5 * first * second))


def cover(
    clusters: int, items: int, common: float, right: float, correlation: float, runs: int
) -> tuple[float, float]:
    """How often the limits of J and of κ hold, items of a cluster being easy or hard together."""
    chance = np.random.default_rng([clusters, items, int(100 * common), int(100 * correlation)])
    truth = np.array(
        [[(1 - common) * right, (1 - common) * (1 - right)], [common * (1 - right), common * right]]
    )
    held = []
    while len(held) < runs:
        label = (chance.random((clusters, items)) < common).astype(np.int64)
        if len(np.unique(label)) < 2:
            continue
        easy = shared(chance, chance.random((clusters, items, 1)), correlation)[..., 0] < right
        given = np.where(easy, label, 1 - label)
        table = np.zeros((clusters, 2, 2))
        np.add.at(table, (np.arange(clusters)[:, None], label, given), 1)
        limits = ((youden_limits(table) or (0, 0, 0))[1:], table_limits(table, cohen) or (0, 0))
        trues = (2 * right - 1, float(cohen(truth)))
        held.append([low <= true <= high for (low, high), true in zip(limits, trues, strict=True)])
    j, k = np.mean(held, axis=0)
    return float(j), float(k)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.4])
def test_a_rare_label_in_few_clusters_is_covered(correlation: float) -> None:
    for rate in cover(6, 5, 0.8, 0.9, correlation, 100):
        assert rate >= 0.95 - 2 * sqrt(0.95 * 0.05 / 100)


@pytest.mark.calibrate
@pytest.mark.parametrize(("clusters", "items"), [*DESIGNS, (10, 12), (40, 3)])
@pytest.mark.parametrize(("common", "right"), [(0.8, 0.9), (0.9, 0.9), (0.5, 0.8)])
def test_two_labels_at_every_size(
    clusters: int, items: int, common: float, right: float, capsys: pytest.CaptureFixture[str]
) -> None:
    for correlation in (0.0, 0.2, 0.4) if items > 1 else (0.0,):
        j, k = cover(clusters, items, common, right, correlation, 1000)
        with capsys.disabled():
            print(
                f"\n{clusters} clusters × {items}, {common:.0%} pass, {right:.0%} right, correlation "
                f"{correlation}: J {j:.3f}, κ {k:.3f}",
                end="",
            )
        assert min(j, k) >= 0.93
