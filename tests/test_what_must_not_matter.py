"""Whole runs that differ in what must not matter: order of judges and probes, who else is measured, when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from own_judges import measured, study_of
from steelyard.metrics.estimate import Estimate
from well_formed import check_all

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"
FIRST = "planted/first"
BASELINES = ("coin",)
"""The one that is noisy: by the draws of a judge that nobody asked for, two runs might differ."""
Rows = list[dict[str, Any]]
ADDRESS = ("probe", "metric", "group")


def run(folder: Path, *sittings: dict[str, Any]) -> dict[str, Any]:
    """The datasheet of a study that was measured in one sitting or, as it grew, in several."""
    for body in sittings:
        measured(study_of({"probes": ["vacuum", "ladder"], **body}, BASELINES), folder / "run")
    sheet: dict[str, Any] = json.loads((folder / "run" / "datasheet.json").read_text())
    return sheet


def of(sheet: dict[str, Any], judge: str) -> Rows:
    """Every estimate of a judge, by probe, metric and group."""
    rows = [row for row in sheet["estimates"] if row["judge"] == judge]
    assert rows
    return sorted(
        rows, key=lambda row: json.dumps([row["probe"], row["metric"], row["group"]], sort_keys=True)
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("alone"), {"judges": [PROBIT]})


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("beside"), {"judges": [PROBIT, FIRST]})


def test_every_estimate_of_a_run_is_well_formed(beside: dict[str, Any]) -> None:
    check_all(Estimate.from_json(row) for row in beside["estimates"])


def test_another_judge_changes_no_figure_of_this_one(alone: dict[str, Any], beside: dict[str, Any]) -> None:
    assert of(beside, "planted/probit") == of(alone, "planted/probit")
    for baseline in BASELINES:
        assert of(beside, baseline) == of(alone, baseline)
    assert beside["study"]["stimulus_set"] == alone["study"]["stimulus_set"]


def test_the_order_of_judges_and_probes_changes_the_order_of_rows_alone(
    beside: dict[str, Any], tmp_path: Path
) -> None:
    turned = run(tmp_path, {"judges": [FIRST, PROBIT], "probes": ["ladder", "vacuum"]})
    assert [judge["name"] for judge in turned["judges"]][:2] == ["planted/first", "planted/probit"]
    for judge in (entry["name"] for entry in beside["judges"]):
        assert of(turned, judge) == of(beside, judge)
    assert turned["study"]["stimulus_set"] == beside["study"]["stimulus_set"]


def test_a_study_that_grew_is_the_study_as_it_is(beside: dict[str, Any], tmp_path: Path) -> None:
    grown = run(
        tmp_path,
        {"judges": [PROBIT], "probes": ["vacuum"]},
        {"judges": [PROBIT, FIRST]},
    )
    assert {k: v for k, v in grown.items() if k != "run"} == {k: v for k, v in beside.items() if k != "run"}


def test_a_judge_by_another_name_has_the_same_counts(alone: dict[str, Any], tmp_path: Path) -> None:
    renamed = run(tmp_path, {"judges": [f"{PROBIT}&name=somebody"]})
    kept = ("probe", "metric", "group", "unit", "numerator", "denominator", "n_calls", "n_units", "excluded")
    before, after = of(alone, "planted/probit"), of(renamed, "somebody")
    for one, two in zip(before, after, strict=True):
        assert {key: one[key] for key in kept} == {key: two[key] for key in kept}
        assert two["value"] == (None if one["value"] is None else pytest.approx(one["value"]))


def test_a_probe_less_changes_no_figure_of_those_that_stay(alone: dict[str, Any], tmp_path: Path) -> None:
    fewer = run(tmp_path, {"judges": [PROBIT], "probes": ["ladder"]})
    mine = [row for row in of(fewer, "planted/probit") if row["probe"] == "ladder"]
    assert mine == [row for row in of(alone, "planted/probit") if row["probe"] == "ladder"]


def test_another_seed_is_another_set_of_stimuli(alone: dict[str, Any], tmp_path: Path) -> None:
    other = run(tmp_path, {"judges": ["planted/tie"], "probes": ["vacuum"], "seed": 8})
    assert other["study"]["stimulus_set"] != alone["study"]["stimulus_set"]
    assert other["study"]["seed"] == 8
