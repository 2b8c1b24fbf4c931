"""A judge that declines to answer is told as one: not as a judge that ties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.datasheet.datasheet import Datasheet
from steelyard.lab.import_verdicts import import_verdicts
from steelyard.metrics.estimate import Estimate


def ladder(answers: dict[str, list[str]]) -> list[dict[str, Any]]:
    """One-step pairs of four tasks, u the better text, and answers with u first and v first by task."""
    return [
        {"judge": "shy", "probe": "ladder", "task": task, "pair": f"{task}-1", "delta": 1, "kind": "prefix",
         "better": "u", "first": first, "answer": answer}
        for task, both in answers.items()
        for first, answer in zip("uv", both, strict=True)
    ]  # fmt: skip


def read(tmp_path: Path, lines: list[dict[str, Any]]) -> Datasheet:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return import_verdicts([path], tmp_path / "run").datasheet


def sentence(sheet: Datasheet, title: str) -> str:
    return next(reading.sentence for reading in sheet.readings if reading.title == title)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (["abstain", "abstain"], "; misses by abstention 1.00 ["),
        (["tie", "tie"], "; misses by tie or abstention 1.00 ["),
    ],
)
def test_a_miss_by_abstention_is_no_tie(tmp_path: Path, second: list[str], expected: str) -> None:
    shy = ["abstain", "abstain"]
    sheet = read(tmp_path, ladder({"a": shy, "b": second, "c": shy, "d": second}))
    assert expected in sentence(sheet, "Sensitivity")
    declined = 8 if second == shy else 4
    assert f"; abstains in {declined} of 8 calls" in sentence(sheet, "Failures")


def test_a_judge_of_scores_that_declines_is_told_so(tmp_path: Path) -> None:
    sheet = read(
        tmp_path,
        [
            {"judge": "shy", "probe": "stochastic_stability", "task": f"t{n}", "item": f"i{n}",
             "variant": "original", "score": None if n else 1, "expected": 1,
             **({"outcome": "abstain"} if n else {})}
            for n in range(5)
        ],
    )  # fmt: skip
    assert "gives the reference answer in 1 of 5 calls" in sentence(sheet, "Accuracy")
    assert "; abstains in 4 of 5 calls; " in sentence(sheet, "Accuracy")
    assert "; abstains in 4 of 5 calls" in sentence(sheet, "Failures")


def test_the_count_is_in_the_file_where_there_is_one() -> None:
    silent = Estimate("j", "ladder", "miss_by_tie", {}, "call", 1.0, numerator=4, denominator=4, abstained=3)
    assert silent.to_json()["abstained"] == 3
    assert Estimate.from_json(silent.to_json()) == silent
    assert "abstained" not in Estimate("j", "ladder", "miss_by_tie", {}, "call", 1.0).to_json()
