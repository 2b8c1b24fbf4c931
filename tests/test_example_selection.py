from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairs import pair
from scores import call
from steelyard.datasheet.example_selection import OUTCOMES, CallGroup, ExampleSelector, explain
from steelyard.verdicts.observations import Observation, Observations

ANSWERS = st.sampled_from(["1", "2", "tie", "abstain", "unreadable", "failed"])


def cases(*observations: Observation) -> ExampleSelector:
    return ExampleSelector(Observations.of(observations))


def chosen(outcome: str | None, *observations: Observation, limit: int = 10) -> list[str]:
    return [case.stimulus.id for case in cases(*observations).choose(outcome, limit, 7)]


def only(outcome: str, *observations: Observation) -> CallGroup:
    (case,) = cases(*observations).choose(outcome, 10, 7)
    return case


def test_a_wrong_choice_is_more_telling_the_larger_the_step_and_than_a_tie() -> None:
    rows = [
        *pair("far", ("2", "1"), "u", delta=5),
        *pair("near", ("2", "1"), "u", delta=1),
        *pair("tied", ("tie", "tie"), "u", delta=1),
        *pair("half", ("1", "1"), "u", delta=1),
        *pair("right", ("1", "2"), "u", delta=1),
    ]
    ranked = chosen("wrong", *rows)
    assert ranked[:2] == ["far", "near"]
    assert set(ranked[2:]) == {"tied", "half"}  # one wrong call of two weighs as two ties


def test_a_preference_between_equals_is_wrong_and_an_abstention_is_not() -> None:
    assert chosen("wrong", *pair("named", ("1", "2")), *pair("declined", ("abstain", "tie"))) == ["named"]


def test_positional_is_the_same_slot_in_both_orders_of_one_repeat() -> None:
    rows = [
        *pair("slot", ("1", "1")),
        *pair("text", ("1", "2")),
        *pair("tied", ("1", "tie")),
        *pair("again", ("1", "2"), replicate=0),
        *pair("again", ("2", "1"), replicate=1),
        *pair("lost", ("1", "failed")),
    ]
    assert chosen("positional", *rows) == ["slot"]


def test_a_pair_flips_by_order_and_by_repeat_and_a_reversal_tells_more_than_a_tie() -> None:
    rows = [
        *pair("tied", ("1", "tie")),
        *pair("slot", ("1", "1")),
        *pair("again", ("1", "2"), replicate=0),
        *pair("again", ("2", "1"), replicate=1),
        *pair("kept", ("1", "2")),
        *pair("lost", ("1", "unreadable")),
    ]
    ranked = chosen("flip", *rows)
    assert set(ranked[:2]) == {"slot", "again"}
    assert ranked[2:] == ["tied"]


def test_a_verdict_that_an_edit_changes_is_shown_beside_the_unchanged_item() -> None:
    case = only(
        "flip",
        call("a", 1, 1),
        call("a", 0, 1, probe="typos"),
        call("b", 1, 1),
        call("b", 1, 1, probe="typos"),
    )
    assert [c.stimulus.id for c in case.unchanged] == ["a/original"]
    assert explain(case) == (
        "the reference is 1; the edit (edit) should change nothing, and the answer went from 1 to 0, "
        "which counts as a flip"
    )


@pytest.mark.parametrize(
    ("edited", "because"),
    [
        (call("a", 0, 0, probe="typos"), "the reference is another"),
        (call("a", 0, 1, probe="label_flip"), "the probe means to change the verdict"),
        (call("a", 0, 1, probe="typos", scale="1-6"), "the scale is another"),
        (call("a", "unreadable", 1, probe="typos"), "it has no verdict"),
    ],
)
def test_another_verdict_is_no_flip_where(edited: Observation, because: str) -> None:
    assert chosen("flip", call("a", 1, 1), edited) == [], because


def test_repeats_of_a_single_text_that_differ_are_a_flip() -> None:
    case = only("flip", call("a", 1, 1), call("a", 0, 1, replicate=1), call("a", 1, 1, replicate=2))
    assert explain(case).endswith(
        "the same question was answered 1 in 2 of 3, 0 in 1 of 3, which counts as a flip"
    )


def test_what_has_no_reference_or_is_the_judges_own_label_is_never_wrong() -> None:
    assert chosen("wrong", call("a", 1)) == []


@pytest.mark.parametrize(
    ("outcome", "rows", "sentence"),
    [
        (
            "wrong",
            pair("p", ("2", "2"), "u", delta=1),
            "text u is better by 1 step; 1 of 2 calls did not name it, "
            "which counts as a wrong choice, or as a miss where it is a tie",
        ),
        (
            "wrong",
            pair("p", ("1", "2")),
            "neither text is better; 2 of 2 calls named one, each of which counts as "
            "a preference where there is none",
        ),
        (
            "wrong",
            [call("a", 1, 0)],
            "the reference is 0; 1 of 1 call gave another answer, which counts as a false positive",
        ),
        (
            "wrong",
            [call("a", 2, 5, scale="1-6")],
            "the reference is 5; 1 of 1 call gave another answer, which counts as an error",
        ),
        (
            "positional",
            pair("p", ("2", "2")),
            "neither text is better; slot 2 won in both orders, so the place decided "
            "and not the text: the pair counts as positional",
        ),
        (
            "unreadable",
            [call("a", "unreadable", 0)],
            "the reference is 0; 1 of 1 call held no answer (no answer): unreadable, and never a score",
        ),
        (
            "failed",
            [call("a", "failed", 0)],
            "the reference is 0; 1 of 1 call got no reply (timeout): failed, and never a score",
        ),
    ],
)
def test_why_a_case_counts_as_it_does(outcome: str, rows: list[Observation], sentence: str) -> None:
    assert explain(only(outcome, *rows)) == sentence


def test_items_come_once_before_any_comes_twice_and_the_same_seed_chooses_the_same() -> None:
    rows = [call("a", 1, 0, probe=f"p{n}") for n in range(20)] + [call("b", 1, 0), call("c", 1, 0)]
    first = chosen("wrong", *rows, limit=3)
    assert {name.partition("/")[0] for name in first} == {"a", "b", "c"}
    assert chosen("wrong", *reversed(rows), limit=3) == first


def test_without_an_outcome_everything_may_be_shown_and_faults_come_first() -> None:
    rows = [*pair("right", ("1", "2"), "u"), *pair("wrong", ("2", "1"), "u")]
    assert chosen(None, *rows) == ["wrong", "right"]
    assert explain(cases(*rows).choose(None, 1, 7)[0]) == (
        "text u is better; answered text v: 0 of 2 calls met the reference"
    )


@given(
    st.lists(st.tuples(ANSWERS, ANSWERS, st.sampled_from([None, "u", "v"])), max_size=8),
    st.sampled_from(OUTCOMES),
)
def test_a_case_shows_its_outcome_and_its_mirror_image_the_same(
    answers: list[tuple[str, str, str | None]], outcome: str
) -> None:
    """Exchanging the names u and v is exchanging the orders: the same pairs are cases."""
    rows = [o for n, (a, b, better) in enumerate(answers) for o in pair(f"p{n}", (a, b), better)]
    other = {"u": "v", "v": "u", None: None}
    mirrored = [o for n, (a, b, better) in enumerate(answers) for o in pair(f"p{n}", (b, a), other[better])]
    found = set(chosen(outcome, *rows))
    assert found == set(chosen(outcome, *mirrored))
    assert len(found) == cases(*rows).count(outcome)
    lost = {"unreadable", "failed"}
    for number, (a, b, _) in enumerate(answers):
        if outcome in lost:
            assert (f"p{number}" in found) == (outcome in (a, b))
        if {a, b} <= lost and outcome not in lost:
            assert f"p{number}" not in found
