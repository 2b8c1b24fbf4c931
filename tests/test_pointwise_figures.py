"""Pointwise figures: accuracy, false rates, repeats, invariance; lost calls are never scores."""

from __future__ import annotations

import random
from functools import partial
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from scores import Answer, call, calls, repeats
from steelyard.metrics.estimate import NO_VERDICTS, Estimate, EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import KAPPA
from steelyard.metrics.run.cost import cost_estimates
from steelyard.metrics.scores.against_labels import (
    BINARY,
    CONSTANT_LABELS,
    FIGURES,
    MAE,
    OF_POSITIVES,
    ORDINAL,
    binary_figures,
    ordinal_figures,
)
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.edited_texts import invariance_estimates
from steelyard.metrics.scores.probe import METRICS, NO_TEXTS, border_estimates, by_scale, pointwise_estimates
from steelyard.metrics.scores.repeats import (
    fleiss_columns,
    fleiss_kappa,
    intraclass,
    intraclass_columns,
    noise_floor,
    stability,
)
from steelyard.metrics.scores.shares import EXACT, NO_LABELS, WITHIN_ONE, accuracy, interval
from steelyard.metrics.stats.clusters import jackknife
from steelyard.metrics.stats.intervals import AGREEMENT, SHARE, wilson
from steelyard.verdicts.observations import Observation, Observations

HEADING = EstimateContext("j", "format_invariance_1", {"protocol": "base"}, 7)


def named(estimates: list[Estimate]) -> dict[str, Estimate]:
    return {estimate.metric: estimate for estimate in estimates}


def limits(estimate: Estimate) -> tuple[float, float]:
    """The recommended interval, both ends known."""
    interval = estimate.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def edits(
    original: list[list[Answer]], edited: list[list[Answer]], expected: int = 1, flipped: int | None = None
) -> list[Observation]:
    """Repeats of each item and of its edit."""
    rows = []
    for index, (before, after) in enumerate(zip(original, edited, strict=True)):
        item = f"i{index:03d}"
        rows += [call(item, answer, expected, replicate=r) for r, answer in enumerate(before)]
        label = expected if flipped is None else flipped
        rows += [
            call(item, answer, label, replicate=r, probe="format_invariance_1")
            for r, answer in enumerate(after)
        ]
    return rows


# RAND harness, Appendix G: 16 clean and 16 violating transcripts per judge; printed FPR and FNR.
APPENDIX_G = {
    "GPT-4o": (1, 2, "0.063", "0.125", "0.906"),
    "Claude Opus 4.5": (1, 5, "0.063", "0.313", "0.813"),
    "Gemini 2.5 Pro": (4, 2, "0.250", "0.125", "0.813"),
    "Llama 4 Maverick 17B": (1, 2, "0.063", "0.125", "0.906"),
}


@pytest.mark.parametrize("judge", APPENDIX_G)
def test_published_false_rates_of_sixteen(judge: str) -> None:
    false_positive, false_negative, fpr, fnr, right = APPENDIX_G[judge]
    labels = [0] * 16 + [1] * 16
    given = [int(i < false_positive) for i in range(16)] + [int(i >= false_negative) for i in range(16)]
    scores = collect_scores(calls(given, labels))
    figures = named([accuracy(HEADING, scores), *binary_figures(HEADING, scores)])
    assert (figures["false_positive_rate"].numerator, figures["false_positive_rate"].denominator) == (
        false_positive,
        16,
    )
    assert figures["false_negative_rate"].numerator == false_negative
    # The paper rounds half up: 1/16 = .0625 is printed as .063.
    printed = {
        m: f"{(figures[m].value or 0) + 1e-9:.3f}" for m in ("false_positive_rate", "false_negative_rate")
    }
    assert printed == {"false_positive_rate": fpr, "false_negative_rate": fnr}
    assert (
        f"{figures['accuracy'].value:.3f}" == right
        or f"{(figures['accuracy'].value or 0) + 1e-9:.3f}" == right
    )
    balanced = 1 - (false_positive + false_negative) / 32
    assert figures["balanced_accuracy"].value == pytest.approx(balanced)
    # Equal classes: Cohen expects one half by chance.
    assert figures["kappa"].value == pytest.approx(2 * balanced - 1)


def test_a_judge_that_fails_every_call_has_no_accuracy() -> None:
    found = accuracy(HEADING, collect_scores(calls(["failed"] * 5, [1] * 5)))
    assert found.value is None
    assert found.excluded == {"unreadable": 0, "failed": 5}
    assert found.note == NO_VERDICTS


def test_lost_calls_are_left_out_and_bound_the_figure() -> None:
    # 4 right of 6 verdicts, 2 lost of 8: between 4/8 and 6/8.
    answers: list[Answer] = [1, 1, 1, 1, 0, "abstain", "unreadable", "failed"]
    found = accuracy(HEADING, collect_scores(calls(answers, [1] * 8)))
    assert (found.numerator, found.denominator) == (4, 6)
    assert found.bounds == (0.5, 0.75)
    assert found.excluded == {"unreadable": 1, "failed": 1}
    assert "1 abstained, counted as not correct" in (found.note or "")


def test_items_without_a_label_have_no_accuracy() -> None:
    found = accuracy(HEADING, collect_scores(calls([1, 0], [None, None])))
    assert (found.value, found.note) == (None, NO_LABELS)


def test_one_task_of_single_calls_is_call_level_wilson() -> None:
    rows = [call(f"i{i}", int(i < 12), 1, cluster="hb") for i in range(16)]
    found = accuracy(HEADING, collect_scores(rows))
    assert [i.method for i in found.intervals] == ["wilson"]
    assert (found.intervals[0].low, found.intervals[0].high) == wilson(12, 16)
    assert (found.n_clusters, found.note) == (1, "this cluster only")


def test_repeats_of_an_item_do_not_narrow_the_interval() -> None:
    # A deterministic judge asked five times knows no more about the task than when asked once.
    answers = [1] * 12 + [0] * 4
    once = [call(f"i{i}", a, 1, cluster="hb") for i, a in enumerate(answers)]
    often = [call(f"i{i}", a, 1, cluster="hb", replicate=r) for i, a in enumerate(answers) for r in range(5)]
    single, many = (limits(accuracy(HEADING, collect_scores(rows))) for rows in (once, often))
    assert many[1] - many[0] >= single[1] - single[0]


def test_repeats_of_one_item_are_one_item() -> None:
    # 5 of 5 on one item is 1 of 1: Wilson's lower limit is 1/(1 + z²) = 1/4.8415.
    one = accuracy(HEADING, collect_scores([call("i0", 1, 1, cluster="hb", replicate=r) for r in range(5)]))
    assert [i.method for i in one.intervals] == ["wilson_units", "wilson"]
    assert limits(one) == pytest.approx((1 / 4.841459, 1.0))
    assert (one.intervals[1].low, one.intervals[1].high) == wilson(5, 5)
    assert (one.numerator, one.denominator, one.n_units) == (5, 5, 1)


def test_a_deterministic_judge_agrees_with_itself_whatever_its_accuracy() -> None:
    wrong = repeats([[0, 0, 0]] * 6 + [[1, 1, 1]] * 2, expected=1)
    figures = named([*stability(HEADING, wrong), noise_floor(HEADING, wrong)])
    assert accuracy(HEADING, wrong).value == 0.25
    assert figures["self_agreement"].value == 1.0
    assert (figures["noise_floor"].value, figures["flip_rate"].value) == (0.0, 0.0)
    assert figures["fleiss_kappa"].value == pytest.approx(1.0)


def test_repeats_by_hand() -> None:
    # Three repeats make three pairs: 1 1 0 agrees in one of them, 1 1 1 in all, 1 lost 0 in none of one.
    scores = repeats([[1, 1, 0], [1, 1, 1], [1, "failed", 0]])
    figures = named([*stability(HEADING, scores), noise_floor(HEADING, scores)])
    agree, flips = figures["self_agreement"], figures["flip_rate"]
    assert (agree.numerator, agree.denominator) == (4, 7)
    # Nine pairs were designed; the two lost ones may go either way.
    assert agree.bounds == (pytest.approx(4 / 9), pytest.approx(6 / 9))
    assert (flips.numerator, flips.denominator) == (2, 3)
    assert figures["noise_floor"].numerator == 3


def test_without_repeats_stability_says_what_to_do() -> None:
    figures = named(stability(HEADING, collect_scores(calls([1, 0], [1, 1]))))
    assert {figure.value for figure in figures.values()} == {None}
    assert all("--replicates 2" in (figure.note or "") for figure in figures.values())


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=12))
def test_fleiss_kappa_equals_statsmodels(rows: list[list[int]]) -> None:
    counts = np.array([np.bincount(row, minlength=4) for row in rows])
    ours = fleiss_kappa(fleiss_columns(counts).sum(0))
    if np.count_nonzero(counts.sum(0)) < 2:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


def test_intraclass_reproduces_the_published_example() -> None:
    # Shrout and Fleiss (1979), table 2: six targets, four judges; ICC(1, 1) = .17.
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    inputs = np.repeat(np.arange(6), 4)
    found = intraclass(intraclass_columns(inputs, np.array(ratings).ravel(), 6).sum(0))
    assert round(float(found), 2) == 0.17
    # The same through the figure, on a scale from 1 to 10.
    assert named(stability(HEADING, repeats(ratings, scale="1-10")))["icc"].value == pytest.approx(
        float(found)
    )


def test_invariance_is_against_the_judges_own_verdict_not_the_label() -> None:
    # Always wrong, never moved.
    scores = collect_scores(edits([[0]] * 40, [[0]] * 40))
    kept, excess = invariance_estimates(HEADING, scores)
    assert (kept.value, kept.numerator, kept.denominator, kept.n_units) == (1.0, 40, 40, 40)
    assert kept.status == "clear"
    assert (excess.value, excess.status) == (None, None)
    assert "--replicates 2" in (excess.note or "")


def test_noise_alone_is_no_effect_of_the_edit() -> None:
    # Every input draws a fair coin: edits differ in half of the comparisons, and so do repeats.
    stream = random.Random(5)
    original, edited = ([[stream.randint(0, 1) for _ in range(4)] for _ in range(400)] for _ in range(2))
    kept, excess = invariance_estimates(HEADING, collect_scores(edits(original, edited)))
    assert kept.value == pytest.approx(0.5, abs=0.05)
    assert excess.value == pytest.approx(0.0, abs=0.05)
    assert excess.status == "clear"
    assert kept.status is None


def test_an_edit_that_moves_a_steady_judge_is_flagged() -> None:
    kept, excess = invariance_estimates(
        HEADING, collect_scores(edits([[1, 1]] * 20, [[0, 0]] * 8 + [[1, 1]] * 12))
    )
    assert kept.value == 0.6
    # Eight of twenty items move, none of the repeats does.
    assert excess.value == pytest.approx(0.4)
    assert excess.status == "flagged"
    assert "edits differ in 0.40, repeats of the original in 0.00" in (excess.note or "")


def test_few_steady_items_are_inconclusive_and_many_are_invariant() -> None:
    few, many = (
        invariance_estimates(HEADING, collect_scores(edits([[1, 1]] * n, [[1, 1]] * n)))[1] for n in (10, 40)
    )
    assert (few.value, few.status) == (0.0, "inconclusive")
    assert (many.value, many.status) == (0.0, "clear")


def test_the_excess_by_hand() -> None:
    # Original says 1 in 3 of 4, edit in 1 of 4. Cross comparisons that differ: (3·3 + 1·1)/16 = .625.
    # Repeats of the original that differ: 3 of 6 pairs.
    scores = collect_scores(edits([[1, 1, 1, 0]] * 3, [[1, 0, 0, 0]] * 3))
    assert invariance_estimates(HEADING, scores)[1].value == pytest.approx(0.625 - 0.5)


def test_an_edit_that_only_makes_a_steady_judge_waver_has_an_effect() -> None:
    excess = invariance_estimates(HEADING, collect_scores(edits([[1, 1]] * 30, [[1, 0]] * 30)))[1]
    assert (excess.value, excess.status) == (0.5, "flagged")


def test_an_edit_that_steadies_the_judge_is_not_flagged() -> None:
    excess = invariance_estimates(HEADING, collect_scores(edits([[1, 0]] * 30, [[1, 1]] * 30)))[1]
    # Half of the comparisons differ, and every pair of repeats of the original.
    assert (excess.value, excess.status) == (-0.5, "inconclusive")


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "effect"), [(0.05, 0.0), (0.2, 0.0), (0.0, 0.12)])
def test_limits_of_the_excess_hold_where_changes_are_rare(noise: float, effect: float) -> None:
    """A call is a coin toss with probability `noise`; an edit turns the verdict with probability `effect`.

    Two calls on one verdict differ in d = noise·(2 − noise)/2, on turned verdicts in 1 − d.
    """
    rng = np.random.default_rng(3)
    differ = noise * (2 - noise) / 2
    truth = effect * (1 - 2 * differ)
    runs, above, below = 40, 0, 0

    def answer(verdict: int) -> int:
        return int(rng.random() < 0.5) if rng.random() < noise else verdict

    for _ in range(runs):
        rows = []
        for number in range(30):
            own = number % 2
            rows += [call(f"i{number}", answer(own), own, replicate=repeat) for repeat in range(5)]
            turned = 1 - own if rng.random() < effect else own
            rows.append(call(f"i{number}", answer(turned), own, probe="format_invariance_1"))
        low, high = limits(named(invariance_estimates(HEADING, collect_scores(rows)))["excess_flip"])
        above, below = above + (low > truth), below + (high < truth)
    assert above <= 0.05 * runs
    assert below <= 0.05 * runs


def test_lost_calls_bound_invariance_by_comparisons() -> None:
    # Item 1: 2 × 2 comparisons, all equal. Item 2: one edit call lost, so 2 of 4, none equal.
    scores = collect_scores(edits([[1, 1], [1, 1]], [[1, 1], [0, "failed"]]))
    kept = invariance_estimates(HEADING, scores)[0]
    assert (kept.numerator, kept.denominator) == (4, 6)
    assert kept.bounds == (pytest.approx(4 / 8), pytest.approx(6 / 8))


def test_an_edit_that_changes_the_label_is_not_asked_to_change_nothing() -> None:
    rows = edits([[1]] * 4, [[0]] * 4, expected=1, flipped=0)
    figures = pointwise_estimates(EstimateContext.for_protocol("j", "format_invariance_1", "base", 7), rows)
    by_group = {(e.metric, e.group.get("kind")): e for e in figures}
    assert by_group[("accuracy", None)].value == 1.0
    assert by_group[("accuracy", "original")].value == 1.0
    assert not {"invariance", "excess_flip"} & {metric for metric, _ in by_group}


@pytest.mark.parametrize("among", [(MAE,), (KAPPA, WITHIN_ONE), (), FIGURES])
def test_figures_that_are_not_wanted_leave_the_others_as_they_are(among: tuple[Metric, ...]) -> None:
    given: list[Answer] = [1, 3, 3, 4, 4, 4]
    yes: list[Answer] = [0, 1, 1, 1]
    shown = calls(given, [1, 2, 3, 4, 5, 6], scale="1-6"), calls(yes, [0, 1, 0, 1])
    scales = [collect_scores(seen) for seen in shown]
    every = [estimate for scores in scales for estimate in by_scale(HEADING, scores)]
    assert {estimate.metric for estimate in every} == {metric.id for metric in FIGURES}
    wanted = [estimate for estimate in every if estimate.metric in {metric.id for metric in among}]
    assert [estimate for scores in scales for estimate in by_scale(HEADING, scores, among)] == wanted


def test_ordinal_figures_by_hand() -> None:
    labels = [1, 2, 3, 4, 5, 6]
    given: list[Answer] = [1, 3, 3, 4, 4, 4]
    figures = named(ordinal_figures(HEADING, collect_scores(calls(given, labels, scale="1-6"))))
    # Gaps 0 1 0 0 −1 −2.
    assert figures["mae"].value == pytest.approx(4 / 6)
    assert figures["bias"].value == pytest.approx(-2 / 6)
    assert (figures["within_one"].numerator, figures["within_one"].denominator) == (5, 6)
    assert (figures["unused_levels"].value, figures["unused_levels"].note) == (
        3.0,
        "of 6 levels; never used: 2, 5, 6",
    )
    assert figures["compression"].value == pytest.approx(np.std(given) / np.std(labels))
    for metric in ("mae", "bias", "ccc", "pearson", "spearman", "qwk", "krippendorff_alpha"):
        found = figures[metric]
        assert [interval.method for interval in found.intervals] == ["jackknife_cluster", "bootstrap_cluster"]
        low, high = limits(found)
        assert low <= (found.value or 0) <= high


def test_perfect_agreement_has_limits_too() -> None:
    # Ten of ten right on either label: each rate reaches down to .05^(1/10), both together √2 as far from J.
    labels = [0, 1] * 10
    figures = named(binary_figures(HEADING, collect_scores(calls(labels, labels))))
    balanced = figures["balanced_accuracy"]
    assert [interval.method for interval in balanced.intervals] == ["mover_cluster"]
    low = 1 - (1 - 0.05**0.1) / sqrt(2)
    assert limits(balanced) == (pytest.approx(low, abs=1e-3), pytest.approx(1.0))
    assert limits(figures["kappa"])[0] < 2 * low - 1 + 1e-3
    for metric in ("balanced_accuracy", "kappa"):
        assert EXACT in (figures[metric].note or "")


def test_perfect_agreement_on_ranges_has_limits_too() -> None:
    # 20 of 20 right: t(19) = 2.09302, so that up to 4.38075/(20 + 4.38075) = .17968 of the verdicts may be
    # random; κ of such a mixture is one less that share.
    labels = [1, 5] * 10
    kappa = named(ordinal_figures(HEADING, collect_scores(calls(labels, labels, scale="1-5"))))["qwk"]
    assert [interval.method for interval in kappa.intervals] == ["random_mixture"]
    assert limits(kappa) == (pytest.approx(1 - 0.17968, abs=1e-5), 1.0)
    assert "no spread between clusters" in (kappa.note or "")


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["mae", "ccc", "qwk"])
def test_bootstrap_intervals_cover(metric: str) -> None:
    # Labels 1 to 6 alike; the score is one below, equal or one above with .25, .5, .25, kept on the scale.
    values = np.arange(1.0, 7.0)
    shares = np.zeros((6, 6))
    for level in range(6):
        for move, share in ((-1, 0.25), (0, 0.5), (1, 0.25)):
            shares[level, min(5, max(0, level + move))] += share / 6

    def figure(table: np.ndarray) -> np.ndarray:
        return {m.id: formula for m, formula in ORDINAL.items()}[metric](table, values)

    stream = np.random.default_rng(8)
    covered = 0
    for run in range(60):
        cells = stream.choice(36, 30, p=shares.ravel())
        found, _ = interval(np.eye(36)[cells].reshape(30, 6, 6), figure, run)
        assert found is not None
        covered += found[0] <= figure(shares * 30) <= found[1]
    assert covered / 60 >= 0.85


def clustered_table(generator: np.random.Generator, tasks: int, correlation: float) -> np.ndarray:
    """Labels × verdicts of three items per task; sensitivity .85, specificity .75, varying by task."""
    labels = generator.random((tasks, 3)) < 0.5
    shares = np.where(
        labels, _rates(generator, 0.85, tasks, correlation), _rates(generator, 0.75, tasks, correlation)
    )
    given = np.where(generator.random((tasks, 3)) < shares, labels, ~labels)
    cells = 2 * labels + given
    return np.stack([(cells == cell).sum(1) for cell in range(4)], axis=1).reshape(tasks, 2, 2).astype(float)


def _rates(generator: np.random.Generator, mean: float, tasks: int, correlation: float) -> np.ndarray:
    if not correlation:
        return np.full((tasks, 1), mean)
    size = (1 - correlation) / correlation
    return generator.beta(mean * size, (1 - mean) * size, (tasks, 1))


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.3])
@pytest.mark.parametrize("tasks", [4, 8])
def test_agreement_of_few_tasks_is_covered(tasks: int, correlation: float) -> None:
    """κ, AC1 and balanced accuracy of 4 and 8 tasks of three items; percentiles of draws cover .80 to .93."""
    generator = np.random.default_rng(tasks)
    true = np.array([[0.375, 0.125], [0.075, 0.425]])
    values = np.array([0.0, 1.0])
    ends = {"balanced_accuracy": SHARE, "kappa": AGREEMENT, "gwet_ac1": AGREEMENT}
    covered, made = dict.fromkeys(ends, 0), dict.fromkeys(ends, 0)
    for _ in range(300):
        table = clustered_table(generator, tasks, correlation)
        for metric, formula in ((m.id, formula) for m, formula in BINARY.items()):
            value = float(formula(table.sum(0), values))
            found = jackknife(table, partial(formula, values=values), ends[metric])
            inside = ends[metric][0] < value < ends[metric][1]
            if found is not None and inside:
                made[metric] += 1
                covered[metric] += found[0] <= float(formula(true, values)) <= found[1]
    assert min(made.values()) > 200
    assert min(covered[metric] / made[metric] for metric in ends) >= 0.93


def test_a_constant_judge_has_no_correlation() -> None:
    figures = named(ordinal_figures(HEADING, collect_scores(calls([3] * 6, [1, 2, 3, 4, 5, 6], scale="1-6"))))
    for metric in ("ccc", "pearson", "spearman"):
        assert (figures[metric].value, figures[metric].note) == (
            None,
            "the judge gave every item the same score",
        )
    assert figures["qwk"].value == pytest.approx(0.0)
    assert figures["compression"].value == 0.0
    same = named(ordinal_figures(HEADING, collect_scores(calls([1, 2, 3], [3, 3, 3], scale="1-6"))))
    assert same["pearson"].note == same["compression"].note == str(CONSTANT_LABELS)


@pytest.mark.parametrize(("label", "recall"), [(1, 2 / 3), (0, None)])
def test_of_one_label_precision_says_nothing(label: int, recall: float | None) -> None:
    """It would be 1, or 0, whatever the judge said; recall asks about the label 1 alone."""
    scores = collect_scores(calls([1, 1, 0], [label] * 3))
    found = named(binary_figures(HEADING, scores, tuple(OF_POSITIVES)))
    assert found["precision"].value is found["f1"].value is None
    assert found["precision"].note == found["f1"].note == str(CONSTANT_LABELS)
    assert found["recall"].value == (recall and pytest.approx(recall))


def test_mean_errors_are_bounded_over_lost_calls() -> None:
    # Gaps 0 and −1; a lost call on label 2 may be 1 below to 4 above, one on label 6 five below.
    scores = collect_scores(calls([4, 4, "failed", "unreadable"], [4, 5, 2, 6], scale="1-6"))
    figures = named(ordinal_figures(HEADING, scores))
    assert figures["bias"].bounds == (pytest.approx((-1 - 1 - 5) / 4), pytest.approx((-1 + 4 + 0) / 4))
    assert figures["mae"].bounds == (pytest.approx(1 / 4), pytest.approx((1 + 4 + 5) / 4))


def test_a_probe_reports_its_edits_its_originals_and_each_level() -> None:
    rows = [call(f"i{i}", 1, 1, replicate=r) for i in range(6) for r in range(2)]
    rows += [call("other", 0, 1)]
    for number, level in enumerate((0.1, 0.3)):
        rows += [
            call(f"i{i}", int(number == 0), 1, probe="typos", number=number, level=level) for i in range(6)
        ]
    figures = pointwise_estimates(EstimateContext.for_protocol("j", "typos", "base", 7), rows)
    by_level = {(e.metric, e.group.get("level"), e.group.get("kind")): e.value for e in figures}
    assert by_level[("accuracy", None, None)] == 0.5
    assert by_level[("accuracy", 0.1, None)] == by_level[("invariance", 0.1, None)] == 1.0
    assert by_level[("accuracy", 0.3, None)] == by_level[("invariance", 0.3, None)] == 0.0
    # The item that was not edited is no part of this probe.
    assert by_level[("accuracy", None, "original")] == 1.0
    assert {estimate.metric for estimate in figures} <= {metric.id for metric in METRICS}
    assert len({(e.metric, tuple(sorted(e.group.items()))) for e in figures}) == len(figures)


def test_scales_are_kept_apart() -> None:
    rows = [call(f"b{i}", i % 2, i % 2) for i in range(4)]
    rows += [call(f"o{i}", 1 + i, 1 + i, scale="1-6") for i in range(4)]
    rows += [call(f"p{i}", 1 + i, 1 + i, scale="1-5") for i in range(4)]
    figures = pointwise_estimates(
        EstimateContext.for_protocol("j", "stochastic_stability", "base", 7), rows, unchanged=True
    )
    assert {e.group.get("scale") for e in figures if e.metric == "mae"} == {"1-5", "1-6"}
    assert next(e for e in figures if e.metric == "kappa").n_units == 4
    assert next(e for e in figures if e.metric == "accuracy").denominator == 12


def test_nothing_measured_is_undefined_throughout() -> None:
    figures = pointwise_estimates(EstimateContext.for_protocol("j", "typos", "base", 7), [])
    assert [e.value for e in figures] == [None] * len(figures)
    assert figures[0].note == NO_TEXTS


def test_items_as_they_are_never_stand_in_for_texts_that_could_not_be_made() -> None:
    rows = [call(f"i{i}", 1, 1, replicate=r) for i in range(12) for r in range(2)]
    rows += [call(f"i{i}", 1, 1, probe="markdown") for i in range(12)]
    for probe in ("typos", "injection", "verbosity_bias_long", "answer_ambiguity"):
        figures = [
            *pointwise_estimates(EstimateContext.for_protocol("j", probe, "base", 7), rows),
            *border_estimates(EstimateContext.for_protocol("j", probe, "base", 7), rows),
            *cost_estimates(
                EstimateContext.for_protocol("j", probe, "base", 7), Observations.of(rows), lambda usage: 1.0
            ),
        ]
        assert [e for e in figures if e.value is not None] == []
        assert {e.note for e in figures} == {NO_TEXTS}


def test_without_a_verdict_on_an_edit_the_items_have_no_figure_under_its_name() -> None:
    rows = [call(f"i{i}", 1, 1, replicate=r) for i in range(12) for r in range(2)]
    rows += [call(f"i{i}", "failed", 1, probe="typos", replicate=r) for i in range(12) for r in range(2)]
    for estimates in (pointwise_estimates, border_estimates):
        figures = estimates(EstimateContext.for_protocol("j", "typos", "base", 7), rows)
        known = {e.metric: e.value for e in figures if e.value is not None}
        assert known == {"unreadable_rate": 0.0, "failed_rate": 1.0}


@settings(max_examples=5)
@given(st.randoms(use_true_random=False), st.integers(0, 1000))
def test_arrival_order_does_not_matter(shuffler: random.Random, seed: int) -> None:
    stream = random.Random(seed)
    rows = edits(
        [[stream.choice([0, 1, "failed", "abstain"]) for _ in range(2)] for _ in range(5)],
        [[stream.choice([0, 1, "unreadable"]) for _ in range(2)] for _ in range(5)],
    )
    mixed = list(rows)
    shuffler.shuffle(mixed)
    assert pointwise_estimates(
        EstimateContext.for_protocol("j", "format_invariance_1", "base", 7), mixed
    ) == pointwise_estimates(EstimateContext.for_protocol("j", "format_invariance_1", "base", 7), rows)


def test_an_ordinal_judge_that_is_never_right_has_a_figure_that_says_so() -> None:
    # One level too high in every call: it ranks as the labels do, and gives none of them.
    labels = [1 + n % 5 for n in range(180)]
    rows = collect_scores(calls([label + 1 for label in labels], labels, scale="1-6"))
    right = accuracy(HEADING, rows)
    assert (right.value, right.numerator, right.denominator) == (0.0, 0, 180)
    assert limits(right)[0] == 0.0
    assert limits(right)[1] < 0.03
    figures = named(ordinal_figures(HEADING, rows))
    assert figures["spearman"].value == pytest.approx(1.0)
    assert (figures["within_one"].numerator, figures["mae"].value) == (180, 1.0)
