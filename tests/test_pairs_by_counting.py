"""Figures of pairs against plain loops over the calls, which share nothing with the code.

A row is a pair asked in both orders; what it holds is drawn: ties, abstentions, lost and absent calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.multiplicity import AdjustedTest
from steelyard.metrics.pairs.columns import Pairs, missing_rates
from steelyard.metrics.pairs.decomposition import chance_lines, decompose
from steelyard.metrics.pairs.equals import direction_estimates, vacuum_estimates
from steelyard.metrics.pairs.flips import flip_estimates
from steelyard.metrics.pairs.ladder import (
    by_base_level,
    delta75,
    isotonic,
    padded_preference,
    reaches,
    sensitivity_estimates,
    thresholds,
)
from steelyard.metrics.pairs.natural import natural_estimates
from steelyard.metrics.pairs.signal_detection import separation, slot_counts
from steelyard.metrics.pairs.slot import (
    first_replicates,
    net_slot_preference,
    position_test,
    reading_of,
    stable_excess,
    two_sided_counts,
)
from strategies import make, shuffled, stack, swap_contents, swap_slots
from well_formed import check_all

HEADING = EstimateContext("j", "ladder", {"protocol": "base"}, 7)
some = settings(max_examples=settings().max_examples // 2)
few = settings(max_examples=settings().max_examples // 5)
"""Of examples that take long; `make calibrate` draws ten times as many of these too."""

READ, DECIDED, NEITHER, LOST = "12ta", "12", "ta", "xf"


@dataclass(frozen=True)
class Row:
    """A pair in both orders, as a person would write it down."""

    pair: int
    task: int
    replicate: int
    answers: str
    """The answer with u first, then with v first; `-` where that order was not shown."""
    better: int = 0

    @property
    def shown(self) -> bool:
        return "-" not in self.answers

    @property
    def complete(self) -> bool:
        return all(answer in READ for answer in self.answers)

    @property
    def winners(self) -> list[str]:
        """What each order chose: u, v, or neither; nothing for a call without a verdict."""
        names = {"1": "uv", "2": "vu"}
        return [
            names[answer][order] if answer in DECIDED else "neither"
            for order, answer in enumerate(self.answers)
            if answer in READ
        ]

    @property
    def right(self) -> list[bool]:
        """Whether each call with a verdict gave the expected one."""
        best = {0: "neither", 1: "u", 2: "v"}[self.better]
        return [winner == best for winner in self.winners]


@st.composite
def tables(
    draw: st.DrawFn, letters: str = "12ta12taxf", *, better: Sequence[int] = (0,), replicates: int = 2
) -> list[Row]:
    """Pairs in a few tasks, each with its replicates."""
    pairs, tasks = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    repeats = draw(st.integers(1, replicates))
    sides = [draw(st.sampled_from(better)) for _ in range(pairs)]
    letter = st.sampled_from(letters)
    return [
        Row(pair, pair % tasks, replicate, draw(letter) + draw(letter), sides[pair])
        for pair in range(pairs)
        for replicate in range(repeats)
    ]


def columns(rows: Sequence[Row], *, kind: str = "same_subset", delta: float = 0.0) -> Pairs:
    repeats = 1 + max(row.replicate for row in rows)
    return make(
        [row.answers for row in rows],
        tasks=[f"t{row.task}" for row in rows],
        kind=kind,
        delta=delta,
        better=[row.better for row in rows],
        replicates=repeats,
    )


def check(estimate: Estimate, events: int, trials: int) -> None:
    """Integers and value; of nothing there is no share."""
    if not trials:
        assert estimate.value is None
        assert estimate.note
        return
    assert (estimate.numerator, estimate.denominator) == (events, trials), estimate.metric
    assert estimate.value == pytest.approx(events / trials)


def pooled(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    return {e.metric: e for e in estimates if set(e.group) <= {"protocol"}}


def answers_of(rows: Iterable[Row]) -> list[str]:
    return [answer for row in rows for answer in row.answers]


# Equals


@some
@given(tables())
def test_the_cells_of_equals_by_looking_at_each_pair(rows: list[Row]) -> None:
    found = pooled(direction_estimates(HEADING, columns(rows)))
    complete = [row for row in rows if row.complete]
    cells = Counter(
        "stable_cross_sensitivity"
        if set(row.winners) in ({"u"}, {"v"})
        else "positional_false_preference"
        if set(row.winners) == {"u", "v"}
        else "no_preference"
        if set(row.winners) == {"neither"}
        else "one_sided_commit"
        for row in complete
    )
    for metric in ("stable_cross_sensitivity", "positional_false_preference", "one_sided_commit"):
        check(found[metric], cells[metric], len(complete))
    check(found["no_preference"], cells["no_preference"], len(complete))
    verdicts = [answer for answer in answers_of(rows) if answer in READ]
    check(found["raw_false_preference"], sum(a in DECIDED for a in verdicts), len(verdicts))
    check(found["tie_rate"], sum(a in NEITHER for a in verdicts), len(verdicts))
    if complete:
        lonely = [a for row in rows if not row.complete for a in row.answers if a in DECIDED]
        check(found["other_conflict"], len(lonely), 2 * len(rows))


@some
@given(tables())
def test_the_slots_of_a_cell_add_up_to_it(rows: list[Row]) -> None:
    found = direction_estimates(HEADING, columns(rows))
    for metric in ("positional_false_preference", "one_sided_commit"):
        whole = next(e for e in found if e.metric == metric and "slot" not in e.group)
        parts = [e for e in found if e.metric == metric and "slot" in e.group]
        assert len(parts) == 2
        if whole.value is None:
            assert all(part.value is None for part in parts)
        else:
            assert sum(part.numerator or 0 for part in parts) == whole.numerator
            assert {part.denominator for part in parts} == {whole.denominator}


@given(tables())
def test_net_slot_preference_is_firsts_less_seconds(rows: list[Row]) -> None:
    complete = [row for row in rows if row.complete]
    found = net_slot_preference(HEADING, columns(rows))
    counts = Counter(answers_of(complete))
    if not complete:
        assert found.value is None
        return
    assert (found.numerator, found.denominator) == (counts["1"] - counts["2"], 2 * len(complete))
    assert found.value == pytest.approx((counts["1"] - counts["2"]) / (2 * len(complete)))
    assert found.n_units == len({row.pair for row in complete})
    assert found.n_clusters == len({row.task for row in complete})
    ends = Counter(answers_of(rows))
    known, missing = ends["1"] - ends["2"], ends["x"] + ends["f"]
    assert found.bounds == pytest.approx(
        ((known - missing) / (2 * len(rows)), (known + missing) / (2 * len(rows)))
    )


@given(tables("12ta"))
def test_chance_lines_are_those_of_two_calls_drawn_from_the_margins(rows: list[Row]) -> None:
    found = {(m.id, slot): value for (m, slot), value in chance_lines(decompose(columns(rows))).items()}
    calls = answers_of(rows)
    share = {slot: calls.count(slot) / len(calls) for slot in DECIDED}
    chance: Counter[str] = Counter()
    for first, second in product(share, share):
        # The second call sees the pair reversed: two different slots are the same text.
        chance["stable" if first != second else first] += share[first] * share[second]
    assert found["stable_cross_sensitivity", None] == pytest.approx(chance["stable"])
    assert found["positional_false_preference", 1] == pytest.approx(chance["1"])
    assert found["positional_false_preference", 2] == pytest.approx(chance["2"])
    assert found["positional_false_preference", None] == pytest.approx(chance["1"] + chance["2"])


# Tests between equals


def flips_by_hand(sums: Sequence[int]) -> float:
    """Two-sided p of the total over every choice of signs."""
    total = abs(sum(sums))
    totals = [sum(s * sign for s, sign in zip(sums, signs, strict=True)) for signs in flip_signs(sums)]
    return sum(abs(t) >= total for t in totals) / len(totals) if total else 1.0


def flip_signs(sums: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return product((-1, 1), repeat=len(sums))


@settings(max_examples=25)
@given(tables("12ta", replicates=3))
def test_the_position_test_flips_pairs_where_tasks_are_few(rows: list[Row]) -> None:
    found = position_test(decompose(columns(rows)))
    sums: Counter[int] = Counter()
    for row in rows:
        sums[row.pair] += row.answers.count("1") - row.answers.count("2")
    assert found.flipped == "pairs"
    assert found.total == sum(sums.values())
    assert found.p == pytest.approx(flips_by_hand(list(sums.values())))


@settings(max_examples=25)
@given(st.lists(st.integers(-3, 3), min_size=6, max_size=9))
def test_the_position_test_flips_tasks_where_there_are_enough(balances: list[int]) -> None:
    rows = []
    for task, balance in enumerate(balances):
        slot = "1" if balance > 0 else "2"
        rows += [Row(len(rows) + n, task, 0, slot + "t") for n in range(abs(balance))]
        rows.append(Row(len(rows), task, 0, "tt"))
    found = position_test(decompose(columns(rows)))
    assert found.flipped == "clusters"
    assert found.p == pytest.approx(flips_by_hand(balances))


@settings(max_examples=25)
@given(st.integers(0, 4), st.integers(0, 5), st.integers(0, 4))
def test_stable_excess_by_dealing_every_commit(first: int, stable: int, second: int) -> None:
    """Commits are dealt to pairs at random, two a pair: the share of deals with as many stable pairs."""
    pairs = first + stable + second
    assume(pairs)
    ones = 2 * first + stable
    assume(comb(2 * pairs, ones) <= 5000)
    deals = Counter(
        sum((2 * pair in chosen) != (2 * pair + 1 in chosen) for pair in range(pairs))
        for chosen in map(set, combinations(range(2 * pairs), ones))
    )
    at_least = sum(count for value, count in deals.items() if value >= stable)
    assert stable_excess(first, stable, second) == pytest.approx(at_least / sum(deals.values()))


@given(tables("12ta", replicates=3))
def test_only_the_first_replicate_of_a_pair_tells_of_stable_preferences(rows: list[Row]) -> None:
    pairs = columns(rows)
    assert first_replicates(pairs).tolist() == [row.replicate == 0 for row in rows]
    once = [row for row in rows if row.replicate == 0]
    expected = (
        sum(row.answers == "11" for row in once),
        sum(row.answers in ("12", "21") for row in once),
        sum(row.answers == "22" for row in once),
    )
    assert two_sided_counts(pairs) == expected


@pytest.mark.parametrize(
    ("flagged", "stable", "few_commits", "word"),
    [
        (True, True, False, "mixed"),
        (True, False, True, "positional"),
        (False, True, True, "stable"),
        (False, False, True, "none"),
        (False, False, False, "undecided"),
    ],
)
def test_both_tests_in_a_word(flagged: bool, stable: bool, few_commits: bool, word: str) -> None:
    assert reading_of(flagged, stable, few_commits=few_commits) == word


# Repeats and swaps


def compared(rows: Iterable[Row]) -> tuple[list[bool], list[bool], list[float]]:
    """Within an order and across orders, whether two calls differ; and the excess of each pair."""
    calls: dict[int, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for row in rows:
        for order, answer in enumerate(row.answers):
            if answer in READ:
                winner = Row(0, 0, 0, "-" * order + answer + "-" * (1 - order)).winners[0]
                calls[row.pair][order].append(winner)
    repeats, swaps, excess = [], [], []
    for orders in calls.values():
        repeat = [a != b for order in orders for a, b in combinations(order, 2)]
        swap = [a != b for a, b in product(*orders)]
        if repeat and swap:
            repeats += repeat
            swaps += swap
            excess.append(sum(swap) / len(swap) - sum(repeat) / len(repeat))
    return repeats, swaps, excess


@given(tables(replicates=3))
def test_flip_rates_compare_calls_two_by_two(rows: list[Row]) -> None:
    repeats, swaps, excess = compared(rows)
    found = pooled(flip_estimates(HEADING, columns(rows)))
    if not excess:
        assert not found
        return
    check(found["repeat_flip_rate"], sum(repeats), len(repeats))
    check(found["swap_flip_rate"], sum(swaps), len(swaps))
    assert found["flip_excess"].value == pytest.approx(float(np.mean(excess)), abs=1e-12)


# Steps apart


@given(tables(better=(1, 2)))
def test_choices_on_the_ladder_part_the_calls(rows: list[Row]) -> None:
    found = pooled(sensitivity_estimates(HEADING, columns(rows, kind="prefix", delta=1.0)))
    right = sum(sum(row.right) for row in rows)
    winners = [winner for row in rows for winner in row.winners]
    ties = winners.count("neither")
    decided = len(winners) - ties
    check(found["target_sensitivity"], right, len(winners))
    check(found["nontie_accuracy"], right, decided)
    check(found["miss_by_tie"], ties, len(winners))
    check(found["wrong_choice"], decided - right, len(winners))
    check(found["tie_rate"], ties, len(winners))
    if winners:
        parts = [found[m].numerator or 0 for m in ("target_sensitivity", "miss_by_tie", "wrong_choice")]
        assert sum(parts) == len(winners)


@some
@given(tables(better=(1, 2)), st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=16, max_size=16))
def test_base_levels_part_the_calls_of_a_step(rows: list[Row], levels: list[float]) -> None:
    pairs = replace(
        columns(rows, kind="prefix", delta=1.0), base_level=np.array([levels[row.pair] for row in rows])
    )
    found = {e.group["base_level"]: e for e in by_base_level(HEADING, pairs)}
    assert set(found) == {levels[row.pair] for row in rows}
    for level, estimate in found.items():
        here = [row for row in rows if levels[row.pair] == level]
        check(estimate, sum(sum(row.right) for row in here), sum(len(row.winners) for row in here))


@given(tables("12tt", better=(1, 2)))
def test_dprime_is_the_mean_of_two_cuts(rows: list[Row]) -> None:
    counts = slot_counts(columns(rows, kind="prefix", delta=1.0)).sum(axis=0)
    by_slot: dict[int, list[str]] = {1: [], 2: []}
    for row in rows:
        for order, answer in enumerate(row.answers):
            by_slot[1 if (row.better == 1) == (order == 0) else 2].append(answer)
    expected = []
    for said in ("1", "1t"):
        shares = [
            (sum(a in said for a in answers) + 0.5) / (len(answers) + 1) for answers in by_slot.values()
        ]
        ends = norm.ppf(shares)
        expected.append(ends[0] - ends[1])
    assert float(separation(counts)) == pytest.approx(np.mean(expected))


@given(tables())
def test_padding_is_chosen_among_decided_calls(rows: list[Row]) -> None:
    winners = [winner for row in rows for winner in row.winners if winner != "neither"]
    found = padded_preference(HEADING, columns(rows, kind="filler"))
    check(found, winners.count("v"), len(winners))
    assert found.chance == (0.5 if winners else None)


# The threshold

shares = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=6).map(
    lambda steps: [(min(pair), max(pair)) for pair in steps]
)


@some
@given(shares)
def test_the_isotonic_fit_is_that_of_scikit_learn(steps: list[tuple[int, int]]) -> None:
    measured = [(n, right / calls, calls) for n, (right, calls) in enumerate(steps) if calls]
    assume(measured)
    at, share, weight = zip(*measured, strict=True)
    expected = IsotonicRegression().fit_transform(at, share, sample_weight=weight)
    right, calls = np.array(steps, dtype=np.float64).T
    fit = isotonic(right, calls)
    assert fit[list(at)] == pytest.approx(expected, abs=1e-9)
    assert reaches(right, calls)[list(at)].tolist() == [value >= 0.75 - 1e-9 for value in expected]


@some
@given(shares)
def test_the_threshold_lies_where_the_fit_crosses(steps: list[tuple[int, int]]) -> None:
    assume(all(calls for _, calls in steps))
    right, calls = np.array(steps, dtype=np.float64).T
    levels = np.arange(1.0, len(steps) + 1)
    expected = IsotonicRegression().fit_transform(levels, right / calls, sample_weight=calls)
    found = float(thresholds(levels, right, calls))
    if expected[0] >= 0.75 - 1e-9:
        assert found == -np.inf
    elif expected[-1] < 0.75 - 1e-9:
        assert found == np.inf
    else:
        first = int(np.argmax(expected >= 0.75 - 1e-9))
        low, high = expected[first - 1], expected[first]
        assert found == pytest.approx(first + (0.75 - low) / (high - low), abs=1e-6)


@pytest.mark.parametrize(
    ("shares_right", "value", "censored"),
    [
        ((4, 4, 4), 1.0, "left"),
        ((0, 1, 2), 3.0, "right"),
        ((2, 4, 4), 1.5, None),
        ((0, 3, 4), 2.0, None),
        ((2, 1, 4), 2 + (0.75 - 0.375) / (1 - 0.375), None),
    ],
)
def test_the_threshold_of_a_ladder_by_hand(
    shares_right: tuple[int, ...], value: float, censored: str | None
) -> None:
    """Two pairs a step, four calls: right in so many of them."""
    answers = {0: ("21", "21"), 1: ("21", "22"), 2: ("11", "22"), 3: ("12", "11"), 4: ("12", "12")}
    parts = [
        make(answers[right], tasks=2, kind="prefix", delta=float(step), better=1, name=f"d{step}-")
        for step, right in enumerate(shares_right, 1)
    ]
    found = delta75(HEADING, stack(*parts))
    assert (found.value, found.censored) == (pytest.approx(value), censored)
    assert found.n_calls == 12
    assert found.n_units == 6


# Natural pairs


@some
@given(tables(better=(0, 1, 2)))
def test_natural_pairs_by_looking_at_each(rows: list[Row]) -> None:
    pairs = columns(rows, kind="natural")
    found = natural_estimates(HEADING, pairs, pairs)
    whole = pooled(found)
    complete = [row for row in rows if row.complete]
    decided = [row for row in complete if "neither" not in row.winners]
    check(whole["order_consistency"], sum(len(set(r.winners)) == 1 for r in decided), len(complete))
    check(whole["flip_first"], sum(r.answers == "11" for r in complete), len(complete))
    check(whole["flip_second"], sum(r.answers == "22" for r in complete), len(complete))
    check(whole["accuracy_both"], sum(all(r.right) for r in complete), len(complete))
    check(whole["accuracy"], sum(sum(r.right) for r in rows), sum(len(r.winners) for r in rows))
    for slot in (1, 2):
        calls = [
            (answer, answer == str(slot))
            for row in rows
            for order, answer in enumerate(row.answers)
            if row.better and ((row.better == 1) == (order == 0)) == (slot == 1) and answer in READ
        ]
        (estimate,) = [e for e in found if e.metric == "accuracy" and e.group.get("slot") == slot]
        check(estimate, sum(right for _, right in calls), len(calls))


# Nothing to prefer


@given(tables(), st.lists(st.sampled_from(["empty", "blank", "same"]), min_size=8, max_size=8))
def test_dark_current_pooled_is_the_sum_of_its_kinds(rows: list[Row], kinds: list[str]) -> None:
    pairs = replace(columns(rows), kind=np.array([kinds[row.pair] for row in rows], dtype=np.str_))
    whole, *parts, _, _ = vacuum_estimates(HEADING, pairs)
    verdicts = [answer for answer in answers_of(rows) if answer in READ]
    check(whole, sum(a in DECIDED for a in verdicts), len(verdicts))
    assert {str(part.group["kind"]) for part in parts} == {kinds[row.pair] for row in rows}
    if whole.value is not None:
        assert sum(part.numerator or 0 for part in parts) == whole.numerator
        assert sum(part.denominator or 0 for part in parts) == whole.denominator
    for ending in ("unreadable", "failed"):
        assert sum(part.excluded[ending] for part in parts) == whole.excluded[ending]


@given(tables("12taxf-"))
def test_every_call_ends_in_one_way(rows: list[Row]) -> None:
    calls = [answer for answer in answers_of(rows) if answer != "-"]
    found = pooled(missing_rates(HEADING, columns(rows)))
    check(found["unreadable_rate"], calls.count("x"), len(calls))
    check(found["failed_rate"], calls.count("f"), len(calls))


# What must not matter


def everything(pairs: Pairs) -> list[Estimate]:
    return [
        *direction_estimates(HEADING, pairs),
        net_slot_preference(HEADING, pairs),
        *flip_estimates(HEADING, pairs),
        *missing_rates(HEADING, pairs),
    ]


def published(pairs: Pairs) -> list[object]:
    return [estimate.to_json() for estimate in everything(pairs)]


@some
@given(tables(replicates=3))
def test_every_estimate_of_equals_is_well_formed(rows: list[Row]) -> None:
    check_all(everything(columns(rows)))


@some
@given(tables(better=(1, 2)))
def test_every_estimate_of_a_step_and_of_natural_pairs_is_well_formed(rows: list[Row]) -> None:
    ladder, natural = columns(rows, kind="prefix", delta=1.0), columns(rows, kind="natural")
    check_all(sensitivity_estimates(HEADING, ladder))
    check_all([*natural_estimates(HEADING, natural, natural), delta75(HEADING, ladder)])


def test_agreement_below_zero_lies_within_its_limits() -> None:
    """One pair, wrong in both orders: κ is −1, and nothing says that it is near zero."""
    pairs = columns([Row(0, 0, 0, "12", better=2)], kind="natural")
    found = pooled(natural_estimates(HEADING, pairs, pairs))["kappa"]
    assert found.value == pytest.approx(-1)
    (limits,) = found.intervals
    assert limits.low == pytest.approx(-1)
    assert limits.high is not None
    assert limits.high > 0


@some
@given(tables())
def test_only_the_declared_arm_tests_position(rows: list[Row]) -> None:
    pairs = columns(rows)
    base = net_slot_preference(HEADING, pairs)
    other = net_slot_preference(replace(HEADING, group={"protocol": "strict"}), pairs)
    assert (base.value, base.numerator, base.bounds) == (other.value, other.numerator, other.bounds)
    assert (other.status, other.p, other.p_corrected, other.calls_needed) == (None, None, None, None)
    if base.value is None:
        return
    assert "not the declared test" in (other.note or "")
    assert base.status is not None
    assert base.p == pytest.approx(position_test(decompose(pairs)).p)
    if base.status == "flagged":
        assert base.p is not None
        assert base.p <= 0.05
    if base.status != "inconclusive":
        assert base.calls_needed is None
    among = AdjustedTest(0.3, 0.9, 3)
    family = net_slot_preference(replace(HEADING, group={"protocol": "other"}), pairs, among)
    assert (family.p, family.p_corrected) == (base.p, 0.9)
    assert "p = 0.9 among all prompts of the judge (Holm)" in (family.note or "")


@few
@given(tables(), st.integers(0, 99))
def test_the_order_of_rows_changes_no_byte(rows: list[Row], seed: int) -> None:
    pairs = columns(rows)
    assert published(shuffled(pairs, seed)) == published(pairs)


def signs(estimates: Iterable[Estimate]) -> dict[object, object]:
    """Value and counts of each estimate, by metric and group."""
    return {
        (e.metric, *sorted(e.group.items())): (e.value, e.numerator, e.denominator, e.bounds)
        for e in estimates
    }


@few
@given(tables())
def test_names_of_contents_do_not_matter(rows: list[Row]) -> None:
    pairs = columns(rows)
    assert signs(everything(swap_contents(pairs))) == signs(everything(pairs))


def mirrored(found: dict[object, object]) -> dict[object, object]:
    """The same judge with its slots exchanged: slot 1 is slot 2, and what leans to one leans to the other."""
    out: dict[object, object] = {}
    for (metric, *group), (value, events, trials, bounds) in found.items():  # type: ignore[attr-defined, misc]
        other = tuple((key, 3 - v if key == "slot" else v) for key, v in group)
        if metric == "net_slot_preference" and value is not None:
            value, events, bounds = -value, -events, (-bounds[1], -bounds[0])
        out[(metric, *other)] = (value, events, trials, bounds)
    return out


@few
@given(tables())
def test_exchanging_slots_turns_the_sign_and_nothing_else(rows: list[Row]) -> None:
    pairs = columns(rows)
    assert signs(everything(swap_slots(pairs))) == mirrored(signs(everything(pairs)))


@few
@given(tables("12ta"))
def test_twice_the_tasks_say_the_same_and_are_surer(rows: list[Row]) -> None:
    assume(len({row.task for row in rows}) > 2)
    again = [replace(row, pair=row.pair + 100, task=row.task + 100) for row in rows]
    before, after = signs(everything(columns(rows))), signs(everything(columns(rows + again)))
    for key, (value, *_) in before.items():  # type: ignore[misc]
        assert after[key][0] == (None if value is None else pytest.approx(value, abs=1e-9))  # type: ignore[index]
    widths = []
    for table in (rows, rows + again):
        first = pooled(direction_estimates(HEADING, columns(table)))["raw_false_preference"].interval
        assert first is not None
        assert first.high is not None
        assert first.low is not None
        widths.append(first.high - first.low)
    assert widths[1] < widths[0]


EDGES: dict[str, tuple[list[str], Callable[[dict[str, Estimate]], bool]]] = {
    "one pair, a tie": (["tt"], lambda f: f["no_preference"].value == 1),
    "one pair, abstained": (["aa"], lambda f: f["no_preference"].value == 1 and f["tie_rate"].value == 1),
    "one pair, slot 1": (["11"], lambda f: f["positional_false_preference"].value == 1),
    "one pair, one text": (["12"], lambda f: f["stable_cross_sensitivity"].value == 1),
    "one order lost": (["1x"], lambda f: f["stable_cross_sensitivity"].value is None),
    "one order absent": (["1-"], lambda f: f["other_conflict"].value is None),
    "all failed": (["ff"] * 4, lambda f: f["raw_false_preference"].value is None),
    "all unreadable": (["xx"] * 4, lambda f: f["unreadable_rate"].value == 1),
    "tie and slot": (["1t", "t2"], lambda f: f["one_sided_commit"].value == 1),
}


@pytest.mark.parametrize("name", EDGES)
def test_small_and_empty_tables(name: str) -> None:
    answers, holds = EDGES[name]
    found = pooled(everything(make(answers, tasks=1)))
    assert holds(found)
    for estimate in found.values():
        assert (estimate.value is None) == (not estimate.intervals)
        assert estimate.value is not None or estimate.note


def test_nothing_at_all() -> None:
    for estimate in everything(make(["tt"]).where(np.array([False]))):
        assert estimate.value is None
        assert estimate.note
        assert estimate.n_calls == 0
