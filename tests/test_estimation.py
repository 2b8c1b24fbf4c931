"""Estimators by design: published figures, cases by hand, identities, and coverage on planted judges."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy.stats import beta

from planted_frames import PlantedWorld, coverage
from steelyard.estimation.designs import (
    LabelDesign,
    agreement,
    combined,
    corrected,
    judge_only,
    labels_only,
    recorded_design,
    stratified,
    worth,
)
from steelyard.estimation.estimators import (
    allocation,
    effective_counts,
    greg,
    post_stratified,
    ppi,
    ppi_weight,
    rogan_gladen,
    separates,
)
from steelyard.estimation.frame import Figure, Frame, unseen_residual
from steelyard.metrics.stats.intervals import Z, score, score_of_few

SUPPORT = (416, 90, 15, 79)
"""Labelled items of a public example by (judge, people): pass-pass, pass-fail, fail-pass, fail-fail."""
TWO_JUDGES = {
    ("flash", "gpt-4o-mini"): (38, 95, 30, 162),
    ("flash", "gpt-5.2"): (74, 59, 84, 108),
    ("pro", "gpt-4o-mini"): (11, 54, 33, 178),
    ("pro", "gpt-5.2"): (35, 30, 64, 147),
    ("qwen", "gpt-4o-mini"): (28, 82, 34, 131),
    ("qwen", "gpt-5.2"): (78, 32, 116, 49),
}
"""Comparisons by (people, judge) for one system: 11, 10, 01, 00."""


def support() -> Frame:
    """600 of 4,000 answers labelled; the judge passes 3,353."""
    judge = np.repeat([1.0, 1.0, 0.0, 0.0], SUPPORT)
    people = np.repeat([1.0, 0.0, 1.0, 0.0], SUPPORT)
    passes = 3353 - SUPPORT[0] - SUPPORT[1]
    rest = 4000 - sum(SUPPORT)
    judge = np.concatenate([judge, np.ones(passes), np.zeros(rest - passes)])
    return Frame(judge, np.concatenate([people, np.full(rest, np.nan)]), np.arange(4000))


def limits(figure: Figure) -> tuple[float, float]:
    assert figure.low is not None
    assert figure.high is not None
    return figure.low, figure.high


def test_greg_and_ppi_of_the_public_example() -> None:
    frame = support()
    assert judge_only(frame).value == pytest.approx(0.83825)
    assert greg(frame, 0.0).value == pytest.approx(0.71833, abs=5e-6)
    assert ppi_weight(frame) == pytest.approx(0.54956, abs=5e-6)
    assert ppi(frame).value == pytest.approx(0.71505, abs=5e-6)
    assert limits(ppi(frame)) == pytest.approx((0.68363, 0.74646), abs=6e-6)
    assert greg(frame).value == pytest.approx(0.71497, abs=5e-6)
    assert limits(greg(frame)) == pytest.approx((0.68684, 0.74310), abs=6e-6)
    assert corrected(frame, LabelDesign.RANDOM) == greg(frame)
    assert corrected(replace(frame, of_population=True), LabelDesign.RANDOM) == ppi(frame)


def test_rogan_gladen_and_its_allocation_as_published() -> None:
    figure = rogan_gladen((400, 1000), (180, 200), (140, 200))
    assert figure.value == pytest.approx(0.166667, abs=5e-7)
    assert limits(figure) == pytest.approx((0.056351, 0.262733), abs=5e-7)
    assert allocation(200, 0.4, 0.7, 0.9, 10) == (136, 64)


@pytest.mark.parametrize("pair", TWO_JUDGES, ids="-".join)
def test_two_judges_of_the_same_pairs(pair: tuple[str, str]) -> None:
    both, people, judge, neither = TWO_JUDGES[pair]
    n = both + people + judge + neither
    y = np.repeat([1.0, 1.0, 0.0, 0.0], TWO_JUDGES[pair])
    f = np.repeat([1.0, 0.0, 1.0, 0.0], TWO_JUDGES[pair])
    frame = Frame(f, y, np.arange(n))
    # Everything is labelled: the corrected figure is people's own, without a width, whoever judges.
    figure = corrected(frame, LabelDesign.RANDOM)
    assert figure.value == pytest.approx((both + people) / n)
    assert limits(figure) == pytest.approx((figure.value, figure.value))
    found = worth(frame, LabelDesign.RANDOM, figure, labels_only(frame))
    assert found is not None
    assert found.factor is None  # two intervals without width
    assert round(found.rho_squared, 2) <= 0.04


def test_two_judges_name_two_winners() -> None:
    shares = {
        pair: ((both + people) / 275, (both + judge) / 275)
        for pair, (both, people, judge, _) in TWO_JUDGES.items()
        if pair[0] == "qwen"
    }
    assert shares["qwen", "gpt-5.2"] == pytest.approx((0.400, 0.7055), abs=5e-4)
    assert shares["qwen", "gpt-4o-mini"] == pytest.approx((0.400, 0.2255), abs=5e-4)


def test_without_weight_the_labels_stand_alone() -> None:
    frame = support()
    assert greg(frame, 0.0).value == frame.y.mean()
    error = sqrt(0.85 * frame.y.var(ddof=1) / 600)
    assert greg(frame, 0.0).error == pytest.approx(error)


def test_a_perfect_judge_leaves_the_sampling_error_alone() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(3, 1, 500)
    people = np.where(np.arange(500) < 60, scores, np.nan)
    frame = Frame(scores, people, np.arange(500))
    assert greg(frame).error == pytest.approx(0, abs=1e-9)
    assert greg(frame).value == pytest.approx(scores.mean())
    # Of the population, the error is that of 500 items.
    assert ppi(frame).error == pytest.approx(scores.std(ddof=1) / sqrt(500), rel=0.02)


def test_post_stratification_by_hand() -> None:
    # Judge passes 80 of 100; people pass 9 of 10 drawn passes and 2 of 10 drawn fails.
    judge = np.concatenate([np.ones(80), np.zeros(20)])
    people = np.full(100, np.nan)
    people[:10], people[80:90] = [1] * 9 + [0], [1, 1] + [0] * 8
    figure = post_stratified(Frame(judge, people, np.arange(100), of_population=True))
    assert figure.value == pytest.approx(0.8 * 0.9 + 0.2 * 0.2)
    # Wilson: 9/10 [.5958, .9821], 2/10 [.0567, .5098]. Few misses and few events reach the exact one-sided
    # limits: .95^(1/10) = .99488, and .03677, where P(at least 2 of 10) = .05.
    # Between levels .8·.14² + .2·.56² over 100.
    between = 1.959964**2 * (0.8 * 0.14**2 + 0.2 * 0.56**2) / 100
    low = 0.76 - sqrt((0.8 * (0.9 - 0.59585)) ** 2 + (0.2 * (0.2 - 0.03677)) ** 2 + between)
    high = 0.76 + sqrt((0.8 * (0.99488 - 0.9)) ** 2 + (0.2 * (0.50984 - 0.2)) ** 2 + between)
    assert limits(figure) == pytest.approx((low, high), abs=1e-4)


def test_for_a_binary_judge_post_stratification_is_regression() -> None:
    frame = support()
    assert post_stratified(frame).value == pytest.approx(greg(frame).value)


def test_levels_with_many_scores_and_no_miss_keep_a_width() -> None:
    # 30 labels, all passes: the regression has no residual, the score interval has.
    people = np.full(1000, np.nan)
    people[::34] = 1.0
    frame = Frame(np.linspace(0, 1, 1000), people, np.arange(1000))
    figure = corrected(frame, LabelDesign.RANDOM)
    assert greg(frame).error == 0
    assert limits(figure.within((0, 1)))[0] < 0.92


def test_known_odds_by_hand() -> None:
    # The judge passes 60 of 100. Two labels of passes with odds .5 and .25 count for 2 and 4; people pass the
    # second alone, so 4/6. Of fails one of two passes, both with odds .4. θ = .6·⅔ + .4·½.
    judge = np.concatenate([np.ones(60), np.zeros(40)])
    people, odds = np.full(100, np.nan), np.full(100, 0.4)
    people[:2], odds[:2], people[60:62] = (0, 1), (0.5, 0.25), (1, 0)
    figure = corrected(Frame(judge, people, np.arange(100), odds), LabelDesign.ODDS)
    assert figure.value == pytest.approx(0.6 * 2 / 3 + 0.4 / 2)
    # Passes: Σ (w/Σw)²(1 − π) is .5/9 + .75·4/9. What differs says less: Σ (w·e/Σw)²(1 − π)·2 is
    # (.5·4/81 + .75·4/81)·2 of a spread of 2/9·2. The smaller size counts. Fails: .6/2.
    sizes = min(1 / (0.5 / 9 + 0.75 * 4 / 9), (4 / 9) / (1.25 * 8 / 81)), 1 / 0.3
    reach = 0.0
    for share, mean, size in zip((0.6, 0.4), (2 / 3, 0.5), sizes, strict=True):
        reach += (share * (score_of_few(mean, size, Z)[1] - mean)) ** 2
    assert limits(figure)[1] == pytest.approx(figure.value + sqrt(reach))


def test_labels_alone_with_odds_by_hand() -> None:
    # Half of the labels have odds .5 and half .1, and only those pass: 10 of 12 parts of the weight.
    people, odds = np.full(100, np.nan), np.repeat([0.5, 0.1], 50)
    people[:10], people[50:60] = 0, 1
    found = labels_only(Frame(np.zeros(100), people, np.arange(100), odds))
    assert found.value == pytest.approx(10 / 12)
    # Σ (w·e/Σw)²(1 − π): ten of (2/120·5/6)²·.5 and ten of (10/120·1/6)²·.9, times 20/19.
    error = 10 * ((2 / 120 * 5 / 6) ** 2 * 0.5 + (10 / 120 / 6) ** 2 * 0.9) * 20 / 19
    even = 10 * ((2 / 120) ** 2 * 0.5 + (10 / 120) ** 2 * 0.9)
    size = min(1 / even, 10 / 12 * 2 / 12 * 20 / 19 / error)
    assert limits(found) == pytest.approx(score_of_few(10 / 12, size, Z))
    # Where those with low odds are the ones that differ, their own error counts, and the size is smaller.
    people[50:60] = np.arange(10) < 5
    found = labels_only(Frame(np.zeros(100), people, np.arange(100), odds))
    p = 5 / 12
    error = 10 * (2 / 120 * p) ** 2 * 0.5 + 5 * (10 / 120) ** 2 * 0.9 * (p**2 + (1 - p) ** 2)
    assert p * (1 - p) / error < 1 / even
    assert limits(found) == pytest.approx(score_of_few(p, p * (1 - p) / error, Z))


def test_a_verdict_that_no_label_tells_of_may_be_anywhere() -> None:
    # Ten of a hundred have a verdict without a label: the limits reach a tenth of the scale further.
    judge, people, odds = np.zeros(100), np.full(100, np.nan), np.full(100, 0.4)
    judge[:10] = 1
    people[10:50] = np.arange(40) % 4 == 0
    low, high = limits(corrected(Frame(judge, people, np.arange(100), odds), LabelDesign.ODDS))
    ends = score_of_few(0.25, 40 / 0.6, Z)
    assert low == pytest.approx(0.25 - sqrt((0.9 * (0.25 - ends[0])) ** 2 + 0.025**2))
    assert high == pytest.approx(0.25 + sqrt((0.9 * (ends[1] - 0.25)) ** 2 + 0.075**2))


def test_what_recorded_odds_amount_to() -> None:
    judge, people = np.array([0.0, 0.0, 1.0, 1.0]), np.full(4, np.nan)

    def design(*odds: float) -> LabelDesign:
        return recorded_design(Frame(judge, people, np.arange(4), np.array(odds)))

    assert design(0.3, 0.3, 0.3, 0.3) is LabelDesign.RANDOM
    assert design(0.3, 0.3, 0.1, 0.1) is LabelDesign.BY_VERDICT
    assert design(0.3, 0.2, 0.1, 0.1) is LabelDesign.ODDS


def test_tasks_widen_the_interval() -> None:
    world = PlantedWorld.yes_no(0.3, per_task=10)
    y, f, task = world.draw(np.random.default_rng(3))
    # Whole tasks are labelled, so that their items say much the same.
    people = np.where(task < 30, y, np.nan)
    one_each = Frame(f, people, np.arange(len(y)))
    by_task = Frame(f, people, task)
    for population in (False, True):
        assert greg(by_task).error > 1.2 * greg(one_each).error
        wide = labels_only(replace(by_task, of_population=population))
        narrow = labels_only(replace(one_each, of_population=population))
        assert wide.error > 1.2 * narrow.error


def test_strata_are_added_by_their_shares() -> None:
    parts = [(0.75, Figure(0.8, 0.7, 0.9, 0.05, "greg")), (0.25, Figure(0.4, 0.2, 0.6, 0.1, "greg"))]
    whole = combined(parts)
    assert whole.value == pytest.approx(0.7)
    assert whole.error == pytest.approx(sqrt((0.75 * 0.05) ** 2 + (0.25 * 0.1) ** 2))
    assert limits(whole)[1] - 0.7 == pytest.approx(sqrt(0.075**2 + 0.05**2))


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_one_rare_label_in_each_of_two_strata_reaches_as_far_as_two_in_one_draw(rare: float) -> None:
    """MOVER alone puts the limit at 2.2 %, although 2 % makes this happen in 7 of 100 draws."""
    parts = []
    for events in (1, 1, 0):
        people = np.full(300, np.nan)
        people[:10] = np.where(np.arange(10) < events, rare, 1 - rare)
        parts.append(Frame(np.full(300, 1 - rare), people, np.arange(300), ends=(0.0, 1.0)))
    figure = stratified([replace(part, of_population=True) for part in parts])
    ends = (figure.low, figure.high) if rare else (1 - limits(figure)[1], 1 - limits(figure)[0])
    assert figure.value == pytest.approx(1 / 15 if rare else 14 / 15)
    assert ends[0] == pytest.approx(beta.ppf(0.05, 2, 29))
    upper = [score(share, 10, Z)[1] - share for share in (0.1, 0.1, 0.0)]
    assert ends[1] == pytest.approx(1 / 15 + sqrt(sum((each / 3) ** 2 for each in upper)), abs=0.02)
    some = stratified([replace(part, people=part.judge) for part in parts])
    assert (some.low, some.value, some.high) == pytest.approx((1 - rare, 1 - rare, 1 - rare))


def test_strata_with_few_labels_reach_as_far_as_t() -> None:
    # Three of six pass in each of three strata of 300: one level, Wilson's limits, times t of 15 over z.
    people = np.full(300, np.nan)
    people[:6] = [1, 0, 1, 0, 1, 0]
    part = Frame(np.ones(300), people, np.arange(300), ends=(0.0, 1.0))
    figure = stratified([part, part, part])
    reach = score_of_few(0.5, 6 / 0.98, Z)[1] - 0.5
    assert limits(figure)[1] == pytest.approx(0.5 + 2.13145 / Z * reach / sqrt(3), abs=1e-5)


def test_worth_is_what_the_two_intervals_amount_to() -> None:
    frame = support()
    rho = np.corrcoef(frame.y, frame.f)[0, 1]
    narrow, wide = Figure(0.7, 0.66, 0.74, 0.02, "greg"), Figure(0.7, 0.65, 0.75, 0.025, "wilson")
    found = worth(frame, LabelDesign.RANDOM, narrow, wide)
    assert found is not None
    assert found.effective_labels is not None
    assert found.rho_squared == pytest.approx(rho**2)
    # .8 of the width: 1/4,000 + .64·(1/600 − 1/4,000) is that of 862 labels; of the population 600/.64.
    assert found.effective_labels == pytest.approx(1 / (1 / 4000 + 0.64 * (1 / 600 - 1 / 4000)))
    assert found.factor == pytest.approx(found.effective_labels / 600)
    assert not found.adds_nothing
    more = worth(replace(frame, of_population=True), LabelDesign.RANDOM, narrow, wide)
    assert more is not None
    assert more.effective_labels == pytest.approx(600 / 0.64)
    less = worth(frame, LabelDesign.RANDOM, wide, narrow)
    assert less is not None
    assert less.adds_nothing
    alone = worth(frame, LabelDesign.BY_VERDICT, narrow, None)
    assert alone is not None
    assert (alone.factor, alone.adds_nothing) == (None, False)
    constant = Frame(np.ones(20), np.where(np.arange(20) < 10, 1.0, np.nan), np.arange(20))
    assert worth(constant, LabelDesign.RANDOM, narrow, wide) is None


def test_a_judge_that_tells_nothing_does_not_separate() -> None:
    assert separates((18, 20), (14, 20))
    assert not separates((10, 20), (10, 20))
    assert not separates((12, 20), (11, 20))


def test_limits_stop_at_the_scale_and_say_so() -> None:
    figure = Figure(0.98, 0.94, 1.02, 0.02, "greg").within((0.0, 1.0))
    assert limits(figure) == (0.94, 1.0)
    assert figure.clamped
    assert not Figure(0.5, 0.4, 0.6, 0.05, "greg").within((0.0, 1.0)).clamped


def test_few_events_reach_the_exact_limit() -> None:
    # One event of 15: the score limit is .0119; the exact one-sided limit 1 − .95^(1/15) is .0034.
    assert score(1 / 15, 15, Z)[0] == pytest.approx(0.0119, abs=1e-4)
    assert score_of_few(1 / 15, 15, Z)[0] == pytest.approx(1 - 0.95 ** (1 / 15))
    assert score_of_few(14 / 15, 15, Z)[1] == pytest.approx(0.95 ** (1 / 15))
    assert score_of_few(5 / 15, 15, Z) == score(5 / 15, 15, Z)
    assert score_of_few(0.0, 15, Z) == score(0.0, 15, Z)


def test_a_trace_of_an_event_reaches_the_end() -> None:
    """A fractional size can leave a thousandth of an event, whose quantile does not settle."""
    share = 0.004095800206930005 / 0.9486868113753881
    assert score_of_few(share, 0.9486868113753881, Z)[0] == 0.0
    assert score_of_few(1 - share, 0.9486868113753881, Z)[1] == 1.0
    assert score_of_few(0.2, 0.6, Z)[0] == pytest.approx(beta.ppf(0.05, 0.12, 1.48), abs=1e-12)


def scale_frame(y: list[float], ends: tuple[float, float]) -> Frame:
    people = np.concatenate([np.array(y), np.full(2000 - len(y), np.nan)])
    return Frame(np.full(2000, 4.0), people, np.arange(2000), ends=ends)


def test_a_mean_on_a_scale_has_the_score_interval_of_its_size() -> None:
    y = [5.0] * 27 + [3.0] * 3
    frame = scale_frame(y, (1.0, 5.0))
    figure = labels_only(frame)
    variance = (1 - 30 / 2000) * np.var(y, ddof=1) / 30
    variance += (1 - 30 / 2000) * 4**2 / 30**2  # one label more that is a whole scale away
    size = 0.95 * 0.05 * 16 / variance  # mean 4.8 is .95 of the way from 1 to 5
    low, high = score(0.95, size, 2.04523)  # t with 29 degrees of freedom
    assert limits(figure) == pytest.approx((1 + 4 * low, 1 + 4 * high), abs=1e-4)
    # All labels alike: as wide as 30 answers of yes, not without a width.
    alike = labels_only(scale_frame([5.0] * 30, (1.0, 5.0)))
    assert limits(alike)[0] == pytest.approx(4.5, abs=0.03)


def test_a_difference_has_one_of_each_sign_more() -> None:
    y = [1.0, -1.0] + [0.0] * 38
    frame = Frame(
        np.zeros(2000), np.concatenate([y, np.full(1960, np.nan)]), np.arange(2000), ends=(-1.0, 1.0)
    )
    figure = corrected(frame, LabelDesign.RANDOM)
    assert figure.error == pytest.approx(sqrt(0.98 * (np.var(y, ddof=1) / 40 + 2 / 40**2)))
    nothing = scale_frame([0.0] * 40, (-1.0, 1.0))
    assert limits(corrected(nothing, LabelDesign.RANDOM))[1] > 0.05


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.0, 5.0)])
def test_zeros_and_ones_of_a_wider_scale_are_no_shares(ends: tuple[float, float]) -> None:
    # Three wins and no loss of 30: by the sign test p is .25, so that a loss must stay possible.
    y = [1.0] * 3 + [0.0] * 27
    frame = replace(scale_frame(y, ends), judge=np.zeros(2000))
    variance = (1 - 30 / 2000) * np.var(y, ddof=1) / 30
    for figure in (corrected(frame, LabelDesign.RANDOM), labels_only(frame)):
        if frame.is_difference:
            reach = 2.04523 * sqrt(variance + 2 * (1 - 30 / 2000) / 900)  # t with 29 degrees of freedom
            assert limits(figure) == pytest.approx((0.1 - reach, 0.1 + reach), abs=1e-5)
            assert limits(figure)[0] < 0
        else:
            more = variance + (1 - 30 / 2000) * 5**2 / 900
            low, high = score(0.02, 0.02 * 0.98 * 25 / more, 2.04523)
            assert limits(figure) == pytest.approx((5 * low, 5 * high), abs=1e-4)


def test_tasks_from_elsewhere_count_for_less() -> None:
    right, task = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 2, 2])
    # Share ⅔; tasks sum to (1, −2, 1)/9, squares .0741 times 3/2; single items have .0370: an effect of 3.
    assert effective_counts(right, task) == pytest.approx((4 / 3, 2))
    assert effective_counts(right, np.arange(6)) == (4, 6)


DESIGNS = (LabelDesign.RANDOM, LabelDesign.BY_VERDICT, LabelDesign.ODDS)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("fail", [0.05, 0.5])
def test_intervals_cover_on_planted_judges(design: LabelDesign, fail: float) -> None:
    for per_task in (1, 5):
        rate = coverage(PlantedWorld.yes_no(fail, per_task=per_task, items=1000), design, 100, 120)
        assert rate >= 0.95 - 2.6 * sqrt(0.95 * 0.05 / 120)


def tasks_of_two(scores: list[tuple[float, float]], unlabelled: int) -> Frame:
    """Tasks of two items that are judged and labelled alike, and others without a label."""
    judge = np.repeat([f for f, _ in scores], 2)
    people = np.repeat([y for _, y in scores], 2)
    rest = np.tile([0.0, 1.0], unlabelled)
    task = np.concatenate([np.arange(len(scores)).repeat(2), len(scores) + np.arange(unlabelled).repeat(2)])
    return Frame(
        np.concatenate([judge, rest]), np.concatenate([people, np.full(len(rest), np.nan)]), task, ends=(0, 1)
    )


def test_tasks_widen_each_level_of_the_judge_by_hand() -> None:
    # 12 tasks of verdict 1, 9 pass; 12 of verdict 0, 3 pass; every label stands twice.
    pairs = [(1.0, float(n < 9)) for n in range(12)] + [(0.0, float(n < 3)) for n in range(12)]
    frame = tasks_of_two(pairs, 38)
    figure = post_stratified(frame)
    rest = 1 - 24 / 62  # 62 items of each verdict
    spread = 0.25 * 0.75
    plain = 2 * 0.5**2 * spread * 24 / 23 / 24 * rest
    # A task sums two influences .5·(y − p)/24; of 62 tasks in all, 24 with labels.
    sums = 4 * (0.5 / 24) ** 2 * 24 * spread * rest
    effect = sums * 62 / 61 / plain
    t = 2.068658  # 23 degrees of freedom
    size = 24 / rest / effect
    reach = [0.5 * (score_of_few(p, size, t)[1] - p) for p in (0.75, 0.25)]
    assert figure.value == pytest.approx(0.5)
    assert limits(figure)[1] == pytest.approx(0.5 + sqrt(sum(each**2 for each in reach)), abs=1e-5)


def test_few_whole_tasks_take_few_degrees_of_freedom_even_where_they_agree() -> None:
    # Three tasks of four items with two passes each: between tasks there is no variance at all.
    judge, task = np.tile([0.0, 1.0], 60), np.arange(120) // 4
    people = np.where(task < 3, np.tile([1.0, 1.0, 0.0, 0.0], 30), np.nan)
    by_task, single = (
        Frame(judge, people, task, ends=(0, 1)),
        Frame(judge, people, np.arange(120), ends=(0, 1)),
    )
    assert limits(labels_only(by_task)) == pytest.approx(score(0.5, 12 / 0.9, 4.302653), abs=1e-5)
    assert limits(labels_only(single)) == pytest.approx(score(0.5, 12 / 0.9, Z))
    for frame in (by_task, replace(by_task, people=4 * by_task.people + 1, ends=(1.0, 5.0))):
        ends, other = limits(corrected(frame, LabelDesign.RANDOM)), limits(labels_only(frame))
        assert ends[1] - ends[0] > 0.7 * (other[1] - other[0])
    # Where every task has a label, the draw was one of items.
    people = np.where(np.arange(120) % 4 == 0, np.arange(120) // 4 % 2, np.nan)
    every = Frame(judge, people, task, ends=(0, 1))
    assert limits(labels_only(every)) == pytest.approx(score(0.5, 30 / 0.75, Z))
    assert limits(labels_only(replace(every, of_population=True)))[1] > score(0.5, 30, Z)[1]


def test_levels_of_five_labels_stand_alone_and_of_four_do_not() -> None:
    judge, people = np.repeat([0.0, 1.0, 2.0], [50, 100, 150]), np.full(300, np.nan)
    people[:5], people[50:54], people[150:156] = 0, 1, 1
    frame = Frame(judge, people, np.arange(300))
    # Verdict 1 has four labels and joins 0, which has fewer than 2: (4·1 + 5·0)/9 for half of the items.
    assert post_stratified(frame, merge=True).value == pytest.approx(1 / 2 * 4 / 9 + 1 / 2)
    people[54] = 1
    frame = Frame(judge, people, np.arange(300))
    assert post_stratified(frame, merge=True).value == pytest.approx(5 / 6)


def scores_frame(differ: int, labels: int = 60, items: int = 800) -> Frame:
    """Scores 1–5 that people repeat, but for so many labels that are one level lower."""
    judge = np.tile([3.0, 4.0, 2.0, 5.0, 1.0, 4.0], items)[:items]
    people = np.where(np.arange(items) < labels, judge, np.nan)
    people[: differ * 6 : 6] -= 1
    return Frame(judge, people, np.arange(items), ends=(1.0, 5.0))


def test_one_label_that_differs_hardly_changes_the_width() -> None:
    widths = [corrected(scores_frame(differ), LabelDesign.RANDOM).half_width or 0 for differ in (0, 1, 2)]
    assert widths[0] < widths[1] < widths[2] < 1.2 * widths[0]
    # One residual of 6/√60 of the scale, t of 58 degrees of freedom.
    assert widths[0] == pytest.approx(2.0017 * sqrt(0.925) * 4 * 6 / sqrt(60) / 60, rel=0.01)


@pytest.mark.parametrize("labels", [14, 20, 40, 100, 300])
@pytest.mark.parametrize("shares", [(0.1, 0.2, 0.3, 0.25, 0.15), (0.01, 0.02, 0.02, 0.05, 0.9)], ids=str)
def test_a_perfect_judge_is_never_wider_than_none(shares: tuple[float, ...], labels: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        y = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 800, p=shares)
        frame = Frame(y, np.where(np.arange(800) < labels, y, np.nan), np.arange(800), ends=(1.0, 5.0))
        width = corrected(frame, LabelDesign.RANDOM).half_width or 0
        alone = labels_only(frame).half_width or 0
        assert width <= alone * (1 + 1e-9)


def test_scores_drawn_by_verdict_have_limits_level_by_level_by_hand() -> None:
    # Verdict 5 of 80 items, ten labels of 5; verdict 2 of 20 items, labels 1, 2, 2, 3, 5.
    judge, people = np.repeat([5.0, 2.0], [80, 20]), np.full(100, np.nan)
    people[:10], people[80:85] = 5, [1, 2, 2, 3, 5]
    figure = corrected(Frame(judge, people, np.arange(100), ends=(1.0, 5.0)), LabelDesign.BY_VERDICT)
    assert figure.value == pytest.approx(0.8 * 5 + 0.2 * 2.6)
    t, rest = 2.160369, (1 - 10 / 80, 1 - 5 / 20)  # 13 degrees of freedom
    top = 1 + 4 * score(1.0, 10 / rest[0], t)[0]
    size = 0.4 * 0.6 * 16 / (2.3 / 5 * rest[1])
    ends = score_of_few(0.4, size, t)
    low = sqrt((0.8 * (5 - top)) ** 2 + (0.2 * 4 * (0.4 - ends[0])) ** 2)
    assert limits(figure)[0] == pytest.approx(figure.value - low, abs=1e-4)
    high = 0.2 * 4 * (ends[1] - 0.4)
    assert limits(figure)[1] == pytest.approx(figure.value + high, abs=1e-4)


def test_rare_labels_in_two_levels_reach_as_far_as_in_one_draw() -> None:
    # Two verdicts of 50 items, ten labels each, nine of 5 and one of 1. MOVER: .9 → each .995 at the most.
    judge, people = np.repeat([5.0, 4.0], 50), np.full(100, np.nan)
    people[:10], people[50:60] = [5] * 9 + [1], [5] * 9 + [1]
    figure = corrected(Frame(judge, people, np.arange(100), ends=(1.0, 5.0)), LabelDesign.BY_VERDICT)
    t, error = 2.100922, 1.6 / 10 * 0.8  # 18 degrees of freedom; variance of a label 16·.09·10/9
    each = 4 * (score_of_few(0.9, 0.09 * 16 / error, t)[1] - 0.9)
    mover = 4.6 + sqrt(2 * (0.5 * each) ** 2)
    whole = 1 + 4 * score_of_few(0.9, 0.09 * 16 / (error / 2), t)[1]
    assert whole > mover
    assert limits(figure)[1] == pytest.approx(whole, abs=1e-4)


def test_agreement_counts_each_label_for_the_items_that_it_stands_for() -> None:
    """By verdict 5 of 90 passes and 5 of 10 fails: 4/5 and 1/5 agree, so (90 · .8 + 10 · .2)/100."""
    judge = np.repeat([1.0, 0.0], [90, 10])
    people = np.full(100, np.nan)
    people[:5], people[90:95] = [1, 1, 1, 1, 0], [0, 1, 1, 1, 1]
    frame = Frame(judge, people, np.arange(100))
    assert agreement(frame, LabelDesign.BY_VERDICT) == pytest.approx(0.74)
    odds = Frame(judge, people, np.arange(100), np.where(judge == 1, 5 / 90, 0.5))
    assert agreement(odds, LabelDesign.ODDS) == pytest.approx(0.74)
    assert agreement(frame, LabelDesign.RANDOM) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("labels", "largest", "seen"), [(36, 0.1, 4.0), (100, 0.1, 2.4), (400, 0.1, 2.0), (400, 3, 3.0)]
)
def test_a_residual_that_was_not_seen_by_hand(labels: int, largest: float, seen: float) -> None:
    """On 1 to 5: all of the scale up to 36 labels, 6/√n of it, at least half, or the largest seen."""
    assert unseen_residual(np.array([0.0] * (labels - 1) + [-largest]), 4.0) == pytest.approx(seen)
