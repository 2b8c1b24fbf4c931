"""Checks that cost nothing: each refuses what it should, and the pack's own variants pass them all."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stimuli.authored_checks import (
    Reason,
    check_text,
    closest,
    crowd,
    is_refusal,
    local_vector,
    shared_pairs,
    unit,
    words,
)
from steelyard.stimuli.brief import (
    AMBIGUOUS,
    GOALS,
    LABEL_FLIP,
    LONG,
    ORDINAL,
    PARAPHRASE,
    SHORT,
    Brief,
)
from steelyard.tasks.pack import PackItem, pack
from steelyard.tasks.task import Item

RUBRIC = "A good answer names the river, the year of the flood and what was done about the dam afterwards."
SOURCE = "The flood came in 1953 and the old dam broke, so a new and higher one was built within four years."


def brief(goal: str, response: str = SOURCE) -> Brief:
    return Brief(goal, Item("i", "What happened?", (response,), "i", label="1"), 0, goal, "1")


def reason(goal: str, text: str, response: str = SOURCE) -> str | None:
    found = check_text(brief(goal, response), text, RUBRIC)
    return None if found is None else found.reason


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("change", [str, str.upper, lambda t: f" {t}\n", lambda t: t.replace(",", " –")])
def test_an_unchanged_text_is_a_copy_whatever_the_goal(goal: str, change: object) -> None:
    assert callable(change)
    assert reason(goal, change(SOURCE)) == "copy"


@pytest.mark.parametrize(
    ("goal", "text", "expected"),
    [
        (PARAPHRASE, "", "empty"),
        (PARAPHRASE, "… !", "empty"),
        (PARAPHRASE, SOURCE.replace("came", "arrived"), "copy"),
        (PARAPHRASE, "Water.", "too short"),
        (LONG, "In 1953 the barrier gave way, and people put up another.", "too short"),
        (LONG, "water " * 70, "too long"),
        (SHORT, "the water rose and " * 5, "too long"),
        (SHORT, "In 1953.", "too short"),
        (AMBIGUOUS, "Yes.", "too short"),
        (PARAPHRASE, "I'm sorry, but I can't help with questions about water.", "refusal phrase"),
        (LABEL_FLIP, "By the rubric this gets nothing, since it says too little.", "talks about the task"),
        (LABEL_FLIP, "Here is the rewritten version: the water rose again.", "talks about the task"),
        (LABEL_FLIP, "Score: 0. The water rose and nobody did a thing.", "talks about the task"),
        (ORDINAL, "Names the river, the year of the flood and what was done.", "talks about the task"),
    ],
)  # fmt: skip
def test_what_is_turned_down(goal: str, text: str, expected: str) -> None:
    assert reason(goal, text) == expected


def test_a_refusal_stays_one() -> None:
    """The other words of a refusal are a refusal too, and a flip may become one."""
    source = "I'm sorry, but I can't help with that."
    assert is_refusal(source)
    assert is_refusal("I’m sorry, I can’t assist with this request.")
    assert not is_refusal("I cannot help liking the sea.")
    assert not is_refusal("I'm sorry, but I can't refund a ticket that was used.")
    assert reason(PARAPHRASE, "Regrettably, I am unable to assist you here.", source) is None
    assert reason(LABEL_FLIP, source) is None


def test_talk_that_the_item_has_itself_is_no_leak() -> None:
    source = "The rubric of the exam says that the score is 3 for this, as the teacher told us all in class."
    assert reason(LABEL_FLIP, source.replace("3", "4"), source) is None


def variants(item: PackItem) -> list[tuple[str, str]]:
    found = [
        (LABEL_FLIP, item.label_flip.response),
        (PARAPHRASE, item.paraphrase),
        (LONG, item.long),
        (SHORT, item.short),
        *((ORDINAL, text) for _, text in item.ordinal if text != item.response),
    ]
    return [*found, (AMBIGUOUS, item.ambiguous)] if item.ambiguous else found


@pytest.mark.slow
def test_the_variants_that_people_wrote_pass() -> None:
    checked = 0
    for task in pack():
        for item in task.items:
            for goal, text in variants(item):
                found = check_text(brief(goal, item.response), text, task.rubric)
                assert found is None, (item.id, goal, found)
                checked += 1
    assert checked > 200


def test_levels_that_people_wrote_are_kept_apart() -> None:
    for task in pack():
        for item in task.items:
            vectors = [local_vector(text) for _, text in item.ordinal]
            for number, vector in enumerate(vectors):
                assert closest(vector, crowd(vectors[:number])) < 0.92


def test_signs_of_scripts_without_spaces_are_words() -> None:
    assert words("洪水は1953年") == ["洪", "水", "は", "1953年"] or len(words("洪水は1953年")) >= 4
    assert words("Don’t STOP, now!") == ["don't", "stop", "now"]


def test_shared_pairs_by_hand() -> None:
    # pairs: a-b b-c c-d against a-b b-x x-d: one of three
    assert shared_pairs("a b c d", "a b x d") == pytest.approx(1 / 3)
    assert shared_pairs("one", "one") == 0.0


def test_cosines_by_hand() -> None:
    assert closest(unit([3.0, 4.0]), crowd([unit([4.0, 3.0])])) == pytest.approx(24 / 25)
    assert closest(unit([1.0, 0.0]), crowd([])) == 0.0
    assert closest(unit([1.0, 0.0]), crowd([unit([1.0, 0.0, 0.0])])) == 0.0
    assert math.isclose(float(unit([0.0, 0.0]).sum()), 0.0)


@given(st.text(), st.text())
def test_a_cosine_is_a_share(first: str, second: str) -> None:
    one, two = local_vector(first), local_vector(second)
    assert -1e-9 <= closest(one, crowd([two])) <= 1 + 1e-9
    assert closest(one, crowd([two])) == pytest.approx(closest(two, crowd([one])))
    if words(first):
        assert closest(one, crowd([one])) == pytest.approx(1.0)


@given(st.sampled_from(GOALS), st.text(max_size=300))
def test_checks_never_raise_and_always_give_a_known_reason(goal: str, text: str) -> None:
    assert reason(goal, text) in (None, *get_args(Reason))
