"""What is published is what the replies say: an edited, an older or a later file is not taken for it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest

import steelyard
from commands import Command, run_command
from servers import Answer, ScriptedServer, fails, wins
from steelyard.commands import report
from steelyard.commands.viewed_run import ViewedRun
from steelyard.errors import ConfigError, StoreFormatError
from steelyard.run_folder.publication import Publication
from steelyard.run_folder.run_folder import SHEETS

JUDGE = "planted/first"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge of pairs and one of single texts, both unfit, measured in the folders `run` and `scores`."""
    folder = tmp_path_factory.mktemp("measured")
    run_command(folder, "measure", "-j", JUDGE, "-p", "vacuum", "--out", "run")
    rows = [f"q{n},text {n} {'x ' * n},{n % 2}\n" for n in range(12)]
    (folder / "data.csv").write_text("request,response,label\n" + "".join(rows))
    columns = "request=request,response=response,label=label"
    (folder / "rubric.md").write_text("Pass an answer that is right.")
    words = ["--data", "data.csv", "--columns", columns, "--scale", "binary", "-p", "typos"]
    words += ["--rubric", "rubric.md"]
    run_command(folder, "measure", "-j", "planted/constant", *words, "--out", "scores")
    return folder


@pytest.fixture
def here(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("run", "scores"):
        shutil.copytree(measured / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(folder: Path) -> None:
    """Make every figure of the datasheet a good one, as somebody does who wants the judge to pass."""
    path = folder / "datasheet.json"
    body = json.loads(path.read_text())
    for row in body["estimates"]:
        good = 1.0 if row["metric"] in ("accuracy", "self_agreement", "invariance") else 0.0
        if row["value"] is not None:
            row["value"], row["finding"] = good, "clear" if row["finding"] else None
            for interval in row["intervals"]:
                interval["low"] = interval["high"] = good
    body["judges"][0]["protocols"] = {"base": "sha256:" + "0" * 64}
    path.write_text(json.dumps(body))


def dark_current(sheet: Any) -> float:
    return float(sheet.find(JUDGE, "dark_current", "vacuum", protocol="base").value)


def test_an_edited_datasheet_is_not_certified(command: Command, here: Path) -> None:
    (here / "p.yaml").write_text("dark_current: {max: 0.3}\n")
    words = ("gate", "run", "--policy", "p.yaml", "-j", JUDGE, "--json")
    before = command(*words)
    assert before.code == 3
    edit(here / "run")
    assert command(*words) == before
    certificate = json.loads((here / "run" / "certificate.json").read_text())
    assert certificate["result"] == "FAIL"
    assert certificate["judges"][0]["protocols"]["base"] != "sha256:" + "0" * 64
    assert steelyard.gate("run", "p.yaml", JUDGE).result == "FAIL"


def test_a_certificate_is_compared_with_the_judge_that_was_measured(command: Command, here: Path) -> None:
    (here / "p.yaml").write_text("dark_current: {max: 1.0}\nflags: allow\n")
    assert command("gate", "run", "--policy", "p.yaml", "-j", JUDGE).code == 0
    edit(here / "run")
    assert command("gate", "run", "--check", "-j", JUDGE).code == 0
    certificate = json.loads((here / "run" / "certificate.json").read_text())
    certificate["judges"][0]["protocols"] = {"base": "sha256:" + "0" * 64}
    (here / "other.json").write_text(json.dumps(certificate))
    assert command("gate", "run", "--certificate", "other.json", "-j", JUDGE).code == 3


def test_an_edited_datasheet_is_loaded_and_shown_as_the_replies_say(here: Path) -> None:
    edit(here / "run")
    assert dark_current(steelyard.load("run")) == 1.0
    sheet = ViewedRun(Path("run")).sheet
    assert sheet is not None
    assert dark_current(sheet) == 1.0


def test_an_edited_datasheet_is_not_in_an_overall_row(command: Command, here: Path) -> None:
    before = command("overall", "scores", "--json")
    assert before.code == 0
    edit(here / "scores")
    assert command("overall", "scores", "--json") == before


def test_verdicts_that_were_imported_are_computed_too(command: Command, here: Path) -> None:
    lines: list[dict[str, object]] = [
        {"judge": "j", "probe": "vacuum", "protocol": "base", "task": f"t{n}", "pair": f"p{n}"}
        | {"delta": 0, "kind": "identical", "better": None, "first": first, "answer": "1", "replicate": 0}
        for n in range(40)
        for first in "uv"
    ]
    (here / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command("import", "calls.jsonl", "--out", "imported").code == 0
    (here / "p.yaml").write_text("dark_current: {max: 0.3}\n")
    edit(here / "imported")
    assert command("gate", "imported", "--policy", "p.yaml").code == 3


def test_a_datasheet_without_its_replies_is_read_and_not_certified(command: Command, here: Path) -> None:
    for path in (here / "run").iterdir():
        if path.name != "datasheet.json":
            path.unlink()
    assert dark_current(steelyard.load("run")) == 1.0
    done = command("gate", "run", "--policy", "smoke")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "run: datasheet.json stands alone, expected the replies or recorded verdicts" in done.err
    with pytest.raises(ConfigError, match="stands alone"):
        steelyard.gate("run", "smoke")


def test_an_unchanged_run_is_read(here: Path, monkeypatch: pytest.MonkeyPatch, measured: Path) -> None:
    def refuse(*_: object, **__: object) -> Publication:
        raise AssertionError("computed")

    monkeypatch.setattr(report, "rebuild", refuse)
    with chdir(measured):
        assert dark_current(steelyard.load("run")) == 1.0


def test_a_slow_report_does_not_overwrite_a_newer_datasheet(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads 5 of 12 replies; while it computes, the run comes to its end."""
    rebuild, late, replies = report.rebuild, list[Path](), [5]

    def answer(_: object) -> Answer:
        replies[0] -= 1
        return wins("1") if replies[0] >= 0 else fails(401)

    with ScriptedServer(answer) as server:
        judge = ("-j", f"openai/m?base_url={server.url}", "--concurrency", "1")
        words = ("measure", *judge, "-p", "vacuum", "--out", "run")
        assert command(*words).code == 2

        def overtaken(path: Path, *rest: Any, **more: Any) -> Publication:
            built = rebuild(path, *rest, **more)
            if not late:
                late.append(path)
                replies[0] = 50
                assert command(*words).code == 0
            return built

        monkeypatch.setattr(report, "rebuild", overtaken)
        reported = command("report", "run", "--format", "json")
    assert late == [Path("run")]
    published = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    assert not published["run"].get("partial")
    assert published["run"]["calls"] == 12
    assert json.loads(reported.out) == published
    for name in SHEETS[1:]:
        assert "Partial" not in (tmp_path / "run" / name).read_text()


READING = (
    *("report run", "report run --verify", "report run --format json", "show run", "view run --no-browser"),
    *("compare run:planted/first run:coin", "gate run --policy smoke", "export run", "overall scores"),
    *(
        "estimate scores --people label",
        "leaderboard scores",
        "people scores",
        "review run --no-browser",
        "review scores --label --no-browser",
    ),
    *("gate run --policy smoke --reference run", "plan --rank scores", "labels draw scores --out l -n 4"),
)


@pytest.mark.parametrize("words", READING)
def test_a_store_of_a_later_format_is_refused(command: Command, here: Path, words: str) -> None:
    for name in ("run", "scores"):
        with closing(sqlite3.connect(here / name / "run.db")) as database:
            database.execute("PRAGMA user_version = 99")
    done = command(*words.split())
    assert (done.code, done.out) == (2, "")
    (sentence,) = done.err.splitlines()
    assert re.search(r"run\.db: found format 99, expected at most \d+; upgrade Steelyard", sentence)


def test_python_refuses_a_later_format_too(here: Path) -> None:
    with closing(sqlite3.connect(here / "run" / "run.db")) as database:
        database.execute("PRAGMA user_version = 99")
    readers: list[Callable[[Path], object]] = [steelyard.load, steelyard.report, steelyard.gate, ViewedRun]
    for read in readers:
        with pytest.raises(StoreFormatError, match="found format 99"):
            read(Path("run"))
