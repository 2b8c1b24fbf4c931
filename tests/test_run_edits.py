"""What one edit of a run may change, and what it leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.content_hash import content_hash, plain
from steelyard.stimuli.authored_checks import Rejection
from steelyard.stimuli.brief import Brief
from steelyard.stimuli.run_edits import (
    EditPlan,
    TurnEdit,
    find_contradictions,
    find_fault,
    parse_plan,
)
from steelyard.tasks.pack import agent_pack
from steelyard.tasks.task import Item
from steelyard.tasks.transcripts.transcript import Block, ToolCall, Transcript, Turn

CALL = ToolCall("c1", "refund", {"order": "ORD-4471", "amount": 20, "notify": True})
RUN = Transcript(
    "run",
    (
        Turn("user", (Block("text", "Refund the lid of ORD-4471, please."),)),
        Turn("assistant", (Block("reasoning", "Look first."), Block("text", "One moment.")), (CALL,)),
        Turn("tool", (Block("text", '{"order": "ORD-4471", "refunded": 20}'),), call="c1", function="refund"),
        Turn("assistant", (Block("text", "Your refund of 20 is on its way."),)),
    ),
)


def edited(place: int, edit: TurnEdit) -> Transcript:
    turn = edit.apply(RUN.turns[place])
    assert isinstance(turn, Turn)
    return RUN.with_turns({place: turn})


def test_an_edit_changes_words_and_arguments_and_nothing_else() -> None:
    turn = TurnEdit("Wait.", {"c1": {"order": "ORD-1"}}).apply(RUN.turns[1])
    assert isinstance(turn, Turn)
    assert turn.text == "Wait."
    assert turn.reasoning == "Look first."
    assert turn.calls == (replace(CALL, arguments={"order": "ORD-1"}),)
    assert TurnEdit(None, {}).apply(RUN.turns[1]) == RUN.turns[1]
    # Of several calls of one message the others stay, each once and in its place.
    calls = (replace(CALL, id="c0"), CALL, replace(CALL, id="c2"))
    turn = TurnEdit(None, {"c1": {"order": "ORD-1"}}).apply(replace(RUN.turns[1], calls=calls))
    assert isinstance(turn, Turn)
    assert turn.calls == (calls[0], replace(CALL, arguments={"order": "ORD-1"}), calls[2])


@pytest.mark.parametrize("arguments", [{"c2": {}}, {"c1": [1]}, {"c1": "text"}])
def test_arguments_that_are_none_are_refused(arguments: dict[str, object]) -> None:
    refused = TurnEdit(None, arguments).apply(RUN.turns[1])
    assert isinstance(refused, Rejection)
    assert refused.reason == "wrong tool call"


def test_results_that_answer_another_call_are_told() -> None:
    other = edited(1, TurnEdit(None, {"c1": {"order": "ORD-9", "amount": 20, "notify": False}}))
    assert find_contradictions(RUN, other) == (
        "message 3 speaks of 'ORD-4471', which message 2 asks for no longer",
    )
    assert find_contradictions(RUN, RUN) == ()
    assert find_contradictions(RUN, edited(1, TurnEdit("Wait.", {}))) == ()
    longer = edited(1, TurnEdit(None, {"c1": {"note": "for ORD-4471, of 20"}}))
    assert find_contradictions(RUN, longer) == ()


def test_the_same_words_twice_are_no_two_edits() -> None:
    first = edited(1, TurnEdit("It is done.", {}))
    again = TurnEdit("It is done.").apply(RUN.turns[3])
    assert isinstance(again, Turn)
    fault = find_fault(again, 3, first, RUN, "Be right.")
    assert fault is not None
    assert fault.reason == "same text again"
    assert find_fault(RUN.turns[3], 3, RUN, RUN, "Be right.").reason == "copy"  # type: ignore[union-attr]


SCALARS = st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=5)
STEP = st.fixed_dictionaries({"message": SCALARS, "goal": SCALARS}) | SCALARS
STEPS = st.lists(STEP, max_size=6)


@settings(max_examples=60)
@given(STEPS, SCALARS, st.integers(1, 5))
def test_whatever_a_planner_says_only_the_agents_messages_are_edited(
    steps: list[object], thesis: object, most: int
) -> None:
    plan = parse_plan({"steps": steps, "thesis": thesis}, RUN, most)
    if isinstance(plan, EditPlan):
        places = [step.place for step in plan.steps]
        assert set(places) <= {1, 3}
        assert places == sorted(set(places))
        assert 0 < len(places) <= most
        assert plan.thesis
        assert all(step.goal for step in plan.steps)
        dropped = sum("dropped" in told for told in plan.corrections)
        left_out = any("left out" in told for told in plan.corrections)
        assert len(places) + dropped == len(steps) or left_out
    else:
        assert plan.detail


@pytest.mark.parametrize("steps", [None, 4, "4", {"message": 4}, [[]], [{"message": True, "goal": "g"}]])
def test_steps_of_any_kind_are_refused_with_a_reason(steps: object) -> None:
    refused = parse_plan({"steps": steps}, RUN, 3)
    assert isinstance(refused, Rejection)
    assert refused.reason in ("no plan", "unreadable reply")


def test_a_brief_of_an_earlier_version_keeps_its_hash() -> None:
    item = Item("a", "q", ("r",), "a", label="1")
    brief = Brief("label_flip", item, 0, "label_flip", "0")
    old = {k: v for k, v in plain(item).items() if k not in ("transcript", "failing", "context", "metadata")}
    without_error = {k: v for k, v in plain(brief).items() if k != "error"}
    assert content_hash(brief.content) == content_hash({**without_error, "item": old})
    run = replace(item, transcript=agent_pack()[0].transcript, failing="0")
    assert content_hash(replace(brief, item=run).content) != content_hash(brief.content)
