"""Which way errors go: by hand, against an oracle, and never by luck of what is wanted more often."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from steelyard.metrics.stats.directional_bias import DirectionalBias


def lean(answer: list[float], wanted: list[float], cluster: list[int] | None = None) -> DirectionalBias:
    numbers = list(range(len(answer))) if cluster is None else cluster
    calls = np.ones(len(answer), dtype=np.int64)
    return DirectionalBias(
        np.array(answer, dtype=float), np.array(wanted, dtype=float), np.array(numbers), calls
    )


def test_half_of_the_difference_of_both_rates_by_hand() -> None:
    """3 of 4 zeros answered 1, 1 of 2 ones answered 0: (.75 − .50) / 2."""
    assert lean([1, 1, 1, 0, 0, 1], [0, 0, 0, 0, 1, 1]).value == pytest.approx(0.125)


def test_always_one_and_always_right() -> None:
    assert lean([1] * 10, [0] * 3 + [1] * 7).value == 0.5
    assert lean([0] * 10, [0] * 3 + [1] * 7).value == -0.5
    right = lean([0] * 30 + [1] * 30, [0] * 30 + [1] * 30)
    assert (right.value, right.p(1), right.error) == (0.0, 1.0, 0.0)
    low, high = right.limits(0.95)
    assert -0.1 < low < 0 < high < 0.1


def test_pairs_that_are_called_even_count_as_much_as_the_others() -> None:
    """Four where 0 was wanted and two where 1 was lean by .5, the one called even by .5 too."""
    assert lean([1] * 7, [0, 0, 0, 0, 1, 1, 0.5]).value == pytest.approx(0.5)
    assert lean([1, 0.5], [0.5, 0.5]).value == pytest.approx(0.25)


def test_one_side_alone_says_nothing() -> None:
    assert np.isnan(lean([1, 1, 0], [0, 0, 0]).value)
    assert np.isnan(lean([1, 1, 0], [1, 1, 1]).value)
    assert np.isnan(lean([], []).value)


@pytest.mark.parametrize(
    ("ups", "downs"), [((14, 50), (5, 40)), ((5, 60), (9, 50)), ((30, 45), (20, 45)), ((3, 80), (0, 20))]
)
def test_the_deal_is_fishers_test(ups: tuple[int, int], downs: tuple[int, int]) -> None:
    """Above 80 units: errors dealt among them are a hypergeometric draw; all deals as far off count."""
    answer = [1] * ups[0] + [0] * (ups[1] - ups[0]) + [0] * downs[0] + [1] * (downs[1] - downs[0])
    found = lean(answer, [0] * ups[1] + [1] * downs[1])
    # Two-sided by the distance of both rates, as the deal counts it.
    errors, total, apart = ups[0] + downs[0], ups[1] + downs[1], abs(ups[0] / ups[1] - downs[0] / downs[1])
    chance = {
        k: float(fisher_exact([[k, ups[1] - k], [errors - k, downs[1] - errors + k]], "greater").pvalue)
        for k in range(max(0, errors - downs[1]), min(errors, ups[1]) + 1)
    }
    exact = {k: p - chance.get(k + 1, 0.0) for k, p in chance.items()}
    wanted = sum(p for k, p in exact.items() if abs(k / ups[1] - (errors - k) / downs[1]) >= apart - 1e-9)
    assert total == found.units
    assert found.p(3) == pytest.approx(wanted, abs=0.03)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=20
    )
)
def test_the_other_side_is_the_mirror(rows: list[tuple[float, float]]) -> None:
    answer, wanted = map(list, zip(*rows, strict=True))
    here, mirror = lean(answer, wanted), lean([1 - a for a in answer], [1 - w for w in wanted])
    assert here.value == pytest.approx(-mirror.value, nan_ok=True)
    if np.isfinite(here.value):
        low, high = here.limits(0.975)
        assert (-high, -low) == pytest.approx(mirror.limits(0.975))
        assert low - 1e-9 <= here.value <= high + 1e-9


def test_errors_that_go_together_in_a_task_are_one_error() -> None:
    """Twelve items of three tasks, one task wrong upward: nothing is shown, though four items are."""
    cluster = [task for task, _ in product(range(3), range(4))]
    answer, wanted = [1.0] * 4 + [0.0] * 2 + [1.0] * 6, [0.0] * 6 + [1.0] * 6
    assert lean(answer, wanted).p(1) <= 0.1 < lean(answer, wanted, cluster).p(1)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_coin_is_rarely_called_lenient(share: float) -> None:
    """Whatever share of 1 is wanted; the plain difference of means would call it strict at .9."""
    generator = np.random.default_rng(11)
    wanted = (np.arange(40) < 40 * share).astype(float)
    ps = [lean(list(generator.integers(0, 2, 40).astype(float)), list(wanted)).p(n) for n in range(120)]
    assert np.mean(np.array(ps) <= 0.05) <= 0.08


@pytest.mark.parametrize(("units", "clusters"), [(40, 10), (2400, 2400), (2400, 30)])
def test_a_constant_leans_however_its_items_are_grouped(units: int, clusters: int) -> None:
    """Leaving out a cluster changes nothing of it, which is no want of evidence."""
    wanted = [float(n % 2) for n in range(units)]
    found = lean([1.0] * units, wanted, [n % clusters // 1 for n in range(units)])
    assert (found.value, found.p(1) <= 0.01) == (0.5, True)
    assert found.limits(0.95)[0] > 0.2


def test_two_clusters_show_nothing() -> None:
    assert lean([1.0] * 40, [0.0, 1.0] * 20, [n // 20 for n in range(40)]).p(1) > 0.05
