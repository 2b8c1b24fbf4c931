"""Worth of a cue: the crossing point by hand, the model by its slopes, planted worths found again."""

from __future__ import annotations

from dataclasses import fields, replace
from math import isclose

import numpy as np
import pytest

from calibration.worth import STRONG, WORTHS, count, count_crossings
from calibration.worth import WEAK as WEAKER
from planted_pairs import CUE, STANDARD, simulate, simulate_cue
from steelyard.metrics.estimate import EstimateContext, Interval
from steelyard.metrics.instrument.crossing import (
    CROSSING,
    TOO_LITTLE,
    crossing,
    crossing_estimate,
    crossing_limits,
    line_limits,
)
from steelyard.metrics.instrument.estimates import ALIKE
from steelyard.metrics.instrument.likelihood import pattern_scores, patterns_of, rows_of
from steelyard.metrics.instrument.worth import CueModel, PositionModel, fit_worth, start_of
from steelyard.metrics.instrument.worth_estimates import (
    BLIND,
    FAULT,
    WORTH,
    compared,
    cue_rows,
    pair_worths,
)
from steelyard.probes.probe import Design
from steelyard.probes.tradeoff import Tradeoff
from steelyard.providers.planted.decision_model import Parameters, decide
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Tie
from strategies import WHOLE, shuffled, stack

STEPS = np.array([0.0, 1.0, 2.0, 3.0, 5.0])
SHARP, WEAK = (
    Parameters(resolution=1.5, position_bias=1.2),
    Parameters(resolution=0.5, position_bias=0.8, lapse_rate=0.05),
)
PLANTED = {"padding": 0, "bullets": 0.5, "authority": 1.5, "typos": 4}
"""Worth of each cue in steps."""
CONTEXT = EstimateContext.for_protocol("judge", "tradeoff", "base", 7)


def shares(*values: float) -> float:
    """The crossing point of these shares of ten pairs each."""
    return float(crossing(STEPS, np.array([[10 * value for value in values], [10.0] * 5])))


def test_the_crossing_point_lies_on_the_line_between_two_steps():
    assert shares(0.2, 0.4, 0.8, 1, 1) == 1.25
    assert shares(0.1, 0.2, 0.3, 0.4, 0.6) == 4.0
    assert isclose(shares(0.3, 0.1, 0.4, 0.9, 1), 2.2)  # the first two are pooled to .2


def test_a_crossing_point_outside_the_steps_is_at_their_end():
    assert shares(0.7, 0.8, 0.9, 1, 1) == 0
    assert shares(0, 0, 0.1, 0.2, 0.4) == 5


def test_where_several_steps_are_even_the_middle_is_taken():
    assert shares(0, 0.5, 0.5, 1, 1) == 1.5


def both(planted: Parameters, worth: float, seed: int, **given):
    tilt = given.get("tilt", 0.0)
    return stack(
        simulate(planted, seed, STANDARD, tilt=tilt, tasks=40),
        simulate_cue(planted, worth, seed, CUE, tasks=40, **given),
    )


def estimates(pairs, cues=("padding",)) -> dict[tuple[str, str], object]:
    return {(e.metric, str(e.group.get("cue"))): e for e in pair_worths(CONTEXT, pairs, cues)}


@pytest.fixture(scope="module")
def sharp():
    """Figures of a sharp judge whose cues have different worths, and of one cue without any step."""
    few = simulate_cue(SHARP, 1, 1, {0: 24}, tasks=40, kind="few")
    return estimates(stack(of_cues(SHARP), few), [*PLANTED, "few"])


def of_cues(planted: Parameters):
    cues = [
        simulate_cue(planted, worth, 5, CUE, tilt=0.5, tasks=40, spread=0.2, kind=kind)
        for kind, worth in PLANTED.items()
    ]
    return stack(simulate(planted, 5, STANDARD, tilt=0.5, tasks=40), *cues)


def test_slopes_of_the_model_are_those_of_its_likelihood():
    pairs = both(SHARP, 1.5, 3)
    cued = pairs.kind == "padding"
    ladder = rows_of(pairs.where(~cued))
    model = CueModel.of(ladder, cue_rows(pairs.where(cued)))
    theta, worth, reach = np.array([0.9, 0.3, 0.5, 0.6, 0.05]), 1.2, 1e-5
    up, down = (pattern_scores(theta[None], model.shifted(worth + s * reach))[0][0] for s in (1, -1))
    assert np.allclose(model.scores(np.append(theta, worth))[:, -1], (up - down) / (2 * reach), atol=1e-4)
    position = PositionModel(model.patterns)
    places = np.tile([0.9, 0.4, 0.5, 0.6, 0.05], (2, 1))
    places[:, 1] += [reach, -reach]
    biased = places.copy()
    biased[:, 1] *= biased[:, 0]
    up, down = pattern_scores(biased, model.patterns)[0]
    slopes = position.scores(np.array([0.9, 0.4, 0.5, 0.6, 0.05]))[:, 1]
    assert np.allclose(slopes, (up - down) / (2 * reach), atol=1e-4)


def test_planted_worths_are_found_again(sharp):
    weak = estimates(of_cues(WEAK), list(PLANTED))
    for found, planted in ((sharp, SHARP), (weak, WEAK)):
        truths = {**PLANTED, "position": planted.position_bias / planted.resolution}
        limits = {cue: found[WORTH.id, cue].interval for cue in truths}
        for cue, worth in truths.items():
            assert limits[cue].low is None or limits[cue].low <= worth, cue
            assert limits[cue].high is None or worth <= limits[cue].high, cue
    for cue, worth in PLANTED.items():
        interval = sharp[WORTH.id, cue].interval
        assert abs(sharp[WORTH.id, cue].value - worth) < 0.5, cue
        assert interval.high - interval.low < 2, cue
    assert sharp[WORTH.id, "position"].interval.low > 0
    assert sharp[WORTH.id, "position"].status is None


def test_a_judge_that_hardly_sees_quality_gets_an_open_interval():
    found = estimates(both(Parameters(resolution=0.25), 4, 1))[WORTH.id, "padding"]
    assert found.interval.high is None
    assert found.interval.low > 0.5


def test_a_judge_that_does_not_see_quality_has_no_worth():
    found = estimates(both(Parameters(resolution=0.0), 0, 1))
    assert found[WORTH.id, "padding"].value is None
    assert found[WORTH.id, "padding"].reason == BLIND.code
    assert (found[CROSSING.id, "padding"].value, found[CROSSING.id, "padding"].reason) == (None, BLIND.code)


def test_few_pairs_are_not_fitted(sharp):
    assert {sharp[metric, "few"].reason for metric in (WORTH.id, CROSSING.id)} == {TOO_LITTLE.code}


def figure(metric, value, low, high, censored=None):
    interval = Interval("x", low, high)
    return CONTEXT.estimate(metric, unit="pair", value=value, intervals=(interval,), censored=censored)


def test_the_note_tells_where_the_two_ways_disagree():
    worth = figure(WORTH, 1.0, 0.6, 1.4)
    assert compared(worth, figure(CROSSING, 2.0, 1.6, 2.4)).details == {"crossing": 2.0}
    assert compared(worth, figure(CROSSING, 1.3, 1.2, 1.5)) == worth
    assert compared(worth, figure(CROSSING, 2.0, None, 2.4)) == worth
    assert compared(figure(WORTH, -1.0, -1.4, -0.6), figure(CROSSING, 0.0, None, 0.2, "left")).note is None


def observe(planted: Parameters, design: Design, probe: Tradeoff) -> Observations:
    rows = []
    for showing in probe.showings(design, ("base",)):
        stimulus, trial = showing.stimulus, f"{showing.stimulus.id}/{showing.order}"
        slots = stimulus.texts if showing.order == "uv" else stimulus.texts[::-1]
        answer = decide(planted, stimulus.request, (slots[0], slots[1]), ("1", "2", "tie"), trial)
        verdict = Tie() if answer == "tie" else Decided(answer)
        rows.append(Observation("judge", "base", stimulus, showing.order, 0, verdict, Usage(), "p"))
    return Observations.of(rows)


def measured(planted: Parameters, *cues: str, profile: str = "quick"):
    probe = Tradeoff(cues=list(cues))
    found = probe.estimates("judge", observe(planted, Design(7, profile), probe), 7)
    return {str(e.group["cue"]): e for e in found if e.metric == WORTH.id}


@pytest.mark.slow
def test_a_cue_that_harms_has_a_negative_worth_and_errors_cost_what_they_are_worth():
    found = measured(Parameters(resolution=1.5, cue_worth=-2.0), "bullets", "typos")
    assert found["bullets"].interval.high < 0 < found["typos"].interval.low
    assert {found[cue].status for cue in ("bullets", "typos")} == {"flagged"}


@pytest.mark.slow
def test_length_that_overrides_quality_is_told_from_length_that_breaks_ties():
    overrides = measured(Parameters(resolution=1.5, length_pull=15.0), "padding")["padding"]
    breaks_ties = measured(Parameters(resolution=3.0, length_pull=1.2, tie_threshold=0.1), "padding")[
        "padding"
    ]
    assert overrides.interval.low > 3
    assert overrides.status == "flagged"
    assert breaks_ties.interval.high < 1
    assert breaks_ties.status != "flagged"


@pytest.mark.slow
def test_a_judge_without_any_bias_is_not_flagged():
    found = measured(Parameters(resolution=2.0), "padding", "authority")
    assert all(found[cue].status in ("clear", "inconclusive") for cue in ("padding", "authority"))
    assert all(abs(found[cue].value) < 0.5 for cue in ("padding", "authority"))
    assert all(found[cue].p == 1 for cue in ("padding", "authority"))  # of a worth beyond half a step


def test_the_order_of_pairs_changes_nothing():
    pairs = of_cues(SHARP)
    first, second = (each.where(each.kind == "bullets") for each in (pairs, shuffled(pairs)))
    assert crossing_estimate(CONTEXT, first) == crossing_estimate(CONTEXT, second)
    one, other = (CueModel.of(rows_of(pairs), cue_rows(each)).patterns for each in (first, second))
    assert [
        f.name for f in fields(one) if not np.array_equal(getattr(one, f.name), getattr(other, f.name))
    ] == []


def test_limits_of_a_crossing_point_are_where_the_preference_may_be_even():
    # Ten clusters show step 0 and ten step 1: wins of 1 and of 9 in 10. Place x has the preference .1 + .8 x
    # and the jackknife's variance 19/20 · 10 · .09 / 9² · ((1 - x)² + x²); t(19) = 2.093.
    table = np.zeros((20, 2, 2))
    table[:10, 1, 0] = table[10:, 1, 1] = 1
    table[:1, 0, 0] = table[10:19, 0, 1] = 1
    low, high = line_limits(np.array([0.0, 1.0]), table)
    places = np.linspace(0, 1, 51)
    error = np.sqrt(0.95 * 0.9 / 81 * ((1 - places) ** 2 + places**2))
    even = places[np.abs(places * 0.8 - 0.4) <= 2.093 * error]
    assert isclose(low, even[0] - 0.02, abs_tol=1e-9)
    assert isclose(high, even[-1] + 0.02, abs_tol=1e-9)


def test_clusters_that_were_shown_other_steps_tell_nothing_of_the_spread_at_a_place():
    # Three clusters show step 0, three step 1, and forty step 5: between 0 and 1 six tell, t(5) = 2.571.
    wins = np.array([0.0, 0.25, 0.1]), np.array([1.0, 0.8, 0.95])
    table = np.zeros((46, 2, 3))
    table[:3, 1, 0] = table[3:6, 1, 1] = table[6:, :, 2] = 1
    table[:3, 0, 0], table[3:6, 0, 1] = wins
    places = np.linspace(0, 1, 51)
    here, without = (1 - places) * wins[0].mean() + places * wins[1].mean(), []
    for step, own in enumerate(wins):
        for one in range(3):
            means = [each.mean() for each in wins]
            means[step] = np.delete(own, one).mean()
            without.append((1 - places) * means[0] + places * means[1])
    every = np.array([*without, *[here] * 40])
    error = np.sqrt(45 / 46 * ((every - every.mean(axis=0)) ** 2).sum(axis=0))
    even, narrow = (places[np.abs(here - 0.5) <= reach * error] for reach in (2.5706, 2.0141))
    assert even[0] < narrow[0]
    low, high = line_limits(np.array([0.0, 1.0, 5.0]), table)
    assert (low, high) == (pytest.approx(even[0] - 0.02), pytest.approx(even[-1] + 0.02))


def test_limits_of_a_crossing_point_are_open_where_an_end_may_be_even():
    steps = np.array([0.0, 1.0])
    table = np.zeros((20, 2, 2))
    table[:10, 1, 0] = table[10:, 1, 1] = 1
    table[:5, 0, 0] = table[10:, 0, 1] = 1
    assert crossing_limits(steps, table)[0] is None
    table[:10, 0, 0] = 1
    assert crossing_limits(steps, table) == (None, 0.0)
    assert crossing_limits(steps, np.zeros((20, 2, 2)) + table * [[[0], [1]]]) == (1.0, None)


def test_replicates_that_never_differ_are_counted_once(sharp):
    once = of_cues(SHARP)
    once = once.where(~np.isin(once.kind, [cue for cue in PLANTED if cue != "typos"]))
    again = replace(once, replicate=once.replicate + 1)
    columns = {
        f.name: np.concatenate([getattr(one, f.name) for one in (once, again)])
        for f in fields(once)
        if f.name not in WHOLE
    }
    double = estimates(replace(once, **columns), ["typos"])
    for key in ((WORTH.id, "typos"), (WORTH.id, "position"), (CROSSING.id, "typos")):
        assert (sharp[key].value, sharp[key].interval) == (double[key].value, double[key].interval)
    assert ALIKE in double[WORTH.id, "typos"].note


def test_twice_the_pairs_on_the_same_clusters_say_no_more():
    """Each pair twice: the log-likelihood and the variance between clusters over that of pairs double."""
    pairs = stack(simulate(SHARP, 3), simulate_cue(SHARP, 1.5, 3, spread=0.5))
    cued = pairs.kind == "padding"
    ladder, cue = rows_of(pairs.where(~cued)), cue_rows(pairs.where(cued))
    model = CueModel.of(ladder, cue)
    patterns = model.patterns
    doubled = replace(patterns, by_cluster=2 * patterns.by_cluster)
    start = start_of(ladder, patterns_of(ladder))
    once, twice = fit_worth(model, start), fit_worth(replace(model, patterns=doubled), start)
    assert once.inflation > 1.2
    assert isclose(twice.inflation, 2 * once.inflation, rel_tol=1e-3)
    assert isclose(once.low, twice.low, abs_tol=0.001)
    assert isclose(once.high, twice.high, abs_tol=0.001)
    assert isclose(once.probability(1.0), twice.probability(1.0), rel_tol=0.01)


@pytest.mark.slow
def test_intervals_cover_planted_worths_over_clusters_that_differ():
    tally = count(WEAKER, 1.5, range(1))
    assert tally.undefined == 0
    assert min(tally.covered, tally.crossings_covered) >= 3  # of 4


@pytest.mark.slow
@pytest.mark.parametrize("planted", [STRONG, WEAKER], ids=["strong", "weak"])
def test_crossing_points_cover_planted_worths_over_clusters_that_differ(planted):
    tallies = [count_crossings(planted, worth, range(15)) for worth in WORTHS]
    assert min(tally.crossing_coverage for tally in tallies) >= 0.9  # of 60
    assert np.mean([tally.crossing_coverage for tally in tallies]) >= 0.93


@pytest.mark.calibrate
@pytest.mark.parametrize("worth", WORTHS)
@pytest.mark.parametrize("planted", [STRONG, WEAKER], ids=["strong", "weak"])
def test_families_of_cues_over_clusters_that_differ(planted, worth):
    tally = count(planted, worth, range(100))
    assert tally.undefined <= 0.05 * (tally.worths + tally.undefined)
    assert min(tally.coverage, tally.crossing_coverage) >= 0.93
    if worth <= FAULT:
        assert tally.flagged <= 0.05


def test_crossing_points_of_very_steep_judges_cover_the_whole_step():
    steep = Parameters(resolution=12, position_bias=0.4)
    assert (
        min(count_crossings(steep, worth, range(10)).crossing_coverage for worth in (0.25, 0.8, 2.4)) >= 0.93
    )


def test_limits_between_two_neighbouring_steps_are_these_steps():
    # Every cluster turns between steps 1 and 2: where, nobody knows.
    table = np.tile(np.array([[0.0, 0.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]), (8, 1, 1))
    assert crossing_limits(np.array([0.0, 1.0, 2.0, 3.0]), table) == (1.0, 2.0)
