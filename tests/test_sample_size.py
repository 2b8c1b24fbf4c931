"""How many labels, and what a judge may rank: formulas by hand, recovery by simulation, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from commands import Command
from steelyard.commands.ranking import ranking_power
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render.data_files import dumps
from steelyard.errors import DataError
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.stats.sample_size import (
    detectable_difference,
    detectable_errors,
    half_width,
    items_total,
    label_precision,
    sum_limits,
)


def test_the_reach_is_the_textbook_constant() -> None:
    assert pytest.approx(1.959964 + 0.841621, abs=1e-5) == detectable_errors()


@pytest.mark.parametrize(("events", "trials"), [(85, 100), (170, 200), (3, 30), (450, 500)])
def test_half_widths_are_those_of_wilsons_interval(events: int, trials: int) -> None:
    low, high = proportion_confint(events, trials, method="wilson")
    assert half_width(events / trials, trials) == pytest.approx((high - low) / 2, abs=1e-9)


def test_a_row_by_hand() -> None:
    row = label_precision(200, accuracy=0.85, error_rate=0.10, disagreement=0.15)
    assert row.kappa == 2 * row.accuracy
    assert row.accuracy == pytest.approx(0.0493, abs=5e-4)
    assert row.error_rate == half_width(0.10, 100)
    assert row.between_judges == pytest.approx(2.8016 * sqrt(0.15 / 200), abs=1e-4)


@given(rows=st.integers(2, 10**6), share=st.floats(0, 1))
def test_more_rows_never_tell_less(rows: int, share: float) -> None:
    few, many = (label_precision(n, share, share, share) for n in (rows, 2 * rows))
    assert many.accuracy < few.accuracy
    assert many.between_judges <= few.between_judges
    assert 0 < many.accuracy <= 0.5


@given(items=st.integers(2, 10**6), kept=st.floats(0.01, 1), spread=st.floats(0.1, 1))
def test_the_items_for_a_difference_show_just_that_difference(items: int, kept: float, spread: float) -> None:
    smallest = detectable_difference(items, kept, spread)
    needed = items_total(smallest, kept, spread)
    assert needed is not None
    assert abs(needed - items) <= 1


def test_a_judge_that_keeps_nothing_ranks_nothing() -> None:
    assert detectable_difference(500, 0.0, 0.7) == float("inf")
    assert detectable_difference(500, -0.2, 0.7) == float("inf")
    assert items_total(0.02, 0.0, 0.7) is None


def test_the_limits_of_a_sum_by_hand() -> None:
    low, high = sum_limits(0.1, (0.07, 0.14), 0.2, (0.16, 0.23))
    assert low == pytest.approx(0.3 - 0.05)  # √(.03² + .04²)
    assert high == pytest.approx(0.3 + 0.05)


def test_the_smallest_difference_is_shown_in_four_comparisons_of_five() -> None:
    """Two systems that truly differ by it, judged with errors, told apart by a z test in 80 % of runs."""
    false_pass, false_fail, items = 0.15, 0.10, 400
    kept = 1 - false_pass - false_fail
    difference = detectable_difference(items, kept, sqrt(0.5))
    rng = np.random.default_rng(7)
    passed = []
    for truth in (0.5 - difference / 2, 0.5 + difference / 2):
        seen = truth * (1 - false_fail) + (1 - truth) * false_pass
        passed.append(rng.binomial(items, seen, size=20_000) / items)
    mean = (passed[0] + passed[1]) / 2
    z = (passed[1] - passed[0]) / np.sqrt(2 * mean * (1 - mean) / items)
    assert np.mean(z > 1.959964) == pytest.approx(0.80, abs=0.02)


def share(metric: str, value: float, low: float, high: float, probe: str) -> Estimate:
    base = Estimate("J", probe, metric, {"protocol": "base"}, "call", value, 10, 100)
    return Estimate(**{**vars(base), "intervals": (Interval("wilson", low, high),)})


def sheet(*figures: Estimate) -> Datasheet:
    judges = (JudgeEntry("J", "m", False, {}), JudgeEntry("constant", "planted/constant", True, {}))
    return Datasheet("s", 7, "sha256:0", "0", "quick", judges, figures)


def test_single_texts_keep_one_less_both_error_rates() -> None:
    rates = [
        share("false_positive_rate", 0.10, 0.07, 0.14, "original"),
        share("false_negative_rate", 0.20, 0.16, 0.23, "original"),
    ]
    (row,) = ranking_power(sheet(*rates), 500, "run")
    assert (row.kept, row.kept_low, row.kept_high) == pytest.approx((0.70, 0.65, 0.75))
    assert row.smallest == pytest.approx(2.8016 * sqrt(0.5 / 500) / 0.70, abs=1e-4)
    assert row.perfect == pytest.approx(row.smallest * 0.70)
    assert row.smallest_low < row.smallest < row.smallest_high
    assert "shows 0.70 [0.65, 0.75] of a difference between two systems" in row.sentence()


def test_abstentions_keep_nothing() -> None:
    """Of 200 calls 140 are right, 10 pass what should fail, 10 fail what should pass, 40 abstain: .2."""
    figures = [
        share("false_positive_rate", 0.10, 0.07, 0.14, "original"),
        share("false_negative_rate", 0.10, 0.07, 0.14, "original"),
        Estimate("J", "original", "accuracy", {"protocol": "base"}, "call", 0.7, 140, 200),
    ]
    (row,) = ranking_power(sheet(*figures), 500, "run")
    assert row.kept == pytest.approx(1 - 0.1 - 0.1 - 0.2)
    assert row.kept_high < 0.8


def test_calls_without_a_verdict_are_told() -> None:
    right = Estimate("J", "original", "accuracy", {"protocol": "base"}, "call", 1.0, 113, 113, n_calls=113)
    figures = [
        share("false_positive_rate", 0.0, 0.0, 0.1, "original"),
        share("false_negative_rate", 0.0, 0.0, 0.1, "original"),
    ]
    (row,) = ranking_power(sheet(*figures, right), 500, "run")
    assert (row.lost, row.calls, "verdict" in row.sentence()) == (0, 113, False)
    lossy = replace(right, excluded={"unreadable": 70, "failed": 2})
    (row,) = ranking_power(sheet(*figures, lossy), 500, "run")
    assert (row.lost, row.calls) == (72, 185)
    assert row.sentence().endswith("; 72 of 185 calls without a verdict left out")


def test_no_two_systems_differ_by_more_than_a_hundred_points() -> None:
    nearly = [
        share("false_positive_rate", 0.46, 0.4, 0.5, "original"),
        share("false_negative_rate", 0.5, 0.4, 0.54, "original"),
    ]
    (row,) = ranking_power(sheet(*nearly), 100, "run")
    assert (row.smallest, row.smallest_high) == (None, None)
    assert row.for_two_points is not None
    assert "100 items of each are too few to show any; two points take about" in row.sentence()


def test_pairs_keep_right_less_wrong() -> None:
    figures = [share("accuracy", 0.7, 0.6, 0.8, "position"), share("tie_rate", 0.1, 0.05, 0.2, "position")]
    (row,) = ranking_power(sheet(*figures), 400, "run")
    assert row.kept == pytest.approx(0.7 - 0.2)  # right .7, tie .1, wrong .2
    assert row.smallest == pytest.approx(2.8016 / sqrt(400) / 0.5, abs=1e-4)


def test_a_judge_that_may_keep_nothing_has_no_upper_end_and_one_that_keeps_none_ranks_none() -> None:
    doubtful = [
        share("false_positive_rate", 0.4, 0.2, 0.7, "original"),
        share("false_negative_rate", 0.4, 0.2, 0.7, "original"),
    ]
    (row,) = ranking_power(sheet(*doubtful), 100, "run")
    assert row.smallest_high is None
    assert "∞)" in row.sentence()
    useless = [
        share("false_positive_rate", 0.6, 0.5, 0.7, "original"),
        share("false_negative_rate", 0.5, 0.4, 0.6, "original"),
    ]
    (row,) = ranking_power(sheet(*useless), 100, "run")
    assert (row.smallest, row.for_two_points) == (None, None)
    assert row.sentence().endswith("none can be ranked with it")


def test_without_labels_of_both_classes_there_is_no_number() -> None:
    for figures in ([], [share("false_positive_rate", 0.1, 0.0, 0.2, "original")]):
        with pytest.raises(DataError, match="measure on labelled rows of your own"):
            ranking_power(sheet(*figures), 100, "run")


def test_the_command_prints_a_table_and_json(command: Command) -> None:
    done = command("plan", "--labels", "200, 50,50")
    assert done.code == 0
    assert "     200    ±0.049  ±0.099         ±0.060                0.077" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    body = json.loads(command("plan", "--labels", "50,200", "--json").out)
    assert [row["rows"] for row in body["labels"]] == [50, 200]
    for wrong in ("1", "x", "", "1e3", "99999999999", "-5", "2.5"):
        refused = command("plan", "--labels", wrong)
        assert refused.code == 2, wrong
        assert "expected whole numbers from 2" in refused.err


def test_the_command_ranks_with_the_judges_of_a_run(command: Command, tmp_path: Path) -> None:
    rates = [
        share("false_positive_rate", 0.10, 0.07, 0.14, "original"),
        share("false_negative_rate", 0.20, 0.16, 0.23, "original"),
    ]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "datasheet.json").write_text(dumps(sheet(*rates)))
    done = command("plan", "--rank", "run", "--items", "500")
    assert done.code == 0, done.err
    assert "J: shows 0.70 [0.65, 0.75]" in done.out
    assert "is 12.7 points [11.8, 13.6] (without any error 8.9)" in done.out
    body = json.loads(command("plan", "--rank", "run", "--json").out)
    assert body["ranking"][0]["items"] == 500
    assert command("plan", "--rank", "absent").code == 2
    both = command("plan", "--rank", "run", "--labels", "50")
    assert (both.code, "cannot be combined" in both.err) == (2, True)
    assert command("plan", "--rank", "run", "--items", str(10**20)).code == 2
