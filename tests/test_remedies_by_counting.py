"""Every figure of a cured judge of pairs, counted again call by call from letters, without arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics.remedies.mitigations import (
    AS_MEASURED,
    BASE,
    MitigatedFigure,
    MitigatedJudge,
    Remedy,
    mitigated_judges,
    remedies,
)
from steelyard.trials.judge import Usage
from steelyard.verdicts.majority_vote import average
from steelyard.verdicts.observations import Observations
from test_remedies import shown

few = settings(max_examples=15)
NAMED = "12"
HEARD = "12ta"
ORDERS = 2
Table = list[list[list[str]]]
"""Pairs, each with its repeats, each with a letter for either order."""


def tables(repeats: int) -> st.SearchStrategy[Table]:
    letters = st.lists(st.sampled_from("112tax"), min_size=ORDERS, max_size=ORDERS)
    return st.lists(st.lists(letters, min_size=repeats, max_size=repeats), min_size=4, max_size=14)


def rows(table: Table) -> list[str]:
    return ["".join("".join(both) for both in repeats) for repeats in table]


def other(letter: str) -> str:
    """The same text named in the other order."""
    return {"1": "2", "2": "1"}.get(letter, letter)


def consensus(both: list[str]) -> list[str]:
    """The text that is named in both orders, else a tie; what is missing decides only where it could."""
    first, second = both[0], other(both[1])
    heard = [letter for letter in (first, second) if letter in HEARD]
    if len(set(heard)) > 1 or "t" in heard:
        return ["t", "t"]
    common = "x" if len(heard) < ORDERS else heard[0]
    return [common, other(common)]


def majority(letters: list[str]) -> str:
    """The answer of three that more than one gives; a missing one may be what it likes."""

    def vote(three: tuple[str, ...]) -> str:
        if set(three) == {"a"}:
            return "a"
        votes = Counter("t" if letter == "a" else letter for letter in three)
        (answer, most), *others = votes.most_common()
        return "t" if others and others[0][1] == most else answer

    filled = product(*([letter] if letter in HEARD else list("12t") for letter in letters))
    verdicts = {vote(three) for three in filled}
    if not any(letter in HEARD for letter in letters):
        return "x"
    heard = [letter for letter in letters if letter in HEARD]
    if len(heard) < len(letters) and set(heard) == {"a"}:
        return "x"  # whether it is an abstention or a tie depends on the missing one
    return verdicts.pop() if len(verdicts) == 1 else "x"


def by_id(table: Table, delta: int = 0, protocol: str = BASE) -> dict[str, MitigatedJudge]:
    seen = Observations.of(shown(rows(table), delta=delta, protocol=protocol))
    return {cured.remedy: cured for cured in mitigated_judges("j", seen, None, 7, priced=False)}


def only(cured: MitigatedJudge, metric: str) -> MitigatedFigure:
    figure = cured.figure(metric)
    assert figure is not None
    return figure


def counts(figure: MitigatedFigure) -> tuple[int | None, int | None]:
    return figure.estimate.numerator, figure.estimate.denominator


@pytest.mark.slow
@few
@given(tables(1))
def test_false_preferences_before_and_after_both_orders(table: Table) -> None:
    cured = by_id(table)
    calls = [letter for repeats in table for both in repeats for letter in both]
    assert counts(only(cured["uncured"], "raw_false_preference")) == (
        sum(letter in NAMED for letter in calls),
        sum(letter in HEARD for letter in calls),
    )
    agreed = [consensus(both)[0] for repeats in table for both in repeats]
    after = only(cured["orders"], "raw_false_preference")
    assert counts(after) == (
        sum(letter in NAMED for letter in agreed),
        sum(letter in HEARD for letter in agreed),
    )
    pairs = [
        (letter in NAMED, common in NAMED)
        for repeats in table
        for both in repeats
        for letter, common in zip(both, consensus(both), strict=True)
        if letter in HEARD and common in HEARD
    ]
    assert after.change is not None
    assert after.change.n_calls == len(pairs)
    if pairs:
        change = after.change
        assert change.uncured == pytest.approx(sum(a for a, _ in pairs) / len(pairs))
        assert change.cured == pytest.approx(sum(b for _, b in pairs) / len(pairs))
        assert change.difference == pytest.approx(sum(b - a for a, b in pairs) / len(pairs))
        assert change.interval is not None
        assert change.interval.low <= change.difference + 1e-9
        assert change.interval.high >= change.difference - 1e-9


@pytest.mark.slow
@few
@given(tables(1))
def test_sensitivity_before_and_after_both_orders(table: Table) -> None:
    """Text u is the better one: slot 1 in the first order, slot 2 in the second."""
    cured = by_id(table, delta=1)
    better = ("1", "2")
    calls = [(letter, better[order]) for (both,) in table for order, letter in enumerate(both)]
    assert counts(only(cured["uncured"], "target_sensitivity")) == (
        sum(letter == right for letter, right in calls),
        sum(letter in HEARD for letter, _ in calls),
    )
    agreed = [consensus(both)[0] for (both,) in table]
    assert counts(only(cured["orders"], "target_sensitivity")) == (
        agreed.count("1"),
        sum(letter in HEARD for letter in agreed),
    )


@pytest.mark.slow
@few
@given(tables(3))
def test_a_majority_of_three_by_every_way_the_missing_could_have_gone(table: Table) -> None:
    cured = by_id(table)
    votes = [majority([repeat[order] for repeat in repeats]) for repeats in table for order in range(ORDERS)]
    figure = cured["majority_3"].figure("raw_false_preference")
    assert figure is not None
    assert counts(figure) == (
        sum(vote in NAMED for vote in votes),
        sum(vote in HEARD for vote in votes),
    )
    both = [
        consensus([majority([repeat[order] for repeat in repeats]) for order in range(ORDERS)])[0]
        for repeats in table
    ]
    assert counts(only(cured["orders_majority_3"], "raw_false_preference")) == (
        sum(vote in NAMED for vote in both),
        sum(vote in HEARD for vote in both),
    )
    assert not cured["majority_5"].figures
    assert cured["majority_5"].note == "needs 5 repeats of each call (--replicates 5)"


@pytest.mark.slow
@few
@given(tables(1))
def test_both_orders_favour_no_slot(table: Table) -> None:
    cured = by_id(table)
    whole = [both for repeats in table for both in repeats if all(letter in HEARD for letter in both)]
    balance = [(letter == "1") - (letter == "2") for both in whole for letter in both]
    before = cured["uncured"].figure("net_slot_preference")
    if not balance:
        assert before is None or before.estimate.value is None
        return
    assert before is not None
    assert before.estimate.value == pytest.approx(sum(balance) / len(balance))
    after = cured["orders"].figure("net_slot_preference")
    assert after is not None
    assert after.estimate.value == pytest.approx(0.0)


# What a remedy is called, takes and lacks.


def every(pairs: Observations) -> dict[str, Remedy]:
    return {remedy.id: remedy for remedy in remedies(pairs)}


def test_the_remedies_of_pairs_with_their_calls() -> None:
    seen = Observations.of([*shown(["11", "12"]), *shown(["tt", "12"], protocol="strict")])
    assert {name: remedy.calls for name, remedy in every(seen).items()} == {
        "orders": 2,
        "average": 2,
        "protocol_strict": 1,
        "orders_strict": 2,
        "majority_3": 3,
        "orders_majority_3": 6,
        "majority_5": 5,
        "orders_majority_5": 10,
    }


@pytest.mark.parametrize(
    ("remedy", "written"),
    [
        ("orders", '{consensus: orders, of: "j \\"x\\""}'),
        ("average", '{consensus: average, of: "j \\"x\\""}'),
        ("majority_3", '{majority: 3, of: "j \\"x\\""}'),
        ("orders_majority_5", '{consensus: orders, of: {majority: 5, of: "j \\"x\\""}}'),
        ("protocol_strict", None),
        ("orders_strict", None),
    ],
)
def test_a_remedy_as_a_study_file_has_it(remedy: str, written: str | None) -> None:
    seen = Observations.of([*shown(["11"]), *shown(["tt"], protocol="strict")])
    assert every(seen)[remedy].definition('j "x"') == written


def test_a_mean_is_written_as_a_mean_and_the_judge_itself_not_at_all() -> None:
    assert Remedy("mean", "mean_3", "", repeats=3, rule=average).definition("j") == '{mean: 3, of: "j"}'
    assert AS_MEASURED.definition("j") is None
    assert AS_MEASURED.calls == 1


def test_a_lenient_instruction_is_no_cure_and_an_unknown_one_may_be() -> None:
    seen = Observations.of(
        [*shown(["11"]), *shown(["tt"], protocol="lenient"), *shown(["tt"], protocol="careful")]
    )
    protocols = [remedy.protocol for remedy in remedies(seen) if remedy.kind == "protocol"]
    assert protocols == ["careful"]


def test_what_is_lacking_is_named_together() -> None:
    one_order = Observations.of(shown(["1-", "2-", "t-"]))
    remedy = every(one_order)["orders_majority_3"]
    assert remedy.lacks(one_order) == "pairs shown in both orders and 3 repeats of each call (--replicates 3)"
    assert every(one_order)["protocol_strict"].lacks(one_order) == (
        "calls under the strict protocol (probe criterion)"
    )
    whole = Observations.of(shown(["111111", "222222"]))
    assert every(whole)["majority_3"].lacks(whole) == "more calls"


@pytest.mark.parametrize(("often", "enough"), [(1, False), (2, False), (3, True)])
def test_more_than_half_of_what_was_asked_was_asked_so_often(often: int, enough: bool) -> None:
    """Four pairs, so many of them with three repeats."""
    seen = Observations.of(shown(["111111"] * often + ["11"] * (4 - often)))
    need = "3 repeats of each call (--replicates 3)"
    assert every(seen)["majority_3"].lacks(seen) == ("more calls" if enough else need)


# What a verdict costs.


@pytest.mark.slow
@few
@given(
    st.lists(st.tuples(st.integers(1, 900), st.integers(1, 90)), min_size=1, max_size=9),
    st.sampled_from(["uncured", "orders"]),
)
def test_a_verdict_costs_the_mean_of_its_calls_times_their_number(
    tokens: list[tuple[int, int]], remedy: str
) -> None:
    calls = [
        replace(call, usage=Usage(*tokens[number % len(tokens)]))
        for number, call in enumerate(shown(["11", "22", "12", "t1"]))
    ]
    seen = Observations.of(calls)

    def price(usage: Usage) -> float:
        return usage.input_tokens / 1e6 + usage.output_tokens / 1e5

    cured = {each.remedy: each for each in mitigated_judges("j", seen, price, 7, priced=True)}[remedy]
    cost = only(cured, "cost_per_verdict").estimate
    mean = sum(price(call.usage) for call in calls) / len(calls)
    assert cost.value == pytest.approx(mean * (2 if remedy == "orders" else 1))
    assert only(cured, "cost_per_verdict").change is None
