"""Inspect logs as tables of ratings, written by Inspect itself and by real evaluations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_runs import write_log
from commands import Command
from published_data import published
from steelyard.errors import ConfigError, DataError
from steelyard.importing.ratings import RatingColumns
from steelyard.survey.rating_files import load_ratings

pytest.importorskip("inspect_ai")

from test_inspect_import import GRADER, scored

REAL = published("inspect_logs")


def said(path: Path, **how: Any) -> list[tuple[str, str, str, float | None]]:
    table = load_ratings(path, RatingColumns(**how))
    return [(row.item, row.rater, row.kind, row.value) for row in table.ratings]


def test_an_edit_is_the_persons_and_the_first_value_the_judges(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    write_log(path, [scored("a", "C"), scored("b", "C", "I"), scored("c", "N"), scored("d", "P", "C", "I")])
    assert said(path) == [
        ("a", GRADER, "judge", 1.0),
        ("b", GRADER, "judge", 1.0),
        ("b", "Ada", "human", 0.0),
        ("c", GRADER, "judge", None),  # no answer is no grade
        ("d", GRADER, "judge", 0.5),
        ("d", "Ada", "human", 0.0),
    ]


def test_an_epoch_is_another_item_of_its_task(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    write_log(path, [scored("a", "C"), scored("a", "I", epoch=2), scored("b", float("nan"))])
    table = load_ratings(path, RatingColumns())
    assert sorted((row.item, row.task, row.value) for row in table.ratings) == [
        ("a/1", "a", 1.0),
        ("a/2", "a", 0.0),
        ("b/1", "b", None),
    ]


def test_metadata_that_a_log_does_not_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    write_log(path, [scored("a", "C")])
    with pytest.raises(DataError, match="no metadata 'level', expected one of"):
        said(path, columns={"stratum": "level"})


def test_code_is_no_judge_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    write_log(path, [scored("a", 1, scorer="match")])
    with pytest.raises(
        DataError, match="Inspect does not say whether judges, people or code gave the scores 'match'"
    ):
        said(path)
    assert said(path, judges=("match",)) == [("a", "match", "judge", 1.0)]
    with pytest.raises(ConfigError, match="--columns value=… found, expected task, stratum or system"):
        said(path, columns={"value": "x"})
    with pytest.raises(ConfigError, match="--where found, expected none for the export of a tool"):
        said(path, judges=("match",), where={"split": "test"})


def test_estimate_of_a_log(command: Command, tmp_path: Path) -> None:
    samples = [scored(f"{n}", "C" if n % 4 else "I", *(["I"] if n < 20 else [])) for n in range(80)]
    for n, each in enumerate(samples):
        each["metadata"] = {"category": "ab"[n % 2]}
    write_log(tmp_path / "run.eval", samples)
    done = command(
        *("estimate", "run.eval", "--design", "random", "--columns", "stratum=category"),
        *("--by", "stratum", "--json"),
    )
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert (body["judge"], body["people"], body["items"], body["labels"]) == (GRADER, ["Ada"], 80, 20)
    assert body["judge_only"]["value"] == pytest.approx(0.75)
    assert body["corrected"]["value"] == pytest.approx(0)
    assert [row["name"] for row in body["strata"]] == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    sorted(
        {"2025-05-12T20-28-13-04-00_popularity.json", *(each.name for each in REAL.glob("agentharm.eval"))}
    ),
)
def test_logs_of_real_evaluations(name: str) -> None:
    with pytest.raises(DataError, match="name those of judges with --judge and those of people") as caught:
        said(REAL / name)
    scorer = str(caught.value).split("the scores '")[1].split("'")[0]
    rows = said(REAL / name, judges=(scorer,))
    assert len(rows) >= 3
    assert {row[2] for row in rows} == {"judge"}
