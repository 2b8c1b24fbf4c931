"""The parts of authoring that ask nobody: reading replies, questions, exemplars, drafts, likeness."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authoring_server import TASK, items
from steelyard.authoring.author_client import (
    AuthorClient,
    asks_own_score,
    brief_hash,
    exemplars,
    question_of,
    questions_about,
    said_yes,
    score_of,
    text_of,
    values_of,
)
from steelyard.authoring.drafts import Draft
from steelyard.authoring.open_study import stand_ins
from steelyard.authoring.validation import COMPARED, Diversity, originals
from steelyard.stimuli.authored_checks import LOCAL_LIMIT, Rejection, closest, crowd, local_vector
from steelyard.stimuli.brief import AMBIGUOUS, GOALS, LONG, ORDINAL, PARAPHRASE, Brief
from steelyard.stimuli.stimulus import REJECTED
from steelyard.study.roles import AuthorConfig, Roles
from steelyard.study.study import Study
from steelyard.tasks.task import Item, Ordinal, Task
from steelyard.trials.judge import Reply

FIVE = Ordinal(1, 5)
ITEM = items(1)[0]


def brief(goal: str = PARAPHRASE, expected: str | None = "1", item: Item = ITEM) -> Brief:
    return Brief("probe", item, 0, goal, expected)


def draft(goal: str = PARAPHRASE, text: str = "", **more: Any) -> Draft:
    return Draft(brief(goal, **more), TASK, "openai/writer", text=text)


def study(*data: Item, undrawn: tuple[Item, ...] = (), seed: int = 7) -> Study:
    return Study("s", seed, "quick", 1, (), (), TASK, data, undrawn=undrawn)


# Replies.


@pytest.mark.parametrize(
    ("text", "finish", "expected"),
    [
        ("<text>\nA text.\n</text>", "stop", "A text."),
        ("Here it is: <TEXT>A text.</TEXT> Good?", "stop", "A text."),
        ("<think>maybe <text>no</text></think><text>yes</text>", "stop", "yes"),
        ("<text>one</text> and <text>two</text>", "stop", "one</text> and <text>two"),
        ("<text>whole</text> and more", "length", "whole"),
        ("<text>cut", "length", "cut off"),
        ("<text>cut", "stop", "no text"),
        ("a text without marks", "stop", "no text"),
        ("<text> \n </text>", "stop", "empty"),
        ("I'm sorry, but I can't help with that.", "stop", "author refused"),
        ("<text>whole</text>", "refusal", "author refused"),
        ("<text>whole</text>", "filter", "author refused"),
    ],
)
def test_the_text_of_a_reply_or_why_there_is_none(text: str, finish: str, expected: str) -> None:
    answer = text_of(Reply(text, finish=finish))
    assert (answer.reason if isinstance(answer, Rejection) else answer) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"same": "yes"}', True),
        ('{"same": true}', True),
        ('{"same": " YES "}', True),
        ('{"same": "no"}', False),
        ('{"same": false}', False),
        ('{"same": "perhaps"}', None),
        ('{"other": "yes"}', None),
        ('{"same": "yes"} {"same": "no"}', None),
        ('{"same": "yes"} {"same": "yes"}', True),
        ("yes", None),
        ("", None),
    ],
)
def test_yes_and_no_are_never_guessed(text: str, expected: bool | None) -> None:
    assert said_yes(Reply(text), "same") is expected
    assert said_yes(Reply(text, finish="refusal"), "same") is None


@pytest.mark.parametrize(("text", "score"), [('{"score": 1}', "1"), ('{"score": 4}', None), ("1 or 0", None)])
def test_a_score_is_one_of_the_scale(text: str, score: str | None) -> None:
    assert score_of(draft(text="a text"), Reply(text)) == score


def test_the_scale_of_the_item_comes_before_that_of_the_task() -> None:
    item = replace(ITEM, scale=FIVE)
    assert score_of(draft(text="a text", item=item), Reply('{"score": 4}')) == "4"


# Questions.


def test_every_goal_has_its_questions_and_only_the_border_has_no_score() -> None:
    asked = {goal: questions_about(goal) for goal in GOALS}
    assert asked[AMBIGUOUS] == ("border",)
    assert asked[LONG] == ("grade", "expansion")
    assert [goal for goal in GOALS if asked[goal] == ("grade", "meaning")] == [
        "semantic_paraphrase",
        "verbosity_bias_short",
        "verbosity_padding",
    ]
    assert [goal for goal in GOALS if asked[goal] == ("grade",)] == ["label_flip", "synthetic_ordinal"]


def test_the_items_own_score_is_asked_where_nobody_has_given_one() -> None:
    assert asks_own_score(brief(PARAPHRASE, None))
    assert not asks_own_score(brief(PARAPHRASE, "1"))
    assert not asks_own_score(brief(AMBIGUOUS, None))


def test_what_the_item_says_comes_before_what_the_task_says() -> None:
    item = ITEM
    assert question_of(brief(item=item), TASK) == Task(
        TASK.instruction, item.rubric or TASK.rubric, TASK.scale
    )
    own = replace(item, instruction="", rubric="Be brief.", scale=FIVE)
    assert question_of(brief(item=own), TASK) == Task("", "Be brief.", FIVE)


def test_what_a_prompt_may_name() -> None:
    item = replace(ITEM, responses=("one two three",), scale=FIVE, label="4", reference=None)
    values = values_of(replace(brief(ORDINAL, "2", item), number=7), TASK, feedback="too long")
    assert (values["low"], values["high"], values["words"]) == (1, 5, 3)
    assert (values["label"], values["expected"], values["reference"]) == ("4", "2", "")
    assert values["variant"] == 2  # the second text for its level: 7 // 5 levels, counted from 1
    assert (values["feedback"], values["exemplars"]) == ("too long", ())
    binary = values_of(brief(), TASK)
    assert (binary["low"], binary["high"]) == (0, 1)


# Exemplars.


def essay(number: int, label: str | None, **more: Any) -> Item:
    return Item(f"e{number}", f"request {number}", (f"response {number}",), f"c{number}", label=label, **more)


def test_exemplars_have_the_wanted_score_and_are_never_the_item_itself() -> None:
    mine = essay(0, "2")
    data = (
        mine,
        essay(1, "2"),
        essay(2, "3"),
        essay(3, None),
        replace(essay(4, "2"), responses=mine.responses),
        replace(essay(5, "2"), rubric="another"),
        replace(essay(6, "2"), scale=FIVE),
        replace(essay(7, "2"), instruction="another"),
    )
    wanted = brief(ORDINAL, "2", mine)
    assert exemplars(study(*data), wanted, 5) == (("request 1", "response 1"),)
    assert exemplars(study(*data[:1], undrawn=data[1:]), wanted, 5) == (("request 1", "response 1"),)
    assert exemplars(study(*data), replace(wanted, goal=PARAPHRASE), 5) == ()
    assert exemplars(study(*data), wanted, 0) == ()


@settings(max_examples=30)
@given(st.permutations([essay(number, "2") for number in range(1, 9)]), st.integers(1, 8))
def test_the_choice_of_exemplars_is_that_of_the_seed_and_not_of_the_file(
    data: list[Item], count: int
) -> None:
    wanted = brief(ORDINAL, "2", essay(0, "2"))
    chosen = exemplars(study(*data), wanted, count)
    assert len(set(chosen)) == count
    assert chosen == exemplars(study(*sorted(data, key=lambda item: item.id)), wanted, count)


def test_a_brief_is_another_with_other_examples() -> None:
    wanted = brief(ORDINAL, "2", essay(0, "2"))
    roles = cast(Roles, type("Some", (), {"own": AuthorConfig(model="vllm/writer", exemplars=3)}))
    plain = brief_hash(study(essay(0, "2")), roles, wanted)
    shown = brief_hash(study(essay(0, "2"), essay(1, "2")), roles, wanted)
    assert plain != shown
    other = brief_hash(study(essay(0, "2"), essay(1, "3")), roles, wanted)
    assert plain == other


# Drafts.


def test_a_draft_that_was_turned_down_says_how_often_and_why() -> None:
    made = draft(text="a text")
    assert made.open
    assert made.feedback == ""
    made.reject(Rejection("no text", "nothing there"))
    made.reject(Rejection("empty", "still nothing"))
    assert made.feedback == "still nothing"
    written = made.written()
    assert written.stimulus.lineage.validation == "empty: still nothing (try 2 of 2)"
    assert written.stimulus.lineage.review == REJECTED
    assert [each.reason for each in written.tries] == ["no text", "empty"]


def test_an_accepted_draft_keeps_what_the_validator_found() -> None:
    made = draft(text="a text")
    made.accepted, made.validation = True, "checker gave 1, as intended"
    assert not made.open
    assert made.written().stimulus.lineage.validation == "checker gave 1, as intended"
    assert made.written().stimulus.lineage.review != REJECTED
    waiting = draft(text="a text")
    waiting.waiting = "no reply"
    assert not waiting.open


def test_a_plan_counts_texts_that_are_not_written_yet() -> None:
    (stimulus,) = stand_ins(study(), [brief()])
    assert stimulus.texts == ITEM.responses
    assert stimulus.lineage.author == "to be written"
    assert stimulus.judged


# Likeness.

LONG_TEXTS = [
    "The kettle is filled with water and vinegar, left for an hour and rinsed twice.",
    "A bicycle tyre is taken off with two levers, patched and pumped up again.",
    "Sourdough rests overnight in the cold before it goes into a very hot oven.",
    "The kettle is filled with water and vinegar, left for an hour and rinsed once.",
]


def checked(drafts: list[str], there: list[str], limit: float = LOCAL_LIMIT) -> list[str | None]:
    """Why each text is turned down; None where it is kept."""
    roles = cast(Roles, type("Some", (), {"similarity_limit": limit, "embedder": None}))
    made = [draft(ORDINAL, text) for text in drafts]
    asyncio.run(Diversity(cast(AuthorClient, None), roles, there[:1]).check(made, there[1:]))
    return [each.tries[-1].reason if each.tries else None for each in made]


def test_texts_are_compared_with_originals_accepted_ones_and_each_other() -> None:
    kettle, tyre, bread, again = LONG_TEXTS
    assert checked([tyre, bread], [kettle]) == [None, None]
    assert checked([again], [kettle]) == ["too similar"]
    assert checked([again], [tyre, kettle]) == ["too similar"]
    assert checked([kettle, again], [tyre]) == [None, "too similar"]
    assert checked([again, kettle], [tyre]) == [None, "too similar"]


def test_what_is_turned_down_stands_in_nobodys_way() -> None:
    """The third is close to the second alone, which is out because of the first."""
    kettle, tyre, _, again = LONG_TEXTS
    assert checked([kettle, again, tyre], []) == [None, "too similar", None]
    assert checked([kettle, kettle], [], limit=1.1) == [None, None]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(LONG_TEXTS), max_size=6), st.floats(0.1, 0.99))
def test_kept_texts_lie_apart_and_every_other_one_is_close_to_a_kept_one(
    drafts: list[str], limit: float
) -> None:
    reasons = checked(drafts, [], limit)
    kept: list[str] = []
    for text, reason in zip(drafts, reasons, strict=True):
        near = max((closest(local_vector(text), crowd([local_vector(one)])) for one in kept), default=0.0)
        assert (reason == "too similar") == (near > limit)
        if reason is None:
            kept.append(text)


def test_of_many_undrawn_items_so_many_are_compared_with() -> None:
    few = study(essay(0, None), undrawn=(essay(1, None), essay(2, None)))
    assert sorted(originals(few)) == ["response 0", "response 1", "response 2"]
    many = study(essay(0, None), undrawn=tuple(essay(number, None) for number in range(1, COMPARED + 9)))
    assert len(originals(many)) == COMPARED + 1
    assert originals(many)[0] == "response 0"
