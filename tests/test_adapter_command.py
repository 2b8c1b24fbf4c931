"""Every public benchmark goes through the command: a file of its layout is planned, judged and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from steelyard.core.registry import Spec
from steelyard.tasks.adapters import ADAPTERS
from steelyard.tasks.task import Pairwise
from test_adapters import fortress, harmbench, vote, write_csv, write_jsonl, write_parquet

ESSAY = {"essay_word_count": 9, "grade_level": 8, "race_ethnicity": "x", "assignment": "Write about phones."}
REWARD = {"prompt": "2+2?", "chosen": "It is 4.", "chosen_model": "a", "rejected": "5", "rejected_model": "b"}
PAIR = {"original_id": "q7", "source": "math", "question": "2+2?", "response_model": "m", "label": "B>A"}
BIASED = {"bias": "length bias", "instruction": "2+2?", "response1": "4", "response2": "It is five."}


def essays(folder: Path) -> Path:
    rows = [
        {"essay_id": f"E{n}", "holistic_essay_score": n, "full_text": f"Text\r{n}.", "prompt_name": "Phones"}
        | ESSAY
        for n in range(1, 7)
    ]
    return write_csv(folder / "persuade.csv", rows)


def llmbar(folder: Path) -> Path:
    for subset, label in (("Natural", 1), ("Adversarial/Manual", 2)):
        (folder / "LLMBar" / subset).mkdir(parents=True)
        row = {"input": f"Say {subset}.", "output_1": "hi", "output_2": "ho ho", "label": label}
        (folder / "LLMBar" / subset / "dataset.json").write_text(json.dumps([row]))
    return folder / "LLMBar"


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "harmbench": lambda folder: write_csv(folder / "harmbench.csv", [harmbench(row) for row in range(4)]),
    "persuade": essays,
    "rewardbench": lambda folder: write_parquet(
        folder / "reward.parquet", [{**REWARD, "id": n, "subset": s} for n, s in ((1, "math"), (2, "chat"))]
    ),
    "judgebench": lambda folder: write_jsonl(
        folder / "judge.jsonl",
        [{**PAIR, "pair_id": f"p{n}", "response_A": f"It is {n}.", "response_B": "4"} for n in range(2)],
    ),
    "llmbar": llmbar,
    "mt_bench": lambda folder: write_jsonl(folder / "votes.jsonl", [vote("model_a", "expert_1")]),
    "evalbiasbench": lambda folder: write_jsonl(
        folder / "biased.jsonl", [{**BIASED, "item_id": n, "label": 1} for n in (1, 2)]
    ),
}


def judged(command: Command, name: str, *data: Any) -> dict[str, Any]:
    """Plan it, measure it with a planted judge, and read the datasheet."""
    pairs = isinstance(ADAPTERS.build(Spec(name)).task.scale, Pairwise)
    judge = "planted/longest" if pairs else "planted/rater?sensitivity=1&specificity=1&noise=0"
    planned = command("measure", *data, "-j", judge, "--dry-run", "--json")
    assert planned.code == 0, planned.err
    calls = sum(row["calls"] for row in json.loads(planned.out)["rows"] if row["judge"].startswith("planted"))
    done = command("measure", *data, "-j", judge, "--out", "run", "--json")
    assert done.code == 0, done.err
    sheet: dict[str, Any] = json.loads(done.out)
    assert sheet["run"]["calls"] == calls > 0
    return sheet


def figure(sheet: dict[str, Any], probe: str, metric: str) -> tuple[int, int]:
    (row,) = [
        row
        for row in sheet["estimates"]
        if row["judge"].startswith("planted") and (row["probe"], row["metric"]) == (probe, metric)
        if not {"slot", "stratum"} & set(row["group"])
    ]
    return row["numerator"], row["denominator"]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_of_its_layout_is_judged(command: Command, tmp_path: Path, name: str) -> None:
    path = LAYOUTS[name](tmp_path)
    sheet = judged(command, name, "--data", path.name, "--adapter", name)
    if isinstance(ADAPTERS.build(Spec(name)).task.scale, Pairwise):
        right, calls = figure(sheet, "position", "accuracy")
        assert 0 <= right <= calls
        assert calls > 0
    else:
        right, calls = figure(sheet, "stochastic_stability", "accuracy")
        assert right == calls > 0


def test_fortress_has_a_second_file_and_no_labels(command: Command, tmp_path: Path) -> None:
    fortress(tmp_path)
    study = "data: {path: f.jsonl, adapter: fortress, responses: {path: r.jsonl, key: ID}}\n"
    (tmp_path / "study.yaml").write_text(study)
    sheet = judged(command, "fortress", "study.yaml")
    assert figure(sheet, "stochastic_stability", "self_agreement")[1] > 0
    rows = [row for row in sheet["estimates"] if row["metric"] == "accuracy" and row["probe"] != "all"]
    assert {row["value"] for row in rows} == {None}
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write("\n")
    done = command(
        "measure", "study.yaml", "-j", "planted/rater?sensitivity=1&specificity=1&noise=0", "--out", "run"
    )
    assert done.code == 2
    assert "r.jsonl has changed since this study was frozen" in done.err


def test_a_list_of_behaviours_has_nothing_to_judge(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps([{"id": "1-1", "id_original": "1", "category": "x", "prompt": "y"}])
    )
    done = command("plan", "--data", "a.json", "--adapter", "agentharm", "-j", "planted/rater")
    assert done.code == 2
    assert "a.json: AgentHarm is judged on transcripts of agents" in done.err


def test_every_adapter_is_tried_here() -> None:
    assert {*LAYOUTS, "fortress", "agentharm"} == set(ADAPTERS.names())
