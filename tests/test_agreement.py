"""Agreement of scores and labels, against oracle libraries and published worked examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as oracle

from steelyard.metrics.stats import agreement

LEVELS = np.arange(1.0, 7.0)
Pairs = list[tuple[int, int]]
pairs = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=3, max_size=40)


def table(rows: Pairs, values: np.ndarray = LEVELS) -> np.ndarray:
    counts = np.zeros((len(values), len(values)))
    for label, score in rows:
        counts[np.searchsorted(values, label), np.searchsorted(values, score)] += 1
    return counts


def columns(rows: Pairs) -> tuple[np.ndarray, np.ndarray]:
    labels, scores = np.array(rows).T
    return labels, scores


@given(pairs)
def test_errors_are_plain_means(rows: Pairs) -> None:
    labels, scores = columns(rows)
    assert agreement.mean_absolute_error(table(rows), LEVELS) == pytest.approx(np.abs(scores - labels).mean())
    assert agreement.bias(table(rows), LEVELS) == pytest.approx((scores - labels).mean())


@given(pairs)
def test_kappas_equal_scikit_learn(rows: Pairs) -> None:
    labels, scores = columns(rows)
    if len({*labels, *scores}) < 2:
        assert np.isnan(agreement.kappa(table(rows), LEVELS))
        assert np.isnan(agreement.quadratic_kappa(table(rows), LEVELS))
        return
    plain = oracle.cohen_kappa_score(labels, scores, labels=LEVELS)
    squared = oracle.cohen_kappa_score(labels, scores, labels=LEVELS, weights="quadratic")
    assert agreement.kappa(table(rows), LEVELS) == pytest.approx(plain, abs=1e-12)
    assert agreement.quadratic_kappa(table(rows), LEVELS) == pytest.approx(squared, abs=1e-12)


@given(pairs)
def test_correlations_equal_scipy_and_are_undefined_for_a_constant(rows: Pairs) -> None:
    labels, scores = columns(rows)
    ours = [f(table(rows), LEVELS) for f in (agreement.pearson, agreement.spearman, agreement.concordance)]
    if len(set(labels)) < 2 or len(set(scores)) < 2:
        assert np.isnan(ours).all()
        return
    assert ours[0] == pytest.approx(stats.pearsonr(labels, scores).statistic, abs=1e-9)
    assert ours[1] == pytest.approx(stats.spearmanr(labels, scores).statistic, abs=1e-9)
    assert abs(ours[2]) <= abs(ours[0]) + 1e-9


def test_concordance_by_hand() -> None:
    # Labels 1 2 3 4, scores 2 3 4 5: variances 1.25 each, covariance 1.25, means one apart.
    # 2 · 1.25 / (1.25 + 1.25 + 1) = 2.5 / 3.5. Pearson sees no fault.
    rows = [(1, 2), (2, 3), (3, 4), (4, 5)]
    assert agreement.concordance(table(rows), LEVELS) == pytest.approx(2.5 / 3.5)
    assert agreement.pearson(table(rows), LEVELS) == pytest.approx(1.0)
    assert agreement.bias(table(rows), LEVELS) == pytest.approx(1.0)


def test_compression_is_the_ratio_of_standard_deviations() -> None:
    # Labels 1 6 (SD 2.5), scores 3 4 (SD .5).
    assert agreement.compression(table([(1, 3), (6, 4)]), LEVELS) == pytest.approx(0.2)
    assert np.isnan(agreement.compression(table([(3, 1), (3, 6)]), LEVELS))


def test_ac1_by_hand_stays_up_where_kappa_collapses() -> None:
    # Gwet's point: 118 of 125 agree on yes, 5 + 2 differ, none agree on no.
    # p_a = 118/125 = .944; π(yes) = (123 + 120)/250 = .972; p_e = 2 · .972 · .028 = .054432.
    counts = np.array([[0.0, 2.0], [5.0, 118.0]])
    values = np.array([0.0, 1.0])
    assert agreement.gwet_ac1(counts, values) == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))
    # Cohen expects .984 · .96 + .016 · .04 = .94528 by chance.
    assert agreement.kappa(counts, values) == pytest.approx((0.944 - 0.94528) / (1 - 0.94528))


@pytest.mark.parametrize(("name", "by_hand"), [("precision", 3 / 4), ("recall", 3 / 5), ("f1", 6 / 9)])
def test_figures_of_positives_equal_scikit_learn(name: str, by_hand: float) -> None:
    """Four scores of 1, of which three are right; five labels of 1, of which three are found."""
    labels, scores = [1, 1, 1, 0, 0, 1, 0, 0, 0, 1], [1, 0, 1, 1, 0, 1, 0, 0, 0, 0]
    counts = np.zeros((2, 2))
    np.add.at(counts, (labels, scores), 1)
    found = getattr(agreement, name)(counts, np.array([0.0, 1.0]))
    assert found == pytest.approx(getattr(oracle, f"{name}_score")(labels, scores))
    assert found == pytest.approx(by_hand)
    assert np.isnan(getattr(agreement, name)(np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([0.0, 1.0])))


def test_balanced_accuracy_equals_scikit_learn() -> None:
    labels, scores = [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]
    values = np.array([0.0, 1.0])
    counts = table(list(zip(labels, scores, strict=True)), values)
    assert agreement.balanced_accuracy(counts, values) == pytest.approx(
        oracle.balanced_accuracy_score(labels, scores)
    )
    assert np.isnan(agreement.balanced_accuracy(np.array([[0.0, 0.0], [1.0, 3.0]]), values))


# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, twelve
# units, missing ratings; published α: nominal .743, ordinal .815, interval .849.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_reproduces_the_published_example(level: str, published: float) -> None:
    values = np.arange(1.0, 6.0)
    counts = np.zeros((12, 5))
    for observer in OBSERVERS:
        for unit, rating in enumerate(observer):
            if rating is not None:
                counts[unit, rating - 1] += 1
    found = agreement.alpha(agreement.unit_coincidences(counts).sum(0), values, level)
    assert found == pytest.approx(published, abs=5e-4)


@given(pairs)
def test_alpha_of_a_table_is_alpha_of_its_units(rows: Pairs) -> None:
    counts = np.zeros((len(rows), 6))
    for unit, row in enumerate(rows):
        for rating in row:
            counts[unit, rating - 1] += 1
    by_units = agreement.alpha(agreement.unit_coincidences(counts).sum(0), LEVELS, "ordinal")
    assert agreement.krippendorff_alpha(table(rows), LEVELS) == pytest.approx(by_units, nan_ok=True)


@given(st.lists(pairs, min_size=2, max_size=4))
def test_a_stack_of_tables_is_each_table_alone(stack: list[Pairs]) -> None:
    tables = np.stack([table(rows) for rows in stack])
    for figure in (
        agreement.concordance,
        agreement.spearman,
        agreement.quadratic_kappa,
        agreement.krippendorff_alpha,
        agreement.gwet_ac1,
        agreement.compression,
    ):
        together, alone = figure(tables, LEVELS), [figure(one, LEVELS) for one in tables]
        assert together == pytest.approx(np.array(alone), nan_ok=True)
