"""What to do next: a command that runs as it is printed, with the calls that it makes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from servers import ScriptedServer, wins
from steelyard.cli.spoken import spoken
from steelyard.lab.folder.frozen_study import thaw
from steelyard.lab.notebook import measure

GOOD = "planted/probit?s=4&beta=0&tau=1.8&sigma=0&lapse=0"


def verdicts(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))[
        "verdicts"
    ]
    return found


def repeated(command: Command, line: str) -> dict[str, Any]:
    """The datasheet that a printed command brings."""
    program, *words = shlex.split(line)
    assert program == "steelyard"
    body: dict[str, Any] = json.loads(command(*words, "--json").out)
    return body


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_after_a_smoke_test_the_command_measures_at_standard_size(command: Command) -> None:
    command("measure", "-j", GOOD, "-p", "vacuum", "--seed", "3", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert verdict["command"] == f"steelyard measure -j '{GOOD}' -p vacuum --seed 3 --profile standard"
    assert verdict["next"].endswith(f"{verdict['command']} ({verdict['calls']} calls, free)")
    assert verdict["dollars"] == 0
    body = repeated(command, verdict["command"])
    assert (body["study"]["profile"], body["run"]["calls"]) == ("standard", verdict["calls"])


def test_on_the_pack_the_calls_are_those_of_its_scales(command: Command) -> None:
    command("measure", "-j", "planted/rater?noise=0", "-p", "stochastic_stability", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert repeated(command, verdict["command"])["run"]["calls"] == verdict["calls"]


def test_a_study_file_is_measured_again_by_its_name(command: Command) -> None:
    Path("mine.yaml").write_text(
        "judges: [planted/first, planted/coin]\nprobes: [vacuum]\n", encoding="utf-8"
    )
    command("measure", "mine.yaml", "--out", "run")
    first, _ = verdicts(Path("run"))
    assert first["command"] == "steelyard measure mine.yaml --profile standard"
    assert first["calls"] == repeated(command, first["command"])["run"]["calls"]


def test_own_data_keep_their_options_and_their_calls(command: Command) -> None:
    rows = "\n".join(f"q{n},answer {n},{n % 2}" for n in range(12))
    Path("mine.csv").write_text(f"q,a,l\n{rows}\n", encoding="utf-8")
    words = ["--data", "mine.csv", "--columns", "request=q,response=a,label=l", "--scale", "binary"]
    Path("r.md").write_text("The better answer is right.\n", encoding="utf-8")
    probes = ["-p", "stochastic_stability", "--rubric", "r.md"]
    command("measure", "-j", "planted/constant?value=1", *probes, *words, "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert "--profile" not in verdict["command"]
    assert "--columns request=q,response=a,label=l" in verdict["command"]
    assert repeated(command, verdict["command"])["run"]["calls"] == verdict["calls"] == 60


def test_beyond_the_full_profile_there_is_the_gate(command: Command) -> None:
    command("measure", "-j", "planted/tie", "-p", "vacuum", "--profile", "full", "--out", "run")
    (verdict,) = verdicts(Path("run"))
    assert verdict["next"] == "hold it against limits of your own, with a policy and `steelyard gate`"
    assert verdict["command"] is None


def test_a_partial_run_is_finished_where_it_lies(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ScriptedServer(lambda received: wins("tie")) as server:
        judge = f"openai/mine?base_url={server.url}&input_price=1000&output_price=0&max_tokens=50"
        words = ("-p", "vacuum", "--budget", "0.7", "--concurrency", "1")
        command("measure", "-j", judge, *words, "--out", "run")
        (verdict,) = verdicts(Path("run"))
        left = verdict["calls"]
        assert verdict["verdict"] == "too_little_data"
        assert verdict["next"].startswith("finish the run: steelyard measure -j ")
        assert verdict["next"].endswith(f"({left} calls, about ${left * 0.1:.2f})")
        before = len(server.requests)
        body = repeated(command, verdict["command"])
        assert len(server.requests) - before == left > 0
    assert (body["run"]["partial"], body["run"]["dollars"]) == (False, 1.2)


def test_the_command_is_kept_with_the_study_and_decides_nothing(command: Command) -> None:
    command("measure", "-j", GOOD, "-p", "vacuum", "--out", "one")
    command("measure", "-j", GOOD, "-p", "vacuum", "--concurrency", "3", "--out", "two")
    one, two = (thaw(Path(folder) / "study.yaml") for folder in ("one", "two"))
    assert one.command == ("-j", GOOD, "-p", "vacuum", "--out", "one")
    assert one.hash == two.hash
    assert verdicts(Path("one")) == verdicts(Path("two"))
    before = Path("one/datasheet.json").read_bytes()
    command("report", "one")
    assert Path("one/datasheet.json").read_bytes() == before


def test_without_a_command_the_step_is_told_without_one(tmp_path: Path) -> None:
    sheet = measure("planted/first", probes=["vacuum"], out=tmp_path / "run")
    assert spoken() is None
    assert sheet.verdict.command is None
    assert (
        sheet.verdict.next
        == f"after the change, measure at standard size ({sheet.verdict.calls} calls, free)"
    )
