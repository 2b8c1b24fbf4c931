"""A run that ended early: calls never asked are no failures, and everything that is shown says Partial."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from commands import StartedCommand
from own_judges import measured, study_of
from servers import Answer, Received, ScriptedServer, fails, wins
from steelyard.datasheet.render import html, markdown
from steelyard.datasheet.render.data_files import to_json
from steelyard.run_folder.publication import build_datasheet
from steelyard.run_folder.run_folder import SHEETS, RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import AGAIN
from test_resume import CALLS, CONCURRENCY, Teller, arguments, start

NAME = "openai/scripted"
POLICY = "dark_current: {max: 1.0}\nunreadable_rate: {max: 0.5}\nflags: allow\n"


def sheet(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    return body


def losses(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Figures that count a failed call."""
    rows = [*body["estimates"], *body["panel"]]
    rates = [row for row in rows if row["metric"] == "failed_rate" and row["numerator"]]
    return rates + [row for row in rows if row["excluded"].get("failed")]


def assert_partial(folder: Path, asked: int) -> None:
    """Every file says what is missing, and no figure counts it."""
    body, words = sheet(folder), f"Partial: {asked} of {CALLS} calls"
    run = body["run"]
    assert (run["partial"], run["asked"], run["planned"], run["calls"]) == (True, asked, CALLS, asked)
    assert run["finished"] is None
    assert run["unfinished"][NAME] == {"asked": asked, "planned": CALLS}
    assert not losses(body)
    whole = [r for r in body["estimates"] if (r["judge"], r["probe"]) == (NAME, "run")]
    assert {(row["metric"], row["n_calls"]) for row in whole} == {
        ("unreadable_rate", asked),
        ("failed_rate", asked),
    }
    assert (folder / "datasheet.md").read_text().startswith(words)
    page = (folder / "datasheet.html").read_text()
    assert f"<title>{words} · " in page
    header = page.partition("<body>")[2].partition("</header>")[0]
    assert f'<p class="partial">{words}' in header
    assert "finished</dt>" not in page


def test_ctrl_c_finishes_what_is_in_flight_and_leaves_a_sheet_that_says_partial(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    release, waiting, served = threading.Event(), threading.Semaphore(0), list[str]()

    def script(request: Received) -> Answer:
        served.append(request.headers["idempotency-key"])
        if len(served) > 20:
            waiting.release()
            release.wait(240)
        return wins("tie")

    with ScriptedServer(script) as server:
        process = StartedCommand(arguments(server, "run"), tmp_path, environment)
        assert waiting.acquire(timeout=240)
        os.kill(process.pid, signal.SIGINT)
        process.wait_until(lambda: "stopping after the calls in flight" in process.errors)
        assert process.returncode is None
        release.set()
        output, errors = process.communicate(timeout=240)
        asked = len(served)
        assert asked < CALLS
        assert process.returncode == 1
        assert output.startswith(f"Partial: {asked} of {CALLS} calls")
        assert f"interrupted: {asked} of {CALLS} calls have a reply" in errors
        assert AGAIN in errors
        assert_partial(tmp_path / "run", asked)

        again = start(tmp_path, environment, server, "run")
        output, _ = again.communicate(timeout=120)
        assert again.returncode == 0
    assert len(served) == len(set(served)) == CALLS
    assert "Partial" not in output
    body = sheet(tmp_path / "run")
    assert (body["run"]["partial"], body["run"]["asked"]) == (False, CALLS)
    assert body["run"]["finished"]
    assert "Partial" not in (tmp_path / "run" / "datasheet.html").read_text()


@pytest.fixture
def killed(tmp_path: Path, environment: dict[str, str]):
    """A folder whose process was killed after so many replies."""

    def kill(patience: int) -> Path:
        teller = Teller(patience=patience)
        with ScriptedServer(teller) as server:
            process = start(tmp_path, environment, server, "killed")
            for _ in range(CONCURRENCY):
                assert teller.hanging.acquire(timeout=240)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        return tmp_path / "killed"

    return kill


def test_a_killed_run_is_reported_gated_and_compared_as_partial(killed, command, tmp_path: Path) -> None:
    folder = killed(30)
    done = command("report", folder)
    assert done.code == 0, done.err
    assert done.out.startswith(f"Partial: 30 of {CALLS} calls")
    assert f"{CALLS - 30} calls were never made" in done.err
    assert_partial(folder, 30)

    (tmp_path / "policy.yaml").write_text(POLICY)
    gated = command("gate", folder, "--policy", "policy.yaml", "--json")
    assert gated.code == 4
    checks = json.loads(gated.out)["checks"]
    assert {check["result"] for check in checks} == {"INCONCLUSIVE"}
    assert all(f"Partial: 30 of {CALLS} calls" in check["reason"] for check in checks)

    compared = command("compare", f"{folder}:{NAME}", f"{folder}:coin", "--json")
    assert compared.code == 0, compared.err
    body = json.loads(compared.out)
    assert body["first"]["partial"] == f"Partial: 30 of {CALLS} calls"
    assert f"Partial: 30 of {CALLS} calls" in command("compare", f"{folder}:{NAME}", f"{folder}:coin").out


def test_a_run_killed_before_its_first_reply_has_no_sheet(killed, command) -> None:
    folder = killed(0)
    done = command("report", folder)
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert "no call has a reply yet" in done.err
    assert not [name for name in SHEETS if (folder / name).exists()]


def test_a_sheet_without_a_reply_behind_it_is_taken_away(command, tmp_path: Path) -> None:
    with ScriptedServer(lambda request: fails(400, "no")) as server:
        judge = f"openai/scripted?base_url={server.url}"
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "datasheet.html").write_text("figures of another day")
        done = command("measure", "-j", judge, "-p", "vacuum", "--out", "run")
    assert done.code == 2
    assert "stopped after 8 calls, which the server refused alike" in done.err
    assert not (tmp_path / "run" / "datasheet.html").exists()


STUDIES: dict[str, dict[str, Any]] = {
    "pairs": {"judges": ["planted/probit"], "probes": ["vacuum", "ladder", "criterion"]},
    "scores": {
        "judges": ["planted/rater?noise=0.1", "planted/constant"],
        "task": {"scale": "binary"},
        "replicates": 2,
        "probes": ["label_flip", "format_invariance_1", "stochastic_stability", "vacuum"],
    },
}


@pytest.mark.parametrize("name", STUDIES)
def test_any_part_of_a_run_makes_a_sheet_without_failures(name: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "whole")
    measured(study_of(STUDIES[name]), folder.path)
    plan = load_plan(folder)
    keys = [trial.key for trial in plan.trials]
    for number, kept in enumerate(([keys[0]], random.Random(7).sample(keys, len(keys) // 2))):
        part = RunFolder(tmp_path / f"part-{number}")
        shutil.copytree(folder.path, part.path)
        _forget(part.database, set(keys) - set(kept))
        with part.store(read_only=True) as store:
            record = RunRecord(store)
            made = build_datasheet(plan, record)
            coverage = record.coverage(plan.trials)
        assert sum(one.asked for one in coverage.judges.values()) == len(kept)
        assert made.run["partial"]
        assert not losses(to_json(made))
        assert markdown.render(made).startswith("Partial: ")
        page = html.render(made)
        assert "Partial: " in page
        assert 'aria-label="undefined' not in page  # nothing is drawn for a figure without a value


def _forget(database: Path, keys: set[str]) -> None:
    connection = sqlite3.connect(database)
    connection.executemany("DELETE FROM replies WHERE trial = ?", [(key,) for key in keys])
    connection.commit()
    connection.close()
