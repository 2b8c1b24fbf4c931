"""Stimuli as Inspect logs: read back by Inspect without a warning, edits marked, verdicts kept."""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agent_runs import stock_sample, write_log
from commands import Command
from own_judges import measured, study_of
from published_data import published
from steelyard.errors import ConfigError
from steelyard.inspect_logs.export import chat_messages, export_inspect
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.pack import agent_pack
from steelyard.tasks.sources.inspect_log import transcript_of_sample
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.transcript import Block, ToolCall, Turn

inspect_log = pytest.importorskip("inspect_ai.log")

AGENTHARM = published("inspect_logs") / "agentharm.eval"


def strictly_read(path: Path) -> Any:
    """The log by Inspect's reader; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return inspect_log.read_eval_log(str(path), resolve_attachments=True)


def said(turns: Iterable[Turn]) -> list[Any]:
    """What messages hold, without their ids and what a provider adds to blocks."""
    return [
        (t.role, [(b.kind, b.text) for b in t.blocks], t.calls, t.call, t.function, t.error) for t in turns
    ]


def stimuli(folder: Path) -> dict[str, Stimulus]:
    lines = (folder / "stimuli.jsonl").read_text().splitlines()
    return {each.id: each for each in (Stimulus.from_json(json.loads(line)) for line in lines)}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of a judge on the built-in transcripts."""
    probes = ["forged_result", "evidence_deletion"]
    measured(study_of({"judges": ["planted/rater?noise=0"], "probes": probes}), tmp_path / "run")
    return tmp_path / "run"


def test_a_run_goes_to_inspect_and_back(run: Path, command: Command, caplog: Any) -> None:
    done = command("export", "run", "--inspect")
    assert done.code == 0, done.err
    made = stimuli(run)
    logs = {path.stem: strictly_read(path) for path in (run / "inspect").glob("*.eval")}
    assert set(logs) == {each.probe for each in made.values()} >= {"forged_result", "original"}
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    for name, log in logs.items():
        assert f"{name}.eval: {len(log.samples)} sample" in done.out
        assert log.status == "success"
        assert log.eval.task == name
        for sample in log.samples:
            stimulus = made.pop(sample.id)
            assert stimulus.transcript is not None
            assert said(transcript_of_sample(sample, log, "").turns) == said(stimulus.transcript.turns)
            told = sample.metadata["steelyard"]
            assert (told["probe"], told["edit"]) == (stimulus.probe, stimulus.lineage.edit)
            assert told["hash"] == stimulus.hash
            assert sample.metadata["category"] == stimulus.transcript.metadata["category"]
            marked = [m for m in sample.messages if (m.metadata or {}).get("steelyard", {}).get("edited")]
            assert len(marked) == sum(c.after is not None for c in stimulus.changes or ())
            score = sample.scores["planted/rater"]
            assert str(score.value) == score.answer
    assert not made


SPENT = ("cost", "tokens")
"""How metrics begin that tell what calls have cost: a log of verdicts holds no bill."""
COMPARED = ("value", "numerator", "denominator", "intervals", "n_calls", "n_units", "n_clusters", "finding")


def told(folder: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    """Every estimate of a folder's datasheet but its bill."""
    sheet = json.loads((folder / "datasheet.json").read_text())
    return {
        (e["judge"], e["probe"], e["metric"], json.dumps(e["group"], sort_keys=True)): e
        for e in sheet["estimates"]
        if not e["metric"].startswith(SPENT)
    }


def test_every_estimate_survives_the_way_there_and_back(tmp_path: Path, command: Command) -> None:
    judge = "planted/rater?noise=0.2&sensitivity=0.8"
    measured(study_of({"judges": [judge], "probes": ["agentic"], "replicates": 2}), tmp_path / "run")
    assert command("export", "run", "--inspect", "--out", "logs").code == 0
    logs = sorted(str(path) for path in (tmp_path / "logs").glob("*.eval"))
    done = command("import", *logs, "--out", "back")
    assert done.code == 0, done.err
    before, after = told(tmp_path / "run"), told(tmp_path / "back")
    assert set(before) == set(after)
    metrics = {"error_rate", "missed_failure_rate", "false_alarm_rate", "length_gap"}
    assert metrics <= {metric for _, _, metric, _ in before}
    assert {"edit", "place", "size", "stratum"} <= {key for *_, group in before for key in json.loads(group)}
    for key, estimate in before.items():
        if key[1] == "volatility":  # the order of probes rounds its sums differently
            assert estimate["value"] == pytest.approx(after[key]["value"])
            continue
        assert {name: estimate[name] for name in COMPARED} == {name: after[key][name] for name in COMPARED}
    # The lines that the import keeps are read again, and make the same figures.
    assert command("report", "back").code == 0
    assert told(tmp_path / "back") == after


def test_verdicts_that_are_none_are_unscored(tmp_path: Path, command: Command) -> None:
    rows = [{"q": "Sky?", "a": "Blue.", "y": 1}, {"q": "Sea?", "a": "Red.", "y": 0}]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = "def judge(request, response):\n    return 'hm' if 'Sky' in request else 1\n"
    (tmp_path / "silent.py").write_text(code)
    (tmp_path / "rubric.md").write_text("Be right.")
    asked = ("--data", "texts.jsonl", "--columns", "request=q,response=a,label=y", "--scale", "binary")
    rest = (
        "--rubric",
        "rubric.md",
        "-p",
        "stochastic_stability",
        "-j",
        "python/silent:judge",
        "--no-preflight",
    )
    done = command("measure", *asked, *rest, "--out", "run")
    assert (tmp_path / "run" / "run.db").exists(), done.err
    (log,) = export_inspect(tmp_path / "run", tmp_path / "logs")
    read = strictly_read(log.path)
    assert [[m.role for m in sample.messages] for sample in read.samples] == [["user", "assistant"]] * 2
    values = {s.id: s.scores["python/silent:judge"] for s in read.samples}
    lost = [score for score in values.values() if math.isnan(score.value)]
    assert [score.reason for score in lost] == ["invalid_response_format"]
    (result,) = [r for r in read.results.scores if r.name == "python/silent:judge"]
    assert (result.scored_samples, result.unscored_samples) == (1, 1)
    assert result.metrics["mean"].value == 1.0


def test_every_kind_of_block_is_kept_or_named() -> None:
    turns = (
        Turn(
            "assistant",
            (Block("reasoning", "", {"reasoning": "x9", "redacted": True}), Block("text", "Look.")),
        ),
        Turn("assistant", (Block("text", "a"), Block("image", "", {"image": "data:image/png;base64,AA=="}))),
        Turn("assistant", (Block("document", "", {"strange": 1}), Block("tool_use", "", {}))),
        Turn("assistant", (), (ToolCall("c", "f", {"arguments": "{"}, "not valid JSON"),)),
        Turn("tool", (), call="c", function="f", error="timed out"),
    )
    first, image, strange, call, result = chat_messages(turns)
    assert (first.content[0].redacted, first.content[0].reasoning) == (True, "x9")
    assert image.content[1].image.startswith("data:")
    assert [block.text for block in strange.content] == ["[document]", "[tool use]"]
    assert call.tool_calls[0].parse_error == "not valid JSON"
    assert result.error.message == "timed out"
    again = turns_of([message.model_dump(exclude_none=True) for message in (first, image, call, result)], "")
    assert [turn.calls for turn in again][2] == turns[3].calls


def test_the_pack_survives_the_way_there_and_back() -> None:
    for run in agent_pack():
        messages = [m.model_dump(exclude_none=True) for m in chat_messages(run.transcript.turns)]
        assert said(turns_of(messages, "")) == said(run.transcript.turns)


@pytest.mark.skipif(not AGENTHARM.exists(), reason="the log of AgentHarm is not beside the project")
def test_a_log_of_others_keeps_its_messages() -> None:
    log = inspect_log.read_eval_log(str(AGENTHARM), resolve_attachments=True)
    for sample in log.samples:
        turns = transcript_of_sample(sample, log, "").turns
        again = turns_of([m.model_dump(exclude_none=True) for m in chat_messages(turns)], "")
        assert [turn.to_json() for turn in again] == [turn.to_json() for turn in turns]


def test_folders_without_runs_are_refused(tmp_path: Path, command: Command) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        export_inspect(tmp_path, tmp_path / "logs")
    assert command("measure", "-p", "vacuum", "-j", "planted/coin", "--out", "pairs").code == 0
    done = command("export", "pairs", "--inspect")
    assert done.code == 2
    assert "no sample of Inspect" in done.err
    assert command("export", "pairs").code == 0


def test_generated_stimuli_go_out_before_anybody_judges(tmp_path: Path, command: Command) -> None:
    write_log(tmp_path / "own.eval", [stock_sample(n) for n in range(2)])
    (tmp_path / "rubric.md").write_text("Be right.")
    given = ("--data", "own.eval", "--scale", "binary", "--rubric", "rubric.md", "-p", "truncated_tail")
    assert command("measure", *given, "-j", "planted/rater", "--out", "run").code == 0
    (tmp_path / "run" / "run.db").rename(tmp_path / "gone.db")
    logs = export_inspect(tmp_path / "run", tmp_path / "logs")
    assert {log.probe: log.scores for log in logs} == {"original": 0, "truncated_tail": 0}
    with pytest.raises(ConfigError, match="may hold scores that were added to it"):
        export_inspect(tmp_path / "run", tmp_path / "logs")
    assert strictly_read(logs[0].path).eval.model == "mockllm/model"
