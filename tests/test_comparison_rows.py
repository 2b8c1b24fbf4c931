"""A row of a comparison agrees with itself: interval, margin and word; and merit whatever the length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard
from steelyard.metrics.comparison.comparison import Comparison, adjust_comparisons, with_word
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MISSING_DECIDE
from steelyard.stimuli.stimulus import Lineage, Prefers, Stimulus
from steelyard.verdicts.observations import Observation
from test_comparison import answers, compared, equal, graded, row, stimulus

MARGIN = 0.1


def check(row: Comparison, margin: float = MARGIN) -> None:
    """Within the margin: alike. Else on one side of zero: a difference. Else undecided."""
    low, high = row.decides
    within = -margin < low and high < margin
    expected = CLEAR if within else FLAGGED if (low >= 0 or high <= 0) and row.q <= 0.05 else INCONCLUSIVE
    assert row.status == expected, row
    if row.status == INCONCLUSIVE:
        assert low <= 0 <= high, row
    reach = row.paired.reach if row.paired else 1.0
    assert -reach - 1e-9 <= low <= (row.difference or 0.0) + 1e-9, row
    assert (row.difference or 0.0) - 1e-9 <= high <= reach + 1e-9, row


letters = st.tuples(st.sampled_from("12taxf"), st.sampled_from("12taxf")).map("".join)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.tuples(letters, letters), min_size=1, max_size=40),
    st.integers(1, 12),
    st.sampled_from([0.05, 0.1, 0.4]),
)
def test_every_row_agrees_with_its_interval(
    both: list[tuple[str, str]], clusters: int, margin: float
) -> None:
    shown = [
        stimulus(f"c{i}", "ladder", Prefers("u"), kind="prefix", delta=1 + i % 3, task=f"t{i % clusters}")
        if i % 2
        else equal(i, f"t{i % clusters}")
        for i in range(len(both))
    ]
    first, second = (
        [o for one, pair in zip(shown, both, strict=True) for o in answers(one, pair[side])]
        for side in (0, 1)
    )
    for each in compared(first, second, margin):
        if each.difference is not None:
            check(each, margin)


def test_a_shown_difference_ends_at_zero_where_the_interval_is_less_sure_than_the_test() -> None:
    """Eight pairs, all of which B names one way: 2 of 256 flips, the joint interval is wide."""
    first = [o for i in range(8) for o in answers(equal(i, f"t{i}"), "tt")]
    second = [o for i in range(8) for o in answers(equal(i, f"t{i}"), "11")]
    found = row(compared(first, second), "positional_false_preference")
    assert (found.status, found.decides) == (FLAGGED, (0.0, 1.0))


def steps(chance: np.random.Generator, first: float, second: float) -> list[Comparison]:
    """Ten figures of 40 clusters each: how often two judges say tie, at every step of quality."""
    shown = [
        stimulus(f"{d}-{n}", "ladder", Prefers("u"), kind="prefix", delta=d, task=f"{d}-{n}")
        for d in range(1, 11)
        for n in range(40)
    ]
    sides = [
        [o for one in shown for o in answers(one, "tt" if chance.random() < share else "12")]
        for share in (first, second)
    ]
    return [each for each in compared(*sides) if each.metric == "tie_rate" and "delta" in each.group]


def test_an_undecided_interval_reaches_zero_where_the_test_is_less_sure() -> None:
    found = row(compared([*graded_calls("1")], [*graded_calls("1")]), "accuracy")
    undecided = with_word(replace(found, difference=0.2, bounds=None), 0.06, MARGIN, (0.05, 0.35))
    assert (undecided.status, undecided.decides) == (INCONCLUSIVE, (0.0, 0.35))


def graded_calls(verdict: str) -> list[Observation]:
    return [graded(n, "1", verdict) for n in range(4)]


@pytest.mark.slow
def test_the_intervals_of_a_table_hold_together() -> None:
    """The truth is 0.2 everywhere: single intervals miss it somewhere in one table of eight, joint in few."""
    chance = np.random.default_rng(5)
    runs, missed, alone = 40, 0, 0
    for _ in range(runs):
        rows = adjust_comparisons(steps(chance, 0.3, 0.5), 0.001).rows
        missed += any(not low <= 0.2 <= high for low, high in (each.decides for each in rows))
        alone += any(not (e.intervals[0].low or 0) <= 0.2 <= (e.intervals[0].high or 0) for e in rows)
        for each in rows:
            check(each, 0.001)
    assert missed / runs <= 0.05
    assert alone / runs >= 0.10


@pytest.mark.slow
def test_the_interval_is_wider_where_more_figures_are_read_together() -> None:
    rows = adjust_comparisons(steps(np.random.default_rng(2), 0.3, 0.5), 0.001).rows
    for each in rows:
        (alone,) = adjust_comparisons([each], 0.001).rows
        assert alone.decides[1] - alone.decides[0] < each.decides[1] - each.decides[0]


def test_a_difference_that_missing_verdicts_could_undo_is_not_shown() -> None:
    """B is better on all 40 pairs that it answers; its 20 others could all be wrong, where A is right."""

    def calls(both: Sequence[str]) -> list:
        shown = [
            stimulus(f"c{i}", "ladder", Prefers("u"), kind="prefix", delta=1, task=f"t{i}") for i in range(60)
        ]
        return [o for one, pair in zip(shown, both, strict=True) for o in answers(one, pair)]

    whole = calls(["12"] * 28 + ["21"] * 12 + ["12"] * 20)
    lost = row(compared(whole, calls(["12"] * 40 + ["xx"] * 20)), "merit")
    assert (lost.first, lost.second, lost.differs) == (pytest.approx(0.7), 1.0, True)
    # 20 of 60 pairs may all be lost: .3 · 40/60 less 20/60; or keep what A has.
    assert lost.bounds == pytest.approx((0.3 * 40 / 60 - 20 / 60, 0.3 * 40 / 60))
    assert lost.status == INCONCLUSIVE
    assert MISSING_DECIDE in (lost.note or "")
    there = row(compared(whole, calls(["12"] * 60)), "merit")
    assert there.status == FLAGGED
    assert there.bounds == pytest.approx((there.difference, there.difference))


def test_bounds_weigh_both_labels_as_the_figure_does() -> None:
    """Nine texts should pass, three fail: without a missing verdict the bounds are the difference itself."""
    labels = ["1"] * 9 + ["0"] * 3
    first = [graded(n, label, "0" if n < 3 else label) for n, label in enumerate(labels)]
    second = [graded(n, label, "1" if n in (9, 10) else label) for n, label in enumerate(labels)]
    lenient = row(compared(first, second), "leniency")
    assert lenient.bounds == pytest.approx((lenient.difference, lenient.difference))


# Merit whatever the length


def natural(number: int, *, longer_better: bool, same: bool = False) -> Stimulus:
    better = "good " * (1 if same else 6 if longer_better else 2) + str(number)
    worse = "bad " * (1 if same else 2 if longer_better else 6) + str(number)
    lineage = Lineage(parent=f"n{number}", edit="")
    return Stimulus(
        f"n{number}", "position", "natural", f"t{number}", "s", "r", (better, worse), Prefers("u"), lineage
    )


def weighed(rows: Sequence[Comparison]) -> list[Comparison]:
    return [each for each in rows if each.group.get("weighed_against")]


def test_merit_of_natural_pairs_is_compared_whatever_the_length() -> None:
    """Longer preferred on 64 of 80: the word counter is right on these, the judge on 60 of them and on 10."""
    shown = [natural(n, longer_better=n < 64) for n in range(80)]
    right = ["12"] * 60 + ["21"] * 4 + ["12"] * 10 + ["21"] * 6
    judge = [o for one, both in zip(shown, right, strict=True) for o in answers(one, both)]
    counter = [o for n, one in enumerate(shown) for o in answers(one, "12" if n < 64 else "21")]
    rows = compared(counter, judge)
    plain = next(each for each in rows if each.metric == "merit" and "weighed_against" not in each.group)
    assert (plain.first, plain.second) == (pytest.approx(64 / 80), pytest.approx(70 / 80))
    (beside,) = weighed(rows)
    assert (beside.first, beside.second) == (0.5, pytest.approx((60 / 64 + 10 / 16) / 2))
    assert beside.group == {"protocol": "base", "weighed_against": "longest"}
    assert (plain.status, beside.status) == (INCONCLUSIVE, FLAGGED)


def test_pairs_of_one_length_weigh_as_they_are_and_unknown_texts_have_no_such_row() -> None:
    """20 of 100 pairs of equal length, 15 right: .2 · .75 + .8 · (60/64 + 10/16) / 2, as on the datasheet."""
    shown = [natural(n, longer_better=n < 64, same=n >= 80) for n in range(100)]
    right = ["12"] * 60 + ["21"] * 4 + ["12"] * 10 + ["21"] * 6 + ["12"] * 15 + ["21"] * 5
    judge = [o for one, both in zip(shown, right, strict=True) for o in answers(one, both)]
    (beside,) = weighed(compared(judge, judge))
    assert beside.first == pytest.approx(0.2 * 0.75 + 0.8 * (60 / 64 + 10 / 16) / 2)
    unknown = [stimulus(f"k{n}", "position", Prefers("u"), kind="natural") for n in range(8)]
    asked = [o for one in unknown for o in answers(one, "12")]
    assert weighed(compared(asked, asked)) == []


def test_a_word_counter_and_a_good_judge_are_told_apart(tmp_path: Path) -> None:
    """People like the longer text in 90 of 100 pairs: both are right in 90 of 100."""
    rows = ["id,q,a,b,l"]
    for n in range(100):
        good, bad = ("good " * (8 if n % 10 else 2), "bad " * (2 if n % 10 else 8))
        rows.append(f"{n},which {n},{good if n % 2 else bad},{bad if n % 2 else good},{1 if n % 2 else 2}")
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")

    def counter(request: str, first: str, second: str) -> str:
        return "1" if len(first) > len(second) else "2"

    def reader(request: str, first: str, second: str) -> str:
        wrong = int(request.split()[1]) % 10 == 5
        return "1" if ("good" in first) != wrong else "2"

    columns = {"request": "q", "response_1": "a", "response_2": "b", "label": "l", "id": "id"}
    for name, judge in (("counter", counter), ("reader", reader)):
        steelyard.measure(
            {"model": judge, "name": name},
            task={"scale": "pairwise", "rubric": "The better text."},
            data={"path": str(tmp_path / "pairs.csv"), "columns": columns},
            out=tmp_path / name,
        )
    sheet = steelyard.compare(tmp_path / "counter", tmp_path / "reader")
    merits = {"weighed_against" in each.group: each for each in sheet.rows if each.metric == "merit"}
    assert (merits[False].first, merits[False].second) == (pytest.approx(0.9), pytest.approx(0.9))
    # Right on 80 of the 90 pairs that the longer text wins, and on all of the others.
    assert (merits[True].first, merits[True].second) == pytest.approx((0.5, (80 / 90 + 1) / 2))
    assert merits[True].status == FLAGGED
