"""A judge that declines to answer is told as one: not as a judge that ties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.commands.gate.policy import parse_policy
from steelyard.commands.gate.ruling import apply_policy
from steelyard.commands.import_verdicts import import_verdicts
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.clauses import fact_text, text
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
    return next(text(reading.clause.whole) for reading in sheet.findings if reading.title == title)


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
    assert "; abstains in 4 of 5 calls" in sentence(sheet, "Accuracy")
    assert "; abstains in 4 of 5 calls" in sentence(sheet, "Failures")


def test_the_count_is_in_the_file_where_there_is_one() -> None:
    silent = Estimate("j", "ladder", "miss_by_tie", {}, "call", 1.0, numerator=4, denominator=4, abstained=3)
    assert silent.to_json()["abstained"] == 3
    assert Estimate.from_json(silent.to_json()) == silent
    assert "abstained" not in Estimate("j", "ladder", "miss_by_tie", {}, "call", 1.0).to_json()


def scores(declines: int, scale: str = "binary", of: int = 100, repeats: int = 2) -> list[dict[str, Any]]:
    """A judge that is right wherever it answers, and declines on the first items, in each first repeat."""
    top = 2 if scale == "binary" else 5
    return [
        {"judge": "shy", "probe": "unchanged", "item": f"i{n:03}", "variant": "original", "scale": scale,
         "replicate": again, "expected": n % top + (scale != "binary"),
         **({"score": None, "outcome": "abstain"} if n < declines and not again
            else {"score": n % top + (scale != "binary")})}
        for n in range(of)
        for again in range(repeats)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scale", "metrics"),
    [
        ("binary", ["kappa", "balanced_accuracy", "gwet_ac1", "leniency", "pass_rate"]),
        ("1-5", ["qwk", "mae", "ccc", "icc", "leniency"]),
    ],
)
def test_a_figure_that_leaves_abstentions_out_counts_them(
    tmp_path: Path, scale: str, metrics: list[str]
) -> None:
    sheet = read(tmp_path, scores(30, scale))
    figures = {e.metric: e for e in sheet.estimates if e.value is not None}
    assert {metric: figures[metric].left_out for metric in metrics} == dict.fromkeys(metrics, 30)
    assert (figures["accuracy"].left_out, figures["accuracy"].abstained) == (0, 30)
    assert figures["kappa" if scale == "binary" else "qwk"].to_json()["left_out"] == 30
    assert "left_out" not in figures["accuracy"].to_json()


@pytest.mark.parametrize(
    ("declines", "result", "reason"),
    [
        (30, "INCONCLUSIVE", "30 calls abstained, which it leaves out and accuracy counts"),
        (2, "PASS", "the whole interval lies within; 2 calls abstained, which it leaves out"),
        (0, "PASS", "the whole interval lies within"),
    ],
)
def test_no_judge_passes_for_what_it_did_not_answer(
    tmp_path: Path, declines: int, result: str, reason: str
) -> None:
    """Of 200 calls at most 2 in 100 may be no part of a figure that passes."""
    sheet = read(tmp_path, scores(declines))
    rules = parse_policy({"kappa": {"min": 0.6}, "accuracy": {"min": 0.6}}, "policy.yaml")
    kappa, accuracy = apply_policy(sheet, rules, ["shy"], "policy.yaml").checks
    assert (kappa.result, kappa.reason) == (result, reason)
    aside = f"; abstains in {declines} of 200 calls" if declines else ""
    assert (accuracy.result, accuracy.reason) == ("PASS", f"the whole interval lies within{aside}")
    [verdict] = sheet.verdicts
    assert [fact_text(fact).endswith(aside) for fact in verdict.facts if fact.title == "Accuracy"] in (
        [True],
        [],
    )


def test_abstentions_do_not_keep_a_judge_from_failing(tmp_path: Path) -> None:
    lines = [{**line, "expected": 1 - line["expected"]} for line in scores(30)]
    rules = parse_policy({"kappa": {"min": 0.6}}, "policy.yaml")
    [kappa] = apply_policy(read(tmp_path, lines), rules, ["shy"], "policy.yaml").checks
    assert kappa.result == "FAIL"


@pytest.mark.parametrize(("declines", "word"), [(30, "measured"), (0, "clear")])
def test_a_judge_that_abstains_now_and_then_is_not_called_repeatable(
    tmp_path: Path, declines: int, word: str
) -> None:
    """Its scores never differ: the intraclass correlation is 1 whatever it abstains from."""
    sheet = read(tmp_path, scores(declines, "1-5"))
    [reading] = [each for each in sheet.findings if each.title == "Repeatability"]
    assert reading.status == word
    assert ("30 calls abstained, which that leaves out" in text(reading.clause.whole)) is bool(declines)
    assert f"{100 - declines} of {100 - declines} pairs of repeats" in text(reading.clause.whole)
