"""Multiplicity adjustment of one judge's tests: Holm against statsmodels, Bonferroni by hand."""

from __future__ import annotations

import pytest
from statsmodels.stats.multitest import multipletests

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.metrics.multiplicity import AdjustedTest, adjust_estimates, adjust_for_multiplicity


def test_a_family_is_adjusted_as_statsmodels_does() -> None:
    p_values = {"position": 0.012, "stable": 0.4, "order": 0.021}
    family = adjust_for_multiplicity(p_values)
    expected = multipletests(list(p_values.values()), method="holm")[1]
    assert [test.adjusted_p for test in family.values()] == pytest.approx(list(expected))
    assert [test.unadjusted_p for test in family.values()] == list(p_values.values())
    assert [test.is_significant for test in family.values()] == [True, False, True]
    assert family["order"].format() == "p = 0.021, 0.042 after Holm over 3 tests"


def test_bonferroni_multiplies_by_the_size_of_the_family() -> None:
    test = AdjustedTest.bonferroni(0.02, 4)
    assert test.adjusted_p == pytest.approx(0.08)
    assert not test.is_significant
    assert test.format("edits") == "p = 0.02, 0.08 after Bonferroni over 4 edits"
    assert AdjustedTest.bonferroni(0.5, 4).adjusted_p == 1.0


def test_a_test_alone_keeps_its_p() -> None:
    test = AdjustedTest.single(0.05)
    assert (test.adjusted_p, test.is_significant) == (0.05, True)
    assert test.format() == "p = 0.05"


def test_estimates_lose_a_flag_that_their_family_does_not_bear_out() -> None:
    def figure(metric: str, p: float | None) -> Estimate:
        return Estimate("j", "typos", metric, {}, "call", 0.2, status="flagged", p=p)

    both = [figure("a", 0.03), figure("a", 0.04), figure("b", 0.04), figure("a", None)]
    one_metric = adjust_estimates(both, "edits", Metric("a", "a", ""))
    assert [e.status for e in one_metric] == ["inconclusive", "inconclusive", "flagged", "flagged"]
    assert [e.p_corrected for e in one_metric] == [pytest.approx(0.06), pytest.approx(0.06), None, None]
    assert one_metric[2] is both[2]
    every = adjust_estimates(both, "edits")
    assert [e.p_corrected for e in every[:3]] == pytest.approx([0.09, 0.09, 0.09])
