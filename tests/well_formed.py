"""What every estimate must be, whatever it is of: a figure with its counts, or none with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from steelyard.metrics.estimate import Estimate

WORDS = (None, "clear", "flagged", "inconclusive")
BEYOND = ("bootstrap_cluster", "goodman", "goodman_cluster", "wilson_units", "wilson_tasks")
"""Intervals that need not hold the value: they are of draws, or of fewer units."""
_ROUNDING = 1e-9


def check_all(estimates: Iterable[Estimate]) -> None:
    """Hold each against the rules."""
    for estimate in estimates:
        check(estimate)


def check(estimate: Estimate) -> None:
    """Hold one against the rules."""
    assert estimate.status in WORDS
    assert all(count >= 0 for count in estimate.excluded.values())
    assert set(estimate.excluded) == {"unreadable", "failed"}
    if estimate.value is None:
        assert estimate.note, estimate.metric
        assert (estimate.numerator, estimate.denominator) == (None, None)
        assert not estimate.intervals
        assert (estimate.status, estimate.p, estimate.calls_needed) == (None, None, None)
        return
    assert isfinite(estimate.value)
    assert estimate.n_calls >= estimate.n_units >= 1 or estimate.unit in ("level", "judge")
    assert estimate.n_clusters >= 1
    _check_counts(estimate)
    _check_intervals(estimate)
    _check_words(estimate)


def _check_counts(estimate: Estimate) -> None:
    if estimate.numerator is None or estimate.denominator is None or estimate.value is None:
        return
    assert abs(estimate.value - estimate.numerator / estimate.denominator) < _ROUNDING
    assert abs(estimate.numerator) <= estimate.denominator
    if estimate.design_effect is not None:
        assert estimate.design_effect >= 0


def _check_intervals(estimate: Estimate) -> None:
    for interval in estimate.intervals:
        assert 0 < interval.confidence < 1
        if interval.low is None or interval.high is None:
            continue
        assert interval.low <= interval.high
        if interval.method not in BEYOND and estimate.value is not None:
            assert interval.low - _ROUNDING <= estimate.value <= interval.high + _ROUNDING, interval
        if estimate.numerator is not None and estimate.numerator >= 0:
            assert interval.low >= -1
            assert interval.high <= 1
    if estimate.bounds is not None:
        assert estimate.bounds[0] <= estimate.bounds[1] + _ROUNDING


def _check_words(estimate: Estimate) -> None:
    for p in (estimate.p, estimate.p_corrected):
        assert p is None or 0 <= p <= 1
    if estimate.p is not None and estimate.p_corrected is not None:
        assert estimate.p_corrected >= estimate.p - _ROUNDING
    if estimate.calls_needed is not None:
        assert estimate.status == "inconclusive"
        assert estimate.calls_needed > 0
    if estimate.status is not None:
        assert estimate.intervals
