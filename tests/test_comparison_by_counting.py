"""Two judges, unit by unit, counted again from the letters of their answers, without arrays."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics.comparison.comparison import BEYOND, WITHIN, Comparison
from steelyard.metrics.comparison.rows import UnitEvent, loss_of
from steelyard.metrics.comparison.unit_events import Dropped, Units
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable
from test_comparison import answers, compared, equal, row

letters = st.sampled_from("112taxf-")
NAMED, HEARD = "12", "12ta"
WHY = {"x": "unreadable", "f": "failed"}
Sheet = list[str]
"""Two letters for each pair: u first, then v first."""


@st.composite
def two_judges(draw: st.DrawFn) -> tuple[Sheet, Sheet]:
    """Two judges on the same pairs, of which either may have been shown none, one or both orders."""
    size = draw(st.integers(2, 9))
    one = st.lists(st.tuples(letters, letters).map("".join), min_size=size, max_size=size)
    return draw(one), draw(one)


def observed(sheet: Sheet, judge: str) -> list:
    return [
        call
        for number, both in enumerate(sheet)
        for call in answers(equal(number, f"t{number % 3}"), both, judge)
    ]


Rows = tuple[Comparison, ...]


def rows_of(sheets: tuple[Sheet, Sheet]) -> Rows:
    return compared(*(observed(sheet, name) for sheet, name in zip(sheets, "AB", strict=True)))


def calls(sheet: Sheet) -> dict[tuple[int, int], str]:
    """Pair and order to the letter; what was not shown is absent."""
    return {
        (pair, order): letter
        for pair, both in enumerate(sheet)
        for order, letter in enumerate(both)
        if letter != "-"
    }


def dropped(mine: dict, other: dict) -> Dropped:
    """Calls of the other judge that lack a verdict of this one, by reason."""
    shared = [mine[key] for key in other if key in mine]
    return Dropped(
        not_shown=sum(key not in mine for key in other),
        unreadable=shared.count("x"),
        failed=shared.count("f"),
    )


def assert_calls_that_both_answered(sheets: tuple[Sheet, Sheet], rows: Rows) -> None:
    first, second = map(calls, sheets)
    if not first and not second:
        return
    figure = row(rows, "raw_false_preference")
    shared = [key for key in first if key in second and first[key] in HEARD and second[key] in HEARD]
    pairs = [(first[key] in NAMED, second[key] in NAMED) for key in shared]
    assert (figure.n_shared, figure.n_pairs) == (len(shared), len({pair for pair, _ in shared}))
    assert figure.n_clusters == len({pair % 3 for pair, _ in shared})
    assert (figure.gained, figure.lost) == (
        sum(b and not a for a, b in pairs),
        sum(a and not b for a, b in pairs),
    )
    assert figure.dropped_first == dropped(first, second)
    assert figure.dropped_second == dropped(second, first)
    if pairs:
        shares = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
        assert [figure.first, figure.second] == pytest.approx(shares)
        assert figure.difference == pytest.approx(shares[1] - shares[0])
    else:
        assert figure.note == "no unit has a verdict of both judges"
        assert (figure.first, figure.difference, figure.p, figure.status) == (None, None, None, None)


def assert_bounds_are_the_extremes_over_all_ways_to_fill_in(sheets: tuple[Sheet, Sheet], rows: Rows) -> None:
    first, second = map(calls, sheets)
    both = [key for key in first if key in second]
    if not any(first[key] in HEARD and second[key] in HEARD for key in both):
        return
    figure = row(rows, "raw_false_preference")

    def span(letter: str) -> tuple[int, int]:
        return (0, 1) if letter in WHY else (int(letter in NAMED), int(letter in NAMED))

    low = sum(span(second[key])[0] - span(first[key])[1] for key in both) / len(both)
    high = sum(span(second[key])[1] - span(first[key])[0] for key in both) / len(both)
    assert figure.bounds == pytest.approx((low, high))
    if not any(first[key] in WHY or second[key] in WHY for key in both):
        assert figure.bounds == pytest.approx((figure.difference, figure.difference))


def assert_losses_are_compared_on_every_call_that_both_were_asked(
    sheets: tuple[Sheet, Sheet], rows: Rows
) -> None:
    first, second = map(calls, sheets)
    shared = [key for key in first if key in second]
    if not shared:
        return
    for letter, metric in (("x", "unreadable_rate"), ("f", "failed_rate")):
        figure = row(rows, metric, "run")
        assert figure.n_shared == len(shared)
        assert figure.first == pytest.approx(sum(first[key] == letter for key in shared) / len(shared))
        assert figure.second == pytest.approx(sum(second[key] == letter for key in shared) / len(shared))


def assert_pairs_in_both_orders_by_their_nine_cells(sheets: tuple[Sheet, Sheet], rows: Rows) -> None:
    """Stable: the same text twice, so another slot in each order; positional: the same slot twice."""

    def stable(both: str) -> bool:
        return both in ("12", "21")

    def positional(both: str) -> bool:
        return both in ("11", "22")

    whole = [
        pair
        for pair, both in enumerate(zip(*sheets, strict=True))
        if all(letter in HEARD for sheet in both for letter in sheet)
    ]
    for metric, event in (
        ("stable_cross_sensitivity", stable),
        ("positional_false_preference", positional),
    ):
        found = [r for r in rows if r.metric == metric]
        if not whole:
            assert all(r.n_shared == 0 for r in found)
            continue
        (figure,) = (r for r in found if "slot" not in r.group)
        assert figure.n_shared == len(whole)
        assert figure.first == pytest.approx(sum(event(sheets[0][pair]) for pair in whole) / len(whole))
        assert figure.second == pytest.approx(sum(event(sheets[1][pair]) for pair in whole) / len(whole))


def assert_slots_of_pairs_in_both_orders(sheets: tuple[Sheet, Sheet], rows: Rows) -> None:
    """Of pairs that both judges answered twice: slot 1 less slot 2 over two calls, by counting letters."""
    whole = [
        both
        for both in zip(*sheets, strict=True)
        if all(letter in HEARD for sheet in both for letter in sheet)
    ]
    found = [r for r in rows if r.metric == "net_slot_preference" and r.first is not None]
    assert bool(found) == bool(whole)
    for figure in found:
        for side, share in enumerate((figure.first, figure.second)):
            letters = "".join(both[side] for both in whole)
            assert share == pytest.approx((letters.count("1") - letters.count("2")) / len(letters))
        assert (figure.n_shared, figure.unit) == (len(whole), "pair")


def assert_every_row_survives_the_file_and_contradicts_itself_nowhere(rows: Rows) -> None:
    for figure in rows:
        body = json.loads(json.dumps(figure.to_json(), allow_nan=False))
        assert "sums" not in body
        assert body["metric"] == figure.metric
        if figure.difference is None:
            assert figure.intervals == ()
            continue
        (wide, narrow), low, high = figure.intervals[:2], *figure.decides
        assert (wide.confidence, narrow.confidence) == (0.95, 0.90)
        reach = figure.paired.reach
        assert low <= wide.low <= wide.high <= high or 0 in (low, high)
        assert -reach <= wide.low <= narrow.low <= narrow.high <= wide.high <= reach
        total = figure.difference * figure.n_shared
        assert sum(figure.sums.values()) == pytest.approx(total)
        if figure.metric != "net_slot_preference":
            assert (reach, figure.gained - figure.lost) == (1, pytest.approx(total))
        assert figure.p is not None
        assert figure.q is not None
        assert figure.p <= figure.q <= 1
        assert figure.differs == (figure.q <= 0.05)
        if figure.against_margin == WITHIN:
            assert figure.status == "clear"
            assert -0.1 < low <= high < 0.1
        if figure.against_margin == BEYOND:
            assert figure.status == "flagged"
            assert low > 0.1 or high < -0.1


@pytest.mark.slow
@settings(max_examples=40)
@given(two_judges())
def test_rows_of_two_judges_by_counting_letters(sheets: tuple[Sheet, Sheet]) -> None:
    rows = rows_of(sheets)
    assert_calls_that_both_answered(sheets, rows)
    assert_bounds_are_the_extremes_over_all_ways_to_fill_in(sheets, rows)
    assert_losses_are_compared_on_every_call_that_both_were_asked(sheets, rows)
    assert_pairs_in_both_orders_by_their_nine_cells(sheets, rows)
    assert_slots_of_pairs_in_both_orders(sheets, rows)
    assert_every_row_survives_the_file_and_contradicts_itself_nowhere(rows)


# A unit of two judges.


def event(happened: bool | None, loss: str | None = None, against: str = "") -> UnitEvent:
    return UnitEvent(happened, loss, "p", "c", against)


def test_units_with_another_reference_are_not_shared_and_told_apart() -> None:
    key = {name: (name, "uv", 0) for name in "abcd"}
    mine = Units(
        {
            key["a"]: event(True, against="1"),
            key["b"]: event(True, against="1"),
            key["c"]: event(None, "failed"),
        },
        "base",
        {(name, "base uv", 0) for name in "abcd"},
    )
    other = Units(
        {
            key["a"]: event(False, against="1"),
            key["b"]: event(False, against="2"),
            key["c"]: event(True),
            key["d"]: event(True),
        },
        "base",
        {(name, "base uv", 0) for name in "abcd"},
    )
    shared = mine.shared(other)
    assert shared == [key["a"], key["c"]]
    # d was shown to this judge too, without a reference; b is held against another one.
    assert mine.dropped(other, shared) == Dropped(0, 0, 1, no_reference=1, other_reference=1)
    assert other.dropped(mine, shared) == Dropped(other_reference=1)
    unseen = replace(mine, calls=set())
    assert unseen.dropped(other, shared) == Dropped(1, 0, 1, other_reference=1)


def test_reasons_of_references_are_written_where_they_are_met() -> None:
    assert Dropped(1, 2, 3).to_json() == {"not_shown": 1, "unreadable": 2, "failed": 3}
    assert Dropped(other_reference=4).to_json() == {
        "not_shown": 0,
        "unreadable": 0,
        "failed": 0,
        "other_reference": 4,
    }


@pytest.mark.parametrize(
    ("verdicts", "loss"),
    [
        ([Decided("1"), Tie()], None),
        ([Abstained()], None),
        ([Decided("1"), Unreadable("empty")], "unreadable"),
        ([Unreadable("empty"), Failed("timeout")], "failed"),
        ([], None),
    ],
)
def test_a_failure_comes_before_an_unreadable_reply(verdicts: list, loss: str | None) -> None:
    assert loss_of(verdicts) == loss


@pytest.mark.parametrize(
    ("differs", "against", "words"),
    [
        (True, WITHIN, "differ, within the margin"),
        (True, BEYOND, "differ by more than the margin"),
        (True, None, "differ"),
        (False, WITHIN, "alike within the margin"),
        (False, None, "cannot tell"),
        (None, None, "cannot tell"),
    ],
)
def test_two_questions_have_one_answer_in_words(
    differs: bool | None, against: str | None, words: str
) -> None:
    figure = row(rows_of((["11", "12"], ["tt", "12"])), "raw_false_preference")
    status = "clear" if against == WITHIN else "flagged" if differs else "inconclusive"
    told = replace(figure, differs=differs, against_margin=against, status=status)
    assert told.conclusion_text == words
