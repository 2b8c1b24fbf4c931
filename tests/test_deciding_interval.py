"""Every status is read from one interval that the estimate carries: `Estimate.decides`, by `span_state`."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, binom

from calibration.words import sheet_of, verdicts_only
from calibration.worlds import KINDS, World
from status_worlds import WORLDS, rule_of, steps
from steelyard.metrics.estimate import DECIDES, Estimate, EstimateContext, Interval
from steelyard.metrics.findings import (
    ALPHA,
    BY_CHANCE,
    CLEAR,
    FLAGGED,
    INCONCLUSIVE,
    agreeing,
    difference_word,
    estimate_word,
    span_state,
    with_limit_word,
    with_tested_interval,
)
from steelyard.metrics.metric import Limit
from steelyard.metrics.multiplicity import adjust_estimates, adjust_for_multiplicity
from steelyard.metrics.pairs.length import LONGER_CHOSEN
from steelyard.metrics.proportions import proportion, share_bounds, with_difference_word
from steelyard.metrics.stats.clusters import Tally, effective_size, quantile, wilson_cluster
from steelyard.metrics.stats.distributions import chance_of_so_few
from steelyard.metrics.stats.intervals import clopper_pearson, goodman, score

HERE = EstimateContext.for_protocol("j", "vacuum", "base", 7)
MARGIN = (-0.1, 0.1)


def agrees(estimate: Estimate) -> bool:
    """Whether the status is what the deciding interval says; also where there is no status."""
    rule = rule_of(estimate)
    if estimate.status is None or estimate.value is None or rule is None:
        return True
    return span_state(estimate.decides, *rule) == estimate.status


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_a_status_is_read_from_the_interval_that_its_estimate_carries(name: str) -> None:
    found = [e for seed in range(12) for e in WORLDS[name](np.random.default_rng([seed, 1]))]
    told = [e for e in found if e.status is not None and rule_of(e) is not None]
    assert [e for e in found if not agrees(e)] == []
    assert {e.status for e in told} >= {FLAGGED, INCONCLUSIVE}
    assert any(e.intervals[-1].method == DECIDES for e in told)
    # The published interval comes first, and is never lost to the one that decides.
    assert all(e.intervals[0].method != DECIDES for e in told if e.metric != "stratum_gap")


@pytest.mark.slow
def test_worths_of_cues_on_pairs_agree_with_their_intervals() -> None:
    found = [e for seed in range(3) for e in steps(np.random.default_rng([seed, 1]))]
    assert {e.status for e in found if e.metric == "cue_worth"} >= {FLAGGED, INCONCLUSIVE}
    assert [e for e in found if not agrees(e)] == []


@pytest.mark.parametrize("kind", ["catalogue", "longer-90", "runs"])
def test_every_status_of_a_whole_sheet_agrees_with_its_interval(kind: str) -> None:
    judges = {name: judge.answers for name, judge in list(KINDS[kind].judges.items())[:6]}
    with verdicts_only(remedies=False):
        sheet = sheet_of(World.of(kind, 0, 41), judges, 41)
    told = [e for e in sheet.estimates if e.status is not None and rule_of(e) is not None]
    assert len(told) > 50
    assert [e for e in told if not agrees(e)] == []


# Shares against a limit


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    clusters = draw(st.integers(1, 20))
    trials = np.array(draw(st.lists(st.integers(1, 12), min_size=clusters, max_size=clusters)))
    rate = draw(st.sampled_from([0.0, 0.03, 0.1, 0.3, 0.8, 0.95, 1.0]))
    events = np.random.default_rng(draw(st.integers(0, 999))).binomial(trials, rate)
    total = int(trials.sum())
    units = draw(st.integers(1, total)) if clusters == 1 else total
    return Tally(events, trials, total, units, unreadable=draw(st.sampled_from([0, 0, 1, 5])))


def word_by_tests(tally: Tally, limit: Limit) -> str:
    """The word as tests at the limit give it: no interval but Wilson's, at the worst and the best case."""
    size, reach = effective_size(tally), quantile(tally, 0.975)
    least, most = share_bounds(tally) if tally.missing else (tally.k / tally.n,) * 2
    low, high = score(least, size, reach)[0], score(most, size, reach)[1]
    # Events beyond the limit: misses where it is a floor.
    far, near, at, share = (low, high, limit.value, most)
    if limit.side == "min":
        far, near, at, share = 1 - high, 1 - low, 1 - limit.value, 1 - least
    if near <= at:
        clusters = tally.n_clusters
        if clusters == 1:
            return CLEAR
        trials = (tally.n + np.arange(clusters)) // clusters
        return CLEAR if chance_of_so_few(share * tally.n, trials, at) <= ALPHA else INCONCLUSIVE
    if far <= at:
        return INCONCLUSIVE
    if tally.n_clusters > 1:
        return FLAGGED
    units, seen = min(tally.n, tally.n_units), least if limit.side == "max" else 1 - most
    return FLAGGED if clopper_pearson(seen * units, units)[0] > at else INCONCLUSIVE


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    tally=tallies(),
    value=st.sampled_from([0.02, 0.1, 0.2, 0.35, 0.65, 0.8, 0.9]),
    side=st.sampled_from(["max", "min"]),
)
def test_the_word_of_a_share_is_that_of_tests_at_its_limit_and_of_its_interval(
    tally: Tally, value: float, side: str
) -> None:
    limit = Limit(value, side)
    bare = proportion(HERE, LONGER_CHOSEN, tally)
    decided = with_limit_word(bare, limit.allowed)
    expected = word_by_tests(tally, limit)
    assert estimate_word(bare, limit.allowed) == decided.status == expected
    assert span_state(decided.decides, limit.allowed) == expected
    assert decided.intervals[: len(bare.intervals)] == bare.intervals
    assert decided.decides is not None
    assert bare.interval is not None
    (low, high), (least, most) = bare.interval.span, decided.decides.span
    assert least <= low
    assert high <= most


def test_few_events_in_few_clusters_reach_as_far_as_a_correlation_of_three_tenths_allows() -> None:
    # 2 events in 6 clusters of 30 calls: Wilson's limit is .055. With beta rates around p and ρ = .3 at
    # most 2 are seen in a chance that is .05 where the deciding interval ends, beyond the limit of .10.
    tally = Tally(np.array([1, 1, 0, 0, 0, 0]), np.full(6, 30), 180, 180)
    found = with_limit_word(proportion(HERE, LONGER_CHOSEN, tally), (-inf, 0.10))
    assert found.interval is not None
    assert found.decides is not None
    end, total = found.decides.span[1], np.ones(1)
    assert found.interval.span[1] < 0.06 < 0.10 < end
    assert found.status == INCONCLUSIVE
    for _ in range(6):
        total = np.convolve(total, betabinom.pmf(np.arange(31), 30, end * 7 / 3, (1 - end) * 7 / 3))
    assert total[:3].sum() == pytest.approx(ALPHA, abs=2e-4)


def test_a_single_cluster_beyond_its_limit_has_exact_limits() -> None:
    # 3 of 4 units: Wilson's lower limit is .30, the exact one .194: P(3 or more of 4 | .194) = .025.
    tally = Tally(np.array([3]), np.array([4]), 4, 4)
    found = with_limit_word(proportion(HERE, LONGER_CHOSEN, tally), (-inf, 0.2))
    assert found.status == INCONCLUSIVE
    assert found.decides is not None
    assert binom.sf(2, 4, found.decides.span[0]) == pytest.approx(0.025)
    assert with_limit_word(found, (-inf, 0.19)).status == FLAGGED


def test_a_share_that_chance_explains_reaches_down_to_its_limit() -> None:
    share = Estimate("j", "x", "y", {}, "call", 0.5, 30, 60, (Interval("a", 0.31, 0.69),), reading=BY_CHANCE)
    found = with_limit_word(share, (-inf, 0.1))
    assert (found.status, found.decides) == (INCONCLUSIVE, Interval(DECIDES, 0.1, 0.69))


def test_without_bounds_more_than_the_tolerated_loss_leaves_the_interval_open() -> None:
    kappa = Estimate("j", "x", "y", {}, "call", 0.7, intervals=(Interval("a", 0.6, 0.8),), n_calls=97)
    for failed, ends in ((1, (0.6, 0.8)), (3, (None, None))):
        found = with_limit_word(replace(kappa, excluded={"failed": failed}), (0.4, inf))
        assert found.decides is not None
        assert (found.decides.low, found.decides.high) == ends
        assert found.status == (CLEAR if failed == 1 else INCONCLUSIVE)


# Effective size


def test_the_effective_size_of_a_share_is_a_field() -> None:
    # 2 of 20, 0 of 20, 4 of 20: mean .1, residuals 0, −2, 2; V = 8/60² · 3/2 = 1/300; .09 · 300 = 27 trials.
    tally = Tally(np.array([2, 0, 4]), np.full(3, 20), 60, 60)
    found = proportion(HERE, LONGER_CHOSEN, tally)
    assert found.effective_size == pytest.approx(27, abs=1e-9)
    assert found.quantile == pytest.approx(4.302652729911275)  # t, 2 degrees of freedom
    assert found.to_json()["effective_size"] == found.effective_size
    assert Estimate.from_json(found.to_json()) == found


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tally=tallies(), cells=st.sampled_from([None, 4]))
def test_size_and_quantile_give_the_first_interval(tally: Tally, cells: int | None) -> None:
    found = proportion(HERE, LONGER_CHOSEN, tally, cells=cells)
    assert found.interval is not None
    assert found.effective_size is not None
    assert found.quantile is not None
    share = tally.k / tally.n
    assert score(share, found.effective_size, found.quantile) == pytest.approx(found.interval.span, abs=1e-12)
    if cells and tally.n_clusters == 1:
        assert found.interval.span == pytest.approx(goodman(share * tally.n_units, tally.n_units, cells))
    if cells is None and tally.n_clusters > 1:
        assert found.interval.span == wilson_cluster(tally)


# Tested differences

ENDS = st.floats(-1, 1)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    ends=st.tuples(ENDS, ENDS, ENDS).map(sorted),
    p=st.sampled_from([0.0, 0.001, 0.02, 0.05, 0.3, 1.0]),
    below=st.sampled_from([0.0, 0.0, 0.05, 0.4]),
    alpha=st.sampled_from([ALPHA, ALPHA / 3, 2 * ALPHA]),
)
def test_the_word_of_a_test_and_its_interval_agree_about_zero(
    ends: list[float], p: float, below: float, alpha: float
) -> None:
    low, value, high = ends
    bounds = (value - below, value + below) if below else None
    bare = Estimate(
        "j",
        "x",
        "y",
        {},
        "call",
        value,
        intervals=(Interval("t", low, high),),
        n_clusters=9,
        p=p,
        bounds=bounds,
    )
    moved = (-below, below) if below else (0.0, 0.0)
    found = with_difference_word(bare, alpha)
    expected = difference_word((low, high), p, moved=moved)
    if expected == FLAGGED and abs(value) < 1e-6:
        return  # no test excludes 0 at 0
    assert found.status == expected == span_state(found.decides, MARGIN, 0.0)
    assert found.intervals[0] == bare.intervals[0]


def test_an_interval_is_cut_or_stretched_at_zero_where_the_test_says_otherwise() -> None:
    flagged = Estimate("j", "x", "y", {}, "call", 0.2, intervals=(Interval("t", -0.01, 0.41),), p=0.04)
    assert with_difference_word(flagged).decides == Interval(DECIDES, 0.001, 0.41)
    withheld = Estimate("j", "x", "y", {}, "call", 0.2, intervals=(Interval("t", 0.01, 0.39),), p=0.06)
    assert with_difference_word(withheld).decides == Interval(DECIDES, 0.0, 0.39)
    below = Estimate("j", "x", "y", {}, "call", -0.2, intervals=(Interval("t", -0.4, 0.02),), p=0.04)
    assert with_difference_word(below).decides == Interval(DECIDES, -0.4, -0.001)
    # No further than half of the way to a value that is smaller than that.
    assert agreeing((-0.2, 0.2), FLAGGED, 0.001, MARGIN, 0.0)[0] == 0.0005


def test_the_margin_has_no_ends_and_a_limit_has() -> None:
    assert span_state((0.0, 0.1), (-inf, 0.1)) == CLEAR
    assert span_state((nextafter(0.1, 1), 0.2), (-inf, 0.1)) == FLAGGED
    assert span_state((0.1, 0.2), (-inf, 0.1)) == INCONCLUSIVE
    assert span_state((0.0, 0.1), MARGIN, 0.0) == INCONCLUSIVE
    assert span_state((-0.09, 0.09), MARGIN, 0.0) == CLEAR
    assert span_state((0.01, 0.09), MARGIN, 0.0) == CLEAR
    assert span_state(Interval("a", 0.01, None), MARGIN, 0.0) == FLAGGED
    assert span_state(None, MARGIN) == INCONCLUSIVE


# Families


def test_holm_leaves_each_test_its_own_error() -> None:
    # Four tests: .05/4 and .05/3 hold, .04 > .05/2 does not: from there on the error is .05/2.
    found = adjust_for_multiplicity({"a": 0.6, "b": 0.04, "c": 0.001, "d": 0.01})
    assert {name: test.alpha for name, test in found.items()} == pytest.approx(
        {"c": ALPHA / 4, "d": ALPHA / 3, "b": ALPHA / 2, "a": ALPHA / 2}
    )
    assert [test.alpha for test in adjust_for_multiplicity({"a": 0.01, "b": 0.02}).values()] == [0.025, 0.05]


def test_a_family_widens_the_interval_that_decides_and_not_the_published_one() -> None:
    one = Estimate(
        "j", "x", "y", {}, "call", 0.2, intervals=(Interval("t", 0.02, 0.38),), n_clusters=11, p=0.03,
        status=FLAGGED,
    )  # fmt: skip
    found, other = adjust_estimates([one, one], "tests")
    # t(10) at 1 − .025/2 is 2.634, at .975 it is 2.228: .2 ± .18 · 1.182.
    published, decides = found.intervals
    assert published == Interval("t", 0.02, 0.38)
    assert (decides.method, decides.confidence) == (DECIDES, 0.975)
    assert decides.span == pytest.approx(
        (0.2 - 0.18 * 2.63377 / 2.22814, 0.2 + 0.18 * 2.63377 / 2.22814), abs=1e-5
    )
    assert found.status == other.status == INCONCLUSIVE
    clear = with_tested_interval(
        Estimate("j", "x", "y", {}, "call", 0.0, intervals=(Interval("t", -0.09, 0.09),), n_clusters=11),
        CLEAR,
        ALPHA / 5,
    )
    assert clear.decides == Interval("t", -0.09, 0.09)
