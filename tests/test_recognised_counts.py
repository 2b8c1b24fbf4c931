"""Counts as people know them: rows of their data, labels that are missing, judges before baselines."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Done, run_command
from steelyard.commands.call_index import CallFilter
from steelyard.commands.viewed_run import ViewedRun
from steelyard.datasheet.numbers import times
from steelyard.metrics.estimate import Estimate
from steelyard.web.calls import accuracy_map

JUDGE = "planted/rater?sensitivity=0.9&specificity=0.5&noise={}&name=mine"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def words(noise: float = 0.0, unlabelled: int = 4, rows: int = 24) -> list[str]:
    """A study of so many rows, some without a label."""
    lines = "\n".join(f"q{n},answer {n},{'' if n < unlabelled else n % 2}" for n in range(rows))
    Path("mine.csv").write_text(f"q,a,l\n{lines}\n", encoding="utf-8")
    Path("r.md").write_text("The better answer is right.\n", encoding="utf-8")
    columns = ["--data", "mine.csv", "--columns", "request=q,response=a,label=l", "--scale", "binary"]
    judge = ["-j", JUDGE.format(noise), "-p", "stochastic_stability"]
    return [*judge, *columns, "--rubric", "r.md", "--out", "run"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A folder with the study and its run, and what the command printed."""
    folder = tmp_path_factory.mktemp("measured")
    with contextlib.chdir(folder):
        return folder, run_command(folder, "measure", *words())


@pytest.fixture
def done(measured: tuple[Path, Done], tmp_path: Path) -> Done:
    """That run in the folder of the test."""
    folder, done = measured
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return done


def sheet() -> dict[str, Any]:
    body: dict[str, Any] = json.loads(Path("run/datasheet.json").read_text(encoding="utf-8"))
    return body


def right_by_row() -> dict[str, list[bool]]:
    """Whether each call of the judge on a labelled row is right, from the exported observations."""
    found: dict[str, list[bool]] = {}
    for line in Path("run/export/observations.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["judge"] == "mine" and row["label"] is not None:
            found.setdefault(row["item"], []).append(row["right"])
    return found


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_rows_are_counted_where_the_user_has_rows(command: Command, done: Done, noise: float) -> None:
    if noise:
        shutil.rmtree("run")
        command("measure", *words(noise))
    command("export", "run")
    rows = right_by_row()
    assert {len(calls) for calls in rows.values()} == {5}
    every, some = sum(map(all, rows.values())), sum(any(calls) and not all(calls) for calls in rows.values())
    (figure,) = (
        e
        for e in sheet()["estimates"]
        if (e["judge"], e["probe"], e["metric"], e["group"])
        == ("mine", "original", "accuracy", {"protocol": "base"})
    )
    assert figure["details"]["row_events"] == [every, some]
    assert (some > 0) == (noise > 0)
    (reading,) = (r for r in sheet()["readings"] if r["title"] == "Accuracy")
    told = f"{sum(map(sum, rows.values()))} of 100 calls (all on {every} of 20 rows, some on {some})"
    assert (told if some else f"{every} of 20 rows (5 calls each)") in reading["sentence"]


def test_rows_with_unequal_calls_say_how_many_calls_there_are() -> None:
    lost = Estimate(
        "j",
        "original",
        "accuracy",
        {},
        "call",
        0.8,
        8,
        10,
        n_calls=10,
        n_units=3,
        details={"row_events": (2, 0)},
    )
    assert times(lost, "call") == "2 of 3 rows (10 calls in all)"


def test_rows_without_a_label_are_told(command: Command, done: Done) -> None:
    told = "4 of 24 rows have no label, and no figure against labels counts them."
    assert told in command("plan", *words()).err
    assert told in done.err
    assert f"Labels: {told}" in " ".join(done.out.split())
    assert told.rstrip(".") in Path("run/datasheet.md").read_text(encoding="utf-8")
    assert told.rstrip(".") in Path("run/datasheet.html").read_text(encoding="utf-8")
    assert told in " ".join(command("report", "run").out.split())
    run = sheet()["run"]
    assert (run["rows"], run["unlabelled"]) == (24, 4)


@pytest.mark.parametrize("unlabelled", [0, 12])
def test_nothing_is_told_where_all_rows_or_none_have_a_label(command: Command, unlabelled: int) -> None:
    done = command("measure", *words(unlabelled=unlabelled, rows=12))
    assert "no label, and" not in done.out + done.err


def test_baselines_come_last_and_are_counted_apart(command: Command, done: Done) -> None:
    index = ViewedRun(Path("run")).load().index
    assert index.judges[0] == "mine"
    assert index.judges[1:] == tuple(sorted(index.judges[1:]))
    keep = index.mask(CallFilter())
    seen = [seen.judge for seen in index.observations_at(index.rows(keep))]
    baselines = len(seen) - 120
    assert seen[:120] == ["mine"] * 120
    assert "mine" not in seen[120:]
    count = index.count(keep)
    assert (count.judges, count.baselines) == (120, baselines)
    assert str(count) == f"120 calls of judges, {baselines:,} of baselines"
    shown = accuracy_map(index)
    assert shown.judges[0] == "mine"
    assert {*shown.judges[1:]} == shown.baselines == {*index.judges[1:]}
    wrong = index.counts(keep)["wrong"]
    assert wrong.judges == sum(map(len, rows_wrong(command)))
    export = command("export", "run").out
    assert f"observations.jsonl: {120 + baselines} rows ({count})." in export
    for name in ("observations", "trials"):
        lines = Path(f"run/export/{name}.jsonl").read_text(encoding="utf-8").splitlines()
        judges = [json.loads(line)["judge"] for line in lines]
        assert judges[:120] == ["mine"] * 120
        assert re.search("mine", " ".join(judges[120:])) is None


def rows_wrong(command: Command) -> list[list[bool]]:
    command("export", "run")
    return [[one for one in calls if not one] for calls in right_by_row().values()]
