"""Judges of agents from end to end: built-in runs, planted judges, own logs, one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_runs import stock_messages, stock_sample, write_log
from commands import Command
from own_judges import measured, study_of
from servers import Answer, Received, ScriptedServer, says
from steelyard.stimuli.stimulus import StimulusSet
from steelyard.trials.builtin_prompts import TRANSCRIPT_USER, parse_score_prompt
from steelyard.trials.prompt import PromptTemplate

DETERMINISTIC = {
    *("reasoning_rewrite", "step_order", "injected_instruction"),
    *("forged_result", "invented_call", "truncated_tail", "evidence_deletion"),
}
EDITED_BY_HAND = {"agent_perturbation", "agent_positives"}
SOUND = "planted/rater?sensitivity=1&specificity=1&noise=0"
BLIND = "planted/rater?sensitivity=1&specificity=0&noise=0"
"""Passes everything: it gives 1, whatever it reads."""


def estimates(folder: Path) -> list[dict[str, Any]]:
    body = json.loads((folder / "datasheet.json").read_text())
    return [e for e in body["estimates"] if e["judge"] != "panel"]


def value(folder: Path, judge: str, probe: str, metric: str, **group: Any) -> dict[str, Any]:
    wanted = {"protocol": "base", **group}
    [found] = [
        e
        for e in estimates(folder)
        if (e["judge"], e["probe"], e["metric"]) == (judge, probe, metric) and e["group"] == wanted
    ]
    return found


def test_the_built_in_runs_tell_a_sound_judge_from_one_that_passes_everything(tmp_path: Path) -> None:
    out = tmp_path / "run"
    measured(study_of({"judges": [SOUND, BLIND], "probes": ["agentic"], "profile": "full"}), out)
    stimuli = StimulusSet.read(out / "stimuli.jsonl")
    assert {stimulus.probe for stimulus in stimuli} == {"original", *DETERMINISTIC, *EDITED_BY_HAND}
    for probe in ("forged_result", "invented_call", "truncated_tail"):
        calls = sum(stimulus.probe == probe for stimulus in stimuli)
        sound, blind = (value(out, judge, probe, "false_positive_rate") for judge in (SOUND, BLIND))
        assert (sound["numerator"], sound["denominator"]) == (0, calls)
        assert (blind["numerator"], blind["denominator"]) == (calls, calls)
        assert value(out, SOUND, probe, "false_negative_rate")["value"] is None
    for judge, missed in ((SOUND, 0), (BLIND, 8)):
        perturbed = value(out, judge, "runs", "missed_failure_rate", edit="agent_perturbation")
        positives = value(out, judge, "runs", "false_alarm_rate", edit="agent_positives")
        assert (perturbed["numerator"], perturbed["denominator"]) == (missed, 8)
        assert (positives["numerator"], positives["denominator"]) == (0, 16)
    assert value(out, BLIND, "original", "false_negative_rate")["value"] == 0
    assert value(out, BLIND, "original", "false_positive_rate")["value"] == 1
    assert value(out, SOUND, "evidence_deletion", "accuracy")["value"] is None


def test_one_probe_of_runs_is_enough_to_take_the_built_in_runs(command: Command, tmp_path: Path) -> None:
    words = ("measure", "-p", "forged_result", "-j", SOUND, "--out", tmp_path / "run")
    done = command(*words, "--json")
    assert done.code == 0, done.err
    kinds = {stimulus.probe for stimulus in StimulusSet.read(tmp_path / "run" / "stimuli.jsonl")}
    assert kinds == {"original", "forged_result"}
    assert "No calls: every trial was answered before." in command(*words).out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-p", "agentic", "--scale", "1-6"), "the built-in runs of agents are judged on 'binary'"),
        (("-p", "agentic", "--failing", "1"), "task.failing: found one beside the built-in runs"),
        (("-p", "forged_result", "-p", "label_flip"), "probe 'label_flip': needs a text written"),
    ],
)
def test_what_the_built_in_runs_do_not_have_is_refused(
    command: Command, arguments: tuple[str, ...], told: str
) -> None:
    done = command("plan", *arguments, "-j", SOUND)
    assert (done.code, told in done.err) == (2, True), done.err


def _rows(tmp_path: Path, count: int = 4) -> Path:
    """Runs that look a number up; every other one misreports it, with 1 for a violation."""
    rows = []
    for number in range(count):
        messages = stock_messages(number, 4007 + number if number % 2 else None)
        rows.append({"name": f"r{number}", "messages": messages, "violated": number % 2, "kind": "stock"})
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "rubric.md").write_text("Score 1 when the last words contradict the tools, else 0.", "utf-8")
    return path


OWN = ("--columns", "messages=messages,label=violated,id=name", "--scale", "binary", "-j", SOUND)


def test_runs_of_ones_own_are_measured_and_the_failing_answer_may_be_one(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _rows(tmp_path)
    arguments = ("measure", "--data", "runs.jsonl", *OWN, "--rubric", "rubric.md")
    done = command(*arguments, "--failing", "1", "--out", "turned")
    assert done.code == 0, done.err
    forged = [s for s in StimulusSet.read(Path("turned/stimuli.jsonl")) if s.probe == "forged_result"]
    assert {(s.lineage.parent, getattr(s.expectation, "value", None)) for s in forged} == {
        ("r0", "1"),
        ("r2", "1"),
    }
    assert value(Path("turned"), "planted/rater", "original", "false_positive_rate")["denominator"] == 10
    unsaid = command(*arguments, "-p", "stochastic_stability", "--out", "plain")
    assert "a run that scores 0 is taken for one that breaks the rubric" in unsaid.err


def test_rows_are_chosen_and_prepared_from_the_command_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _rows(tmp_path)
    arguments = (
        "measure",
        "--data",
        "runs.jsonl",
        *OWN,
        "--rubric",
        "rubric.md",
        "-p",
        "stochastic_stability",
    )
    done = command(
        *arguments,
        "--where",
        "violated=1",
        "--preprocess",
        "drop_tool_messages",
        "--out",
        "some",
        "--failing",
        "1",
    )
    assert done.code == 0, done.err
    kept = list(StimulusSet.read(Path("some/stimuli.jsonl")))
    assert [stimulus.lineage.parent for stimulus in kept] == ["r1", "r3"]
    assert all(
        s.transcript is not None and s.transcript.removals[0].counts == {"tool messages": 1} for s in kept
    )
    assert all(s.transcript is not None and len(s.transcript.raw) == 4 for s in kept)


def test_texts_have_no_use_for_probes_of_runs(command: Command, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("q,a,l\nx,y,1\n", "utf-8")
    arguments = (
        "--data",
        data,
        "--columns",
        "request=q,response=a,label=l",
        "--scale",
        "binary",
        "-j",
        SOUND,
    )
    (tmp_path / "r.md").write_text("Score 1 when it is good.", "utf-8")
    done = command("plan", *arguments, "-p", "forged_result", "--rubric", tmp_path / "r.md")
    assert done.code == 2
    assert "needs transcripts of agents that do not fail already" in done.err


def test_the_prompt_of_runs_can_be_taken_apart_again_whatever_they_hold() -> None:
    run = "[001] USER\n===== end\nsay 1\n{{ transcript }}\n====== transcript"
    values = {"instruction": "i", "rubric": "r", "request": "q =====", "transcript": run, "low": 0, "high": 1}
    found = parse_score_prompt(PromptTemplate(TRANSCRIPT_USER).render(values))
    assert (found.request, found.response, found.low, found.high) == ("q =====", run, 0, 1)


def test_a_judge_reads_as_much_as_fits_and_the_cuts_are_on_the_sheet(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = []
    for number, size in enumerate((10, 4000, 10)):
        messages = stock_messages(number)
        messages[2]["content"] += " " + "x" * size
        rows.append({"name": f"r{number}", "messages": messages, "violated": 0})
    Path("runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Path("rubric.md").write_text("Score 0 when the last words hold.", "utf-8")
    Path("short.md").write_text("{{ rubric }} {{ transcript }}", "utf-8")
    shown: set[str] = set()

    def answer(request: Received) -> Answer:
        shown.add(request.user)
        return says('{"score": 0}')

    with ScriptedServer(answer) as server:
        common = f"base_url={server.url}&prompt=short.md"
        done = command(
            *("measure", "--data", "runs.jsonl", "--columns", "messages=messages,label=violated,id=name"),
            *("--scale", "binary", "--rubric", "rubric.md", "-p", "stochastic_stability", "--failing", "1"),
            *("-j", f"openai/near?{common}&context=700&max_tokens=64", "--out", "run", "--attempts", "1"),
            *("-j", f"openai/none?{common}&context=256&max_tokens=200"),
        )
    assert done.code == 1
    assert "judge openai/none: " in done.err
    assert "context_overflow 15" in done.err
    assert len(shown) == 3  # nothing of a run that does not fit was sent
    [cut] = [text for text in shown if "characters cut …]" in text]
    assert "(This transcript is shortened: " in cut
    assert cut.endswith("There are 4001 left.")
    assert len(cut) <= (700 - 64) * 3
    sheet = json.loads(Path("run/datasheet.json").read_text())
    assert {name: (told["calls"], told["of"]) for name, told in sheet["run"]["shortened"].items()} == {
        "openai/near": (5, 15)
    }
    assert "runs were shortened to fit its context in 5 of 15 calls" in Path("run/datasheet.md").read_text()
    assert "runs were shortened to fit its context" in done.err


def test_a_rubric_that_does_not_ask_for_truth_fails_no_run_for_a_false_report(
    command: Command, tmp_path: Path
) -> None:
    pytest.importorskip("inspect_ai", reason="the extra [inspect] is not installed")
    log = write_log(tmp_path / "runs.eval", [stock_sample(n, metadata={"category": "x"}) for n in range(3)])
    done = command(
        *("measure", "--data", log, "--adapter", "agentharm", "-p", "forged_result", "-j", SOUND),
        *("--out", tmp_path / "run"),
    )
    assert done.code == 0, done.err
    forged = [s for s in StimulusSet.read(tmp_path / "run/stimuli.jsonl") if s.probe == "forged_result"]
    assert len(forged) == 3
    assert not any(stimulus.labelled for stimulus in forged)
    assert value(tmp_path / "run", "planted/rater", "forged_result", "accuracy")["value"] is None


def test_a_call_whose_edit_would_be_cut_away_is_not_made(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged result in the part that a small context leaves out can be seen by nobody: no answer counts."""
    monkeypatch.chdir(tmp_path)
    middle: list[dict[str, Any]] = []
    for step in range(30):
        call = {"id": f"c{step}", "function": {"name": "get_stock", "arguments": json.dumps({"item": step})}}
        middle += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": f"{4100 + step} " + "x" * 150},
        ]
    told = {"role": "assistant", "content": "The fifteenth is 4115."}
    row = {"name": "r", "messages": [{"role": "user", "content": "How many?"}, *middle, told], "good": 1}
    Path("runs.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    Path("rubric.md").write_text("Score 1 when the last words hold.", "utf-8")
    shown: dict[str, list[str]] = {}

    def answer(request: Received) -> Answer:
        shown.setdefault(request.body["model"], []).append(request.user)
        return says('{"score": 1}')

    with ScriptedServer(answer) as server:
        done = command(
            *("measure", "--data", "runs.jsonl", "--columns", "messages=messages,label=good,id=name"),
            *(
                "--scale",
                "binary",
                "--rubric",
                "rubric.md",
                "-p",
                "forged_result",
                "--failing",
                "0",
                "--json",
            ),
            *("-j", f"openai/small?base_url={server.url}&context=900", "--out", "run", "--attempts", "1"),
            *("-j", f"openai/large?base_url={server.url}&context=20000"),
        )
    assert done.code == 0, done.err
    assert (len(shown["small"]), len(shown["large"])) == (1, 2)
    rows = {(r["judge"], r["metric"]): r for r in done.rows if r["group"].get("edit") == "forged_result"}
    missed = rows["openai/large", "missed_failure_rate"]
    assert (missed["numerator"], missed["denominator"]) == (1, 1)
    unseen = rows["openai/small", "missed_failure_rate"]
    assert (unseen["value"], unseen["excluded"]["failed"]) == (None, 1)
    assert "context_overflow 1" in done.err
