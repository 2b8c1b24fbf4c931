from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from commands import Command
from own_judges import measured, study_of
from pairs import pair
from scores import call
from servers import Answer, Received, ScriptedServer, says
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.strata import MOST, Pieces, strata_estimates
from steelyard.verdicts.observations import Observation, Observations

TOPICS = ("account", "billing", "returns", "shipping")


def scored(stratum: str, item: int, answer: int | str, expected: int | None) -> Observation:
    observation = call(f"{stratum}-{item}", answer, expected)
    return replace(observation, stimulus=replace(observation.stimulus, stratum=stratum))


def by(estimates: list[Estimate], metric: str) -> dict[str, Estimate]:
    return {str(e.group["stratum"]): e for e in estimates if e.metric == metric}


def made(*rows: Observation) -> list[Estimate]:
    return strata_estimates("j", Observations.of(rows), 7)


def test_every_stratum_has_its_own_counts_and_they_add_up() -> None:
    rows = [scored("a", n, int(n < 6), 1) for n in range(8)] + [
        scored("b", n, 0, int(n < 3)) for n in range(5)
    ]
    estimates = made(*rows)
    right = by(estimates, "accuracy")
    assert {name: (e.numerator, e.denominator) for name, e in right.items()} == {"a": (6, 8), "b": (2, 5)}
    assert {
        name: (e.numerator, e.denominator) for name, e in by(estimates, "false_negative_rate").items()
    } == {
        "a": (2, 8),
        "b": (3, 3),
    }
    assert by(estimates, "false_positive_rate")["a"].value is None  # no item of a has the label 0
    assert by(estimates, "false_positive_rate")["b"].denominator == 2
    assert all(e.probe == "original" and e.group["protocol"] == "base" for e in estimates)
    assert all(e.interval is not None for e in right.values())


def test_lost_calls_and_unlabelled_items_are_in_no_stratums_accuracy() -> None:
    rows = [scored("a", 0, 1, 1), scored("a", 1, "failed", 1), scored("a", 2, 1, None), scored("b", 0, 1, 1)]
    right = by(made(*rows), "accuracy")
    assert (right["a"].numerator, right["a"].denominator, right["a"].excluded["failed"]) == (1, 1, 1)


@pytest.mark.parametrize("names", [["one"] * 4, [f"s{n}" for n in range(MOST + 1)]])
def test_one_stratum_and_names_that_are_no_strata_have_no_figures(names: list[str]) -> None:
    assert made(*(scored(name, n, 1, 1) for n, name in enumerate(names))) == []


def test_without_labels_there_is_no_lowest_stratum() -> None:
    (gap,) = by_gap(made(scored("a", 0, 1, None), scored("b", 0, 1, None)))
    assert gap.value is None
    assert "fewer than two strata" in str(gap.note)


def by_gap(estimates: list[Estimate]) -> list[Estimate]:
    return [e for e in estimates if e.metric == "stratum_gap"]


def test_the_test_of_the_lowest_stratum_is_the_count_of_deals() -> None:
    """Six clusters, three in each stratum, those of one all wrong: one deal of C(6, 3) = 20 is as bad for it,
    and one more is as bad for the other."""
    pieces = Pieces(np.array([0.0, 0, 0, 1, 1, 1]), np.ones(6), np.array([0, 0, 0, 1, 1, 1]), 2)
    test = pieces.lowest_test(0, 7)
    assert test.unadjusted_p == pytest.approx(1 / 20, rel=1e-12)
    assert test.adjusted_p == pytest.approx(2 / 20, rel=1e-12)
    # With clusters of three kinds deals are drawn: two of three calls right is not all of them.
    drawn = replace(pieces, right=np.array([0.0, 0, 0, 3, 3, 2]), calls=np.full(6, 3.0)).lowest_test(0, 7)
    assert drawn.unadjusted_p == pytest.approx(1 / 20, abs=0.015)
    assert drawn.adjusted_p == pytest.approx(2 / 20, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "calls"),
    [
        ((0, 1, 1, 0, 1, 0, 1, 1), (1,) * 8),
        ((2, 2, 0, 0, 2, 0, 2, 2), (2,) * 8),
        ((1, 0, 0, 1, 1, 0, 1, 1), (1, 3, 3, 1, 1, 3, 1, 1)),  # who is asked more often is wrong
        ((1,) * 8, (1,) * 8),
    ],
)
def test_counted_deals_are_those_that_are_dealt_one_by_one(right: tuple[int], calls: tuple[int]) -> None:
    pieces = Pieces(
        np.array(right, dtype=float), np.array(calls, dtype=float), np.array([0, 0, 0, 1, 1, 2, 2, 2]), 4
    )
    deals = np.array(list(permutations(pieces.stratum.tolist())))
    scores = pieces.scores(deals)
    for lowest in range(3):
        seen = pieces.scores(pieces.stratum)[lowest] + 1e-12
        test = pieces.lowest_test(lowest, 7)
        assert test.unadjusted_p == pytest.approx(np.mean(scores[:, lowest] <= seen), rel=1e-9)
        assert test.adjusted_p == pytest.approx(np.mean(np.nanmin(scores, axis=1) <= seen), rel=1e-9)


@pytest.mark.slow
def test_where_all_strata_are_alike_one_call_to_an_item_errs_in_one_of_twenty_at_most() -> None:
    chance, runs = np.random.default_rng(3), 600
    flagged = 0
    for _ in range(runs):
        pieces = Pieces((chance.random(120) < 0.8).astype(float), np.ones(120), np.arange(120) % 6, 6)
        lowest = int(np.argmin(pieces.scores(pieces.stratum)))
        flagged += pieces.lowest_test(lowest, 7).is_significant
    # A test of counts is strict; the upper end lies three standard errors above one in twenty.
    assert 0.01 * runs < flagged < 0.077 * runs


def test_repeats_of_an_item_are_dealt_together() -> None:
    """Ten calls on one wrong item are one piece of evidence, not ten."""
    once = Pieces(np.array([0.0, 1, 1, 1, 1, 1]), np.ones(6), np.array([0, 0, 0, 1, 1, 1]), 2)
    often = replace(once, right=once.right * 10, calls=once.calls * 10)
    assert once.lowest_test(0, 7) == often.lowest_test(0, 7)


def test_a_stratum_that_is_worse_is_named_and_one_that_is_not_is_not_flagged() -> None:
    bad = [scored(t, n, int(t != "billing" or n % 4 == 0), 1) for t in TOPICS for n in range(16)]
    (gap,) = by_gap(made(*bad))
    assert (gap.group["stratum"], gap.status) == ("billing", "flagged")
    assert gap.value == pytest.approx(4 / 16 - 1.0)
    even = [scored(t, n, int(n % 4 != 0), 1) for t in TOPICS for n in range(16)]
    (gap,) = by_gap(made(*even))
    assert gap.status is None
    assert gap.p_corrected is not None
    assert gap.p_corrected > 0.5


def test_natural_pairs_have_accuracy_and_consistency_by_stratum() -> None:
    rows: list[Observation] = []
    for n in range(4):
        rows += pair(f"a{n}", ("1", "2"), "u", probe="position", kind="natural", stratum="a")
        rows += pair(f"b{n}", ("1", "1"), "u", probe="position", kind="natural", stratum="b")
    estimates = made(*rows)
    right, kept = by(estimates, "accuracy"), by(estimates, "order_consistency")
    assert {name: (e.numerator, e.denominator) for name, e in right.items()} == {"a": (8, 8), "b": (4, 8)}
    assert {name: (e.numerator, e.denominator) for name, e in kept.items()} == {"a": (4, 4), "b": (0, 4)}
    assert {e.probe for e in estimates} == {"position"}


@pytest.mark.calibrate
def test_a_lowest_stratum_is_flagged_in_one_of_twenty_where_all_are_alike() -> None:
    chance = np.random.default_rng(1)
    flagged = 0
    for run in range(400):
        right = chance.binomial(3, 0.8, 60).astype(float)
        pieces = Pieces(right, np.full(60, 3.0), np.arange(60) % 6, 6)
        lowest = int(np.argmin(pieces.scores(pieces.stratum)))
        flagged += pieces.lowest_test(lowest, run).is_significant
    assert 6 <= flagged <= 34  # 20 expected; both ends lie beyond three standard errors


def answer(request: Received) -> Answer:
    """Right but on billing, where it always passes."""
    good = "good good" in request.user
    return says(json.dumps({"score": int(good or "about billing" in request.user)}))


def test_strata_of_the_data_reach_every_report_and_gate_and_compare(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", "k")
    lines = ["id,request,response,label,topic"]
    for n in range(48):
        topic, label = TOPICS[n % 4], n // 4 % 2
        lines.append(
            f"q{n},Question {n} about {topic}?,Text {n} {'good good' if label else 'bad bad'},{label},{topic}"
        )
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "policy.yaml").write_text("accuracy: {stratum: billing, min: 0.9}\n")
    with ScriptedServer(answer) as server:
        study = {
            "judges": [
                {
                    "name": "lenient",
                    "model": f"openai/m?base_url={server.url}&api_key_env=STEELYARD_TEST_KEY",
                },
                "planted/rater?sensitivity=1&specificity=1&noise=0",
            ],
            "task": {"scale": "binary", "rubric": "1 where the text is good."},
            "data": {
                "path": "rows.csv",
                "columns": {"id": "id", "request": "request", "response": "response", "label": "label"},
                "stratify": "topic",
            },
            "probes": ["stochastic_stability"],
        }
        (tmp_path / "study.yaml").write_text(json.dumps(study))
        measured(study_of(tmp_path / "study.yaml"), tmp_path / "run")
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    (reading,) = [r for r in sheet["readings"] if (r["judge"], r["title"]) == ("lenient", "Strata")]
    assert reading["word"] == "flagged"
    assert "is right less often in billing" in reading["sentence"]
    (other,) = [r for r in sheet["readings"] if (r["judge"], r["title"]) == ("planted/rater", "Strata")]
    assert other["word"] == "measured"
    page, text = ((tmp_path / "run" / f"datasheet.{form}").read_text() for form in ("html", "md"))
    assert "Accuracy by stratum" in page
    for topic in TOPICS:
        assert f"| {topic} | 12 |" in text
        assert topic in page
    pooled = [
        e for e in sheet["estimates"] if e["metric"] == "accuracy" and e["group"] == {"protocol": "base"}
    ]
    (whole,) = [e for e in pooled if e["judge"] == "lenient" and e["probe"] == "original"]
    parts = [
        e
        for e in sheet["estimates"]
        if e["metric"] == "accuracy" and "stratum" in e["group"] and e["judge"] == "lenient"
    ]
    assert sum(e["numerator"] for e in parts) == whole["numerator"]
    assert sum(e["denominator"] for e in parts) == whole["denominator"]
    assert command("gate", "run", "--policy", "policy.yaml", "--judge", "lenient").code == 3
    assert command("report", "run", "--verify").code == 0
    assert json.loads((tmp_path / "run" / "datasheet.json").read_text()) == sheet
    compared = json.loads(
        command("compare", "run:lenient", "run:planted/rater", "--stratum", "billing", "--json").out
    )
    assert compared["stratum"] == "billing"
    (row,) = [r for r in compared["comparisons"] if r["metric"] == "accuracy"]
    assert row["n_units"] == 12 if "n_units" in row else row["n_shared"] > 0
    assert row["difference"] == pytest.approx(0.5)
    refused = command("compare", "run:lenient", "run:planted/rater", "--stratum", "biling")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "did you mean 'billing'?" in refused.err
