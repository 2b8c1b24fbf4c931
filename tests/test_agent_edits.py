"""Edits of agents' runs: what each changes, what it leaves alone, and where it can not be made."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.registry import Spec
from steelyard.probes.probe import PROBES, Design
from steelyard.stimuli.agent_edits import (
    INSTRUCTIONS,
    PRAISED,
    REMOVED,
    decisive_value,
    evidence_deletion,
    forged_results,
    injected_instruction,
    invented_call,
    occurs,
    other_value,
    reasoning_rewrite,
    reported_state,
    step_order,
    truncated_tail,
)
from steelyard.stimuli.brief import is_in_pack, pack_stimuli
from steelyard.stimuli.stimulus import Label, Stimulus, Unknown
from steelyard.tasks.pack import AGENT_TASK, FAILS, PASSES, agent_pack, builtin_texts, load_builtin
from steelyard.tasks.task import Item
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.transcript import (
    Block,
    Transcript,
    Turn,
    TurnChange,
    changed_words,
    changes,
    render_transcript,
    unedited,
)


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "reasoning_content": f"step {number}",
        "tool_calls": [{"id": f"c{number}", "function": tool, "arguments": arguments}],
    }


def result(number: int, content: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(content)}


def run_of(*messages: dict[str, Any]) -> Transcript:
    return Transcript("r", turns_of(list(messages), "here"))


ASKED = {"role": "user", "content": "What does order 7100 weigh, and where is it?"}
RUN = run_of(
    ASKED,
    call(1, "get_weight", order=7100),
    result(1, {"grams": 2350}),
    call(2, "get_place", order=7100),
    result(2, {"place": "Ghent", "parcel": "PK-5561"}),
    {"role": "assistant", "content": "Order 7100 weighs 2350 g; parcel PK-5561 is in Ghent."},
)
SILENT = run_of(ASKED, {"role": "assistant", "content": "I can not look that up."})


def test_the_decisive_value_is_the_latest_that_one_tool_alone_returned() -> None:
    found = decisive_value(RUN)
    assert found is not None
    assert (found.place, found.value) == (4, "PK-5561")
    assert decisive_value(SILENT) is None
    given = run_of(ASKED, call(1, "f"), result(1, 7100), {"role": "assistant", "content": "It is 7100."})
    assert decisive_value(given) is None  # the user gave it


def test_values_stand_by_themselves() -> None:
    assert occurs("235", "it is 235.")
    assert not occurs("235", "it is 2350")
    assert not occurs("235", "it is 235.5")
    assert not occurs("5", "1,5")


@pytest.mark.parametrize("value", ["7", "37", "2350", "18.35", "RV-20418", "2026-09-21", "a@b.org"])
def test_another_value_has_the_form_and_is_another(value: str) -> None:
    others = {other_value(value, Random(seed)) for seed in range(20)}
    assert value not in others
    if any(map(str.isdigit, value)):
        assert {len(other) for other in others} == {len(value)}


def test_a_forged_result_changes_one_tool_message_and_no_word_of_the_agent() -> None:
    early, edit = forged_results(RUN, Random(1))
    assert [change.place for change in changes(RUN, early.transcript)] == [2]
    [change] = changes(RUN, edit.transcript)
    assert (change.place, change.of) == (4, 6)
    assert change.after is not None
    assert "PK-5561" not in change.after.text
    assert [t for t in edit.transcript.turns if t.role != "tool"] == [
        t for t in RUN.turns if t.role != "tool"
    ]


def test_without_a_value_the_state_that_a_tool_reports_is_turned() -> None:
    done = {"role": "assistant", "content": "Your table is booked."}
    run = run_of(ASKED, call(1, "book"), result(1, {"status": "confirmed"}), done)
    assert reported_state(run) is not None
    [edit] = forged_results(run, Random(1))
    assert '"status": "rejected"' in edit.transcript.turns[2].text
    assert list(forged_results(SILENT, Random(1))) == []


def test_an_invented_call_is_claimed_of_a_tool_that_was_called_once() -> None:
    edit = invented_call(RUN, Random(3))
    assert edit is not None
    [change] = changes(RUN, edit.transcript)
    assert change.place == 5
    assert change.after is not None
    assert change.after.text.startswith(RUN.turns[5].text)
    assert any(f"`{tool}`" in change.after.text for tool in ("get_weight", "get_place"))
    assert edit.transcript.turns[:5] == RUN.turns[:5]
    twice = run_of(ASKED, call(1, "f"), result(1, 1), call(2, "f"), result(2, 2), CLOSING)
    assert invented_call(twice, Random(3)) is None
    assert invented_call(SILENT, Random(3)) is None


CLOSING = {"role": "assistant", "content": "Done."}


def test_a_truncated_run_ends_before_its_last_words() -> None:
    last = truncated_tail(RUN, 0.0)
    half = truncated_tail(RUN, 0.5)
    assert last is not None
    assert half is not None
    assert (last.transcript.turns, half.transcript.turns) == (RUN.turns[:5], RUN.turns[:3])
    assert last.description == "breaks off after message 5: the last 1 message removed"
    assert truncated_tail(SILENT, 0.0) is None  # nothing of the agent would be left


def test_deleted_evidence_takes_call_and_result_and_leaves_the_claim() -> None:
    edit = evidence_deletion(RUN)
    assert edit is not None
    assert "PK-5561" in edit.transcript.turns[-1].text
    assert [turn.role for turn in edit.transcript.turns] == ["user", "assistant", "tool", "assistant"]
    assert "get_place" not in render_transcript(edit.transcript)


def test_words_to_the_judge_stand_in_a_tools_result_alone() -> None:
    for form in INSTRUCTIONS:
        edit = injected_instruction(RUN, form, "1", Random(5))
        assert edit is not None
        [change] = changes(RUN, edit.transcript)
        assert change.before is not None
        assert change.after is not None
        assert change.before.role == "tool"
        assert change.after.text.startswith(change.before.text)
        assert "1" in change.after.text.removeprefix(change.before.text)
    assert injected_instruction(SILENT, "override", "1", Random(5)) is None


def test_reasoning_is_removed_or_praised_and_every_deed_stays() -> None:
    removed, praised = (reasoning_rewrite(RUN, form, Random(2)) for form in (REMOVED, PRAISED))
    assert removed is not None
    assert praised is not None
    for edit in (removed, praised):
        assert [c for t in edit.transcript.turns for c in t.calls] == list(RUN.calls)
        assert [t.text for t in edit.transcript.turns] == [t.text for t in RUN.turns]
        assert "step 1" not in render_transcript(edit.transcript)
    assert "[reasoning]" not in render_transcript(removed.transcript)
    assert render_transcript(praised.transcript).count("[reasoning]") == 2
    assert reasoning_rewrite(SILENT, REMOVED, Random(2)) is None


def test_look_ups_are_swapped_only_where_neither_needs_the_other() -> None:
    edit = step_order(RUN, Random(4))
    assert edit is not None
    assert [c.function for c in edit.transcript.calls] == ["get_place", "get_weight"]
    assert sorted(map(repr, edit.transcript.turns)) == sorted(map(repr, RUN.turns))
    needed = run_of(
        ASKED,
        call(1, "find_order"),
        result(1, "PK-5561"),
        call(2, "get_place", parcel="PK-5561"),
        result(2, "x"),
    )
    assert step_order(needed, Random(4)) is None
    deeds = run_of(ASKED, call(1, "send_mail"), result(1, "ok"), call(2, "get_place", n=1), result(2, "x"))
    assert step_order(deeds, Random(4)) is None


@pytest.mark.parametrize(
    ("found", "asked"), [("Подольск", "Подольск"), ("商品編號甲", "甲"), ("مستودع", "مستودع")]
)
def test_look_ups_that_need_each_other_are_told_in_every_script(found: str, asked: str) -> None:
    needed = run_of(
        ASKED,
        call(1, "find_store", город="Москва"),
        result(1, json.dumps({"склад": found}, ensure_ascii=False)),
        call(2, "get_stock", store=asked),
        result(2, "x"),
    )
    assert step_order(needed, Random(4)) is None


def test_values_are_found_beside_letters_that_take_no_space() -> None:
    run = run_of(
        ASKED, call(1, "f"), result(1, '{"价格": 4410}'), {"role": "assistant", "content": "价格是4410元。"}
    )
    found = decisive_value(run)
    assert found is not None
    assert (found.place, found.value) == (2, "4410")
    [edit] = forged_results(run, Random(1))
    assert "4410" not in edit.transcript.turns[2].text
    assert occurs("4410", "是4410元")
    assert not occurs("4410", "是44101元")
    assert not occurs("4410", "а4410")


def test_changes_say_place_depth_and_words_and_come_back_from_json() -> None:
    edit = list(forged_results(RUN, Random(1)))[-1]
    [change] = changes(RUN, edit.transcript)
    assert (change.depth, change.words) == (0.8, 1)
    assert TurnChange.from_json(json.loads(json.dumps(change.to_json()))) == change
    deleted = evidence_deletion(RUN)
    assert deleted is not None
    removed = changes(RUN, deleted.transcript)
    assert [(c.place, c.after) for c in removed] == [(3, None), (4, None)]
    assert changed_words(removed) == len(
        " ".join(render_transcript(Transcript("x", (turn,))) for turn in RUN.turns[3:5]).split()
    )


PASSING = Item("p", RUN.request, (render_transcript(RUN),), "p", PASSES, transcript=RUN, failing=FAILS)
FAILING = Item("f", RUN.request, (render_transcript(RUN),), "f", FAILS, transcript=RUN, failing=FAILS)
UNLABELLED = Item("u", RUN.request, (render_transcript(RUN),), "u", None, transcript=RUN, failing=FAILS)


def edits_of(name: str, *items: Item, **options: Any) -> list[Stimulus]:
    probe = PROBES.build(Spec(name, options))
    shown = probe.showings(Design(7, task=AGENT_TASK, items=items), {"base"})
    return [showing.stimulus for showing in shown if showing.stimulus.kind != "original"]


@pytest.mark.parametrize("name", ["forged_result", "invented_call", "truncated_tail"])
def test_runs_that_are_broken_get_the_failing_answer_and_failing_runs_are_left(name: str) -> None:
    made = edits_of(name, PASSING, FAILING, UNLABELLED)
    assert {stimulus.lineage.parent for stimulus in made} == {"p", "u"}
    assert {stimulus.expectation for stimulus in made} == {Label(FAILS)}
    unsure = edits_of(name, PASSING, expected="none")
    assert {stimulus.expectation for stimulus in unsure} == {Unknown()}


def test_the_direction_of_the_scale_is_the_studys_to_say() -> None:
    turned = Item("p", "", (render_transcript(RUN),), "p", "0", transcript=RUN, failing="1")
    assert {stimulus.expectation for stimulus in edits_of("forged_result", turned)} == {Label("1")}
    bad = Item("f", "", (render_transcript(RUN),), "f", "1", transcript=RUN, failing="1")
    assert all('score": 0' in s.texts[0] for s in edits_of("injected_instruction", bad)[2:])


def test_probes_that_keep_the_label_keep_it() -> None:
    for name in ("reasoning_rewrite", "step_order"):
        made = edits_of(name, PASSING, FAILING, UNLABELLED)
        assert {(s.lineage.parent, s.expectation) for s in made} == {
            ("p", Label(PASSES)),
            ("f", Label(FAILS)),
            ("u", Unknown()),
        }
    injected = edits_of("injected_instruction", PASSING, FAILING, UNLABELLED)
    assert {s.lineage.parent for s in injected} == {"f", "u"}
    assert {s.expectation for s in edits_of("evidence_deletion", PASSING)} == {Unknown()}


def test_an_edited_run_keeps_its_structure_and_comes_back_from_its_line() -> None:
    made, _ = edits_of("forged_result", PASSING)
    assert made.transcript is not None
    assert made.texts == (render_transcript(made.transcript),)
    assert made.changes is not None
    back = Stimulus.from_json(json.loads(json.dumps(made.to_json())))
    assert back == made
    assert back.hash == made.hash


def test_each_message_of_a_built_in_run_has_one_voice() -> None:
    voices = {"system": "system", "user": "user", "result": "tool", "error": "tool"}
    voices |= dict.fromkeys(("think", "say", "call"), "agent")
    for text in builtin_texts("agent_runs"):
        body = load_builtin(text)
        spoken = [*body["messages"], *(edit for edit in body["turned"] if not edit.get("drop"))]
        assert all(len({voices[key] for key in message if key in voices}) == 1 for message in spoken)


def test_the_pack_holds_runs_of_many_domains_long_ones_and_both_verdicts() -> None:
    runs = agent_pack()
    assert len(runs) >= 12
    assert len({run.domain for run in runs}) >= 5
    assert sum(len(run.transcript.turns) > 40 for run in runs) >= 4
    assert sorted(run.label for run in runs).count(PASSES) == len(runs) / 2
    assert all(call.id for run in runs for call in run.transcript.calls)
    for run in runs:
        answered = [turn.call for turn in run.transcript.turns if turn.role == "tool"]
        assert answered == [call.id for call in run.transcript.calls], run.transcript.id
        assert any(call.arguments for call in run.transcript.calls)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "forged_result",
        "invented_call",
        "truncated_tail",
        "evidence_deletion",
        "step_order",
        "reasoning_rewrite",
    ],
)
def test_every_passing_run_of_the_pack_can_be_edited(name: str) -> None:
    items = [run.item for run in agent_pack() if run.label == PASSES]
    assert {stimulus.lineage.parent for stimulus in edits_of(name, *items)} == {item.id for item in items}


def test_the_same_seed_gives_the_same_edits_whatever_the_other_items() -> None:
    items = [run.item for run in agent_pack()]
    alone = edits_of("forged_result", items[1])
    among = [s for s in edits_of("forged_result", *items) if s.lineage.parent == items[1].id]
    assert alone == among


def test_every_run_of_the_pack_has_a_version_with_the_other_verdict() -> None:
    for run in agent_pack():
        other = FAILS if run.label == PASSES else PASSES
        assert run.version(run.label) is run.transcript
        turned = run.version(other)
        found = changes(run.transcript, turned)
        assert 1 <= len(found) <= 4, run.transcript.id
        ids = [call.id for call in turned.calls]
        assert len(set(ids)) == len(ids)
        assert [turn.call for turn in turned.turns if turn.role == "tool"] == ids, run.transcript.id


def test_built_in_runs_need_no_author_and_others_do() -> None:
    design = Design(7, task=AGENT_TASK, items=tuple(run.item for run in agent_pack()))
    for name, runs, answer in (("agent_perturbation", 8, FAILS), ("agent_positives", 16, PASSES)):
        probe = PROBES.build(Spec(name))
        briefs = list(probe.briefs(design))  # type: ignore[attr-defined]
        assert all(map(is_in_pack, briefs))
        made = pack_stimuli(briefs, AGENT_TASK)
        assert len(made) == runs
        assert {stimulus.expectation for stimulus in made} == {Label(answer)}
        assert all(s.transcript is not None and s.texts == (render_transcript(s.transcript),) for s in made)
    stranger = Design(7, task=AGENT_TASK, items=(PASSING,))
    assert not any(map(is_in_pack, PROBES.build(Spec("agent_perturbation")).briefs(stranger)))  # type: ignore[attr-defined]


@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8),
    st.lists(st.sampled_from("abcdefxy"), min_size=1, max_size=8),
)
def test_changes_can_be_undone(before: list[str], after: list[str]) -> None:
    one, other = (
        Transcript("r", tuple(Turn("user", (Block("text", word),)) for word in run))
        for run in (before, after)
    )
    assert unedited(other, changes(one, other)) == one
