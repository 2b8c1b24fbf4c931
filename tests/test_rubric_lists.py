"""Several rubrics: every run by every rubric, labels of each, and lists that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from agent_runs import stock_messages
from commands import Command
from steelyard.errors import ConfigError
from steelyard.stimuli.stimulus import StimulusSet
from steelyard.tasks.data_config import DataConfig, read_rubrics
from steelyard.tasks.task import Binary, Ordinal

RUBRICS = [
    {"id": "honest", "instructions": "Do the last words hold?"},
    {
        "id": "care",
        "instructions": "How careful was the agent?",
        "score_levels": [
            {"score": 1, "label": "careless"},
            {"score": 2, "label": "fair", "description": "one slip"},
            {"score": 3, "label": "careful"},
        ],
    },
]


def write(folder: Path, body: object = RUBRICS, name: str = "rubrics.yaml") -> Path:
    path = folder / name
    path.write_text(json.dumps(body) if name.endswith(".json") else yaml.safe_dump(body), "utf-8")
    return path


@pytest.mark.parametrize("name", ["rubrics.yaml", "rubrics.json"])
def test_a_list_is_read_with_its_levels(tmp_path: Path, name: str) -> None:
    honest, care = read_rubrics(write(tmp_path, name=name))
    assert (honest.text, honest.scale) == ("Do the last words hold?", None)
    assert care.scale == Ordinal(1, 3)
    assert care.text.endswith("Levels:\n1: careless\n2: fair: one slip\n3: careful")
    assert [rubric.id for rubric in read_rubrics(write(tmp_path), ["care"])] == ["care"]


def test_levels_may_be_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("- {id: a, instructions: Judge it, score_levels: {0: no, 1: 'yes'}}\n", "utf-8")
    with pytest.raises(ConfigError, match="score_levels"):
        read_rubrics(path)  # an unquoted no is a truth value
    path.write_text("- {id: a, instructions: Judge it, score_levels: {0: 'no', 1: 'yes'}}\n", "utf-8")
    assert read_rubrics(path)[0].scale == Binary()


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ({1: "a", 3: "b"}, "score_levels has 1, 3, expected whole numbers that follow each other"),
        ({1: "a"}, "score_levels has 1, expected whole numbers that follow each other, at least two"),
        ({1: "a", 2: " "}, "score_levels has a level without a label"),
        ([{"score": 1, "label": "a"}, {"score": 1, "label": "b"}], "score_levels has a score twice"),
    ],
)
def test_levels_that_make_no_scale_are_refused(tmp_path: Path, levels: object, told: str) -> None:
    body = [{"id": "x", "instructions": "i", "score_levels": levels}]
    with pytest.raises(ConfigError, match=told):
        read_rubrics(write(tmp_path, body))


def test_lists_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two rubrics have the id 'honest'"):
        read_rubrics(write(tmp_path, [RUBRICS[0], RUBRICS[0]]))
    with pytest.raises(ConfigError, match="no rubric 'kind' in"):
        read_rubrics(write(tmp_path), ["kind"])
    with pytest.raises(ConfigError, match="cannot be read"):
        read_rubrics(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="instructions"):
        read_rubrics(write(tmp_path, [{"id": "x"}]))
    with pytest.raises(ConfigError, match="rubrics"):
        read_rubrics(write(tmp_path, []))


def rows(folder: Path, count: int = 3) -> None:
    body = [
        {
            "name": f"r{n}",
            "messages": stock_messages(n, 9 if n == 1 else None),
            "verdict.honest": int(n != 1),
            "verdict.care": 1 + n,
        }
        for n in range(count)
    ]
    (folder / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in body), "utf-8")


def test_every_run_is_judged_by_every_rubric_with_its_own_labels(tmp_path: Path) -> None:
    rows(tmp_path)
    columns = {"messages": "messages", "id": "name", "label": "verdict"}
    config = DataConfig.model_validate({"path": "runs.jsonl", "columns": columns, "sample": 2})
    chosen, others = config.split_items(tmp_path, Binary(), 7, read_rubrics(write(tmp_path)))
    assert len(chosen) == 4
    assert len(others) == 2
    drawn = {item.cluster for item in chosen}
    assert {item.id for item in chosen} == {
        f"{run}/{rubric}" for run in drawn for rubric in ("honest", "care")
    }
    labels = {item.id: item.label for item in (*chosen, *others)}
    assert (labels["r1/honest"], labels["r2/honest"], labels["r2/care"]) == ("0", "1", "3")
    with pytest.raises(Exception, match=r"no column 'other\.honest' for the labels of rubric 'honest'"):
        DataConfig.model_validate(
            {"path": "runs.jsonl", "columns": {**columns, "label": "other"}}
        ).split_items(tmp_path, Binary(), 7, read_rubrics(write(tmp_path)))


def test_a_study_with_several_rubrics_runs(command: Command, tmp_path: Path) -> None:
    rows(tmp_path)
    write(tmp_path)
    study = {
        "judges": ["planted/rater?noise=0&sensitivity=1&specificity=1"],
        "task": {"scale": "binary", "rubrics": "rubrics.yaml"},
        "data": {
            "path": "runs.jsonl",
            "columns": {"messages": "messages", "id": "name", "label": "verdict"},
        },
        "probes": ["forged_result", "stochastic_stability"],
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(study), "utf-8")
    done = command("measure", path, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    stimuli = list(StimulusSet.read(tmp_path / "run" / "stimuli.jsonl"))
    assert {s.scale for s in stimuli} == {"binary", "1-3"}
    assert {s.failing for s in stimuli if s.scale == "1-3"} == {"1"}
    assert {s.cluster for s in stimuli} == {"r0", "r1", "r2"}
    only = {**study, "task": {**study["task"], "target_rubric_ids": ["care"]}, "name": "only"}  # type: ignore[dict-item]
    path.write_text(yaml.safe_dump(only), "utf-8")
    done = command("plan", path)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ({"target_rubric_ids": ["a"]}, "target_rubric_ids: found without rubrics"),
        ({"rubrics": "r.yaml"}, "task.rubrics: found without data"),
    ],
)
def test_rubrics_without_what_they_need_are_refused(
    command: Command, tmp_path: Path, task: dict[str, object], told: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        yaml.safe_dump({"judges": ["planted/rater"], "task": {"scale": "binary", **task}}), "utf-8"
    )
    done = command("plan", path)
    assert (done.code, told in done.err) == (2, True), done.err
