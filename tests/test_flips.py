"""Noise against order: rates by hand, the test by enumeration, and judges that must not be flagged."""

from __future__ import annotations

from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.questions import decisions_of
from steelyard.datasheet.render.clauses import sentence
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.flips import count_flips, flip_estimates, relabelling_p
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.natural import natural_estimates
from strategies import find, make, shuffled, swap_contents, swap_slots

quiet = settings(max_examples=12)
WINNERS = st.tuples(*[st.integers(0, 2)] * 2)
AT_ZERO = {"delta": 0, "kind": "same_subset"}


def estimates_of(pairs: Pairs, protocol: str = "base") -> list[Estimate]:
    return ladder_estimates(EstimateContext.for_protocol("J", "ladder", protocol, 7), pairs)


def flips_of(pairs: Pairs) -> list[Estimate]:
    """The figures of flips alone."""
    return flip_estimates(EstimateContext("J", "ladder", {"protocol": "base", **AT_ZERO}, 7), pairs)


def rates(pairs: Pairs) -> tuple[float | None, float | None, float | None]:
    found = estimates_of(pairs)
    names = ("repeat_flip_rate", "swap_flip_rate", "flip_excess")
    return tuple(find(found, name, **AT_ZERO).value for name in names)  # type: ignore[return-value]


def test_one_pair_by_hand() -> None:
    # Three replicates. u first: 1, 1, 2 is u, u, v; v first: 1, t, 2 is v, tie, u.
    # Same order: u first 2 of 3 comparisons differ, v first 3 of 3. Across 9 comparisons u meets u twice and
    # v meets v once, so 6 differ.
    pairs = make(["11", "1t", "22"], replicates=3)
    found = estimates_of(pairs)
    repeat, swap = (find(found, name, **AT_ZERO) for name in ("repeat_flip_rate", "swap_flip_rate"))
    assert (repeat.numerator, repeat.denominator) == (5, 6)
    assert (swap.numerator, swap.denominator) == (6, 9)
    excess = find(found, "flip_excess", **AT_ZERO)
    assert excess.value == pytest.approx(6 / 9 - 5 / 6)
    assert (repeat.unit, repeat.n_calls, repeat.n_units) == ("comparison", 6, 1)


def test_limits_of_the_excess_are_those_of_t_over_tasks() -> None:
    # One pair a task, asked twice: repetition turns no winner, order turns those of the first task.
    pairs = make(["11", "11", "12", "12", "tt", "tt"], tasks=3, replicates=2)
    excess = find(estimates_of(pairs), "flip_excess", **AT_ZERO)
    assert [i.method for i in excess.intervals] == ["t_cluster", "bootstrap_cluster"]
    # Task means 1, 0, 0: standard error 1/3, t(2) = 4.302653; cut off at ±1.
    assert excess.value == pytest.approx(1 / 3)
    assert (excess.intervals[0].low, excess.intervals[0].high) == (-1.0, 1.0)


def test_an_excess_is_clear_where_its_limits_stay_within_the_margin() -> None:
    # Order alone turns the first pair (+1), noise alone the next two (−½ each), nothing the others: mean 0.
    # Of 12 tasks √(1.5/12²·12/11)·t(11) = .2346 reaches beyond ±.10.
    # Of 120 tasks √(1.5/120²·120/119)·t(119) = .0203 does not.
    for tasks, reach, word in ((12, 0.2346, "inconclusive"), (120, 0.0203, "clear")):
        rows = ["11", "11", *["12", "21"] * 2, *["12", "12"] * (tasks - 3)]
        excess = find(flips_of(make(rows, tasks=tasks, replicates=2)), "flip_excess", **AT_ZERO)
        assert excess.intervals[0].low == pytest.approx(-reach, abs=5e-5)
        assert (excess.value, excess.status) == (pytest.approx(0.0), word)


def test_always_first_never_flips_by_repetition_and_always_by_order() -> None:
    pairs = make(["11"] * 60, tasks=10, replicates=2)
    assert rates(pairs) == (0.0, 1.0, 1.0)
    excess = find(estimates_of(pairs), "flip_excess", **AT_ZERO)
    assert excess.status is None
    assert "tell nothing of noise" in (excess.note or "")
    # The position test is what flags it.
    assert find(estimates_of(pairs), "net_slot_preference", **AT_ZERO).status == "flagged"


def test_a_judge_that_keeps_to_a_text_flips_by_neither() -> None:
    assert rates(make(["12", "12", "21", "21"] * 8, tasks=8, replicates=2)) == (0.0, 0.0, 0.0)


def test_without_replicates_there_is_nothing_to_compare() -> None:
    found = estimates_of(make(["11", "12"] * 6, tasks=6))
    assert not [e for e in found if "flip" in e.metric]


def test_only_the_declared_arm_has_them_on_the_ladder() -> None:
    pairs = make(["11", "12", "tt", "2t", "12", "12", "11", "22"] * 6, tasks=5, replicates=2)
    assert not [e for e in estimates_of(pairs, "strict") if "flip" in e.metric]
    natural = natural_estimates(EstimateContext.for_protocol("J", "position", "other", 7), pairs, pairs)
    assert find(natural, "flip_excess").status is None
    assert (
        find(
            natural_estimates(EstimateContext.for_protocol("J", "position", "base", 7), pairs, pairs),
            "flip_excess",
        ).status
        is not None
    )


def test_missing_calls_leave_out_their_comparisons_only() -> None:
    # The second pair lost a call: u first has one left, so its only repeat comparison is v first's.
    pairs = make(["12", "12", "1t", "x2"], replicates=2)
    flips = count_flips(pairs)
    assert flips.repeat.tolist() == [2, 1]
    assert flips.swap.tolist() == [4, 2]
    assert flips.repeat_flips.tolist() == [0, 1]
    assert flips.swap_flips.tolist() == [0, 1]
    assert find(estimates_of(pairs), "flip_excess", **AT_ZERO).excluded == {"unreadable": 1, "failed": 0}


def by_enumeration(rows: list[list[tuple[int, int]]]) -> float:
    """P(total excess ≥ observed) over every way to deal each pair's winners to its orders."""

    def excess(first: tuple[int, ...], second: tuple[int, ...]) -> float:
        repeat = [a != b for side in (first, second) for a, b in combinations(side, 2)]
        swap = [a != b for a, b in product(first, second)]
        return sum(swap) / len(swap) - sum(repeat) / len(repeat)

    totals = [0.0]
    observed = 0.0
    for calls in rows:
        first = tuple(a for a, _ in calls)
        second = tuple(b for _, b in calls)
        observed += excess(first, second)
        everyone = (*first, *second)
        deals = []
        for chosen in combinations(range(len(everyone)), len(first)):
            rest = [everyone[i] for i in range(len(everyone)) if i not in chosen]
            deals.append(excess(tuple(everyone[i] for i in chosen), tuple(rest)))
        totals = [total + deal for total in totals for deal in deals]
    return sum(total >= observed - 1e-9 for total in totals) / len(totals)


@quiet
@given(
    st.lists(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=2, max_size=2), min_size=1, max_size=4)
)
def test_the_relabelling_test_agrees_with_enumeration(rows: list[list[tuple[int, int]]]) -> None:
    # Winners 0 u, 1 v, 2 tie as answers: u first they are 1, 2, t; v first 2, 1, t.
    answers = ["12t"[a] + "21t"[b] for calls in rows for a, b in calls]
    p = relabelling_p(count_flips(make(answers, replicates=2)), seed=1)
    exact = by_enumeration(rows)
    assert abs(p - exact) <= 4 * sqrt(exact * (1 - exact) / 9999) + 2e-4


@pytest.mark.slow
@quiet
@given(st.lists(st.sampled_from(["11", "12", "1t", "tt", "22", "x1", "2f"]), min_size=2, max_size=24))
def test_names_of_contents_slots_and_rows_do_not_matter(rows: list[str]) -> None:
    pairs = make(rows[: len(rows) // 2 * 2], tasks=3, replicates=2)

    def figures(of: Pairs) -> list[dict[str, object]]:
        return [e.to_json() for e in flips_of(of)]

    found = figures(pairs)
    assert figures(swap_contents(pairs)) == found
    assert figures(swap_slots(pairs)) == found
    assert figures(shuffled(pairs)) == found


def coin(generator: np.random.Generator, pairs: int, replicates: int, letters: str = "12") -> list[str]:
    drawn = np.array(list(letters))[generator.integers(0, len(letters), (pairs * replicates, 2))]
    return ["".join(row) for row in drawn]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "replicates", "letters", "runs"),
    [(4, 2, "12", 400), (12, 3, "12t", 150), (60, 3, "1122t", 100)],
)
def test_a_coin_is_flagged_at_no_more_than_its_level(
    pairs: int, replicates: int, letters: str, runs: int
) -> None:
    generator = np.random.default_rng(pairs + replicates)
    found, excess = 0, []
    for _ in range(runs):
        flips = count_flips(make(coin(generator, pairs, replicates, letters), tasks=4, replicates=replicates))
        found += relabelling_p(flips, seed=int(generator.integers(2**31)), draws=499) <= 0.05
        excess.append(float(flips.excess.mean()))
    assert found / runs <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)
    assert abs(np.mean(excess)) <= 4 * np.std(excess) / sqrt(runs)


@pytest.mark.slow
def test_noise_that_differs_between_pairs_is_no_order_effect() -> None:
    # Half of the pairs are decided, half are tossed; order matters nowhere.
    generator = np.random.default_rng(5)
    found = 0
    for _ in range(150):
        rows = ["12"] * 60 + coin(generator, 30, 2)
        found += relabelling_p(count_flips(make(rows, tasks=6, replicates=2)), 1, draws=499) <= 0.05
    assert found / 150 <= 0.05 + 3 * sqrt(0.05 * 0.95 / 150)


def test_a_noisy_lean_to_a_slot_is_found_with_its_size() -> None:
    # Slot 1 with chance .8 in either order: winners agree across orders with 2·.8·.2 = .32, within with .68.
    generator = np.random.default_rng(11)
    drawn = np.where(generator.random((600, 2)) < 0.8, "1", "2")
    pairs = make(["".join(row) for row in drawn], tasks=10, replicates=3)
    repeat, swap, excess = rates(pairs)
    assert repeat == pytest.approx(0.32, abs=0.05)
    assert swap == pytest.approx(0.68, abs=0.05)
    # ½ Σ (p − q)² = ½ · 2 · (.8 − .2)² = .36.
    assert excess == pytest.approx(0.36, abs=0.06)
    assert find(estimates_of(pairs), "flip_excess", **AT_ZERO).status == "flagged"


@pytest.mark.slow
def test_the_interval_covers_the_excess() -> None:
    generator = np.random.default_rng(2)
    covered, runs = 0, 40
    for _ in range(runs):
        lean = generator.choice([0.5, 0.9], 10)  # tasks differ in how they lean; ½ Σ (p − q)² is 0 or .64
        chance = np.repeat(np.tile(lean, 6), 2)[:, None]
        rows = ["".join(row) for row in np.where(generator.random((120, 2)) < chance, "1", "2")]
        interval = find(flips_of(make(rows, tasks=10, replicates=2)), "flip_excess", **AT_ZERO).interval
        assert interval is not None
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 0.32 <= interval.high
    assert covered / runs >= 0.95 - 3 * sqrt(0.95 * 0.05 / runs)


def test_the_reading_names_noise_as_noise() -> None:
    def reading(pairs: Pairs) -> tuple[str, str]:
        entry = JudgeEntry("J", "planted/x", False, {})
        decided = decisions_of([entry], estimates_of(pairs))
        return next((r.status, sentence(r.clause)) for r in decided if r.title == "Noise")

    noise = coin(np.random.default_rng(1), 60, 3)
    word, said = reading(make(noise, tasks=10, replicates=3))
    assert word != "flagged"
    assert "bias" not in said
    word, said = reading(make(["11"] * 60, tasks=10, replicates=2))
    assert word == "measured"
    assert said.startswith("asking again never changed the winner")
