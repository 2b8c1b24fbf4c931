"""Sentences about the reliability probes: each says what its figures' words allow."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from said import answered
from scores import call
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, invariance_estimates

accuracy = partial(answered, "Accuracy")
repeatability = partial(answered, "Repeatability")
robustness = partial(answered, "Robustness")
volatility = partial(answered, "Volatility")


def row(probe: str, metric: str, value: float | None, finding: str | None = None, **group: str) -> Estimate:
    return Estimate(
        "J",
        probe,
        metric,
        {"protocol": "base", **group},
        "call",
        value,
        None if value is None else round(100 * value),
        None if value is None else 100,
        () if value is None else (Interval("wilson", value - 0.1, value + 0.1),),
        status=finding,
        note="no call has a verdict" if value is None else None,
    )


def read(*rows: Estimate) -> JudgeEstimates:
    return JudgeEstimates("J", EstimateIndex(rows))


def test_a_flagged_edit_leads() -> None:
    word, said = robustness(
        read(
            row("typos", "excess_flip", 0.01, "clear"),
            row("verbosity_bias_long", "excess_flip", 0.25, "flagged"),
            row("markdown", "excess_flip", 0.05, "inconclusive"),
            row("label_flip", "excess_flip", 0.9, "flagged"),
        )
    ) or ("", "")
    assert word == "flagged"
    first, *others = said.split("; ")
    assert "moved by longer (" in first
    assert "+0.25 [+0.15, +0.35]" in first
    assert any("not moved by typing" in part for part in others)
    assert any(part.endswith("decide: Markdown") for part in others)


def test_edits_without_a_verdict_are_told_as_not_measured() -> None:
    """A judge that loses every edited text has no word, and one that loses some has none for those."""
    lost = (row("typos", "excess_flip", None), row("typos", "invariance", None))
    also = row("markdown", "invariance", None)
    word, said = robustness(read(*lost, also)) or ("", "")
    assert (word, "measured: typing errors, Markdown" in said) == ("undefined", True)
    assert "moved by" not in said
    word, said = robustness(read(row("injection", "excess_flip", 0.01, "clear"), *lost)) or ("", "")
    assert word == "clear"
    moved, missing = said.split("; ")
    assert moved.endswith("not moved by injection")
    assert "not measured: typing" in missing
    assert robustness(read(row("label_flip", "invariance", None))) is None


def test_a_judge_that_loses_every_edit_has_an_undefined_robustness() -> None:
    calls = [
        call(f"i{n}", verdict, 1, probe=probe, judge="J")
        for n in range(6)
        for probe, verdict in (("original", 1), ("typos", "unreadable"))
    ]
    found = invariance_estimates(
        EstimateContext("J", "typos", {"protocol": "base"}, 7), collect_scores(calls)
    )
    word, said = robustness(read(*found)) or ("", "")
    assert word == "undefined"
    assert re.match(r"nothing .*: typing errors \(no item .* both unchanged and edited\)$", said)


def test_edits_are_read_as_one_family() -> None:
    """Holm over three: .02·3 = .06 is no flag, .01·3 = .03 is; the reading says over what."""
    found = [
        replace(row("typos", "excess_flip", 0.25, "flagged"), p=0.01),
        replace(row("markdown", "excess_flip", 0.2, "flagged"), p=0.026),
        replace(row("injection", "excess_flip", 0.0, "clear"), p=0.8),
        row("label_flip", "accuracy", 0.9),
    ]
    first, second, third, other = adjust_estimates(found, "edits", EXCESS_FLIP)
    assert (first.status, first.p_corrected) == ("flagged", pytest.approx(0.03))
    assert (second.status, second.p_corrected) == ("inconclusive", pytest.approx(0.052))
    assert re.search(r"p = 0\.026, 0\.052 .*\b3 edits$", second.note or "")
    assert (third.status, third.p_corrected, other) == ("clear", pytest.approx(0.8), found[3])
    word, said = robustness(read(first, second, third)) or ("", "")
    assert word == "flagged"
    assert re.search(r": Markdown; .*\b3 edits \(Holm\)$", said)


@pytest.mark.slow
def test_thirteen_edits_that_do_nothing_are_seldom_flagged() -> None:
    """Coins on 40 items, each original asked four times: 13 tests at .05 would flag one sheet in four."""
    chance = random.Random(4)
    sheets, separate, together = 12, 0, 0
    for sheet in range(sheets):
        plain = [call(f"i{i}", chance.randint(0, 1), replicate=r) for i in range(40) for r in range(4)]
        effects = []
        for edit in range(13):
            edited = [call(f"i{i}", chance.randint(0, 1), probe=f"e{edit}") for i in range(40)]
            heading = EstimateContext("J", f"e{edit}", {"protocol": "base"}, sheet)
            effects.append(invariance_estimates(heading, collect_scores([*plain, *edited]))[1])
        separate += any(e.status == "flagged" for e in effects)
        together += any(e.status == "flagged" for e in adjust_estimates(effects, "edits", EXCESS_FLIP))
    assert together <= 1 < separate


def test_all_clear_is_clear() -> None:
    word, said = robustness(read(row("typos", "excess_flip", 0.0, "clear"))) or ("", "")
    assert (word, said.partition("not moved by ")[2]) == ("clear", "typing errors")


def test_without_repeats_kept_verdicts_carry_the_word() -> None:
    figures = read(row("typos", "excess_flip", None), row("typos", "invariance", 0.7, "flagged"))
    word, said = robustness(figures) or ("", "")
    assert word == "flagged"
    assert re.search(r"is moved by typing errors \(.* 0\.70 \[0\.60, 0\.80\]\)$", said)


def test_repeats_are_held_against_a_floor() -> None:
    again = row("original", "self_agreement", 0.72, "flagged")
    word, said = repeatability(read(again)) or ("", "")
    assert word == "flagged"
    assert re.search(r"in 72 of 100 .*, 0\.72 \[0\.62, 0\.82\], floor 0\.9$", said)


def test_repeats_of_nearly_one_answer_are_read_beyond_chance() -> None:
    """Of 96 % passes any two calls agree in 92 %, whatever the judge reads."""
    rows = (
        row("original", "self_agreement", 0.92, "clear"),
        row("original", "fleiss_kappa", 0.05, "flagged"),
    )
    word, said = repeatability(read(*rows, row("original", "commonest_answer", 0.96))) or ("", "")
    assert word == "flagged"
    assert re.search(r"\(Fleiss κ\) \+0\.05 \[−0\.05, \+0\.15\], floor 0\.6$", said)
    assert (repeatability(read(*rows, row("original", "commonest_answer", 0.6))) or ("", ""))[0] == "clear"


def test_repeats_of_scores_are_read_by_their_spread() -> None:
    """On six levels repeats seldom agree to the point, and need not."""
    rows = (
        row("original", "self_agreement", 0.6, "flagged"),
        row("original", "icc", 0.95, "clear"),
    )
    word, said = repeatability(read(*rows)) or ("", "")
    assert word == "clear"
    assert re.search(r"\(intraclass correlation\) \+0\.95 \[\+0\.85, \+1\.05\], floor 0\.75", said)


def test_answers_that_never_vary_say_nothing() -> None:
    """Whatever the figures say: an edit can not move a judge that always answers 1."""
    rows = (
        replace(row("original", "commonest_answer", 1.0), details={"answer": 1}),
        row("original", "self_agreement", 1.0, "clear"),
        row("typos", "excess_flip", 0.0, "clear"),
        *(row("volatility", f"accuracy_{name}", 0.5) for name in ("mean", "min", "max", "sd", "sd_sampling")),
    )
    for reading, why in (
        (repeatability, "so repeats can not differ"),
        (robustness, "so no edit could move it"),
        (volatility, "so its accuracy follows the labels of each probe"),
    ):
        assert reading(read(*rows)) == (
            "undefined",
            f"says nothing: it gives the same answer to everything, 1 in 100 of 100 calls, {why}",
        )


def test_a_single_call_is_no_constant() -> None:
    one = replace(row("original", "commonest_answer", 1.0), numerator=1, denominator=1)
    assert (robustness(read(one, row("typos", "excess_flip", 0.0, "clear"))) or ("", ""))[0] == "clear"


def test_a_pairwise_judge_is_not_asked() -> None:
    figures = read(row("ladder", "target_sensitivity", 0.9))
    assert accuracy(figures) is robustness(figures) is repeatability(figures) is None
