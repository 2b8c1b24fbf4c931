"""What a comparison comes to, in sentences."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from steelyard.api import measure
from steelyard.commands.compare import Target, compare_targets
from steelyard.datasheet.comparison.report import forests, oriented, page
from steelyard.datasheet.comparison.rows import label, main_first, state
from steelyard.datasheet.comparison.sheet import (
    NO_ANSWERS,
    NOT_FEASIBLE,
    ComparisonAnswer,
    ComparisonSheet,
    Side,
)
from steelyard.datasheet.questions.more_data import profile_calls
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


def answer(*rows: Comparison, p: float | None = None) -> ComparisonAnswer:
    return ComparisonAnswer(tuple(main_first(rows)), "A", "B", 0.1, p)


def step(*rows: Comparison) -> str:
    return answer(*rows).next_step(["old", "new"], ["a", "b"])[0]


@pytest.mark.parametrize(
    ("metric", "first", "second", "better"),
    [
        ("accuracy", 0.8, 0.9, "better"),
        ("accuracy", 0.9, 0.8, "worse"),
        ("dark_current", 0.1, 0.5, "worse"),
        ("dark_current", 0.5, 0.1, "better"),
        ("target_sensitivity", 0.5, 0.9, "better"),
        ("failed_rate", 0.0, 0.2, "worse"),
        ("tie_rate", 0.1, 0.5, "different"),
        # Best at zero: the nearer one, where it is nearer by more than chance gives (±.05 here).
        ("net_slot_preference", 0.02, 0.51, "worse"),
        ("net_slot_preference", -0.40, -0.10, "better"),
        ("length_lean", -0.20, 0.22, "different"),
        ("leniency", -0.05, 0.30, "worse"),
    ],
)
def test_the_metric_says_which_way_is_better(metric: str, first: float, second: float, better: str) -> None:
    """The word in text, Markdown and JSON, and the words, side and colour of the forest plot."""
    shown = row(metric, first, second)
    assert state(shown) == better
    words, colour = {
        "better": ("B better", "series-2"),
        "worse": ("A better", "series-1"),
        "different": ("different", "accent"),
    }[better]
    (plot,) = forests([shown], 0.1, "a", "b")
    assert f"{words}." in plot.wide  # the last words of the description
    assert f"var(--{colour})" in plot.wide
    assert not {"var(--good)", "var(--bad)"} & set(re.findall(r"var\(--[\w-]+\)", plot.wide))
    both = ("A shows more", "B shows more") if metric == "tie_rate" else ("A better", "B better")
    assert all(f"{side}: " in plot.wide for side in both)
    value, (low, high) = oriented(shown)
    assert low < value < high
    assert {"better": value > 0, "worse": value < 0}.get(better, True)


def test_words_of_json_have_one_word_for_people_each() -> None:
    assert state(row("accuracy", 0.8, 0.9, INCONCLUSIVE)) == "undecided"
    # A difference that is shown and lies within the margin is no winner's.
    assert state(row("accuracy", 0.80, 0.83, CLEAR, differs=True)) == "alike"
    assert state(replace(row("accuracy", 0.8, 0.9), difference=None, status=None)) == "not measured"


def test_every_limit_says_a_direction_and_it_is_the_side_that_keeps_it() -> None:
    metrics = {metric.id: metric for name in installed_probes() for metric in metrics_of(name)}
    for metric in metrics.values():
        assert metric.better in (HIGH, LOW, ZERO, None)
        if metric.limit is not None:
            assert metric.better == (HIGH if metric.limit.side == "min" else LOW)


BETTER, WORSE = row("accuracy", 0.8, 0.9), row("share_above", 0.1, 0.5)
STEADIER = row("dark_current", 0.1, 0.5, probe="vacuum")
OTHER, ALIKE = row("tie_rate", 0.1, 0.3), row("dark_current", 0.1, 0.11, CLEAR, probe="vacuum")
OPEN = [
    row(metric, 0.80, 0.90, INCONCLUSIVE, probe="original") for metric in ("accuracy", "merit", "leniency")
]


@pytest.mark.parametrize(
    ("rows", "p", "headline"),
    [
        ([BETTER], None, "B is better than A: in 1 of 1 figure, worse in none."),
        ([WORSE, ALIKE], None, "A is better than B: in 1 of 2 figures, worse in none."),
        # A judge that says the same of everything reacts to nothing, and keeps its verdicts.
        ([STEADIER, ALIKE], None, "They differ in 1 of 2 figures, and none says who is right."),
        ([BETTER, WORSE, OTHER], None, "Each is better in something: B in 1 of 3 figures, A in 1."),
        ([OTHER], None, "Neither is shown to be better; they differ in 1 of 1 figure."),
        ([ALIKE, *OPEN], None, "Neither is shown to be better."),
        ([ALIKE], None, "They are alike within ±0.1 in 1 of 1 figure; none says who is right."),
        (OPEN, 0.01, "Neither is shown to be better; they differ (p = 0.01), no single figure says where."),
        (OPEN, 0.06, "Neither is shown to be better."),
    ],
)
def test_the_answer_names_who_is_better(rows: list[Comparison], p: float | None, headline: str) -> None:
    whole = answer(*rows, p=p)
    assert whole.sentences()[0] == whole.headline == headline


def test_each_may_be_better_in_something_and_some_differences_have_no_better() -> None:
    both = answer(WORSE, BETTER, OTHER)
    assert [both.having(word) for word in ("better", "worse", "different")] == [[BETTER], [WORSE], [OTHER]]
    # A sentence for each word, with figure, values and interval.
    assert [re.findall(r"[−+]?\d\.\d+", said) for said in both.sentences()[1:]] == [
        ["0.80", "0.90", "+0.10", "+0.05", "+0.15"],
        ["0.10", "0.50", "+0.40", "+0.35", "+0.45"],
        ["0.10", "0.30", "+0.20", "+0.15", "+0.25"],
    ]
    assert all(label(each) in said for each, said in zip(both.shown, both.sentences()[1:], strict=True))


def test_what_is_alike_and_what_is_undecided_are_one_line_each() -> None:
    whole = answer(ALIKE, *OPEN)
    alike, undecided = whole.lists()
    assert alike == f"Alike within ±0.1 (1): {label(ALIKE)}."
    assert undecided == f"Undecided (3): {'; '.join(map(label, OPEN))}."
    assert whole.lists(60)[1] == f"Undecided (3): {label(OPEN[0])}; 2 more."


def test_the_next_step_goes_by_the_answer() -> None:
    places = ["my runs/old", "new"], ["a", "b"]
    commands = [
        shlex.split(answer(*rows).next_step(*places)[1])
        for rows in ([BETTER], [WORSE], [BETTER, WORSE], [row("accuracy", 0.8, 0.81, CLEAR)])
    ]
    assert commands == [
        ["steelyard", "gate", "new", "-j", "b", "--policy", "default"],
        ["steelyard", "gate", "my runs/old", "-j", "a", "--policy", "default"],
        ["steelyard", "view", "my runs/old", "new"],
        [],
    ]


def test_rows_that_would_show_a_difference_are_counted() -> None:
    # Half the detectable difference takes four times the rows: 300 beside the 100.
    few = row("accuracy", 0.80, 0.90, INCONCLUSIVE, probe="original", minimum_detectable=0.20)
    assert " 300 more rows, " in step(few)
    assert step(few).endswith(f"“{label(few)}” (+0.10)")


def test_pairs_of_the_catalogue_are_bought_by_the_profile() -> None:
    """Four times the pairs are wanted: never rows, and never more than the largest profile has."""
    group: dict[str, str | float] = {"protocol": "base", "delta": 1}
    sizes = {profile: calls // 2 for profile, calls in profile_calls("ladder", (("delta", 1),)).items()}
    few = row("target_sensitivity", 0.80, 0.90, INCONCLUSIVE, group=group, minimum_detectable=0.20)
    for pairs, words in (
        (sizes["standard"] // 4 - 1, "--profile standard, "),
        (sizes["full"] // 4 - 1, "--profile full, "),
        (sizes["full"], NOT_FEASIBLE),
    ):
        said = step(replace(few, n_pairs=pairs, n_clusters=pairs))
        assert words in said
        assert "row" not in said


def test_the_main_figure_that_more_data_would_decide_is_the_next_step() -> None:
    far = row("accuracy", 0.500, 0.501, INCONCLUSIVE, probe="original", minimum_detectable=0.50)
    near = row("merit", 0.50, 0.60, INCONCLUSIVE, probe="original", minimum_detectable=0.20)
    large = row("leniency", 0.10, 0.45, INCONCLUSIVE, probe="original", minimum_detectable=0.50)
    assert step(far, large, near).endswith(f"“{label(near)}” (+0.10)")


def test_no_number_is_given_where_more_units_would_not_help() -> None:
    for difference, detectable in ((0.0, 0.2), (0.3, 0.2), (0.001, 0.5)):
        undecided = row(
            "accuracy", 0.5, 0.5 + difference, INCONCLUSIVE, probe="original", minimum_detectable=detectable
        )
        assert step(undecided).startswith(NOT_FEASIBLE)


def test_the_screen_has_one_row_of_a_metric_and_direction_and_counts_the_rest() -> None:
    whole = row("target_sensitivity", 0.5, 0.9)
    steps = [row("target_sensitivity", 0.5, 0.9, group={"protocol": "base", "delta": d}) for d in (1, 2, 3)]
    strict = row("target_sensitivity", 0.9, 0.5, group={"protocol": "strict"})
    many = answer(*steps, strict, whole)
    assert many.shown == [whole, strict]
    assert many.remarks() == ["3 more figures differ."]
    other = {"protocol": "base", "weighed_against": "longest"}
    merits = [
        row("merit", 0.5, 0.9, probe="position", group=group) for group in ({"protocol": "base"}, other)
    ]
    assert [label(each) for each in answer(*merits).shown] == [
        "tells good from bad", "tells good from bad, whatever the length"
    ]  # fmt: skip


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
    sheet = ComparisonSheet(*sides, "content", 0.1, "0", (row("share_above", 0.5, 0.1),))
    assert (sheet.answered.second, sheet.answered.first) == ("B (theirs)", "A (mine)")
    body = sheet.to_json()
    assert body["answer"] == sheet.answer() == sheet.answered.sentences()
    assert len(body["answer"]) == 2
    assert (body["comparisons"][0]["finding"], body["comparisons"][0]["state"]) == ("flagged", "better")
    assert body["next"]["command"].startswith("steelyard gate run -j theirs ")
    assert replace(sheet, rows=()).answer() == []
    long = replace(sheet, first=replace(sides[0], judge="x" * 40))
    assert (long.answered.second, long.answered.first) == ("B", "A")


def test_a_page_that_draws_every_figure_counts_none_that_it_leaves_out() -> None:
    groups = [{"protocol": "base"}, *({"protocol": "base", "delta": delta} for delta in (1, 2, 3))]
    drawn = [
        row("target_sensitivity", 0.5, 0.9, group=each, p=0.001, q=0.004, minimum_detectable=0.2)
        for each in groups
    ]
    sides = [Side(name, "planted/coin", "run", "sha256:0") for name in ("mine", "theirs")]
    sheet = ComparisonSheet(*sides, "content", 0.1, "0", tuple(drawn))
    assert sheet.answered.remarks() == ["3 more figures differ."]
    assert "more figures differ" not in page(sheet)


def test_what_few_clusters_show_is_told_of_these_alone() -> None:
    """Fewer than six clusters: signs of pairs were flipped, and no judge is called better."""
    few = row("dark_current", 0.5, 0.1, probe="vacuum", flipped="pairs", n_clusters=2)
    assert state(few) == "different"
    (remark,) = answer(few).remarks()
    assert remark.startswith(f"“different” of {label(few)}: in these 2 clusters alone")


def test_two_sides_of_one_name_are_told_apart() -> None:
    def sheet(*prompts: str, name: str = "j") -> ComparisonSheet:
        sides = [
            Side(each, "m", folder, "sha256:0", protocols={"base": prompt})
            for each, folder, prompt in zip(("j", name), ("old", "new"), prompts, strict=True)
        ]
        return ComparisonSheet(*sides, "content", 0.1, "0", ())

    other = sheet("sha256:1", "sha256:2")
    assert other.names == ("A (old)", "B (new)")
    assert "are not asked in the same way" in other.namesakes()
    assert other.to_json()["first"]["protocols"] != other.to_json()["second"]["protocols"]
    assert other.namesakes() in page(other)
    assert "j: one instrument, " in sheet("sha256:1", "sha256:1").namesakes()
    apart = sheet("sha256:1", "sha256:2", name="k")
    assert (apart.names, apart.namesakes()) == (("j", "k"), "")


def test_a_judge_made_of_others_is_told_with_whom_it_asks(tmp_path: Path) -> None:
    third = {"name": "third", "model": "planted/probit"}
    panel = {"name": "panel", "jury": ["planted/tie", "third"]}
    measure("planted/tie", third, panel, probes=["vacuum"], out=tmp_path / "run")
    sheet = compare_targets(Target(tmp_path / "run", "panel"), Target(tmp_path / "run", "planted/tie"))
    told = "(jury/vote of planted/tie, third; 2 calls per verdict)"
    assert sheet.first.model_suffix == f" {told}"
    assert told in " ".join(page(sheet).split())
    assert (sheet.first.model, sheet.second.model_suffix) == ("jury/vote", "")
    assert sheet.to_json()["first"]["made"] == told.strip("()")


LOST = row("failed_rate", 0.0, 0.0, CLEAR, probe="run")


def test_where_no_figure_says_who_is_right_nobody_takes_the_cheaper_judge() -> None:
    kept = row("invariance", 0.9, 0.9, CLEAR, probe="format")
    assert step(kept, LOST) == step(kept, row("mean_verdict", 0.0, 1.0), LOST) == NO_ANSWERS
    assert answer(kept, LOST).next_step(["old", "new"], ["a", "b"])[1] == "steelyard view old new"
    assert step(kept, LOST, row("accuracy", 0.9, 0.9, CLEAR)) == "take the one that costs less"


def test_lost_calls_alone_are_no_likeness() -> None:
    assert "othing about their answers" in answer(LOST, replace(LOST, metric="unreadable_rate")).headline
    assert "alike within" in answer(LOST, row("accuracy", 0.9, 0.9, CLEAR)).headline
