"""Trials and observations for other tools: every call once, with what was sent and what came back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from editing_server import Cast, write_study
from servers import Answer, ScriptedServer, fails, says


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows_of(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    return list(parquet.read_table(path).to_pylist())


def moody(transcript: str, low: int, high: int) -> int | Answer:
    """Answers, talks, and fails, by the number that was reported."""
    del low, high
    if "4000" in transcript:
        return fails(400)
    return says("Hm.") if "4001" in transcript else 1


def test_every_call_goes_out_with_its_words(tmp_path: Path, command: Command) -> None:
    with ScriptedServer(Cast(judge=moody)) as server:
        write_study(tmp_path, server, ["truncated_tail"], count=4, author=None, validator=None, editing=None)
        assert command("measure", "study.yaml", "--out", "run").code == 0
        asked = len(server.requests)
    done = command("export", "run")
    assert done.code == 0, done.err
    out = tmp_path / "run" / "export"
    trials = lines(out / "trials.jsonl")
    assert f"trials.jsonl: {len(trials)} rows (" in done.out
    assert lines(out / "observations.jsonl") == lines(tmp_path / "run" / "results.jsonl")
    mine = [row for row in trials if row["judge"] == "judge"]
    assert len(mine) == len({(row["id"], row["replicate"]) for row in mine}) == asked
    stimuli = {row["id"]: row for row in lines(tmp_path / "run" / "stimuli.jsonl")}
    for row in mine:
        assert stimuli[row["id"]]["texts"][0] in row["messages"][-1]["content"]
        assert (row["reply"] is None) == (row["verdict"] == "failed") == bool(row["failures"])
    assert {row["verdict"] for row in mine} == {"1", "unreadable", "failed"}
    assert [row["failures"][0]["reason"] for row in mine if row["failures"]]
    assert {row["served_model"] for row in mine if row["reply"]} != {None}


def test_a_workbook_holds_the_same_rows_and_no_formula(tmp_path: Path, command: Command) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra xlsx is not installed")
    rows = "".join(f"=1+{n},q,a {n},{n % 2}\n" for n in range(6))
    (tmp_path / "items.csv").write_text("name,question,answer,ok\n" + rows)
    columns = "id=name,request=question,response=answer,label=ok"
    data = ("--data", "items.csv", "--columns", columns, "--scale", "binary", "--rubric", "rubric.md")
    (tmp_path / "rubric.md").write_text("What is asked for counts.")
    made = command("measure", "-j", "planted/rater", "-p", "format_invariance_1", *data, "--out", "run")
    assert made.code == 0, made.err
    done = command("export", "run", "--xlsx")
    assert done.code == 0, done.err
    sheet = openpyxl.load_workbook(tmp_path / "run" / "export" / "observations.xlsx").active
    header, *found = sheet.iter_rows()
    names = [cell.value for cell in header]
    expected = lines(tmp_path / "run" / "results.jsonl")
    assert [dict(zip(names, (cell.value for cell in row), strict=True)) for row in found] == expected
    assert {cell.data_type for row in found for cell in row} <= {"s", "n", "b"}
    assert any(str(row["item"]).startswith("=1+") for row in expected)
    both = command("export", "run", "--xlsx", "--parquet")
    assert "cannot be combined with --xlsx" in both.err


def test_parquet_holds_the_same_rows(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    with ScriptedServer(Cast(judge=moody)) as server:
        write_study(tmp_path, server, ["truncated_tail"], count=4, author=None, validator=None, editing=None)
        assert command("measure", "study.yaml", "--out", "run").code == 0
    for form in ((), ("--parquet",)):
        assert command("export", "run", *form, "--out", "tables").code == 0
    for name in ("observations", "trials"):
        plain = lines(tmp_path / "tables" / f"{name}.jsonl")
        assert plain
        assert plain == rows_of(tmp_path / "tables" / f"{name}.parquet")


def test_pairs_and_juries_go_out_too(tmp_path: Path, command: Command) -> None:
    judges = ["planted/coin", "planted/first", "planted/tie"]
    jury = "jury/vote?" + "&".join(f"of={judge}" for judge in judges)
    assert command("measure", "-p", "vacuum", "-j", jury, "--out", "run").code == 0
    assert command("export", "run", "--out", "tables").code == 0
    trials, seen = (lines(tmp_path / "tables" / f"{name}.jsonl") for name in ("trials", "observations"))
    assert {row["order"] for row in trials} == {"uv", "vu"}
    assert len(seen) == len(lines(tmp_path / "run" / "results.jsonl"))
    made = {row["judge"] for row in seen} - {row["judge"] for row in trials}
    assert all(name.startswith("jury") for name in made)


def test_an_import_has_observations_alone(tmp_path: Path, command: Command) -> None:
    call = {"judge": "j", "probe": "position", "task": "t", "pair": "p", "kind": "natural", "answer": "1"}
    (tmp_path / "v.jsonl").write_text("".join(json.dumps({**call, "first": f}) + "\n" for f in "uv"))
    assert command("import", "v.jsonl", "--out", "recorded").code == 0
    done = command("export", "recorded", "--out", "tables")
    assert done.code == 0, done.err
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["observations.jsonl"]
    assert len(lines(tmp_path / "tables" / "observations.jsonl")) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("absent",), "absent: no such folder in "),
        ((".", "--inspect", "--parquet"), "cannot be combined with --inspect"),
    ],
)
def test_what_can_not_go_out_is_refused(command: Command, arguments: tuple[str, ...], told: str) -> None:
    done = command("export", *arguments)
    assert done.code == 2
    assert told in done.err
