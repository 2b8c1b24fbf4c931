"""Studies whose texts models write, through the commands: plan, generate, review, measure, report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from authored_study import write_study
from authoring_server import WRITTEN, Cast
from commands import Command
from servers import ScriptedServer, fails

TEXTS = 4 * len(WRITTEN)
QUESTIONS = TEXTS + 3 * 4
"""A grade for every text, and the meaning of all but the flips."""
JUDGED = 4 + TEXTS
"""Every item once and every text once."""


def test_a_study_with_an_author_from_plan_to_report(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server)
    planned = command("plan", "study.yaml", "--out", "run", "--json")
    assert planned.code == 0, planned.err
    rows = json.loads(planned.out)["rows"]
    assert {(r["judge"], r["probe"]): r["calls"] for r in rows if r["judge"] in ("author", "validator")} == {
        **{("author", probe): 4 for probe in WRITTEN},
        **{("validator", probe): 4 if probe == "label_flip" else 8 for probe in WRITTEN},
    }
    assert sum(r["calls"] for r in rows if r["judge"] == "grader") == JUDGED
    assert all(r["input_tokens"] > 0 and r["output_tokens"] > 0 for r in rows)
    shown = command("measure", "study.yaml", "--out", "run", "--dry-run").out
    assert re.search(r"one attempt .*\b3 may", shown)
    assert not cast.calls
    assert not (tmp_path / "run").exists()

    done = command("measure", "study.yaml", "--out", "run", "--json")
    assert done.code == 0, done.err
    assert cast.calls == {"writer": TEXTS, "checker": QUESTIONS, "grader": JUDGED}
    accuracy = {
        row["probe"]: (row["numerator"], row["denominator"])
        for row in done.rows
        if row["judge"] == "grader" and row["metric"] == "accuracy" and row["probe"] in WRITTEN
        if row["group"] == {"protocol": "base"}
    }
    assert accuracy == dict.fromkeys(WRITTEN, (4, 4))
    frozen = yaml.safe_load((tmp_path / "run" / "study.yaml").read_text())["writers"]
    assert (frozen["author"]["model"], frozen["author"]["temperature"]) == ("openai/writer", 0.7)
    assert frozen["validator"]["model"] == "openai/checker"

    sheet = (tmp_path / "run" / "datasheet.json").read_text()
    again = command("measure", "study.yaml", "--out", "run")
    assert "No calls" in again.out
    rest = json.loads(command("plan", "study.yaml", "--out", "run", "--json").out)["rows"]
    assert rest == []
    (tmp_path / "sky.jsonl").unlink()
    assert command("report", "run", "--format", "json").out == sheet
    assert cast.calls == {"writer": TEXTS, "checker": QUESTIONS, "grader": JUDGED}


def test_generate_writes_and_judges_nothing_and_review_comes_first(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server, review=True, probes=["label_flip", "stochastic_stability"])
    done = command("generate", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    for role in ("author", "validator"):
        assert f"calls of {role} go to {server.url}" in done.err
    assert re.search(r"label_flip: 4 asked, 0 usable, 4 waiting", done.out)
    assert re.search("4 texts wait .*`steelyard review run`", done.out)
    assert cast.calls == {"writer": 4, "checker": 4}
    assert "No calls" in command("generate", "study.yaml", "--out", "run").out

    refused = command("measure", "study.yaml", "--out", "run")
    assert refused.code == 2
    assert "4 of 4 written" in refused.err
    assert "`steelyard review run`" in refused.err
    assert cast.calls == {"writer": 4, "checker": 4}

    path = tmp_path / "run" / "stimuli.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    states = iter(["accepted", "rejected", "edited"])
    for line in lines:
        if line["lineage"]["review"] == "pending":
            line["lineage"]["review"] = next(states, "pending")
            if line["lineage"]["review"] == "edited":
                line["texts"] = ["Nobody can see a sky that is this green."]
            if line["lineage"]["review"] == "accepted":  # said on the line itself, it counts as well
                line["lineage"]["review"], line["review"] = "pending", "accepted"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "1 of 4 written" in command("measure", "study.yaml", "--out", "run").err
    judged = command("measure", "study.yaml", "--out", "run", "--accept-all")
    assert judged.code == 0, judged.err
    assert cast.calls == {"writer": 4, "checker": 4, "grader": 4 * 5 + 3}
    held = [json.loads(line)["lineage"]["review"] for line in path.read_text().splitlines()]
    assert sorted(filter(None, held)) == ["accepted", "accepted", "edited", "rejected"]
    again = command("measure", "study.yaml", "--out", "run")
    assert again.code == 0, again.err
    assert "No calls" in again.out
    assert command("report", "run").code == 0


def test_another_author_is_another_folder(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server, probes=["label_flip"])
    command("generate", "study.yaml")
    write_study(tmp_path, server, probes=["label_flip"], author=f"openai/other?base_url={server.url}")
    done = command("generate", "study.yaml")
    assert done.code == 0, done.err
    assert cast.calls == {"writer": 4, "other": 4, "checker": 8}
    assert len(list((tmp_path / "steelyard-runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("keys", "arguments", "told"),
    [
        ({"author": None, "validator": None}, ("generate",), "probe 'label_flip': needs a text written"),
        ({"author": None, "validator": None, "probes": ["typos"]}, ("generate",), "the study has no author"),
        ({"probes": ["typos"]}, ("generate",), "no probe of the study uses generated texts"),
        (
            {"author": None, "validator": None, "probes": ["typos"]},
            ("measure", "--accept-all"),
            "nothing waits",
        ),
        ({"validator": "planted/rater"}, ("generate",), "validator: 'planted/rater' gives verdicts"),
        ({"judges": ["planted/probit"]}, ("generate",), "gives no score"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_call(
    command: Command,
    tmp_path: Path,
    cast: Cast,
    server: ScriptedServer,
    keys: dict[str, Any],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    write_study(tmp_path, server, **keys)
    done = command(arguments[0], "study.yaml", "--out", "run", *arguments[1:])
    assert done.code == 2, done.err
    assert told in done.err
    assert done.err.count("\n") == 1
    assert not cast.calls
    assert not (tmp_path / "run").exists()


def test_a_folder_of_another_study_is_refused_before_anything_is_written(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server, probes=["label_flip"])
    command("measure", "study.yaml", "--out", "run")
    calls = dict(cast.calls)
    write_study(tmp_path, server, probes=["label_flip", "semantic_paraphrase"], seed=8)
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 2
    assert "(seed, probes" in done.err
    assert cast.calls == calls


@pytest.mark.parametrize("role", ["write", "grade"])
def test_a_model_whose_server_refuses_every_call_is_asked_eight_times(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer, role: str
) -> None:
    write_study(tmp_path, server, probes=["label_flip"], count=20)
    setattr(cast, role, lambda *_: fails(400, "no such thing"))
    name = {"write": "writer", "grade": "checker"}[role]
    for times in (1, 2):
        done = command("generate", "study.yaml", "--out", "run")
        assert done.code == 2
        assert cast.calls[name] == 8 * times
        assert re.search(r"400 \(no such thing\); .* kept", done.err)


def test_an_author_whose_calls_all_fail_is_not_said_to_have_written_before(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server, probes=["label_flip"], count=1)
    cast.write = lambda _: fails(400, "no")
    done = command("generate", "study.yaml", "--out", "run")
    assert re.search(r"1 asked, 0 usable, 1 rejected \(call failed 1\)", done.out)
    assert "No call of" in done.out
