"""Remedies from calls on record: identities by hand on 3×3 tables, and recovery of planted judges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pairs import pair as natural_pair
from scores import call as score_call
from steelyard.metrics.estimate import EstimateContext, Interval
from steelyard.metrics.pairs.columns import (
    BY_CONSTRUCTION,
    PairAnswer,
    Pairs,
    as_tie,
    collect,
    share_of_calls,
)
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE, direction_estimates, equals_tests
from steelyard.metrics.proportions import proportion
from steelyard.metrics.remedies.mitigations import UNCURED, MitigatedJudge, jury_remedies, mitigated_judges
from steelyard.metrics.remedies.targets import NO_SPREAD
from steelyard.metrics.run.cost import NO_PRICE
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.stimuli.stimulus import Lineage, NoPreference, Prefers, Stimulus
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Pairwise
from steelyard.trials.judge import Usage
from steelyard.verdicts.majority_vote import both_orders, of_judges, of_repeats, plurality
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict
from strategies import make

VERDICTS: dict[str, Verdict] = {
    "1": Decided("1"),
    "2": Decided("2"),
    "t": Tie(),
    "a": Abstained(),
    "x": Unreadable("no answer"),
    "f": Failed("timeout"),
}


def pair(number: int, delta: int = 0, tasks: int = 6) -> Stimulus:
    equal = delta == 0
    return Stimulus(
        id=f"d{delta}-{number:03d}",
        probe="ladder",
        kind="same_subset" if equal else "prefix",
        cluster=f"t{number % tasks}",
        stratum="all",
        request="request",
        texts=("u text", "v text"),
        expectation=NoPreference() if equal else Prefers("u"),
        lineage=Lineage(parent=f"d{delta}-{number:03d}", edit="ladder"),
        delta=delta,
        base_level=0,
    )


def shown(
    answers: Sequence[str], *, delta: int = 0, judge: str = "j", protocol: str = "base", tasks: int = 6
) -> list[Observation]:
    """Two letters for each repeat of a pair: u first, then v first; `-` was not shown."""
    return [
        Observation(
            judge, protocol, pair(number, delta, tasks), order, repeat, VERDICTS[letter], Usage(100, 10), ""
        )
        for number, row in enumerate(answers)
        for repeat in range(len(row) // 2)
        for order, letter in zip(("uv", "vu"), row[2 * repeat : 2 * repeat + 2], strict=True)
        if letter != "-"
    ]


def cured(observations: list[Observation], *, price: float | None = 1e-6) -> dict[str, MitigatedJudge]:
    dollars = None if price is None else lambda usage: price * usage.input_tokens
    rows = mitigated_judges("j", Observations.of(observations), dollars, 7, priced=True)
    return {row.remedy: row for row in rows}


def counts(row: MitigatedJudge, metric: str) -> tuple[int | None, int | None]:
    figure = row.figure(metric)
    assert figure is not None
    return figure.estimate.numerator, figure.estimate.denominator


def test_both_orders_leave_the_stable_part_of_a_false_preference() -> None:
    # 12 pairs: 2 stable (12, 21), 5 positional (11 four times, 22), 3 one-sided, 2 ties. By hand:
    # 2·2 + 2·5 + 3 = 17 of 24 calls commit; the consensus commits where content is stable, 2 of 12 pairs.
    table = ["12", "21", "11", "11", "11", "11", "22", "1t", "t1", "2t", "tt", "tt"]
    rows = cured(shown(table))
    assert counts(rows["uncured"], "raw_false_preference") == (17, 24)
    assert counts(rows["orders"], "raw_false_preference") == (2, 12)
    change = rows["orders"].figures[0].change
    assert change is not None
    assert change.difference == pytest.approx(2 / 12 - 17 / 24)
    assert (change.n_calls, change.n_units, change.n_clusters) == (24, 12, 6)
    assert change.interval is not None
    assert (change.interval.low or 0) < 2 / 12 - 17 / 24 < (change.interval.high or 0) < 0
    assert rows["orders"].calls == 2


def test_the_slot_preference_of_both_orders_is_nothing_by_construction() -> None:
    rows = cured(shown(["11"] * 7 + ["12", "tt", "1t", "21"]))
    figure = rows["orders"].figure("net_slot_preference")
    assert figure is not None
    assert figure.change is not None
    assert figure.estimate.value == 0.0
    assert figure.estimate.note == BY_CONSTRUCTION
    # Slot 1 wins 7·2 + 1 + 1 + 1 calls, slot 2 wins 2: (17 − 2)/22.
    assert figure.change.uncured == pytest.approx(15 / 22)
    assert figure.change.difference == pytest.approx(-15 / 22)


def test_a_change_without_spread_has_the_limits_of_what_may_have_been_missed() -> None:
    # Always the first text: every cluster changes by −1, from +1 to 0; net preferences lie in [−1, +1].
    figure = cured(shown(["11"] * 12))["orders"].figure("net_slot_preference")
    assert figure is not None
    assert figure.change is not None
    change = figure.change
    assert (change.difference, change.note) == (-1.0, NO_SPREAD)
    assert change.interval is not None
    # 6 clusters of 4 calls, a correlation of .1 assumed: 24/1.3 calls; Wilson's end of none is t²/(n + t²).
    size, reach = 24 / (1 + 3 * 0.1), t_quantile(0.975, 5) ** 2
    most = reach / (size + reach)
    assert change.interval.method == "wilson_mean"
    assert change.interval.low == pytest.approx(-1 - most * (2 - 1))
    assert change.interval.high == pytest.approx(-1 + most * (2 + 1))
    before = cured(shown(["11"] * 12))["uncured"].figure("net_slot_preference")
    assert before is not None
    assert change.uncured_interval == before.estimate.interval


def test_the_figure_before_has_an_interval_on_the_calls_that_both_have() -> None:
    # Two pairs lack one order: the remedy says nothing of them, and the share before leaves them out.
    rows = cured(shown(["11"] * 6 + ["12"] * 4 + ["1x", "x1"]))
    before, change = rows["uncured"].figures[0].estimate, rows["orders"].figures[0].change
    assert change is not None
    assert (before.denominator, change.n_calls) == (22, 20)
    assert change.uncured_interval is not None
    assert (change.uncured, change.uncured_interval.high) == (1.0, 1.0)


def test_sensitivity_pays_for_agreement() -> None:
    # u is better: "12" is right twice, "11" once, "1t" once, "21" never.
    rows = cured(shown(["12"] * 6 + ["11"] * 3 + ["1t"] * 2 + ["21"], delta=1))
    assert counts(rows["uncured"], "target_sensitivity") == (17, 24)
    assert counts(rows["orders"], "target_sensitivity") == (6, 12)


def test_a_majority_of_three_repeats_order_by_order() -> None:
    # Repeats 0, 1, 2 of each order: u first 1 1 2 → 1, v first t t 1 → t.
    rows = cured(shown(["1t1t21", "112211", "tttttt"] * 4))
    majority = rows["majority_3"]
    # Then u first 1 2 1 → 1 and v first 1 2 1 → 1, then (t, t): 1 + 2 + 0 commits of 6 calls.
    assert counts(majority, "raw_false_preference") == (3 * 4, 6 * 4)
    # As measured: 1 t 1 t 2 1 = 4 commits, 6 commits, none.
    assert counts(rows["uncured"], "raw_false_preference") == (10 * 4, 18 * 4)
    change = majority.figures[0].change
    assert change is not None
    assert change.difference == pytest.approx(12 / 24 - 40 / 72)
    assert change.n_calls == 72
    both = rows["orders_majority_3"]
    assert counts(both, "raw_false_preference") == (0, 12)
    assert both.calls == 6


def test_what_the_design_does_not_tell_is_said_with_what_it_takes() -> None:
    one_order = cured(shown(["1-", "2-", "t-", "1-", "1-", "t-"]))
    assert one_order["orders"].figures == ()
    assert (one_order["orders"].note or "").endswith("in both orders")
    whole = cured(shown(["11", "12", "tt"] * 3))
    assert re.match(r"needs 3 repeats .*\(--replicates 3\)$", whole["majority_3"].note or "")
    assert re.match(r"needs 5 repeats .*\(--replicates 5\)$", whole["orders_majority_5"].note or "")
    both = one_order["orders_majority_5"].note or ""
    assert re.search(r"in both orders and 5 repeats .*\(--replicates 5\)$", both)
    assert re.search(r" strict protocol \(probe criterion\)$", whole["protocol_strict"].note or "")


def test_a_remedy_is_a_judge_that_a_study_can_have() -> None:
    rows = cured(shown(["111111"] * 8))
    written = {name: row.definition for name, row in rows.items() if row.definition}
    assert written["orders"] == '{consensus: orders, of: "j"}'
    assert written["orders_majority_3"] == '{consensus: orders, of: {majority: 3, of: "j"}}'
    assert rows["uncured"].definition is rows["protocol_strict"].definition is None
    for name, text in written.items():
        body = yaml.safe_load(text.replace('"j"', "planted/coin"))
        assert parse_judge(body, Path(), Pairwise()).calls_per_verdict == rows[name].calls


def test_a_remedy_on_a_few_of_the_units_tells_nothing() -> None:
    # Three repeats of two pairs in eight: a figure of those two would stand beside one of all eight.
    rows = cured(shown(["111111"] * 2 + ["11"] * 6))
    assert rows["majority_3"].figures == ()
    most = cured(shown(["111111"] * 5 + ["11"] * 3))
    assert counts(most["majority_3"], "raw_false_preference") == (10, 10)


def test_a_stricter_instruction_is_paired_with_the_base_on_the_same_calls() -> None:
    base, strict = shown(["11", "12", "tt", "1t"] * 3), shown(["tt", "12", "tt", "tt"] * 3, protocol="strict")
    row = cured(base + strict)["protocol_strict"]
    assert row.calls == 1
    assert counts(row, "raw_false_preference") == (6, 24)
    change = row.figures[0].change
    assert change is not None
    assert change.difference == pytest.approx((6 - 15) / 24)
    assert counts(cured(base + strict)["orders_strict"], "raw_false_preference") == (3, 12)


def test_a_missing_half_is_no_grade() -> None:
    # "1x": the other order could have agreed; "tx" is a tie whatever it would have said.
    rows = cured(shown(["11", "12", "1x", "tf", "xx", "tt"] * 3))
    estimate = rows["orders"].figures[0].estimate
    assert (estimate.numerator, estimate.denominator) == (3, 12)
    assert estimate.excluded == {"unreadable": 6, "failed": 0}
    assert estimate.bounds == (pytest.approx(3 / 18), pytest.approx(9 / 18))


def test_a_verdict_costs_its_calls() -> None:
    rows = cured(shown(["111111", "121212", "tttttt"] * 4))
    costs = {name: row.figure("cost_per_verdict") for name, row in rows.items() if row.figures}
    per_call = 1e-4
    assert {name: each.estimate.value for name, each in costs.items() if each is not None} == {
        "uncured": pytest.approx(per_call),
        "orders": pytest.approx(2 * per_call),
        "average": pytest.approx(2 * per_call),
        "majority_3": pytest.approx(3 * per_call),
        "orders_majority_3": pytest.approx(6 * per_call),
    }
    unpriced = cured(shown(["11", "12", "tt"] * 3), price=None)["orders"].figure("cost_per_verdict")
    assert unpriced is not None
    assert unpriced.estimate.value is None
    assert unpriced.estimate.note == NO_PRICE


def scored(rows: Sequence[Sequence[int | str]], expected: Sequence[int], scale: str) -> list[Observation]:
    return [
        score_call(f"i{n:02d}", answer, label, replicate=repeat, scale=scale, cluster=f"t{n % 6}")
        for n, (row, label) in enumerate(zip(rows, expected, strict=True))
        for repeat, answer in enumerate(row)
    ]


def test_scores_by_majority_and_by_mean() -> None:
    rows = cured(scored([[1, 2, 5]] * 6 + [[4, 4, 1]] * 6, [3] * 6 + [4] * 6, "1-5"))
    assert "orders" not in rows
    # Majority: none of three different ones, then 4; mean: 8/3 → 3, then 3.
    assert counts(rows["majority_3"], "accuracy") == (6, 12)
    assert counts(rows["mean_3"], "accuracy") == (6, 12)
    errors = {name: rows[name].figure("mae") for name in ("uncured", "majority_3", "mean_3")}
    values = {name: figure.estimate.value for name, figure in errors.items() if figure is not None}
    # |1−3| + |2−3| + |5−3| = 5 and 0 + 0 + 3 = 3 over 3 calls each; none and 0; 0 and 1.
    assert values == {
        "uncured": pytest.approx(8 / 6),
        "majority_3": pytest.approx(0.0),
        "mean_3": pytest.approx(0.5),
    }
    mean = errors["mean_3"]
    assert mean is not None
    assert mean.change is not None
    assert mean.change.difference == pytest.approx(0.5 - 8 / 6)


def test_yes_and_no_have_a_majority_and_no_mean() -> None:
    rows = cured(scored([[1, 1, 0]] * 6 + [[0, 0, 1]] * 6, [0] * 6 + [1] * 6, "binary"))
    assert set(rows) == {"uncured", "majority_3", "majority_5"}
    assert counts(rows["majority_3"], "false_positive_rate") == (6, 6)
    assert counts(rows["uncured"], "false_negative_rate") == (12, 18)


def test_scores_without_labels_have_nothing_to_cure() -> None:
    calls = [score_call(f"i{n}", 1, None, replicate=r, cluster=f"t{n}") for n in range(6) for r in range(3)]
    assert cured(calls) == {}


def test_several_judges_on_one_showing_are_one() -> None:
    seen = Observations.of(
        [
            call
            for judge, rows in (("a", ["11"]), ("b", ["1t"]), ("c", ["22"]))
            for call in shown(rows, judge=judge)
        ]
    )
    jury = of_judges(seen, ("a", "b", "c"), plurality, "jury")
    assert [(each.judge, each.order, each.verdict) for each in jury] == [
        ("jury", "uv", Decided("1")),
        ("jury", "vu", Tie()),
    ]
    assert not len(of_judges(seen, ("a", "b"), plurality, "jury").of_judge("a"))


def test_calls_that_are_one_by_construction_make_nothing_surer() -> None:
    # Ten clusters of six pairs, no commit. Assumed correlation .1: 60 pairs count as 60/(1 + 5·.1) = 40, and
    # 120 calls as 120/(1 + 11·.1) = 57. With t(9) = 2.262 the upper limits are t²/(n + t²) = .113 and .082.
    pairs = make(["tt"] * 60, tasks=10)
    heading = EstimateContext("j", "ladder", {"protocol": "base"}, 7)
    limits = {}
    for mirrored in (False, True):
        counts = share_of_calls(replace(pairs, mirrored=mirrored), RAW_FALSE_PREFERENCE)
        estimate = proportion(heading, RAW_FALSE_PREFERENCE, counts)
        assert (estimate.numerator, estimate.denominator) == (0, 120)
        assert estimate.interval is not None
        limits[mirrored] = estimate.interval.high
    assert limits == {False: pytest.approx(0.0822, abs=2e-4), True: pytest.approx(0.1134, abs=2e-4)}


def test_stable_winners_of_one_verdict_are_no_excess() -> None:
    # Of independent calls 12 pairs of 12 that keep their winner would be far too many.
    table = replace(make(["12", "21"] * 6, tasks=6), mirrored=True)
    heading = EstimateContext("j", "ladder", {"protocol": "base", "delta": 0, "kind": "same_subset"}, 7)
    assert equals_tests(heading, table) == {}
    cells = {e.metric: e for e in direction_estimates(heading, table) if "slot" not in e.group}
    assert cells["stable_cross_sensitivity"].p is None
    assert cells["positional_false_preference"].note == BY_CONSTRUCTION
    assert cells["one_sided_commit"].interval == Interval("by_construction", 0.0, 0.0)


letters = st.sampled_from("12taxf")


def answer_table(pairs: Pairs) -> np.ndarray:
    """(answer when u first) × (answer when v first) of complete pairs; abstained is tie."""
    counts = np.zeros((3, 3), dtype=np.int64)
    for u, v in zip(as_tie(pairs.u_first), as_tie(pairs.v_first), strict=True):
        if max(u, v) <= PairAnswer.TIE:
            counts[u, v] += 1
    return counts


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(letters, letters).map("".join), min_size=1, max_size=30))
def test_both_orders_are_one_verdict(table: list[str]) -> None:
    pairs = collect(both_orders(Observations.of(shown(table))))
    counts = answer_table(pairs)
    # Slots can not win: where both orders have a verdict, it is stable content or neither.
    assert counts[0, 0] == counts[1, 1] == counts[:2, 2].sum() == counts[2, :2].sum() == 0
    before = answer_table(collect(shown(table)))
    assert counts[0, 1] == before[0, 1]
    assert counts[1, 0] == before[1, 0]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(*[letters] * 6).map("".join), min_size=1, max_size=12))
def test_spread_gives_each_repeat_the_verdict_of_its_block(table: list[str]) -> None:
    seen = Observations.of(shown(table))
    block = {(e.stimulus.id, e.order): e.verdict for e in of_repeats(seen, 3, plurality)}
    spread = of_repeats(seen, 3, plurality, spread=True)
    assert len(spread) == len(seen)
    assert np.array_equal(spread.replicate, seen.replicate)
    # The reason of a missing verdict may be another member's: which comes first depends on where one begins.
    assert all(
        type(e.verdict) is type(block[e.stimulus.id, e.order])
        and (not isinstance(e.verdict, Decided) or e.verdict == block[e.stimulus.id, e.order])
        for e in spread
    )


def panel(votes: dict[str, Sequence[int]], labels: Sequence[int]) -> list[Observation]:
    """One score of each judge on each item, every item a cluster."""
    return [
        score_call(f"i{n:03d}", answer, label, judge=judge)
        for judge, answers in votes.items()
        for n, (answer, label) in enumerate(zip(answers, labels, strict=True))
    ]


def juries(calls: list[Observation], judges: Sequence[str]) -> dict[str, MitigatedJudge]:
    prices = {judge: (lambda usage, n=n: n * 1e-6 * usage.input_tokens) for n, judge in enumerate(judges, 1)}
    return {row.judge: row for row in jury_remedies(Observations.of(calls), judges, prices, 7)}


def test_three_judges_make_one_jury_beside_each_of_them() -> None:
    # Each judge errs on four items of twelve, and no two of them on the same: the jury never errs.
    labels = [1, 0] * 6
    wrong = {"a": range(4), "b": range(4, 8), "c": range(8, 12)}
    votes = {
        judge: [1 - x if n in rows else x for n, x in enumerate(labels)] for judge, rows in wrong.items()
    }
    rows = juries(panel(votes, labels), ("a", "b", "c"))
    for row in rows.values():
        assert row.title == "jury of a, b and c"
        assert row.definition == '{jury: ["a", "b", "c"]}'
        assert counts(row, "accuracy") == (12, 12)
        change = row.figures[0].change
        assert change is not None
        assert change.difference == pytest.approx(4 / 12)
        # 100 tokens a call at 1, 2 and 3 dollars per million.
        cost = row.figure("cost_per_verdict")
        assert cost is not None
        assert cost.estimate.value == pytest.approx(600e-6)


def test_judges_that_err_as_one_gain_nothing() -> None:
    labels = [1, 0] * 6
    votes = {judge: [0, *labels[1:]] for judge in "abc"}
    (figure, *_) = juries(panel(votes, labels), ("a", "b", "c"))["a"].figures
    assert figure.change is not None
    assert figure.change.difference == 0.0


def test_of_more_judges_a_trio_is_told_where_nothing_chose_it() -> None:
    chance = np.random.default_rng(5)
    labels = chance.integers(0, 2, 80).tolist()
    good = {name: [x if chance.random() < 0.9 else 1 - x for x in labels] for name in "abc"}
    bad = {name: chance.integers(0, 2, 80).tolist() for name in "de"}
    rows = juries(panel({**good, **bad}, labels), tuple("abcde"))
    assert {row.title for row in rows.values()} == {"jury of a, b and c, on clusters that did not choose it"}
    assert counts(rows["a"], "accuracy")[1] == 40


@pytest.mark.parametrize(
    ("judges", "label", "said"),
    [
        ("ab", 1, "needs three judges in one run, on the same stimuli"),
        ("abcd", None, "needs labels and two or more clusters, to choose three of more judges on one half"),
        ("abcdefghi", 1, "needs a choice among at most 8 judges; measure a jury that you name"),
    ],
)
def test_where_there_is_no_jury_it_is_said_what_it_takes(judges: str, label: int | None, said: str) -> None:
    calls = [score_call(f"i{n}", 1, label, judge=judge) for judge in judges for n in range(4)]
    assert {row.note for row in juries(calls, tuple(judges)).values()} == {said}


def test_a_jury_of_pairs_has_the_figures_of_pairs() -> None:
    votes = {"a": ["11", "12", "tt"], "b": ["12", "12", "tt"], "c": ["12", "t2", "11"]}
    calls = [call for judge, rows in votes.items() for call in shown(rows * 2, judge=judge)]
    rows = {row.judge: row for row in jury_remedies(Observations.of(calls), ("a", "b", "c"), None, 7)}
    # 1 1 1 and 1 2 2; 1 1 t and 2 2 2; t t 1 and t t 1: four commits of six calls.
    assert counts(rows["a"], "raw_false_preference") == (8, 12)
    assert rows["a"].figure("cost_per_verdict") is None


def test_what_a_remedy_costs_on_natural_pairs_counts_a_tie_as_half() -> None:
    """Ten pairs right in both orders, ten named by slot: .75, and .75 with a tie for the latter."""
    answers = [("1", "2"), ("1", "1")] * 10
    seen = [
        call
        for number, both in enumerate(answers)
        for call in natural_pair(f"n{number:03}", both, "u", probe="position", kind="natural")
    ]
    made = mitigated_judges("j", Observations.of(seen), None, 7, priced=False)
    rows = {row.kind: row for row in made if row.figures}
    figures = {row: _half_ties(rows[row]) for row in (UNCURED, "orders")}
    assert figures[UNCURED] == (0.75, None)
    assert figures["orders"] == (0.75, 0.0)


def _half_ties(row: MitigatedJudge) -> tuple[float | None, float | None]:
    (found,) = [each for each in row.figures if each.estimate.metric == "accuracy_half_ties"]
    return found.estimate.value, None if found.change is None else found.change.difference
