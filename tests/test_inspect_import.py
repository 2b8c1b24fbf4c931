"""Scores in Inspect logs as recorded verdicts: whose value is whose, what is none, what is a repeat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_runs import sample, write_log
from commands import Command, Done, run_command

pytest.importorskip("inspect_ai")

GRADER = "model_graded_qa"
PERSON = {"author": "Ada", "timestamp": "2026-01-02T00:00:00+00:00", "reason": "read it"}


def scored(name: str, value: Any, *edits: Any, epoch: int = 1, scorer: str = GRADER, **more: Any) -> Any:
    """A sample with a score; `edits` are what people changed its value to."""
    score: dict[str, Any] = {"value": edits[-1] if edits else value, **more}
    if edits:
        score["history"] = [{"value": value}, *({"value": e, "provenance": PERSON} for e in edits)]
    return sample(id=name, epoch=epoch, scores={scorer: score})


def imported(folder: Path, command: Command, samples: list[Any], *options: str) -> Done:
    write_log(folder / "run.eval", samples)
    return command("import", "run.eval", "--out", "out", "--json", *options)


def calls(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / "observations.jsonl").read_text().splitlines()]


def test_the_first_value_is_the_judges_and_an_edit_the_persons(tmp_path: Path, command: Command) -> None:
    samples = [
        scored("a", "C"),
        scored("b", "C", "I"),
        scored("c", "I", "I"),
        scored("d", "I", "C", "I"),
        scored("e", "C", "UNCHANGED"),
    ]
    samples[4]["scores"][GRADER]["value"] = "C"
    done = imported(tmp_path, command, samples)
    assert done.code == 0, done.err
    told = {call["item"]: (call["score"], call.get("expected")) for call in calls(tmp_path)}
    # d was changed twice, and the last word holds; of e only the explanation was touched.
    assert told == {"a": (1, None), "b": (1, 0), "c": (0, 0), "d": (0, 0), "e": (1, None)}
    (row,) = [r for r in done.rows if r["metric"] == "accuracy" and r["probe"] == "stochastic_stability"]
    assert (row["judge"], row["numerator"], row["denominator"]) == (GRADER, 2, 3)


MIXED = [
    ("a", "C", (), "easy", "C"),
    ("b", "C", ("I",), "easy", "C"),
    ("c", "I", ("I",), "hard", "I"),
    ("d", "I", ("C", "I"), "hard", ""),
]
"""Sample, the scorer's value, what people made of it, and two columns of its own."""


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (f"score=score.{GRADER}", {"a": (1, None), "b": (1, 0), "c": (0, 0), "d": (0, 0)}),
        ("score=score", {"a": (1, None), "b": (1, 0), "c": (0, 0), "d": (0, 0)}),
        ("score=score,expected=score", {"a": (1, None), "b": (1, 0), "c": (0, 0), "d": (0, 0)}),
        ("score=score,expected=gold", {"a": (1, 1), "b": (1, 1), "c": (0, 0), "d": (0, None)}),
    ],
)
def test_a_map_of_columns_reads_the_history_of_a_score(
    tmp_path: Path, command: Command, columns: str, told: dict[str, Any]
) -> None:
    samples = [
        {**scored(name, value, *edits), "metadata": {"kind": kind, "gold": gold}}
        for name, value, edits, kind, gold in MIXED
    ]
    done = imported(tmp_path, command, samples, "--columns", f"{columns},stratum=kind", "--judge", "house")
    assert done.code == 0, done.err
    assert {c["item"]: (c["score"], c.get("expected")) for c in calls(tmp_path)} == told
    assert {c["stratum"] for c in calls(tmp_path)} == {"easy", "hard"}
    assert {c["judge"] for c in calls(tmp_path)} == {"house"}


def test_a_reference_that_is_no_grade_is_refused(tmp_path: Path, command: Command) -> None:
    sample_of_words = {**scored("a", "C"), "metadata": {"gold": "splendid"}}
    done = imported(tmp_path, command, [sample_of_words], "--columns", "score=score,expected=gold")
    assert done.code == 2
    assert "column 'gold' holds 'splendid', expected a whole number or a letter" in done.err


def test_nan_is_unscored_and_its_reason_is_kept(tmp_path: Path, command: Command) -> None:
    nan = float("nan")
    samples = [
        scored("a", 1),
        scored("b", nan),
        scored("c", nan, reason="refusal"),
        scored("d", nan, reason="invalid_response_format"),
        scored("e", 0, nan),
        scored("f", nan, 1),
    ]
    done = imported(tmp_path, command, samples)
    assert done.code == 0, done.err
    told = {
        call["item"]: (call["score"], call.get("outcome"), call.get("expected")) for call in calls(tmp_path)
    }
    assert told == {
        "a": (1, None, None),
        "b": (None, "failed", None),
        "c": (None, "abstain", None),
        "d": (None, "unreadable", None),
        "e": (0, None, None),
        "f": (None, "failed", 1),
    }


def test_epochs_run_the_agent_again_and_are_no_repeats(tmp_path: Path, command: Command) -> None:
    samples = [scored(name, value, epoch=epoch) for name in "ab" for epoch, value in ((1, "C"), (2, "I"))]
    done = imported(tmp_path, command, samples)
    assert done.code == 0, done.err
    told = calls(tmp_path)
    assert [call["item"] for call in told] == ["a/1", "a/2", "b/1", "b/2"]
    assert {call["task"] for call in told} == {"a", "b"}
    assert {call["replicate"] for call in told} == {0}
    repeated = [r for r in done.rows if r["metric"] == "self_agreement" and r["value"] is not None]
    assert not repeated


def test_partly_right_makes_three_steps(tmp_path: Path, command: Command) -> None:
    done = imported(tmp_path, command, [scored(n, v, "C") for n, v in zip("abcd", "CPIN", strict=True)])
    assert done.code == 0, done.err
    told = {call["item"]: (call["score"], call["expected"], call["scale"]) for call in calls(tmp_path)}
    assert told == {"a": (2, 2, "0-2"), "b": (1, 2, "0-2"), "c": (0, 2, "0-2"), "d": (None, 2, "0-2")}
    assert [call["outcome"] for call in calls(tmp_path) if call["item"] == "d"] == ["abstain"]


def test_scorers_of_fractions_are_left_out_and_told(tmp_path: Path, command: Command) -> None:
    both = {GRADER: {"value": "C"}, "similarity": {"value": 0.25}, "parts": {"value": {"x": 1, "y": 0.5}}}
    done = imported(tmp_path, command, [sample(scores=both)])
    assert done.code == 0, done.err
    assert "scorer similarity was left out: 0.25 is no whole number" in done.err
    assert "scorer parts.y was left out" in done.err
    assert {call["judge"] for call in calls(tmp_path)} == {GRADER, "parts.x"}


@pytest.mark.parametrize(
    ("scores", "options", "told"),
    [
        ({}, (), "the log holds no scores"),
        ({"s": {"value": 0.5}}, (), "no scorer grades by whole numbers"),
        ({"s": {"value": "C"}}, ("--judge", "t"), "no scorer 't' (scorers: s)"),
        ({"s": {"value": 7}}, ("--scale", "1-6"), "expected an answer of the scale 1-6"),
    ],
)
def test_logs_that_can_not_be_read_are_refused(
    tmp_path: Path, command: Command, scores: Any, options: tuple[str, ...], told: str
) -> None:
    done = imported(tmp_path, command, [sample(scores=scores)], *options)
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1


def test_a_value_that_only_a_person_gave_is_no_verdict(tmp_path: Path, command: Command) -> None:
    own = sample(id="p", scores={GRADER: {"value": "C", "history": [{"value": "C", "provenance": PERSON}]}})
    done = imported(tmp_path, command, [own, scored("a", "C")])
    assert done.code == 0, done.err
    assert [call["item"] for call in calls(tmp_path)] == ["a"]


def test_what_steelyard_exported_comes_back_with_its_probe(tmp_path: Path, command: Command) -> None:
    judged = ("-p", "forged_result", "-p", "truncated_tail", "-j", "planted/rater?noise=0.2")
    done = command("measure", *judged, "--out", "run", "--json")
    assert done.code == 0, done.err
    assert command("export", "run", "--inspect", "--out", "logs").code == 0
    logs = sorted(str(path) for path in (tmp_path / "logs").glob("*.eval"))
    back = command("import", *logs, "--out", "back", "--judge", "planted/rater", "--json")
    assert back.code == 0, back.err

    def shares(rows: list[dict[str, Any]], probe: str) -> Any:
        wanted = ("planted/rater", probe, "accuracy")
        picked = [r for r in rows if (r["judge"], r["probe"], r["metric"]) == wanted]
        return [(r["numerator"], r["denominator"]) for r in picked]

    for probe in ("forged_result", "truncated_tail"):
        assert shares(done.rows, probe) == shares(back.rows, probe) != []


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[dict[str, Any]]]:
    """Logs of a run with repeats and vacuum, and its own estimates."""
    folder = tmp_path_factory.mktemp("exported")
    probes = ("-p", "vacuum", "-p", "stochastic_stability", "--scale", "binary")
    done = run_command(folder, "measure", *probes, "-j", "planted/rater?noise=0.3", "--out", "run", "--json")
    run_command(folder, "export", "run", "--inspect", "--out", "logs")
    return sorted(str(path) for path in (folder / "logs").glob("*.eval")), done.rows


def test_baselines_of_an_exported_run_stay_baselines(
    tmp_path: Path, command: Command, exported: tuple[list[str], list[dict[str, Any]]]
) -> None:
    """Beside the judge that was measured; whoever names one as the judge measures it."""
    logs, _ = exported
    back = command("import", *logs, "--out", "back", "--json")
    again = command("report", "back", "--format", "json")
    named = command("import", *logs, "--out", "named", "--judge", "constant", "--json")

    def roles(done: Done) -> dict[str, bool]:
        return {judge["name"]: judge["baseline"] for judge in json.loads(done.out)["judges"]}

    assert roles(back) == {"planted/rater": False, "constant": True, "random": True}
    assert again.out == back.out
    assert roles(named) == {"constant": False}
    results = [json.loads(line) for line in (tmp_path / "back" / "results.jsonl").read_text().splitlines()]
    assert {(row["judge"], row["baseline"]) for row in results} == {*roles(back).items()}
    beside = sum(row["baseline"] for row in results)
    told = f"{len(results) - beside} recorded calls, none made; {beside} of baselines."
    assert told in command("import", *logs, "--out", "again").out


def test_repeats_and_vacuum_keep_their_figures(
    command: Command, exported: tuple[list[str], list[dict[str, Any]]]
) -> None:
    logs, before = exported
    back = command("import", *logs, "--out", "back", "--judge", "planted/rater", "--json")
    assert back.code == 0, back.err

    def figures(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
        wanted = ("self_agreement", "dark_current", "accuracy")
        own = [r for r in rows if r["judge"] == "planted/rater" and r["metric"] in wanted]
        return {
            (r["probe"], r["metric"]): (r["numerator"], r["denominator"], r["value"])
            for r in own
            if r["probe"] in ("vacuum", "stochastic_stability")
        }

    assert figures(before) == figures(back.rows)
    assert len(figures(back.rows)) > 1


@pytest.mark.parametrize("mark", [7, {}, {"kind": "perturbed"}, {"kind": "original", "probe": "original"}])
def test_marks_that_say_nothing_leave_a_run_as_it_is(tmp_path: Path, command: Command, mark: Any) -> None:
    own = sample(id="a", scores={GRADER: {"value": "C"}}, metadata={"steelyard": mark})
    done = imported(tmp_path, command, [own])
    assert done.code == 0, done.err
    (call,) = calls(tmp_path)
    assert (call["item"], call["task"], call["variant"], call["score"]) == ("a", "a", "original", 1)
