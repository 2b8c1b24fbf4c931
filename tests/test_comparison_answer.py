"""What a comparison comes to, in sentences."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from steelyard.api import measure
from steelyard.commands.compare import Target, compare_targets
from steelyard.datasheet.comparison.answer import ComparisonAnswer, main_first, winner
from steelyard.datasheet.comparison.page import render
from steelyard.datasheet.comparison.sheet import ComparisonSheet, Side
from steelyard.datasheet.findings.more_data import profile_calls
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.comparison.unit_events import Dropped
from steelyard.metrics.estimate import Interval
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.metric import HIGH, LOW, ZERO
from steelyard.probes.probe_metadata import installed_probes, metrics_of


def row(metric: str, first: float, second: float, finding: str = FLAGGED, **more: object) -> Comparison:
    difference = second - first
    base = Comparison(
        probe=str(more.pop("probe", "ladder")),
        metric=metric,
        group=more.pop("group", {"protocol": "base"}),  # type: ignore[arg-type]
        unit="call",
        first=first,
        second=second,
        difference=difference,
        n_shared=100,
        n_pairs=100,
        n_clusters=100,
        dropped_first=Dropped(),
        dropped_second=Dropped(),
        intervals=(Interval("x", difference - 0.05, difference + 0.05),),
        differs=finding == FLAGGED,
        status=finding,
    )
    return replace(base, **more)  # type: ignore[arg-type]


def told(*rows: Comparison) -> list[str]:
    return list(ComparisonAnswer.of(rows).sentences("A", "B", 0.1))


@pytest.mark.parametrize(
    ("metric", "first", "second", "better"),
    [
        ("accuracy", 0.8, 0.9, "B"),
        ("accuracy", 0.9, 0.8, "A"),
        ("dark_current", 0.1, 0.5, "A"),
        ("dark_current", 0.5, 0.1, "B"),
        ("target_sensitivity", 0.5, 0.9, "B"),
        ("failed_rate", 0.0, 0.2, "A"),
        ("tie_rate", 0.1, 0.5, None),
        # Best at zero: the nearer one, where it is nearer by more than chance gives (±.05 here).
        ("net_slot_preference", 0.02, 0.51, "A"),
        ("net_slot_preference", -0.40, -0.10, "B"),
        ("length_lean", -0.20, 0.22, None),
        ("leniency", -0.05, 0.30, "A"),
    ],
)
def test_the_metric_says_which_way_is_better(metric: str, first: float, second: float, better: str) -> None:
    assert winner(row(metric, first, second)) == better


def test_a_difference_that_is_not_shown_has_no_winner() -> None:
    assert winner(row("accuracy", 0.8, 0.9, INCONCLUSIVE)) is None
    assert winner(row("accuracy", 0.8, 0.8)) is None


def test_every_limit_says_a_direction_and_it_is_the_side_that_keeps_it() -> None:
    metrics = {metric.id: metric for name in installed_probes() for metric in metrics_of(name)}
    for metric in metrics.values():
        assert metric.better in (HIGH, LOW, ZERO, None)
        if metric.limit is not None:
            assert metric.better == (HIGH if metric.limit.side == "min" else LOW)


def test_the_answer_comes_first_with_the_better_share_first() -> None:
    assert told(row("accuracy", 0.97, 0.81)) == [
        "A is better in accuracy (0.97 against 0.81, by 0.16 [0.11, 0.21])."
    ]
    assert told(row("dark_current", 0.5, 0.1, probe="vacuum")) == [
        "B is better in “reacts to nothing” (dark current; 0.10 against 0.50, by 0.40 [0.35, 0.45])."
    ]


def test_each_may_be_better_in_something_and_some_differences_have_no_better() -> None:
    first, second = told(
        row("dark_current", 0.1, 0.5, probe="vacuum"),
        row("target_sensitivity", 0.5, 0.9),
        row("tie_rate", 0.1, 0.3),
    )
    assert first.startswith(
        "Each is better in something: A is better in “reacts to nothing” (dark current; 0.10 against 0.50"
    )
    assert ", while B is better in “chooses the better text” (target sensitivity; 0.90 against 0.50" in first
    assert second == "They also differ in tie rate, all pairs (A 0.10, B 0.30)."


def test_what_is_alike_and_what_is_open_are_told_apart() -> None:
    sentences = told(
        row("dark_current", 0.1, 0.11, CLEAR, probe="vacuum"),
        row("accuracy", 0.80, 0.90, INCONCLUSIVE, probe="original", minimum_detectable=0.20),
    )
    assert sentences == [
        "Neither is shown to be better.",
        "Alike within ±0.1: “reacts to nothing” (dark current).",
        # Half the detectable difference takes four times the rows: 300 beside the 100.
        "Not told apart: accuracy, unchanged items (+0.10; about 300 more rows would show that).",
    ]


def test_pairs_of_the_catalogue_are_bought_by_the_profile() -> None:
    """Four times the pairs are wanted: never rows, and never more than the largest profile has."""
    group: dict[str, str | float] = {"protocol": "base", "delta": 1}
    sizes = {profile: calls // 2 for profile, calls in profile_calls("ladder", (("delta", 1),)).items()}
    few = row("target_sensitivity", 0.80, 0.90, INCONCLUSIVE, group=group, minimum_detectable=0.20)
    for pairs, words in (
        (sizes["standard"] // 4 - 1, "profile standard would show that"),
        (sizes["full"] // 4 - 1, "profile full would show that"),
        (sizes["full"], "no profile would show that"),
    ):
        told_of = told(replace(few, n_pairs=pairs, n_clusters=pairs))
        assert told_of[-1].endswith(f"(target sensitivity; +0.10; {words}).")


def test_the_largest_change_is_named_though_other_figures_come_first() -> None:
    open_ones = [
        row(metric, 0.50, 0.51, INCONCLUSIVE, minimum_detectable=0.20)
        for metric in ("accuracy", "dark_current", "target_sensitivity", "merit")
    ]
    large = row("tie_rate", 0.10, 0.45, INCONCLUSIVE, minimum_detectable=0.50)
    assert told(*open_ones, large)[-1].startswith("Not told apart: tie rate, all pairs (+0.35; ")


def test_no_number_is_given_where_more_units_would_not_help() -> None:
    for difference, detectable in ((0.0, 0.2), (0.3, 0.2), (0.001, 0.5)):
        undecided = row(
            "accuracy", 0.5, 0.5 + difference, INCONCLUSIVE, probe="original", minimum_detectable=detectable
        )
        assert "would show" not in told(undecided)[-1]


def test_a_sentence_names_one_figure_of_a_metric_and_counts_the_rest() -> None:
    steps = [row("target_sensitivity", 0.5, 0.9, group={"protocol": "base", "delta": d}) for d in (1, 2, 3)]
    assert told(*steps)[0].endswith(
        "“chooses the better text, Δ1” (target sensitivity; 0.90 against 0.50, by 0.40 [0.35, 0.45]); "
        "2 more figures."
    )


def test_the_main_figure_is_named_first_though_others_of_its_metric_come_last() -> None:
    """Accuracy on unchanged items leads; on edited texts it stands behind everything, and is counted."""
    said = told(
        row("accuracy", 0.9, 0.7, probe="format_invariance_1"),
        row("dark_current", 0.1, 0.5, probe="vacuum"),
        row("accuracy", 0.9, 0.8, probe="stochastic_stability"),
    )
    assert said[0].startswith("A is better in accuracy, Same input again (0.90 against 0.80, by 0.10 [0.05")
    assert said[0].endswith(
        "; “reacts to nothing” (dark current; 0.10 against 0.50, by 0.40 [0.35, 0.45]); 1 more figure."
    )


def test_main_figures_come_first_whatever_the_order() -> None:
    rows = [
        row("accuracy", 0.5, 0.9, probe="stochastic_stability"),
        row("dark_current", 0.5, 0.9, probe="vacuum"),
        row("tie_rate", 0.5, 0.9),
        row("dark_current", 0.5, 0.9, probe="vacuum", group={"protocol": "strict"}),
        row("accuracy", 0.5, 0.9, probe="format_invariance_1"),
    ]
    for order in permutations(rows):
        assert main_first(order) == rows


def test_a_comparison_begins_with_its_answer_also_in_json() -> None:
    sides = [Side(name, "planted/coin", "run", "sha256:0") for name in ("mine", "theirs")]
    sheet = ComparisonSheet(*sides, "content", 0.1, "0", (row("dark_current", 0.5, 0.1, probe="vacuum"),))
    assert sheet.answer() == [
        "B (theirs) is better in “reacts to nothing” (dark current; 0.10 against 0.50, by 0.40 [0.35, 0.45])."
    ]
    assert sheet.to_json()["answer"] == sheet.answer()
    assert replace(sheet, rows=()).answer() == []
    long = replace(sheet, first=replace(sides[0], judge="x" * 40))
    assert long.answer()[0].startswith("B is better in “reacts to nothing”")


def test_what_few_clusters_show_is_told_of_these_alone() -> None:
    """Fewer than six clusters: signs of pairs were flipped, and no judge is called better."""
    few = row("dark_current", 0.5, 0.1, probe="vacuum", flipped="pairs", n_clusters=2)
    first, second, *_ = told(few)
    assert first == "Neither is shown to be better."
    assert second == (
        "In these 2 clusters alone, which say nothing of others, differ “reacts to nothing” "
        "(dark current; A 0.50, B 0.10)."
    )


def test_two_sides_of_one_name_are_told_apart() -> None:
    def sheet(*prompts: str, name: str = "j") -> ComparisonSheet:
        sides = [
            Side(each, "m", folder, "sha256:0", protocols={"base": prompt})
            for each, folder, prompt in zip(("j", name), ("old", "new"), prompts, strict=True)
        ]
        return ComparisonSheet(*sides, "content", 0.1, "0", ())

    other = sheet("sha256:1", "sha256:2")
    assert other.names == ("A (old)", "B (new)")
    assert "not asked in the same way: model, address, prompt or decoding differ" in other.namesakes()
    assert other.to_json()["first"]["protocols"] != other.to_json()["second"]["protocols"]
    assert other.namesakes() in render(other)
    assert sheet("sha256:1", "sha256:1").namesakes() == (
        "Both are called j: one instrument, asked in the same way."
    )
    apart = sheet("sha256:1", "sha256:2", name="k")
    assert (apart.names, apart.namesakes()) == (("j", "k"), "")


def test_a_judge_made_of_others_is_told_with_whom_it_asks(tmp_path: Path) -> None:
    third = {"name": "third", "model": "planted/probit"}
    panel = {"name": "panel", "jury": ["planted/tie", "third"]}
    measure("planted/tie", third, panel, probes=["vacuum"], out=tmp_path / "run")
    sheet = compare_targets(Target(tmp_path / "run", "panel"), Target(tmp_path / "run", "planted/tie"))
    told = "(jury/vote of planted/tie, third; 2 calls per verdict)"
    assert sheet.first.model_suffix == f" {told}"
    assert told in " ".join(render(sheet).split())
    assert (sheet.first.model, sheet.second.model_suffix) == ("jury/vote", "")
    assert sheet.to_json()["first"]["made"] == told.strip("()")


def test_nothing_is_also_different_where_neither_is_better() -> None:
    assert told(row("tie_rate", 0.1, 0.3)) == [
        "Neither is shown to be better.",
        "They differ in tie rate, all pairs (A 0.10, B 0.30).",
    ]
