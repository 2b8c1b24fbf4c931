"""Sentences about the reliability probes: each says what its figures' words allow."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from scores import call
from steelyard.datasheet.look_up import Figures, LookUp
from steelyard.datasheet.readings.reliability import accuracy, repeatability, robustness
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.heading import Heading
from steelyard.metrics.run.edit_family import TESTED, read_together
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.invariance import invariance_estimates


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
        finding=finding,
        note="no call has a verdict" if value is None else None,
    )


def read(*rows: Estimate) -> Figures:
    return Figures("J", LookUp(rows))


def test_a_flagged_edit_leads() -> None:
    word, said = robustness(
        read(
            row("typos", "excess_flip", 0.01, "clear"),
            row("verbosity_bias_long", "excess_flip", 0.25, "flagged"),
            row("markdown", "excess_flip", 0.05, "underpowered"),
            row("label_flip", "excess_flip", 0.9, "flagged"),
        )
    ) or ("", "")
    assert word == "flagged"
    assert said.startswith("its verdict is moved by longer (+0.25 [+0.15, +0.35]); ")
    assert "its verdict is not moved by typing errors" in said
    assert "undecided for want of items: Markdown" in said


def test_edits_without_a_verdict_are_told_as_not_measured() -> None:
    """A judge that loses every edited text has no word, and one that loses some has none for those."""
    lost = (row("typos", "excess_flip", None), row("typos", "invariance", None))
    also = row("markdown", "invariance", None)
    assert robustness(read(*lost, also)) == (
        "undefined",
        "nothing was measured: typing errors, Markdown (no call has a verdict)",
    )
    assert robustness(read(row("injection", "excess_flip", 0.01, "clear"), *lost)) == (
        "clear",
        "its verdict is not moved by injection; not measured: typing errors (no call has a verdict)",
    )
    assert robustness(read(row("label_flip", "invariance", None))) is None


def test_a_judge_that_loses_every_edit_has_an_undefined_robustness() -> None:
    calls = [
        call(f"i{n}", verdict, 1, probe=probe, judge="J")
        for n in range(6)
        for probe, verdict in (("original", 1), ("typos", "unreadable"))
    ]
    found = invariance_estimates(Heading("J", "typos", {"protocol": "base"}, 7), collect_scores(calls))
    word, said = robustness(read(*found)) or ("", "")
    assert word == "undefined"
    assert said == "nothing was measured: typing errors (no item has a verdict both unchanged and edited)"


def test_edits_are_read_as_one_family() -> None:
    """Holm over three: .02·3 = .06 is no flag, .01·3 = .03 is; the reading says over what."""
    found = [
        replace(row("typos", "excess_flip", 0.25, "flagged"), p=0.01),
        replace(row("markdown", "excess_flip", 0.2, "flagged"), p=0.026),
        replace(row("injection", "excess_flip", 0.0, "clear"), p=0.8),
        row("label_flip", "accuracy", 0.9),
    ]
    first, second, third, other = read_together(found, TESTED, "edits")
    assert (first.finding, first.p_corrected) == ("flagged", pytest.approx(0.03))
    assert (second.finding, second.p_corrected) == ("underpowered", pytest.approx(0.052))
    assert (second.note or "").endswith("p = 0.026, 0.052 after Holm over 3 edits")
    assert (third.finding, third.p_corrected, other) == ("clear", pytest.approx(0.8), found[3])
    word, said = robustness(read(first, second, third)) or ("", "")
    assert word == "flagged"
    assert said.endswith("undecided for want of items: Markdown; corrected for 3 edits (Holm)")


def test_thirteen_edits_that_do_nothing_are_seldom_flagged() -> None:
    """Coins on 40 items, each original asked four times: 13 tests at .05 would flag one sheet in four."""
    chance = random.Random(4)
    sheets, separate, together = 25, 0, 0
    for sheet in range(sheets):
        plain = [call(f"i{i}", chance.randint(0, 1), replicate=r) for i in range(40) for r in range(4)]
        effects = []
        for edit in range(13):
            edited = [call(f"i{i}", chance.randint(0, 1), probe=f"e{edit}") for i in range(40)]
            heading = Heading("J", f"e{edit}", {"protocol": "base"}, sheet)
            effects.append(invariance_estimates(heading, collect_scores([*plain, *edited]))[1])
        separate += any(e.finding == "flagged" for e in effects)
        together += any(e.finding == "flagged" for e in read_together(effects, TESTED, "edits"))
    assert together <= 1 < separate


def test_all_clear_is_clear() -> None:
    assert robustness(read(row("typos", "excess_flip", 0.0, "clear"))) == (
        "clear",
        "its verdict is not moved by typing errors",
    )


def test_without_repeats_kept_verdicts_carry_the_word() -> None:
    figures = read(row("typos", "excess_flip", None), row("typos", "invariance", 0.7, "flagged"))
    word, said = robustness(figures) or ("", "")
    assert (word, said) == ("flagged", "its verdict is moved by typing errors (0.70 [0.60, 0.80])")


def test_accuracy_on_items_and_on_flips() -> None:
    figures = read(row("stochastic_stability", "accuracy", 0.9), row("label_flip", "accuracy", 0.8))
    word, said = accuracy(figures) or ("", "")
    assert word == "measured"
    assert "in 90 of 100 calls on unchanged items, 0.90 [0.80, 1.00]" in said
    assert said.endswith("follows a flipped label in 80 of 100, 0.80 [0.70, 0.90]")


def test_unchanged_items_of_another_probe() -> None:
    figures = read(row("typos", "accuracy", 0.6, kind="original"))
    assert "in 60 of 100 calls" in (accuracy(figures) or ("", ""))[1]


def test_a_judge_without_verdicts_has_no_accuracy() -> None:
    figures = read(
        row("stochastic_stability", "accuracy", None), row("stochastic_stability", "self_agreement", None)
    )
    assert accuracy(figures) == repeatability(figures) == ("undefined", "no call has a verdict")


def test_repeats() -> None:
    word, said = repeatability(read(row("stochastic_stability", "self_agreement", 1.0))) or ("", "")
    assert word == "measured"
    assert "in 100 of 100 pairs of repeats" in said


def test_a_pairwise_judge_is_not_asked() -> None:
    figures = read(row("ladder", "target_sensitivity", 0.9))
    assert accuracy(figures) is robustness(figures) is repeatability(figures) is None
