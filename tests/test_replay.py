"""Recorded judges: a run, its recording, and the recording run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from own_judges import measured, study_of
from recorded_calls import read_calls
from steelyard.commands.measure import measure
from steelyard.errors import UsageError
from steelyard.importing.pairs import recording_of
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Pairwise

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"


def record(folder: Path, path: Path, judge: str | None = None) -> list[dict[str, Any]]:
    """Write the recording of a run folder; the lines too."""
    run = RunFolder(folder)
    plan = load_plan(run)
    with run.store(read_only=True) as store:
        observations = RunRecord(store).observations(plan.trials)
    path.write_text(recording_of(o for o in observations if judge in (None, o.judge)))
    return [json.loads(line) for line in path.read_text().splitlines()]


def figures(sheet: Path, judge: str) -> list[dict[str, Any]]:
    rows = json.loads(sheet.read_text())["estimates"]
    for row in rows:
        # Draws of a bootstrap follow the name of the judge; those of a test do not.
        row["intervals"] = [each for each in row["intervals"] if "bootstrap" not in each["method"]]
    return [
        {key: value for key, value in row.items() if key != "judge"} for row in rows if row["judge"] == judge
    ]


def test_a_recording_replays_and_imports_to_the_same_figures(steelyard, tmp_path: Path) -> None:
    measured(study_of({"judges": [PROBIT], "replicates": 2}, ("coin",)), tmp_path / "run")
    first = figures(tmp_path / "run" / "datasheet.json", "planted/probit")
    lines = record(tmp_path / "run", tmp_path / "calls.jsonl")
    assert {line["replicate"] for line in lines} == {0, 1}
    assert {line["protocol"] for line in lines} == {"base", "strict"}

    judge = f"recorded/{tmp_path / 'calls.jsonl'}?judge=planted/probit"
    study, folder = study_of({"judges": [judge], "replicates": 2}), RunFolder(tmp_path / "replayed")
    own = [line for line in lines if line["judge"] == "planted/probit"]
    assert measure(study, folder, RunLimits()).session.calls == len(own) < len(lines)
    assert figures(folder.path / "datasheet.json", "recorded/planted/probit") == first
    assert measure(study, folder, RunLimits()).session.calls == 0

    assert steelyard("import", "calls.jsonl", "--out", "imported").returncode == 0
    imported = figures(tmp_path / "imported" / "datasheet.json", "planted/probit")
    # The prompt behind an imported verdict is not known, so distinct prompts are not counted.
    without_notes = [[{**row, "note": None} for row in rows] for rows in (imported, first)]
    assert without_notes[0] == without_notes[1]


def test_what_was_not_recorded_fails_with_its_reason(steelyard, tmp_path: Path) -> None:
    measured(study_of({"judges": ["planted/first"], "probes": ["vacuum"]}), tmp_path / "run")
    lines = record(tmp_path / "run", tmp_path / "calls.jsonl", "planted/first")
    answers = dict(zip(("unreadable", "failed", "abstain", "tie"), lines, strict=False))
    for answer, line in answers.items():
        line["answer"] = answer
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:-2]))
    done = steelyard("measure", "-j", "recorded/some.jsonl?name=replay", "-p", "vacuum", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert "not_recorded 2" in done.stderr
    assert "recorded_failure 1" in done.stderr
    (row,) = [
        r
        for r in figures(tmp_path / "again" / "datasheet.json", "replay")
        if r["group"] == {"protocol": "base"} and r["metric"] == "dark_current"
    ]
    assert (row["numerator"], row["denominator"]) == (len(lines) - 6, len(lines) - 4)
    assert row["excluded"] == {"unreadable": 1, "failed": 3}


def line(**changes: Any) -> str:
    body = {"judge": "A", "probe": "vacuum", "kind": "empty", "pair": "p", "first": "u", "answer": "tie"}
    return json.dumps({**body, **changes}) + "\n"


def test_the_fingerprint_follows_the_recorded_verdicts_of_a_protocol(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    def fingerprint(*lines: str) -> str:
        path.write_text("".join(lines))
        return parse_judge("recorded/calls.jsonl?judge=A", tmp_path, Pairwise()).fingerprint("base")

    before = fingerprint(line())
    assert fingerprint(line(), line(judge="B", answer="1")) == before
    assert fingerprint(line(), line(protocol="strict")) == before
    assert fingerprint(line(answer="1")) != before


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        ("recorded/absent.jsonl", "absent.jsonl: no such file; expected a JSONL file"),
        (
            "recorded/calls.jsonl",
            r"no judge is named, expected one of A, B; write calls\.jsonl\?judge=NAME",
        ),
        ("recorded/calls.jsonl?judge=C", "no judge 'C' found, expected one of A, B"),
        ("recorded/calls.jsonl?judge=B", "has the protocols strict, expected base"),
        ("recorded/calls.jsonl?judge=A&temperature=1", "key 'temperature' changes nothing"),
        ("planted/coin?judge=A", "key 'judge' belongs to recorded judges only"),
    ],
)
def test_wrong_recordings_are_refused_in_a_sentence(tmp_path: Path, judge: str, told: str) -> None:
    (tmp_path / "calls.jsonl").write_text(line() + line(judge="B", protocol="strict"))
    with pytest.raises(UsageError, match=told):
        parse_judge(judge, tmp_path, Pairwise())


def test_a_pair_of_another_kind_is_refused(steelyard, tmp_path: Path) -> None:
    measured(study_of({"judges": ["planted/first"], "probes": ["vacuum"]}), tmp_path / "run")
    lines = record(tmp_path / "run", tmp_path / "calls.jsonl", "planted/first")
    for body in lines:
        body["kind"] = "blank"
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(body) + "\n" for body in lines))
    done = steelyard("measure", "-j", "recorded/calls.jsonl", "-p", "vacuum", "--out", "again")
    assert done.returncode == 2
    assert "has kind 'blank', expected" in done.stderr


def test_doctor_asks_a_recorded_judge(steelyard, tmp_path: Path) -> None:
    measured(study_of({"judges": ["planted/first"], "probes": ["ladder"]}), tmp_path / "run")
    record(tmp_path / "run", tmp_path / "calls.jsonl", "planted/first")
    done = steelyard("doctor", "-j", "recorded/calls.jsonl", STEELYARD_CACHE=str(tmp_path / "cache"))
    assert 'replied  \'{"winner": "1"}\'' in done.stdout


def test_runs_become_replicates(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    runs = {"r10": ["1", None], "r2": ["tie", "2"], "r1": ["1", "1"]}
    path.write_text(json.dumps({"item_id": "S#1", "judge": "A", "gold": "2", "runs": runs}) + "\n")
    found = [(call.replicate, call.first, call.answer) for call in read_calls(path)]
    assert found == [
        (0, "u", "1"),
        (0, "v", "2"),
        (1, "u", "tie"),
        (1, "v", "1"),
        (2, "u", "1"),
        (2, "v", "unreadable"),
    ]
