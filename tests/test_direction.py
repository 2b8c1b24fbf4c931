from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.decomposition import (
    CELLS,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
    chance_lines,
    decompose,
)
from steelyard.metrics.pairs.equals import equals_tests
from steelyard.metrics.pairs.flips import order_test
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.slot import position_test, reading_of, stable_excess
from steelyard.metrics.stats.intervals import _convolve, _transform, sign_flip
from steelyard.stimuli.stimulus import Lineage, NoPreference, Stimulus
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided
from strategies import find, interval, make, pairs_of_equals, shuffled, stack, swap_contents, swap_slots

quiet = settings(max_examples=60)
AT_ZERO = {"delta": 0, "kind": "same_subset"}


def estimates_of(pairs: Pairs, protocol: str = "base") -> list[Estimate]:
    return ladder_estimates(EstimateContext.for_protocol("J", "ladder", protocol, 7), pairs)


def cells_of(pairs: Pairs) -> tuple[int, ...]:
    parts = decompose(pairs)
    return tuple(int(parts.cell(metric).sum()) for metric in CELLS)


def test_each_cell_by_hand() -> None:
    # u first, v first: 12 is u twice; 11 is slot 1 twice; 1t is one-sided; ta is none; 1x is incomplete.
    pairs = make(["12", "21", "11", "22", "1t", "t2", "ta", "1x", "xf"], tasks=3)
    parts = decompose(pairs)
    assert cells_of(pairs) == (2, 2, 2, 1)
    assert parts.conflicting == 1
    assert int(parts.commits.sum()) == 2 * 2 + 2 * 2 + 2 + 1


@pytest.mark.slow
@quiet
@given(pairs_of_equals())
def test_counts_add_up_bounds_hold_every_completion_and_names_change_nothing(pairs: Pairs) -> None:
    """The identity in integers; figures whose gaps are filled; contents named the other way."""
    estimates = estimates_of(pairs)
    stable, positional, one_sided, none = cells_of(pairs)
    parts = decompose(pairs)
    commits = int(parts.commits.sum())
    assert 2 * stable + 2 * positional + one_sided + parts.conflicting == commits
    assert stable + positional + one_sided + none == int(parts.complete.sum())
    raw = find(estimates, "raw_false_preference", **AT_ZERO)
    assert (raw.numerator or 0) == commits
    for fill in ("12", "11", "22", "1t", "t2", "tt"):
        codes = [{"1": 0, "2": 1, "t": 2}[letter] for letter in fill]
        filled = replace(
            pairs,
            u_first=np.where(pairs.u_first >= 4, codes[0], pairs.u_first),
            v_first=np.where(pairs.v_first >= 4, codes[1], pairs.v_first),
        )
        for metric, count in zip(CELLS, cells_of(filled), strict=True):
            bounds = find(estimates, metric.id, **AT_ZERO).bounds
            if bounds is not None:
                assert bounds[0] - 1e-12 <= count / len(pairs) <= bounds[1] + 1e-12
    assert [e.to_json() for e in estimates] == [e.to_json() for e in estimates_of(swap_contents(pairs))]


@pytest.mark.slow
@quiet
@given(pairs_of_equals())
def test_exchanging_slots_with_answers_keeps_the_cells(pairs: Pairs) -> None:
    assert cells_of(swap_slots(pairs)) == cells_of(pairs)
    before, after = decompose(pairs), decompose(swap_slots(pairs))
    for slot, other in ((1, 2), (2, 1)):
        for metric in (POSITIONAL_FALSE_PREFERENCE, ONE_SIDED_COMMIT):
            assert before.in_slot(metric, slot).sum() == after.in_slot(metric, other).sum()
    assert position_test(before).total == -position_test(after).total
    assert position_test(before).p == position_test(after).p


def test_bounds_by_hand() -> None:
    # 4 pairs: one stable, one commit + missing, one tie + missing, one without any verdict.
    estimates = estimates_of(make(["12", "1x", "tf", "xx"], tasks=2))
    expected = {
        "stable_cross_sensitivity": (1 / 4, 3 / 4),
        "positional_false_preference": (0, 2 / 4),
        "one_sided_commit": (0, 3 / 4),
        "no_preference": (0, 2 / 4),
    }
    for metric, bounds in expected.items():
        assert find(estimates, metric, **AT_ZERO).bounds == pytest.approx(bounds)
    # The lone commit went into slot 1, so slot 2 can only gain the pair without verdicts.
    assert find(estimates, "positional_false_preference", **AT_ZERO, slot=2).bounds == pytest.approx(
        (0, 1 / 4)
    )
    other = find(estimates, "other_conflict", **AT_ZERO)
    assert (other.numerator, other.denominator) == (1, 8)


def test_chance_lines_from_slot_marginals() -> None:
    # 3 pairs, 6 calls: slot 1 won 3, slot 2 won 2, one tie: 2·½·⅓ and ¼ + 1/9.
    lines = chance_lines(decompose(make(["11", "22", "1t"])))
    assert lines[STABLE_CROSS_SENSITIVITY, None] == pytest.approx(1 / 3)
    assert lines[POSITIONAL_FALSE_PREFERENCE, None] == pytest.approx(13 / 36)


def test_inconsistent_codes_are_refused() -> None:
    pairs = make(["12", "tt"])
    with pytest.raises(AssertionError, match="decomposition of 2 pairs"):
        decompose(replace(pairs, u_first=np.array([-1, 2])))


def test_recommended_interval_of_a_cell_is_simultaneous() -> None:
    cell = find(
        estimates_of(make(["11", "tt", "1t"] * 20, tasks=9)), "positional_false_preference", **AT_ZERO
    )
    assert next(i.method for i in cell.intervals) == "goodman_cluster"
    assert {"goodman", "wilson_cluster", "wilson"} <= {i.method for i in cell.intervals}
    assert (cell.unit, cell.n_units, cell.n_calls) == ("pair", 60, 120)


def test_replicates_are_not_units() -> None:
    once = make(["11", "tt", "12", "1t"] * 3, tasks=6)
    thrice = make([a for a in ["11", "tt", "12", "1t"] * 3 for _ in range(3)], tasks=6, replicates=3)
    one, three = (find(estimates_of(p), "stable_cross_sensitivity", **AT_ZERO) for p in (once, thrice))
    assert (three.numerator, three.denominator, three.n_units) == (9, 36, 12)
    assert interval(three, "goodman") == pytest.approx(interval(one, "goodman"))
    assert interval(three, "wilson_cluster") != interval(three, "wilson")
    tests = [position_test(decompose(p)) for p in (once, thrice)]
    assert tests[0].p == tests[1].p
    assert tests[0].stable_p == tests[1].stable_p


def test_one_order_is_not_decomposed() -> None:
    estimates = estimates_of(make(["1-", "t-", "2-"] * 4, tasks=4))
    for metric in (*(cell.id for cell in CELLS), "other_conflict", "net_slot_preference"):
        cell = find(estimates, metric, **AT_ZERO)
        assert cell.value is None
        assert "one order only" in (cell.note or "")
    raw = find(estimates, "raw_false_preference", **AT_ZERO)
    assert (raw.numerator, raw.denominator, raw.n_calls) == (8, 12, 12)


def test_single_pairs_in_one_order_are_left_out_and_named() -> None:
    cell = find(estimates_of(make(["12", "12", "1-"], tasks=3)), "stable_cross_sensitivity", **AT_ZERO)
    assert (cell.numerator, cell.denominator) == (2, 2)
    assert "1 pair shown in one order only" in (cell.note or "")


def test_kinds_are_reported_apart() -> None:
    pairs = stack(
        make(["11"] * 4, tasks=4),
        make(["12"] * 4, tasks=4, kind="different_subset"),
        make(["21", "21", "21", "1t"], tasks=4, kind="filler"),
    )
    estimates = estimates_of(pairs)
    assert find(estimates, "positional_false_preference", **AT_ZERO).value == 1.0
    assert find(estimates, "stable_cross_sensitivity", delta=0, kind="different_subset").value == 1.0
    assert find(estimates, "stable_cross_sensitivity", delta=0, kind="different_subset").status is None
    # v is the padded one: three pairs chose it twice, one commit chose u.
    padded = find(estimates, "padded_preference", delta=0, kind="filler")
    assert (padded.numerator, padded.denominator, padded.chance) == (6, 7, 0.5)


# Position -------------------------------------------------------------------------------------------


@pytest.mark.slow
@quiet
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=10))
def test_sign_flip_agrees_with_enumeration(sums: list[int]) -> None:
    totals = [
        abs(sum(s * x for s, x in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    expected = sum(t >= abs(sum(sums)) for t in totals) / len(totals)
    assert sign_flip(np.array(sums)) == pytest.approx(expected, abs=1e-12)


@quiet
@given(st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_both_convolutions_agree(sizes: list[int]) -> None:
    array = np.array(sizes)
    assert np.allclose(_convolve(array, sum(sizes)), _transform(array, sum(sizes)), atol=1e-12)


def test_always_first() -> None:
    test = position_test(decompose(make(["11"] * 8)))
    assert test.p == pytest.approx(2 / 2**8)
    assert test.p == pytest.approx(0.0078, abs=5e-5)
    assert reading_of(test.p <= 0.05, test.stable_p <= 0.05, few_commits=False) == "positional"
    net = find(estimates_of(make(["11"] * 8)), "net_slot_preference", **AT_ZERO)
    assert (net.value, net.status) == (1.0, "flagged")
    assert "p = 0.0078" in (net.note or "")
    assert "this cluster only" in (net.note or "")


def test_hidden_one_sided_position_bias_is_found() -> None:
    # No pair is positional, yet every lone commit goes into slot 2.
    estimates = estimates_of(make(["t2", "2t", "tt"] * 6, tasks=9))
    assert find(estimates, "positional_false_preference", **AT_ZERO).value == 0.0
    net = find(estimates, "net_slot_preference", **AT_ZERO)
    assert net.value == pytest.approx(-1 / 3)
    assert net.status == "flagged"


def test_only_the_declared_arm_is_flagged() -> None:
    net = find(estimates_of(make(["11"] * 12, tasks=6), "strict"), "net_slot_preference", **AT_ZERO)
    assert net.status is None
    assert "not the declared test" in (net.note or "")


def test_always_tie_is_clear() -> None:
    net = find(estimates_of(make(["tt"] * 60, tasks=10)), "net_slot_preference", **AT_ZERO)
    assert (net.value, net.status) == (0.0, "clear")
    assert net.reading == "none"


def test_task_sums_are_flipped_from_six_tasks_on() -> None:
    assert position_test(decompose(make(["11"] * 12, tasks=6))).flipped == "clusters"
    assert position_test(decompose(make(["11"] * 12, tasks=6))).p == pytest.approx(2 / 2**6)
    few = position_test(decompose(make(["11"] * 12, tasks=5)))
    assert (few.flipped, few.p) == ("pairs", pytest.approx(2 / 2**12))


@pytest.mark.parametrize("pairs", range(4, 13))
def test_a_coin_is_flagged_in_at_most_five_percent_exactly(pairs: int) -> None:
    # A coin gives d = 2, 0, −2 with chances ¼, ½, ¼; enumerate how many pairs went each way.
    flagged = 0.0
    for up in range(pairs + 1):
        for down in range(pairs - up + 1):
            sums = np.array([2] * up + [-2] * down + [0] * (pairs - up - down))
            ways = factorial(pairs) // (factorial(up) * factorial(down) * factorial(pairs - up - down))
            flagged += ways * 0.25 ** (up + down) * 0.5 ** (pairs - up - down) * (sign_flip(sums) <= 0.05)
    assert flagged <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "tasks"), [(60, 10), (120, 30), (400, 8)])
def test_a_coin_with_tasks_is_flagged_in_at_most_five_percent(pairs: int, tasks: int) -> None:
    generator = np.random.default_rng(20)
    runs = 1500
    d = 2 * generator.integers(0, 2, (runs, pairs, 2)).sum(axis=2) - 2
    sums = d.reshape(runs, tasks, pairs // tasks).sum(axis=2)
    flagged = np.mean([sign_flip(row) <= 0.05 for row in sums])
    # Three standard errors of a true 5 % are .017.
    assert flagged <= 0.067


@quiet
@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))
def test_stable_excess_agrees_with_direct_counting(both_first: int, stable: int, both_second: int) -> None:
    pairs, first = both_first + stable + both_second, 2 * both_first + stable
    # Deal `first` slot-1 commits to the 2·pairs calls; pairs with exactly one are stable.
    ways = {}
    for h in range(first % 2, min(first, 2 * pairs - first) + 1, 2):
        a = (first - h) // 2
        ways[h] = comb(pairs, h) * comb(pairs - h, a) * 2**h
    assert sum(ways.values()) == comb(2 * pairs, first)
    expected = sum(n for h, n in ways.items() if h >= stable) / comb(2 * pairs, first)
    assert stable_excess(both_first, stable, both_second) == pytest.approx(expected)


def test_readings() -> None:
    def reading(answers: list[str], tasks: int = 10) -> str | None:
        return find(estimates_of(make(answers, tasks=tasks)), "net_slot_preference", **AT_ZERO).reading

    assert reading(["11"] * 60) == "positional"
    assert reading(["12", "21"] * 30) == "stable"
    assert reading(["11"] * 32 + ["12", "21", "12"] * 9) == "mixed"
    # Half and half with balanced slots is what a coin does.
    assert reading(["11", "22", "12", "21"] * 15) == "undecided"
    assert reading(["tt"] * 60) == "none"


def test_a_coin_is_not_called_mixed() -> None:
    generator = np.random.default_rng(3)
    called = 0
    for _ in range(200):
        answers = ["".join(row) for row in generator.choice(["1", "2"], (60, 2))]
        test = position_test(decompose(make(answers, tasks=10)))
        called += max(test.p, test.stable_p) <= 0.05
    assert called <= 4


@pytest.mark.parametrize("metric", ["stable_cross_sensitivity", "positional_false_preference"])
def test_what_a_coin_does_is_flagged_neither_as_wording_nor_as_position(metric: str) -> None:
    # Each cell holds half of the pairs, far beyond the limit of .10; slots are balanced to a call.
    coin = find(estimates_of(make(["11", "22", "12", "21"] * 30)), metric, **AT_ZERO)
    assert (coin.value, coin.status, coin.reading) == (0.5, "inconclusive", "by chance")
    assert "p = " in (coin.note or "")
    steady = ["12", "21"] * 30 if metric == "stable_cross_sensitivity" else ["11"] * 60
    assert find(estimates_of(make(steady)), metric, **AT_ZERO).status == "flagged"
    assert find(estimates_of(make(["tt"] * 240)), metric, **AT_ZERO).status == "clear"
    # The tests are declared for the base protocol; elsewhere the share stands without a word.
    assert find(estimates_of(make(steady), "strict"), metric, **AT_ZERO).status is None


def test_figures_do_not_depend_on_the_order_of_rows() -> None:
    pairs = make(["11", "tt", "1t", "xt", "12", "2f"] * 6, tasks=7, replicates=2)
    first = [e.to_json() for e in estimates_of(pairs)]
    assert first == [e.to_json() for e in estimates_of(shuffled(pairs))]


def test_figures_do_not_depend_on_the_numbers_of_tasks() -> None:
    pairs = make(["11", "tt", "1t", "xt", "12", "2f", "12"] * 6, tasks=5)
    renumber = np.array([3, 0, 4, 1, 2])
    names = tuple(pairs.clusters[i] for i in np.argsort(renumber))
    moved = replace(pairs, cluster=renumber[pairs.cluster], clusters=names)
    assert [e.to_json() for e in estimates_of(pairs)] == [e.to_json() for e in estimates_of(moved)]


def test_replicates_are_summed_before_pairs_are_flipped() -> None:
    # Two tasks, four pairs, three replicates each: 2/2⁴ and not 2/2¹².
    pairs = make(["11"] * 12, tasks=2, replicates=3)
    assert position_test(decompose(pairs)).p == pytest.approx(2 / 2**4)


def observation(name: str, order: str, replicate: int, value: str) -> Observation:
    stimulus = Stimulus(
        id=name,
        probe="ladder",
        kind="same_subset",
        cluster=f"task-{name}",
        stratum="general",
        request="request",
        texts=("u", "v"),
        expectation=NoPreference(),
        lineage=Lineage("parent", "none"),
        delta=0,
    )
    return Observation("J", "base", stimulus, order, replicate, Decided(value), Usage(), "sha256:0")


def test_collected_replicates_share_their_pair() -> None:
    seen = [
        observation(name, order, replicate, "1" if order == "uv" else "2")
        for name in ("b", "a")
        for replicate in (1, 0)
        for order in ("vu", "uv")
    ]
    pairs = collect(seen)
    assert pairs.names == ("a", "b")
    assert pairs.pair.tolist() == [0, 0, 1, 1]
    assert pairs.replicate.tolist() == [0, 1, 0, 1]
    cell = find(estimates_of(pairs), "stable_cross_sensitivity", **AT_ZERO)
    assert (cell.numerator, cell.denominator, cell.n_units, cell.n_calls) == (4, 4, 2, 8)


@pytest.mark.slow
def test_a_coin_is_flagged_in_one_sheet_of_twenty_by_any_test() -> None:
    """Position, stable preferences, order against noise: one family (60 pairs, 3 replicates)."""
    chance = np.random.default_rng(8)
    runs, separate, together = 40, 0, 0
    for _ in range(runs):
        answers = ["".join(both) for both in chance.choice(list("12"), (180, 2))]
        pairs = make(answers, tasks=10, replicates=3)
        test, heading = (
            position_test(decompose(pairs)),
            EstimateContext("J", "ladder", {"protocol": "base"}, 7),
        )
        alone = [test.p, test.stable_p, order_test(heading, pairs) or 1.0]
        family = equals_tests(heading, pairs)
        assert [tested.unadjusted_p for tested in family.values()] == alone
        separate += min(alone) <= 0.05
        together += any(tested.is_significant for tested in family.values())
    assert together / runs <= 0.10
    assert together < separate


def test_a_p_is_told_with_its_family() -> None:
    # Nine positional pairs in nine tasks, no stable one: p = 2/2⁹ = .0039, doubled by Holm over two tests.
    net = find(estimates_of(make(["11"] * 9, tasks=9)), "net_slot_preference", **AT_ZERO)
    assert (net.p, net.p_corrected) == (pytest.approx(2 / 2**9), pytest.approx(4 / 2**9))
    assert "position test p = 0.0039, 0.0078 after Holm over 2 tests" in (net.note or "")
    share = find(estimates_of(make(["11"] * 9, tasks=9)), "positional_false_preference", **AT_ZERO)
    assert (share.p, share.status) == (net.p, "flagged")
