"""What the statistics must satisfy for all inputs: dualities, symmetries, nesting, and oracles of scipy."""

from __future__ import annotations

from itertools import product
from math import comb, inf, isfinite, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

from steelyard.estimation.label_plan import sequence_limits_of
from steelyard.metrics.multiplicity import JointSignFlip, holm
from steelyard.metrics.stats.clusters import (
    ASSUMED_CORRELATION,
    ClusterMean,
    Tally,
    around,
    design_effect,
    effective_size,
    goodman_cluster,
    jackknife,
    left_out,
    left_out_error,
    percentile_limits,
    quantile,
    ratio,
    resample,
    tail,
    wilson_cluster,
    wilson_strict,
)
from steelyard.metrics.stats.distributions import (
    ALLOWED_CORRELATION,
    chance_of_so_few,
    normal_probability,
    normal_quantile,
    t_quantile,
)
from steelyard.metrics.stats.intervals import (
    AGREEMENT,
    POSITIVE,
    SHARE,
    UNBOUNDED,
    Z,
    clipped,
    clopper_pearson,
    difference,
    goodman,
    log_evidence,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe,
    refuted,
    score,
    sequence_limits,
    sign_flip,
    tango,
    wilson,
)
from steelyard.metrics.stats.sample_size import (
    LARGEST,
    detectable_errors,
    smallest_sufficient,
    trials_total,
    unlucky_share,
)

few = settings(max_examples=25)
counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
some = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@st.composite
def tallies(draw: st.DrawFn, least: int = 1) -> Tally:
    """Events among trials in a few clusters; every trial is a unit of its own."""
    trials = draw(st.lists(st.integers(1, 12), min_size=least, max_size=8))
    events = [draw(st.integers(0, size)) for size in trials]
    return Tally(np.array(events), np.array(trials), sum(trials), sum(trials))


# Intervals of a share


@few
@given(counts)
def test_wilsons_limits_are_the_shares_that_the_score_test_just_keeps(count: tuple[int, int]) -> None:
    events, trials = count
    share = events / trials
    for limit in wilson(events, trials):
        if 0 < limit < 1:
            assert abs(share - limit) == pytest.approx(Z * sqrt(limit * (1 - limit) / trials), rel=1e-6)


@few
@given(counts)
def test_counting_misses_mirrors_every_interval(count: tuple[int, int]) -> None:
    events, trials = count
    for interval in (wilson, clopper_pearson, lambda k, n: goodman(k, n, 4)):
        low, high = interval(events, trials)
        other = interval(trials - events, trials)
        assert (1 - other[1], 1 - other[0]) == pytest.approx((low, high), abs=1e-9)
        assert 0 <= low <= events / trials <= high <= 1


@few
@given(counts, st.floats(0.5, 3), st.floats(0.5, 3))
def test_a_larger_quantile_reaches_further(count: tuple[int, int], one: float, two: float) -> None:
    share, size = count[0] / count[1], float(count[1])
    narrow, wide = score(share, size, min(one, two)), score(share, size, max(one, two))
    assert wide[0] <= narrow[0] + 1e-12
    assert wide[1] >= narrow[1] - 1e-12


@few
@given(some)
def test_more_events_move_both_limits_up(count: tuple[int, int]) -> None:
    events, trials = count
    assume(events < trials)
    for interval in (wilson, clopper_pearson):
        before, after = interval(events, trials), interval(events + 1, trials)
        assert after[0] > before[0] or before[0] == after[0] == 0
        assert after[1] > before[1] or before[1] == after[1] == 1


@few
@given(some)
def test_the_exact_interval_is_that_of_scipy(count: tuple[int, int]) -> None:
    expected = oracle.binomtest(*count).proportion_ci(method="exact")
    assert clopper_pearson(*count) == pytest.approx((expected.low, expected.high), abs=1e-9)


@few
@given(some)
def test_wilsons_interval_is_that_of_scipy(count: tuple[int, int]) -> None:
    expected = oracle.binomtest(*count).proportion_ci(method="wilson")
    assert wilson(*count) == pytest.approx((expected.low, expected.high), abs=1e-9)


@few
@given(some, st.integers(2, 8))
def test_more_cells_at_once_are_less_sure(count: tuple[int, int], cells: int) -> None:
    few_cells, more = goodman(*count, cells), goodman(*count, cells + 1)
    assert more[0] <= few_cells[0]
    assert more[1] >= few_cells[1]
    assert goodman(*count, 1) == pytest.approx(wilson(*count), abs=1e-9)


@few
@given(some, some)
def test_exchanging_two_shares_turns_their_difference(one: tuple[int, int], two: tuple[int, int]) -> None:
    low, high = newcombe(one, two)
    back = newcombe(two, one)
    assert (-back[1], -back[0]) == pytest.approx((low, high), abs=1e-12)
    assert low <= one[0] / one[1] - two[0] / two[1] <= high


def test_a_difference_is_no_wider_than_its_worst_case() -> None:
    low, high = difference(0.3, (0.2, 0.45), 0.6, (0.5, 0.7))
    assert 0.2 - 0.7 < low < -0.3 < high < 0.45 - 0.5
    # Nothing is known of either: what lies beyond the range is cut off.
    assert difference(1.0, (0.0, 1.0), 0.0, (0.0, 1.0)) == pytest.approx((1 - sqrt(2), 1.0))


@few
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 30))
def test_exchanging_two_judges_turns_tangos_interval(gained: int, lost: int, alike: int) -> None:
    size = gained + lost + alike
    assume(size)
    low, high = tango(gained, lost, size, Z)
    back = tango(lost, gained, size, Z)
    assert (-back[1], -back[0]) == pytest.approx((low, high), abs=1e-9)
    assert low - 1e-9 <= (gained - lost) / size <= high + 1e-9
    wider = tango(gained, lost, size, 2 * Z)
    assert wider[0] <= low + 1e-9
    assert wider[1] >= high - 1e-9


@pytest.mark.parametrize(
    ("limits", "ends", "kept"),
    [
        ((-0.2, 1.4), SHARE, (0.0, 1.0)),
        ((-2.0, 0.5), AGREEMENT, (-1.0, 0.5)),
        ((-3.0, 9.0), POSITIVE, (0.0, 9.0)),
        ((-3.0, 9.0), UNBOUNDED, (-3.0, 9.0)),
    ],
)
def test_limits_stay_within_the_range(
    limits: tuple[float, float], ends: tuple[float, float], kept: tuple[float, float]
) -> None:
    assert clipped(limits, ends) == kept


@few
@given(st.floats(0.001, 0.999), st.integers(1, 200))
def test_quantiles_are_those_of_scipy(probability: float, degrees: int) -> None:
    assert normal_quantile(probability) == pytest.approx(oracle.norm.ppf(probability), abs=1e-9)
    assert normal_probability(normal_quantile(probability)) == pytest.approx(probability)
    assert t_quantile(probability, degrees) == pytest.approx(oracle.t.ppf(probability, degrees), rel=1e-6)


def test_quantiles_at_the_ends_are_infinite() -> None:
    assert (normal_quantile(0), normal_quantile(1)) == (-inf, inf)
    assert (normal_quantile(-1), normal_quantile(2)) == (-inf, inf)


# Clusters


@few
@given(tallies())
def test_clustered_intervals_hold_the_share(tally: Tally) -> None:
    for low, high in (wilson_cluster(tally), wilson_strict(tally), goodman_cluster(tally, 4)):
        assert 0 <= low <= tally.k / tally.n <= high <= 1
    assert effective_size(tally) <= tally.n + 1e-9


@few
@given(tallies(least=2), st.permutations(range(8)))
def test_the_order_of_clusters_does_not_matter(tally: Tally, order: list[int]) -> None:
    places = [place for place in order if place < tally.n_clusters]
    other = Tally(tally.events[places], tally.trials[places], tally.n_calls, tally.n_units)
    assert wilson_cluster(other) == pytest.approx(wilson_cluster(tally), abs=1e-12)
    assert design_effect(other) == (
        None if design_effect(tally) is None else pytest.approx(design_effect(tally))
    )


@few
@given(tallies(least=2))
def test_events_and_misses_mirror_a_clustered_interval(tally: Tally) -> None:
    other = Tally(tally.trials - tally.events, tally.trials, tally.n_calls, tally.n_units)
    low, high = wilson_cluster(tally)
    assert wilson_cluster(other) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert effective_size(other) == pytest.approx(effective_size(tally))


@few
@given(st.lists(st.booleans(), min_size=3, max_size=30))
def test_clusters_of_one_trial_have_the_variance_of_a_sample(answers: list[bool]) -> None:
    events = np.array(answers, dtype=np.int64)
    assume(0 < events.sum() < len(events))
    tally = Tally(events, np.ones(len(events), dtype=np.int64), len(events), len(events))
    assert tally.share.error == pytest.approx(float(oracle.sem(events)))
    assert design_effect(tally) == pytest.approx(len(events) / (len(events) - 1))


def test_one_cluster_counts_its_units_and_uses_the_normal_law() -> None:
    tally = Tally(np.array([6]), np.array([20]), 20, 10)
    assert effective_size(tally) == 10
    assert quantile(tally, 0.975) == pytest.approx(Z)
    assert design_effect(tally) is None


@few
@given(st.integers(2, 12), st.integers(1, 9), st.integers(0, 9))
def test_clusters_that_do_not_differ_take_the_assumed_correlation(
    clusters: int, size: int, events: int
) -> None:
    assume(events <= size)
    tally = Tally(np.full(clusters, events), np.full(clusters, size), clusters * size, clusters * size)
    assert effective_size(tally) == pytest.approx(clusters * size / (1 + (size - 1) * ASSUMED_CORRELATION))
    assert design_effect(tally) is None


# Means


@few
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12))
def test_a_mean_of_single_values_is_the_t_test_of_scipy(values: list[float]) -> None:
    assume(np.ptp(values) > 1e-3)
    mean = ClusterMean(np.array(values), np.ones(len(values), dtype=np.int64))
    assert mean.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert mean.p() == pytest.approx(oracle.ttest_1samp(values, 0).pvalue, abs=1e-6)
    limits = mean.limits(0.975)
    expected = oracle.t.interval(0.95, len(values) - 1, np.mean(values), oracle.sem(values))
    assert limits == pytest.approx(expected, abs=1e-6)


@few
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.floats(-3, 3), st.floats(0.1, 4))
def test_a_mean_moves_and_grows_with_its_values(values: list[float], shift: float, scale: float) -> None:
    assume(np.ptp(values) > 1e-3)
    sizes = np.arange(1, len(values) + 1)
    sums = np.array(values) * sizes
    before = ClusterMean(sums, sizes)
    after = ClusterMean(scale * sums + shift * sizes, sizes)
    assert after.mean == pytest.approx(scale * before.mean + shift, abs=1e-9)
    assert after.error == pytest.approx(scale * before.error, rel=1e-6, abs=1e-9)


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-2, 2)), min_size=1, max_size=20))
def test_values_are_gathered_by_their_units(rows: list[tuple[int, float]]) -> None:
    units, values = np.array([u for u, _ in rows]), np.array([v for _, v in rows])
    mean = ClusterMean.of(units, values)
    assert mean.units == len(set(units.tolist()))
    assert mean.total == len(rows)
    assert mean.mean == pytest.approx(values.mean(), abs=1e-9)


def test_a_mean_that_does_not_vary_is_tested_by_flipping_signs() -> None:
    same = ClusterMean(np.array([2, 2, 2, 2]), np.array([2, 2, 2, 2]))
    assert same.p() == 2 / 2**4
    assert same.limits(0.975) is None
    assert same.detectable is None
    assert ClusterMean(np.array([0, 0]), np.array([3, 3])).p() == 1


def test_more_units_plan_for_narrower_limits() -> None:
    mean = ClusterMean(np.array([1.0, 2.0, 4.0, 3.0]), np.array([2, 2, 2, 2]))
    widths = [high - low for low, high in (mean.planned(0.95, units) for units in (4, 8, 16, 64))]
    assert widths == sorted(widths, reverse=True)
    assert mean.detectable == pytest.approx(detectable_errors(3) * mean.error)


# Resampling


def test_drawn_sums_have_the_mean_and_spread_of_drawing_with_replacement() -> None:
    table = np.array([[1.0, 2], [3, 0], [5, 4], [7, 6]])
    sums = resample(table, 3, 20_000)
    assert sums.mean(axis=0) == pytest.approx(table.sum(axis=0), rel=0.01)
    assert sums.var(axis=0) == pytest.approx(4 * table.var(axis=0), rel=0.05)


def test_many_clusters_of_few_kinds_have_the_same_law() -> None:
    kinds = np.repeat([[1.0, 1], [0, 1]], [30, 70], axis=0)
    sums = resample(kinds, 3, 20_000)
    assert (sums[:, 1] == 100).all()
    assert sums[:, 0].mean() == pytest.approx(30, rel=0.01)
    assert sums[:, 0].var() == pytest.approx(21, rel=0.05)


def test_tails_are_further_out_for_few_clusters() -> None:
    tails = [tail(clusters) for clusters in (2, 4, 10, 30, 1000)]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.025, rel=0.02)


def test_percentiles_without_width_or_values_are_none() -> None:
    assert percentile_limits(np.full(10, 0.4), 5) is None
    assert percentile_limits(np.full(10, np.nan), 5) is None
    low, high = percentile_limits(np.linspace(0, 1, 2001), 1000) or (0.0, 0.0)
    assert (low, high) == pytest.approx((0.025, 0.975), abs=2e-3)


def test_a_quotient_by_zero_is_no_number() -> None:
    found = ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0]))
    assert found[0] == 0.5
    assert np.isnan(found[1:]).all()


# Tests

balances = st.lists(st.integers(-6, 6), min_size=1, max_size=9)


@few
@given(balances)
def test_sign_flips_by_trying_every_sign(sums: list[int]) -> None:
    total = abs(sum(sums))
    every = [abs(int(np.dot(sums, signs))) for signs in product((-1, 1), repeat=len(sums))]
    expected = sum(other >= total for other in every) / len(every) if total else 1.0
    assert sign_flip(np.array(sums)) == pytest.approx(expected)


@few
@given(balances, st.integers(2, 5))
def test_sign_flips_do_not_ask_for_unit_sign_or_zeros(sums: list[int], factor: int) -> None:
    p = sign_flip(np.array(sums))
    assert sign_flip(-np.array(sums)) == pytest.approx(p)
    assert sign_flip(factor * np.array(sums)) == pytest.approx(p)
    assert sign_flip(np.array([0, *sums, 0])) == pytest.approx(p)
    assert sign_flip(np.array(sums[::-1])) == pytest.approx(p)


@few
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_corrected_p_is_between_itself_and_bonferronis(probabilities: list[float]) -> None:
    found = holm(probabilities)
    for p, corrected in zip(probabilities, found, strict=True):
        assert p <= corrected <= min(1.0, p * len(probabilities)) + 1e-12
    pairs = sorted(zip(probabilities, found, strict=True))
    assert [corrected for _, corrected in pairs] == sorted(found)


@few
@given(st.integers(0, 15), st.integers(0, 15))
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    assume(gained + lost)
    expected = oracle.binomtest(gained, gained + lost).pvalue
    assert mcnemar_exact(gained, lost) == pytest.approx(expected)
    assert mcnemar_exact(lost, gained) == mcnemar_exact(gained, lost)
    seen = comb(gained + lost, gained) / 2 ** (gained + lost)
    uncapped = 2 * sum(comb(gained + lost, k) for k in range(min(gained, lost) + 1)) / 2 ** (gained + lost)
    assert mcnemar_mid_p(gained, lost) == pytest.approx(min(1.0, uncapped - seen))


def test_no_discordant_unit_is_no_evidence() -> None:
    assert mcnemar_exact(0, 0) == mcnemar_mid_p(0, 0) == 1.0


named_sums = st.lists(st.integers(-4, 4), min_size=1, max_size=7)


@few
@given(named_sums)
def test_one_figure_alone_is_the_sign_flip_test(sums: list[int]) -> None:
    figure = {f"t{n}": s for n, s in enumerate(sums)}
    p = sign_flip(np.array(sums))
    joint = JointSignFlip.of([figure])
    assert joint.adjusted_p_values() == pytest.approx([p])
    assert joint.global_p() == pytest.approx(p)


@few
@given(st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=2, max_size=4))
def test_figures_may_stand_in_any_order_and_twice(table: list[list[int]]) -> None:
    figures = [{f"t{n}": s for n, s in enumerate(row)} for row in table]
    p = JointSignFlip.of(figures).adjusted_p_values()
    assert JointSignFlip.of(figures[::-1]).adjusted_p_values() == pytest.approx(p[::-1])
    assert JointSignFlip.of([*figures, figures[0]]).adjusted_p_values() == pytest.approx([*p, p[0]])
    for corrected, row in zip(p, table, strict=True):
        assert corrected >= sign_flip(np.array(row)) - 1e-9


def test_a_unit_that_a_figure_lacks_is_a_unit_without_difference() -> None:
    wide, narrow = {"a": 2, "b": -1, "c": 3}, {"b": 2, "d": 1}
    filled = [{**dict.fromkeys("abcd", 0), **figure} for figure in (wide, narrow)]
    given, whole = JointSignFlip.of([wide, narrow]), JointSignFlip.of(filled)
    assert given.adjusted_p_values() == whole.adjusted_p_values()
    assert given.global_p() == whole.global_p()
    # Three of eight deals of a, b and c differ by as much; d alone has no say in it.
    assert JointSignFlip.of([wide]).adjusted_p_values() == [sign_flip(np.array([2, -1, 3]))]


# Few events


@few
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.floats(0.02, 0.98), st.integers(0, 20))
def test_so_few_events_by_adding_beta_binomials(trials: list[int], share: float, events: int) -> None:
    assume(events <= sum(trials))
    scale = (1 - ALLOWED_CORRELATION) / ALLOWED_CORRELATION
    law = np.ones(1)
    for size in trials:
        law = np.convolve(
            law, oracle.betabinom(size, share * scale, (1 - share) * scale).pmf(range(size + 1))
        )
    found = chance_of_so_few(float(events), np.array(trials), share)
    assert found == pytest.approx(law[: events + 1].sum(), abs=1e-9)


def test_so_few_events_at_the_ends() -> None:
    trials = np.array([5, 5, 5])
    assert chance_of_so_few(0, trials, 0.0) == 1.0
    assert chance_of_so_few(0, trials, 1.0) == 0.0
    assert chance_of_so_few(15, trials, 0.3) == pytest.approx(1.0)
    chances = [chance_of_so_few(2, trials, share) for share in (0.1, 0.2, 0.4, 0.8)]
    assert chances == sorted(chances, reverse=True)
    twice = chance_of_so_few(4, trials, 0.3, times=2)
    assert twice == pytest.approx(chance_of_so_few(4, np.array([5] * 6), 0.3))


def test_the_normal_law_stands_in_where_there_are_many_trials() -> None:
    trials = np.full(7000, 10)
    many = chance_of_so_few(20_500, trials, 0.3)
    deviation = sqrt(0.3 * 0.7 * 10 * (1 + 9 * ALLOWED_CORRELATION) * 7000)
    assert many == pytest.approx(NormalDist().cdf((20_500.5 - 21_000) / deviation))


# Looking at every step


@few
@given(some, st.sampled_from([0.2, 0.05, 0.01]))
def test_the_sequence_is_what_is_not_refuted(count: tuple[int, int], alpha: float) -> None:
    total, units = count
    low, high = sequence_limits(total, units, alpha)
    assert 0 <= low <= total / units <= high <= 1
    assert not refuted(total, units, total / units, alpha)
    for edge, beyond in ((low, low - 1e-4), (high, high + 1e-4)):
        if 0 < beyond < 1:
            assert refuted(total, units, beyond, alpha)
            assert not refuted(total, units, edge, alpha)


@few
@given(some)
def test_the_sequence_is_wider_than_an_interval_for_one_look_and_mirrors(count: tuple[int, int]) -> None:
    total, units = count
    low, high = sequence_limits(total, units)
    one_look = wilson(total, units)
    assert high - low >= one_look[1] - one_look[0] - 1e-9 or units < 3
    assert sequence_limits(units - total, units) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert log_evidence(total, units, 0.3) == pytest.approx(log_evidence(units - total, units, 0.7))


def test_limits_of_strata_spend_the_error_on_each_by_hand() -> None:
    # After one unit without the event M(p) = ½/(1 − p): at 1/α the limit is 1 − α/2, of two strata 1 − α/4.
    assert sequence_limits_of([(1.0, 0.0, 1)]) == pytest.approx((0.0, 0.975))
    two = sequence_limits_of([(0.4, 0.0, 1), (0.6, 1.0, 1)])
    assert two == pytest.approx((0.6 * 0.0125, 0.4 * 0.9875 + 0.6))


def test_nothing_seen_refutes_nothing() -> None:
    assert sequence_limits(0, 0) == (0.0, 1.0)
    assert log_evidence(0, 0, 0.4) == pytest.approx(0)
    assert log_evidence(1, 2, 0.0) == inf


# How many calls


@few
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_trials_that_decide_put_the_limit_on_the_edge(share: float, limit: float) -> None:
    assume(abs(share - limit) > 0.01)
    trials = trials_total(share, limit, Z)
    assert trials is not None
    low, high = score(share, trials, Z)
    assert (high if share < limit else low) == pytest.approx(limit, abs=1e-6)


@few
@given(st.floats(0, 1), st.floats(0.01, 0.99), st.integers(1, 500), st.floats(0, 3))
def test_a_share_falls_short_towards_the_limit_and_not_beyond(
    share: float, limit: float, size: int, reach: float
) -> None:
    seen = unlucky_share(share, limit, size, reach)
    assert min(share, limit) <= seen <= max(share, limit)


@few
@given(st.integers(1, 10_000), st.integers(1, 50))
def test_the_first_number_is_the_first(threshold: int, start: int) -> None:
    assert smallest_sufficient(lambda number: number >= threshold, start) == max(threshold, start)


def test_what_is_never_enough_has_no_number() -> None:
    assert smallest_sufficient(lambda number: False) is None
    assert smallest_sufficient(lambda number: number > LARGEST) is None


@few
@given(st.floats(0.01, 0.99), st.floats(0.05, 0.95))
def test_a_surer_plan_takes_no_fewer_trials(share: float, limit: float) -> None:
    assume(abs(share - limit) > 0.01)
    plain, sure = (trials_total(share, limit, 1.96, power) for power in (0.5, 0.8))
    assert plain is not None
    assert sure is not None
    assert 0 < plain <= sure
    assert trials_total(limit, limit, 1.96) is None


# Leaving out


@few
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=9))
def test_leaving_out_each_value_of_a_mean(values: list[float]) -> None:
    assume(np.ptp(values) > 1e-2)
    table = np.column_stack([values, np.ones(len(values))])
    without = left_out(table, lambda sums: sums[..., 0] / sums[..., 1])
    assert left_out_error(without) == pytest.approx(float(oracle.sem(values)))
    limits = jackknife(table, lambda sums: sums[..., 0] / sums[..., 1], UNBOUNDED)
    expected = oracle.t.interval(0.95, len(values) - 1, np.mean(values), oracle.sem(values))
    assert limits == pytest.approx(expected, abs=1e-6)


@few
@given(st.floats(-0.99, 0.99), st.floats(0.001, 2), st.sampled_from([SHARE, AGREEMENT, POSITIVE, UNBOUNDED]))
def test_limits_around_a_value_keep_to_its_range(
    value: float, reach: float, ends: tuple[float, float]
) -> None:
    low, high = around(value, reach, ends)
    if ends[0] < value < ends[1]:
        assert ends[0] <= low <= value <= high <= ends[1]
        assert isfinite(low)
        assert isfinite(high)
        least = min(value - ends[0], ends[1] - value, reach) / 1000
        small = around(value, least, ends)
        assert small[1] - small[0] == pytest.approx(2 * least, rel=0.01)
    else:
        assert ends[0] <= low
        assert high <= ends[1]
