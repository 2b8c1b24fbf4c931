"""Passing means the passing label: where 1 is the failing answer, as for harm, leniency goes by 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import Command
from said import answered, clause
from scores import calls
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.render.clauses import text
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.scores.probe import unchanged_estimates
from steelyard.tasks.task import Item
from steelyard.verdicts.observations import Observations


def figures(
    answers: Sequence[int], labels: Sequence[int | None], failing: int | None, scale: str = "binary"
) -> dict[str, Estimate]:
    rows = calls(answers, labels, scale=scale)
    if failing is not None:
        rows = [replace(row, stimulus=replace(row.stimulus, failing=str(failing))) for row in rows]
    return {e.metric: e for e in unchanged_estimates("j", Observations.of(rows), 7)}


LABELS = [1] * 10 + [0] * 10
"""Ten harmful texts, ten harmless ones."""
BLIND = [1] * 4 + [0] * 6 + [0] * 10
"""Lets six of the ten harmful texts pass, and accuses none wrongly."""


def test_a_judge_that_lets_harm_pass_is_lenient_by_hand() -> None:
    found = figures(BLIND, LABELS, failing=1)
    assert found["leniency"].value == pytest.approx((0.6 - 0.0) / 2)
    assert (found["pass_rate"].numerator, found["pass_rate"].denominator) == (16, 20)
    assert found["pass_rate"].chance == 0.5
    _, said = answered("Leniency", JudgeEstimates("j", EstimateIndex(found.values()))) or ("", "")
    assert said.startswith("is lenient: ")
    assert "; leniency +0.30 [" in said
    assert "passes 6 of 10 calls that should fail" in said
    assert "fails 0 of 10 calls that should pass" in said
    assert "passes 0.80 of calls where the references pass 0.50" in said
    fact = text(clause("Leniency", JudgeEstimates("j", EstimateIndex(found.values()))).short)
    assert said.startswith(f"{fact}; passes 0.80")


def test_the_same_answers_are_strict_where_one_is_good() -> None:
    found = figures(BLIND, LABELS, failing=0)
    assert found["leniency"].value == pytest.approx(-0.3)
    assert found["pass_rate"].numerator == 4
    _, said = answered("Leniency", JudgeEstimates("j", EstimateIndex(found.values()))) or ("", "")
    assert said.startswith("is strict")
    assert "fails 6 of 10 calls that should pass" in said


def test_scores_lean_to_the_passing_end() -> None:
    answers, labels = [1, 2, 3, 4] * 5, [2, 3, 4, 5] * 5
    for failing, value, turned in ((None, -0.25, False), (1, -0.25, False), (5, 0.25, True)):
        found = figures(answers, labels, failing, "1-5")["leniency"]
        assert (found.value, found.details.get("high_fails", False)) == (pytest.approx(value), turned)
        assert ("5 is the failing answer" in (found.note or "")) is turned


def test_one_item_whose_failing_answer_is_the_high_one_turns_the_words() -> None:
    first, *others = calls(BLIND, LABELS)
    turned = replace(first, stimulus=replace(first.stimulus, failing="1"))
    for rows, high_fails in (([turned, *others], True), ([first, *others], False)):
        found = unchanged_estimates("j", Observations.of(rows), 7)
        assert next(e for e in found if e.metric == "leniency").details.get("high_fails", False) is high_fails


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=4, max_size=20))
def test_turning_scale_and_failing_answer_round_changes_nothing(rows: list[tuple[int, int]]) -> None:
    answers, labels = [row[0] for row in rows], [row[1] for row in rows]
    plain = figures(answers, labels, None)
    turned = figures([1 - a for a in answers], [1 - label for label in labels], failing=1)
    for metric in ("leniency", "pass_rate"):
        one, other = plain[metric], turned[metric]
        assert (one.value, one.numerator, one.chance, one.status) == (
            other.value,
            other.numerator,
            other.chance,
            other.status,
        )
        assert [(i.low, i.high) for i in one.intervals] == [(i.low, i.high) for i in other.intervals]


def test_what_fails_is_no_part_of_what_a_text_is() -> None:
    text = Item("a", "request", ("response",), "c", "1")
    assert replace(text, failing="1").content == text.content


def test_texts_whose_high_answer_fails(command: Command, tmp_path: Path) -> None:
    rows = [f"request {n},answer {n},{n % 2}" for n in range(20)]
    (tmp_path / "texts.csv").write_text("\n".join(["request,response,label", *rows]))
    (tmp_path / "rubric.md").write_text("Score 1 for harm.")
    data = ("--data", "texts.csv", "--columns", "request=request,response=response,label=label")
    given = (*data, "--scale", "binary", "--rubric", "rubric.md", "-p", "stochastic_stability")
    judge = ("-j", "planted/rater?sensitivity=0.2&specificity=1&noise=0")
    plain = command("measure", *given, *judge, "--out", "plain", "--json")
    turned = command("measure", *given, *judge, "--failing", "1", "--out", "turned", "--json")
    assert (plain.code, turned.code) == (0, 0), turned.err
    (down,), (up,) = (
        [r["value"] for r in done.rows if r["metric"] == "leniency" and r["judge"].startswith("planted")]
        for done in (plain, turned)
    )
    assert up == -down > 0
    assert not [r for r in turned.rows if r["probe"] == "runs"], "texts are no runs"
    known = [(tmp_path / run / "stimuli.jsonl").read_text().count('"failing"') for run in ("plain", "turned")]
    assert known[0] == 0 < known[1]
