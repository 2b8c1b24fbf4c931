"""Correction to people: identities, hand-derived figures and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.metrics.correction import prediction_powered, rogan_gladen

RUNS = 2000


def test_rogan_and_gladen_by_hand() -> None:
    # (.5 + .8 − 1)/(.9 + .8 − 1) = .3/.7.
    found = rogan_gladen((50, 100), (90, 100), (80, 100))
    assert found.value == pytest.approx(0.3 / 0.7)
    assert found.raw == 0.5


def test_a_perfect_judge_needs_no_correction_and_a_coin_admits_none() -> None:
    assert rogan_gladen((30, 100), (50, 50), (50, 50)).value == pytest.approx(0.3)
    coin = rogan_gladen((30, 100), (25, 50), (25, 50))
    assert (coin.value, coin.limits) == (None, None)
    assert "tells nothing apart" in (coin.note or "")


@pytest.mark.parametrize(("truth", "calibration"), [(0.1, 40), (0.3, 40), (0.5, 200)])
def test_the_two_source_interval_covers_where_the_plug_in_does_not(truth: float, calibration: int) -> None:
    generator = np.random.default_rng(3)
    sensitivity, specificity, size = 0.85, 0.8, 500
    judged = truth * sensitivity + (1 - truth) * (1 - specificity)
    covered, plugged = 0, 0
    for _ in range(RUNS):
        positives = int(generator.binomial(size, judged))
        hits, passes = (int(generator.binomial(calibration, p)) for p in (sensitivity, specificity))
        limits = rogan_gladen((positives, size), (hits, calibration), (passes, calibration)).limits
        assert limits is not None
        covered += limits[0] <= truth <= limits[1]
        gain = hits / calibration + passes / calibration - 1
        share = positives / size
        reach = 1.96 * np.sqrt(share * (1 - share) / size) / gain
        plugged += abs((share + passes / calibration - 1) / gain - truth) <= reach
    assert covered / RUNS >= 0.94
    assert plugged / RUNS < covered / RUNS - 0.05


def draw(generator: np.random.Generator, size: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    labels = generator.binomial(1, 0.4, size).astype(float)
    wrong = generator.random(size) < noise
    # The judge is lenient: it turns some noughts into ones and no one into a nought.
    return labels, np.where(wrong & (labels == 0), 1.0, labels)


def test_the_weight_spans_labels_alone_to_plain_prediction() -> None:
    labels, scores = draw(np.random.default_rng(1), 50, 0.2)
    others = draw(np.random.default_rng(2), 500, 0.2)[1]
    assert prediction_powered(labels, scores, others, 0.0).value == pytest.approx(labels.mean())
    plain = prediction_powered(labels, scores, others, 1.0)
    assert plain.value == pytest.approx(others.mean() + (labels - scores).mean())
    tuned = prediction_powered(labels, scores, others)
    assert tuned.weight is not None
    assert 0.5 < tuned.weight <= 1


def test_prediction_powered_means_cover_and_are_narrower_than_labels_alone() -> None:
    generator = np.random.default_rng(4)
    covered, raw_covered, widths = 0, 0, []
    for _ in range(RUNS):
        labels, scores = draw(generator, 60, 0.15)
        others = draw(generator, 600, 0.15)[1]
        found, alone = (prediction_powered(labels, scores, others, w) for w in (None, 0.0))
        assert found.limits is not None
        assert alone.limits is not None
        covered += found.limits[0] <= 0.4 <= found.limits[1]
        raw_covered += abs(found.raw - 0.4) <= (found.limits[1] - found.limits[0]) / 2
        widths.append((found.limits[1] - found.limits[0]) / (alone.limits[1] - alone.limits[0]))
    # Some five gaps of sixty decide the interval, so it covers a little less than .95.
    assert covered / RUNS >= 0.92
    assert raw_covered / RUNS < 0.7
    assert np.mean(widths) < 0.75


def test_a_constant_judge_is_not_used() -> None:
    labels = np.array([0.0, 1.0, 1.0])
    found = prediction_powered(labels, np.ones(3), np.ones(10))
    assert found.weight == 0.0
    assert found.value == pytest.approx(2 / 3)
    assert prediction_powered(labels[:1], np.ones(1), np.ones(9)).value is None
