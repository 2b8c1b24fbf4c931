"""Inspect logs: the same counts as Inspect's own reader gives, and clear words where none can be read."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_runs import sample, write_log
from published_data import published
from steelyard.errors import DataError
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import Binary, Item
from steelyard.tasks.transcripts.transcript import Transcript

LOGS = published("inspect_logs")
AGENTHARM = LOGS / "agentharm.eval"

pytest.importorskip("inspect_ai", reason="the extra [inspect] is not installed")
needs_agentharm = pytest.mark.skipif(
    not AGENTHARM.exists(), reason="the log of AgentHarm is not beside the project"
)


def items_of(path: Path, **config: Any) -> tuple[Item, ...]:
    return DataConfig.model_validate({"path": path.name, **config}).split_items(path.parent, Binary(), 7)[0]


def runs_of(path: Path) -> list[Transcript]:
    return [item.transcript for item in items_of(path) if item.transcript is not None]


def counts_of(runs: list[Transcript]) -> dict[str, Any]:
    turns = [turn for run in runs for turn in run.turns]
    return {
        "samples": len(runs),
        "roles": Counter(turn.role for turn in turns),
        "blocks": Counter(block.kind for turn in turns if turn.role == "assistant" for block in turn.blocks),
        "calls": sum(len(turn.calls) for turn in turns),
        "lengths": sorted(len(run.turns) for run in runs),
    }


def inspect_counts(path: Path) -> dict[str, Any]:
    """The same counted on what Inspect itself reads."""
    from inspect_ai.log import read_eval_log

    samples = read_eval_log(str(path)).samples or []
    messages = [message for sample in samples for message in sample.messages]
    blocks: Counter[str] = Counter()
    for message in messages:
        if message.role == "assistant":
            content = message.content
            blocks.update(
                [b.type for b in content] if isinstance(content, list) else ["text"] * bool(content)
            )
    return {
        "samples": len(samples),
        "roles": Counter(message.role for message in messages),
        "blocks": blocks,
        "calls": sum(len(getattr(message, "tool_calls", None) or ()) for message in messages),
        "lengths": sorted(len(sample.messages) for sample in samples),
    }


@pytest.mark.parametrize(
    "path", sorted(p for p in LOGS.glob("*.*") if p.suffix != ".md"), ids=lambda p: p.name
)
def test_every_log_has_the_counts_of_inspects_own_reader(path: Path) -> None:
    assert counts_of(runs_of(path)) == inspect_counts(path)


@needs_agentharm
def test_agentharm_has_its_sixteen_runs() -> None:
    items = items_of(AGENTHARM, stratify="category")
    runs = [item.transcript for item in items if item.transcript is not None]
    counted = counts_of(runs)
    assert counted["samples"] == 16
    assert counted["roles"] == {"system": 16, "user": 16, "assistant": 31, "tool": 17}
    assert counted["blocks"] == {"reasoning": 30, "text": 16}
    assert counted["calls"] == 17
    assert (counted["lengths"][0], counted["lengths"][-1], sum(counted["lengths"])) == (3, 13, 80)
    assert set(Counter(item.stratum for item in items).values()) == {2}
    assert {score.scorer for run in runs for score in run.scores} == {"combined_scorer"}
    assert {run.model for run in runs} == {"openai/gpt-5-nano"}
    assert {item.cluster for item in items} == {item.id for item in items}
    assert all(call.arguments for run in runs for call in run.calls)


@pytest.mark.slow
@needs_agentharm
def test_runs_are_chosen_by_what_the_log_says_of_them_and_drawn_over_strata() -> None:
    drawn = items_of(AGENTHARM, stratify="category", sample={"per_stratum": 1})
    assert len(drawn) == len({item.stratum for item in drawn}) == 8
    assert drawn == items_of(AGENTHARM, stratify="category", sample={"per_stratum": 1})
    refused = items_of(AGENTHARM, where={"score.combined_scorer.refusal": 1})
    scores = {run.scores[0].current.value["refusal"] for run in map(_run, refused)}
    assert scores == {1}
    assert [item.id for item in items_of(AGENTHARM, where={"id": "17-2", "epoch": 1})] == ["17-2"]


def test_scores_of_a_log_can_be_labels() -> None:
    path = next(LOGS.glob("*security-guide.json"))
    items = items_of(path, columns={"label": "score"}, labels={"C": 0, "I": 1})
    assert [item.label for item in items] == ["0", "0", "0"]


def _run(item: Item) -> Transcript:
    assert item.transcript is not None
    return item.transcript


def test_epochs_are_runs_of_one_sample_and_share_its_cluster(tmp_path: Path) -> None:
    path = write_log(tmp_path / "own.json", [sample(), sample(epoch=2)])
    items = items_of(path)
    assert [(item.id, item.cluster, _run(item).epoch) for item in items] == [
        ("s/1", "s", 1),
        ("s/2", "s", 2),
    ]
    assert [item.id for item in items_of(path, where={"epoch": 2})] == ["s/2"]


def test_a_score_keeps_its_history_and_nan_is_unscored(tmp_path: Path) -> None:
    edited = {
        "value": "I",
        "history": [
            {"value": "C", "answer": "yes", "explanation": "looks right"},
            {
                "value": "I",
                "provenance": {
                    "timestamp": "2026-01-02T00:00:00+00:00",
                    "author": "ada",
                    "reason": "looked again",
                },
            },
        ],
    }
    text = write_log(
        tmp_path / "own.json", [sample(scores={"grader": edited, "other": {"value": "NAN"}})]
    ).read_text()
    path = tmp_path / "nan.json"
    path.write_text(text.replace('"NAN"', "NaN"), "utf-8")
    grader, other = _run(items_of(path)[0]).scores
    assert (grader.history[0].value, grader.history[0].author) == ("C", None)
    assert (grader.current.value, grader.current.author, grader.current.reason) == (
        "I",
        "ada",
        "looked again",
    )
    assert (grader.current.answer, grader.current.explanation) == ("yes", "looks right")
    assert other.current.value is None


def test_logs_that_hold_nothing_to_judge_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"empty\.json: the log holds no samples \(its status is 'success'\)"):
        items_of(write_log(tmp_path / "empty.json", []))
    with pytest.raises(DataError, match=r"silent\.json, sample s: column 'messages' holds no messages"):
        items_of(write_log(tmp_path / "silent.json", [sample(messages=[])]))
    odd = [{"role": "assistant", "content": [{"type": "hologram", "x": 1}]}]
    named = r"odd\.json: Inspect can not read this log \(samples\.0\.messages\.0\..*content.*: "
    with pytest.raises(DataError, match=named):
        items_of(write_log(tmp_path / "odd.json", [sample(messages=odd)]))


def test_samples_that_came_to_nothing_are_left_out_on_demand_and_never_silently(tmp_path: Path) -> None:
    crashed = {"message": "the sandbox did not start", "traceback": "", "traceback_ansi": ""}
    samples = [sample(id="a"), sample(id="b", messages=[], error=crashed), sample(id="c", messages=[])]
    path = write_log(tmp_path / "own.json", samples)
    with pytest.raises(DataError, match=r"sample b: column 'messages' holds no messages.*with where"):
        items_of(path)
    with pytest.raises(DataError, match=r"sample c: column 'messages' holds no messages"):
        items_of(path, where={"error": "none"})
    assert [item.id for item in items_of(path, where={"error": "none", "id": ["a", "b"]})] == ["a"]
    with pytest.raises(DataError, match="holds no samples"):
        items_of(write_log(tmp_path / "all.json", [sample(messages=[], error=crashed)]))


def test_damaged_and_missing_logs_are_refused(tmp_path: Path) -> None:
    torn = tmp_path / "torn.eval"
    torn.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(DataError, match=r"torn\.eval: Inspect can not read this log"):
        read_table(torn)
    hollow = tmp_path / "hollow.eval"
    with zipfile.ZipFile(hollow, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(DataError, match=r"hollow\.eval: Inspect can not read this log"):
        read_table(hollow)
    with pytest.raises(DataError, match=r"gone\.eval: no such file"):
        read_table(tmp_path / "gone.eval")


def test_a_json_file_that_is_no_log_still_needs_columns(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"a": "x"}]', "utf-8")
    with pytest.raises(Exception, match="response is not mapped"):
        items_of(tmp_path / "rows.json")


@needs_agentharm
def test_the_adapter_of_agentharm_reads_its_log() -> None:
    items = items_of(AGENTHARM, adapter="agentharm", preprocess=["drop_reasoning"])
    assert len(items) == 16
    assert set(Counter(item.stratum for item in items).values()) == {2}
    assert {_run(item).removals[0].preprocessor for item in items} == {"drop_reasoning"}
    assert (
        sum(len(turn.blocks) for item in items for turn in _run(item).turns if turn.role == "assistant") == 16
    )
    assert DataConfig.model_validate({"path": "x.eval", "adapter": "agentharm"}).failing() == 1
