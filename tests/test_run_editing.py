"""Runs of agents that models edit, over real HTTP: planned, edited message by message, verified, judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Done
from editing_server import Cast, Question, edit, last_message, plan, write_study
from servers import Answer, ScriptedServer, fails, says
from steelyard.stimuli.brief import ProbeReport
from steelyard.stimuli.stimulus import Stimulus

OUT = ("--out", "run")


@pytest.fixture
def cast() -> Cast:
    return Cast()


@pytest.fixture
def server(cast: Cast) -> Iterator[ScriptedServer]:
    with ScriptedServer(cast) as server:
        yield server


def stimuli(folder: Path, probe: str) -> list[Stimulus]:
    lines = (folder / "run" / "stimuli.jsonl").read_text().splitlines()
    return [s for s in (Stimulus.from_json(json.loads(line)) for line in lines) if s.probe == probe]


def figures(done: Done, probe: str) -> dict[str, Any]:
    """The figures of a probe as a whole, by metric."""
    mine = (row for row in done.rows if row["probe"] == probe and row["judge"] == "judge")
    return {row["metric"]: row for row in mine if "target" not in row["group"]}


def test_runs_are_edited_to_fail_and_judged(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    write_study(tmp_path, server, ["agent_perturbation"], failing=(3,))
    done = command("measure", "study.yaml", *OUT, "--json")
    assert done.code == 0, done.err
    assert cast.calls == {"planner": 3, "editor": 3, "verifier": 3, "judge": 6}
    row = figures(done, "agent_perturbation")["accuracy"]
    assert (row["numerator"], row["denominator"]) == (3, 3)
    for made in stimuli(tmp_path, "agent_perturbation"):
        assert made.transcript is not None
        assert made.transcript.turns[-1].text == "There are 1111 left."
        assert made.changes is not None
        assert [change.place for change in made.changes] == [3]
        assert made.expectation.value == "0"  # type: ignore[union-attr]
        assert "message 4: " in made.lineage.edit
        assert (made.lineage.validation or "").startswith("openai/verifier gave 0")


def rejected(folder: Path, command: Command) -> Stimulus:
    """The one run of a study whose every try was turned down."""
    done = command("generate", "study.yaml", *OUT)
    assert done.code == 0, done.err
    assert "it is not measured" in done.err
    (made,) = stimuli(folder, "agent_perturbation")
    assert made.lineage.review == "rejected"
    return made


def test_an_edit_that_the_verifier_does_not_confirm_is_rejected(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    cast.verifier = lambda transcript, low, high: 1
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    made = rejected(tmp_path, command)
    assert "gave another score" in (made.lineage.validation or "")
    assert cast.calls["judge"] == 0
    assert cast.calls["planner"] == 2  # the second try is planned anew
    assert "earns 1, expected" in cast.prompts("planner")[1]


def test_the_verifier_is_blind_to_what_was_wanted(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert command("measure", "study.yaml", *OUT).code == 0
    (verifier,) = cast.prompts("verifier")
    edited = [prompt for prompt in cast.prompts("judge") if "1111" in prompt]
    assert [verifier] == edited  # word for word what the judge is asked


@pytest.mark.parametrize("answer", [fails(400), says("I can not tell."), says('{"score": 7}')])
def test_an_error_of_the_verifier_is_no_pass(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command, answer: Answer
) -> None:
    cast.verifier = lambda transcript, low, high: answer
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert (rejected(tmp_path, command).lineage.validation or "").startswith("no validator verdict")


def test_a_plan_is_cleaned_and_the_cleaning_told(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    def sloppy(asked: Question) -> str:
        steps: list[Any] = [
            {"message": 3, "goal": "another result"},
            {"message": 99, "goal": "beyond the end"},
            {"message": 0, "goal": "before the start"},
            {"message": "[004]", "goal": "report another number"},
            {"message": 4, "goal": "the same again"},
            {"message": 2, "goal": " "},
            {"goal": "nowhere"},
            "4",
        ]
        return f"Let me think.\n```json\n{json.dumps({'thesis': '', 'steps': steps})}\n```"

    cast.planner = sloppy
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert command("generate", "study.yaml", *OUT).code == 0
    (made,) = stimuli(tmp_path, "agent_perturbation")
    told = made.lineage.validation or ""
    assert re.match("openai/verifier gave 0, .*; plan corrected: ", told)
    for part in (
        "step 1 dropped: message 3 is of the role tool",
        "step 2 dropped: there is no message 99 among 4",
        "step 3 dropped: there is no message 0 among 4",
        "step 5 dropped: message 4 is named before",
        "step 6 dropped: it says no goal for message 2",
        "step 7 dropped: it names no message",
        "step 8 dropped: it names no message",
        "the thesis was empty",
    ):
        assert part in told
    assert cast.calls["editor"] == 1


WEAK_PLANS = {
    "no plan": ('{"steps": [], "why": "the run is too short"}', "no plan"),
    "only others": ('{"thesis": "t", "steps": [{"message": 3, "goal": "g"}]}', "no plan"),
    "empty": ("", "unreadable reply"),
    "prose": ("I would edit the last message.", "unreadable reply"),
    "broken": ('{"thesis": "t", "steps": [{"message": 4,', "unreadable reply"),
    "no list": ('{"thesis": "t", "steps": "message 4"}', "unreadable reply"),
    "twice": ('{"steps": []} {"steps": []}', "unreadable reply"),
    "refusing": ("I'm sorry, I can't help with that.", "author refused"),
}


@pytest.mark.parametrize("weakness", WEAK_PLANS)
def test_a_planner_without_a_plan_ends_the_run_with_a_reason(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command, weakness: str
) -> None:
    reply, reason = WEAK_PLANS[weakness]
    cast.planner = lambda asked: reply
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert (rejected(tmp_path, command).lineage.validation or "").startswith(f"{reason}: ")
    assert cast.calls["editor"] == cast.calls["verifier"] == 0


WEAK_EDITS = {
    "silent": ("", "no text"),
    "empty": ("<text></text>", "empty"),
    "same": ("<text>There are 4000 left!</text>", "copy"),
    "a tool's": ("<text>\n[003] TOOL RESULT get_stock\n1111\n</text>", "another role's words"),
    "the user's": ("<text>User: how many are left?\nThere are 1111 left.</text>", "another role's words"),
    "refusing": ("I'm sorry, but I can't help with that.", "author refused"),
    "declining": ("<text>I'm sorry, but I can't help with that.</text>", "refusal phrase"),
    "parroting": ("Put its words between the marks <text> and </text>, complete.", "no text"),
    "chatting": ("<text>Here is the revised answer:\nThere are 1111 left.</text>", "talks about the task"),
    "of the task": ("<text>There are 1111 left, so the score is 0.</text>", "talks about the task"),
    "foreign": ("<text>剩下一千一百一十一个</text>", "other script"),
    "other call": ('<call id="c9">{"item": 1}</call>', "wrong tool call"),
    "cut off": ("<text>There are", "no text"),
}


@pytest.mark.parametrize("weakness", WEAK_EDITS)
def test_an_editor_that_does_not_edit_ends_the_run_with_a_reason(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command, weakness: str
) -> None:
    reply, reason = WEAK_EDITS[weakness]
    cast.editor = lambda asked: reply
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    made = rejected(tmp_path, command)
    assert (made.lineage.validation or "").startswith(f"{reason}: message 4: ")
    assert cast.calls["verifier"] == cast.calls["judge"] == 0
    assert cast.calls["editor"] == 2


def test_an_editor_that_repeats_its_prompt_has_written_nothing(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    cast.editor = lambda asked: asked.prompt
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert re.match("no text: message 4: ", rejected(tmp_path, command).lineage.validation or "")


def test_a_refusal_that_the_plan_asks_for_is_an_edit(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    steps = [{"message": 4, "goal": "decline to answer"}]
    cast.planner = lambda asked: json.dumps({"thesis": "the agent refuses", "steps": steps})
    cast.editor = lambda asked: "<text>I'm sorry, but I can't help with that.</text>"
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert command("generate", "study.yaml", *OUT).code == 0
    (made,) = stimuli(tmp_path, "agent_perturbation")
    assert made.lineage.review is None


def test_words_of_another_role_are_told_by_heart(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    cast.editor = lambda asked: "<text>How many are left on the last shelf?</text>"
    write_study(tmp_path, server, ["agent_perturbation"], count=1, long=True)
    told = rejected(tmp_path, command).lineage.validation or ""
    assert "repeats message 1" in told


def test_a_second_try_may_mend_the_first(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    def learning(asked: Question) -> str:
        return edit(asked) if "copied" in asked.prompt else "<text>There are 4000 left.</text>"

    def planning(asked: Question) -> str:
        return (
            plan(asked).replace("another number", "a number, copied") if asked.attempt_told else plan(asked)
        )

    cast.editor, cast.planner = learning, planning
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    done = command("generate", "study.yaml", *OUT)
    assert done.code == 0
    assert "1 usable" in done.out + done.err
    assert "as it was" in cast.prompts("planner")[1]


def test_arguments_of_tool_calls_are_edited_and_misfits_told(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    def planning(asked: Question) -> str:
        steps = [{"message": 4, "goal": "report"}, {"message": 2, "goal": "look at another item"}]
        return json.dumps({"thesis": "the wrong item is looked at", "steps": steps})

    def editing(asked: Question) -> str:
        if "get_stock" in asked.message:
            return '<call id="c">{"item": 77, "store": "north"}</call>'
        return edit(asked)

    cast.planner, cast.editor = planning, editing
    write_study(tmp_path, server, ["agent_perturbation"], count=1)
    assert command("generate", "study.yaml", *OUT).code == 0
    (made,) = stimuli(tmp_path, "agent_perturbation")
    assert made.transcript is not None
    (call,) = made.transcript.turns[1].calls
    assert (call.id, call.function, call.arguments) == ("c", "get_stock", {"item": 77, "store": "north"})
    first, second = cast.prompts("editor")
    assert "message 2" in first.splitlines()[0]
    assert "message 4" in second.splitlines()[0]
    assert '"store": "north"' in second  # the second edit sees the first


def test_long_runs_are_summed_up_and_the_summary_is_capped(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    def planning(asked: Question) -> str:
        steps = [{"message": number, "goal": "say less"} for number in (12, last_message(asked))]
        return json.dumps({"thesis": "less is said", "steps": steps})

    def editing(asked: Question) -> str:
        return edit(asked) if "There are" in asked.message else "<text>Looking elsewhere.</text>"

    cast.planner, cast.editor = planning, editing
    cast.summarizer = lambda asked: f"<text>{'stock ' * 500}</text>"
    editing_keys = {"planner": f"openai/planner?base_url={server.url}", "summary_words": 20}
    editing_keys["summarizer"] = f"openai/summarizer?base_url={server.url}"
    write_study(tmp_path, server, ["agent_perturbation"], count=1, long=True, editing=editing_keys)
    assert command("generate", "study.yaml", *OUT).code == 0
    assert cast.calls == {"planner": 1, "summarizer": 2, "editor": 2, "verifier": 1}
    first, second = cast.prompts("summarizer")
    assert "most 20 words" in first
    assert [part for part in ("Asked", "Done", "Found", "Said", "Open") if f'"{part}:" ' not in first] == []
    assert "[003]" in first
    assert "[004]" not in first
    assert "[003]" not in second
    assert "[004]" in second
    assert "[009]" in second
    assert "stock " * 19 + "stock\n" in second
    assert "stock " * 20 not in second
    _, editor = cast.prompts("editor")
    assert "Looking elsewhere." in editor.split("===== edited before")[1]
    assert "stock " * 19 + "stock\n" in editor


@pytest.mark.parametrize(
    ("reply", "reason"), [("", "no text"), ("I can't help with that.", "author refused")]
)
def test_a_useless_summarizer_ends_the_run_with_a_reason(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command, reply: str, reason: str
) -> None:
    cast.summarizer = lambda asked: reply
    write_study(tmp_path, server, ["agent_perturbation"], count=1, long=True)
    assert (rejected(tmp_path, command).lineage.validation or "").startswith(f"{reason}: the summary: ")
    assert cast.calls["editor"] == 0


def test_runs_that_pass_stay_as_they_are_and_others_are_mended(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    write_study(tmp_path, server, ["agent_positives"], count=3, failing=(2,))
    done = command("measure", "study.yaml", *OUT, "--json")
    assert done.code == 0, done.err
    row = figures(done, "agent_positives")["accuracy"]
    assert (row["numerator"], row["denominator"]) == (3, 3)
    assert figures(done, "agent_positives")["false_negative_rate"]["denominator"] == 3
    assert cast.calls == {"verifier": 3, "planner": 1, "editor": 1, "judge": 3}
    first, _, mended = stimuli(tmp_path, "agent_positives")
    assert first.changes is None
    assert first.lineage.edit.startswith("none: ")
    assert re.match("openai/verifier gave 1 to .* as it is$", first.lineage.validation or "")
    assert (first.lineage.author, mended.lineage.author) == ("nobody", "openai/editor")
    (report,) = json.loads(done.out)["authored"]
    assert report["usable"] == 3
    assert "by_validator" not in report  # the label says so too
    assert mended.transcript is not None
    assert mended.transcript.turns[-1].text == "There are 4002 left."


def test_references_that_rest_on_the_verifier_alone_are_counted(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    write_study(tmp_path, server, ["agent_positives"], count=3, failing=(2,), labelled=False)
    done = command("measure", "study.yaml", *OUT, "--json")
    assert done.code == 0, done.err
    (report,) = json.loads(done.out)["authored"]
    assert (report["usable"], report["by_validator"]) == (3, 2)
    told = "3 asked, 3 usable, 2 of them with the validator's opinion as their only reference"
    assert told in ProbeReport.from_json(report).sentence()
    assert told in (tmp_path / "run" / "datasheet.md").read_text()


def test_a_passing_label_that_the_verifier_does_not_share_is_edited(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command
) -> None:
    cast.verifier = lambda transcript, low, high: 0
    write_study(tmp_path, server, ["agent_positives"], count=1)
    assert command("generate", "study.yaml", *OUT).code == 0
    (made,) = stimuli(tmp_path, "agent_positives")
    assert made.lineage.review == "rejected"
    assert cast.calls["planner"] == 2


def test_ordinal_targets(tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command) -> None:
    cast.editor = lambda asked: f"<text>There are {'7' * (int(asked.wanted) - 1)}11 left.</text>"
    write_study(
        tmp_path, server, ["agent_levels", "agent_perturbation"], count=2, scale="1-3", labelled=False
    )
    done = command("measure", "study.yaml", *OUT, "--json")
    assert done.code == 0, done.err
    row = figures(done, "agent_levels")["accuracy"]
    assert (row["numerator"], row["denominator"]) == (6, 6)
    made = {s.id: s for s in stimuli(tmp_path, "agent_levels")}
    assert {s.expectation.value for s in made.values()} == {"1", "2", "3"}  # type: ignore[union-attr]
    assert made["run-0/agent_levels/0"].changes is None  # it earns 1 as it is
    (report,) = [r for r in json.loads(done.out)["authored"] if r["probe"] == "agent_levels"]
    assert report["levels"] == {level: {"filled": 2, "wanted": 2} for level in "123"}


@pytest.mark.parametrize("weak", ["planner", "editor", "verifier"])
def test_a_probe_without_a_usable_run_has_no_figure(
    tmp_path: Path, server: ScriptedServer, cast: Cast, command: Command, weak: str
) -> None:
    setattr(cast, weak, lambda *asked: says("I am only a small model."))
    write_study(tmp_path, server, ["agent_perturbation", "agent_positives", "truncated_tail"], failing=(0, 1))
    done = command("measure", "study.yaml", *OUT, "--json")
    assert done.code == 0, done.err
    measured = {row["probe"] for row in done.rows if row["value"] is not None}
    unusable = {"agent_perturbation"} if weak != "verifier" else {"agent_perturbation", "agent_positives"}
    assert not measured & unusable
    assert measured
    for probe in unusable:
        assert f"probe '{probe}': none of the" in done.err
