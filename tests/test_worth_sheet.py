"""Worth of cues on the datasheet: sentence, conclusion, chart, examples, gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard
from steelyard.datasheet.findings.worth import worth_sentence
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.stimuli.cues import PADDING

JUDGE = "planted/probit"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge to which every cue is worth 1.4 steps."""
    out = tmp_path_factory.mktemp("cues") / "run"
    steelyard.measure(
        f"{JUDGE}?s=1.5&worth=1.4",
        probes=[{"tradeoff": {"cues": ["padding", "typos"]}}],
        profile="quick",
        out=out,
    )
    return out


def test_the_verdict_names_the_cue_in_steps(folder: Path) -> None:
    sheet = steelyard.load(folder)
    found = sheet.find(JUDGE, "worth", "tradeoff", protocol="base", kind="padding")
    assert found is not None
    assert found.interval.low < 1.4 < found.interval.high
    finding = next(f for f in sheet.findings if (f.judge, f.title) == (JUDGE, "Cues"))
    assert finding.status == "flagged"
    assert "padding is worth +1." in finding.sentence
    verdict = next(v for v in sheet.verdicts if v.judge == JUDGE)
    assert verdict.word == "usable with care"
    assert any(fact.title == "Cues" and "padding is worth" in fact.sentence for fact in verdict.facts)


def test_the_page_draws_the_worths_and_shows_pairs_that_the_worse_text_won(folder: Path) -> None:
    page = (folder / "datasheet.html").read_text(encoding="utf-8")
    assert "What outweighs quality" in page
    assert "steps of quality" in page
    assert any(sentence in page for sentence in PADDING)


def test_files_have_the_worths(folder: Path) -> None:
    body = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))
    rows = [row for row in body["estimates"] if row["judge"] == JUDGE and row["metric"] == "worth"]
    assert {row["group"]["kind"] for row in rows} == {"padding", "typos", "position"}
    baselines = [row for row in body["estimates"] if row["judge"] == "coin" and row["metric"] == "worth"]
    assert {row["reason"] for row in baselines} == {"quality_not_seen"}


def test_a_policy_limits_the_worth_of_a_cue(folder: Path) -> None:
    strict = steelyard.gate(folder, {"worth": {"cue": "padding", "max": 0.5}, "flags": "allow"})
    assert [(check.result, check.metric) for check in strict.of(JUDGE)] == [("FAIL", "worth")]
    lax = steelyard.gate(folder, {"worth": {"cue": "padding", "max": 4}, "flags": "allow"})
    assert lax.result == "PASS"
    assert any(check.metric == "worth" for check in steelyard.gate(folder).of(JUDGE))


@pytest.mark.parametrize(
    ("value", "low", "high", "status", "censored", "told"),
    [
        (1.4, 1.1, 1.9, "flagged", None, "a text with it beats one that is 1 step better"),
        (2.6, 2.1, 3.9, "flagged", None, "a text with it beats one that is 2 steps better"),
        (0.1, -0.2, 0.3, "clear", None, "less than 0.5 steps either way"),
        (0.7, 0.2, 1.3, "inconclusive", None, "a text with it beats an equal one"),
        (0.7, -0.2, 1.3, "inconclusive", None, "too few data to say whether it counts"),
        (-1.0, -1.5, -0.7, "flagged", None, "it harms the text that has it"),
        (
            5.0,
            3.2,
            None,
            "flagged",
            "right",
            "it outweighs every step that was measured, at least 3.20 of them",
        ),
    ],
)
def test_one_sentence_for_each_cue(value, low, high, status, censored, told) -> None:
    estimate = Estimate(
        "j", "tradeoff", "worth", {"protocol": "base", "kind": "padding"}, "pair", value,
        intervals=(Interval("x", low, high),), status=status, censored=censored,
    )  # fmt: skip
    assert worth_sentence(estimate).endswith(f" steps: {told}")
