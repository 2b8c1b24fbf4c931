"""Worst and best case over missing verdicts, against every way of filling them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.flips import flip_estimates
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.natural import natural_estimates
from steelyard.metrics.pairs.signal_detection import TIES, protocol_shift
from strategies import find, make

quiet = settings(max_examples=settings().max_examples // 8)
AT_ZERO = {"delta": 0, "kind": "same_subset"}
BY_SLOT = [
    (metric, {**AT_ZERO, "slot": slot})
    for metric in ("positional_false_preference", "one_sided_commit")
    for slot in (1, 2)
]
EQUALS = [
    *((metric, AT_ZERO) for metric in ("raw_false_preference", "tie_rate", "net_slot_preference")),
    *((metric, AT_ZERO) for metric in ("stable_cross_sensitivity", "positional_false_preference")),
    *((metric, AT_ZERO) for metric in ("one_sided_commit", "no_preference")),
    *BY_SLOT,
]
NATURAL = ("order_consistency", "flip_first", "flip_second", "one_sided_commit", "no_preference")


def completions(rows: list[str]) -> Iterator[list[str]]:
    """Every way in which the missing calls could have ended."""
    text = "".join(rows)
    holes = [place for place, letter in enumerate(text) if letter in "xf"]
    for filling in product("12t", repeat=len(holes)):
        letters = list(text)
        for place, letter in zip(holes, filling, strict=True):
            letters[place] = letter
        yield ["".join(letters[i : i + 2]) for i in range(0, len(letters), 2)]


@st.composite
def some_missing(draw: st.DrawFn) -> list[str]:
    """A few pairs, one of them complete, with at most three missing calls."""
    letter = st.sampled_from("112tta")
    rows = ["".join(draw(st.tuples(letter, letter))) for _ in range(draw(st.integers(1, 5)))]
    text = list("".join(rows))
    places = st.integers(0, len(text) - 1)
    for place in draw(st.lists(places, min_size=1, max_size=3)):
        text[place] = draw(st.sampled_from("xf"))
    return ["11", *("".join(text[i : i + 2]) for i in range(0, len(text), 2))]


def holds(
    rows: list[str], estimates: Callable[[list[str]], list[Estimate]], metric: str, group: dict
) -> None:
    """The bounds are the least and the greatest value over all completions."""
    bounds = find(estimates(rows), metric, **group).bounds
    values = [find(estimates(filled), metric, **group).value for filled in completions(rows)]
    known = [value for value in values if value is not None]
    assert bounds == (pytest.approx(min(known)), pytest.approx(max(known))), (metric, group, rows)


def equals(rows: list[str]) -> list[Estimate]:
    return equals_of(tuple(rows))


@cache
def equals_of(rows: tuple[str, ...]) -> list[Estimate]:
    return ladder_estimates(EstimateContext.for_protocol("J", "ladder", "base", 7), make(list(rows), tasks=2))


@pytest.mark.parametrize(("metric", "group"), EQUALS)
@pytest.mark.parametrize("lost", ["1x", "x2", "tf", "xx", "ax", "f1"])
def test_each_kind_of_lost_pair(metric: str, group: dict, lost: str) -> None:
    holds(["11", "12", "tt", "1t", lost], equals, metric, group)


@quiet
@given(some_missing())
def test_cells_slots_and_call_rates(rows: list[str]) -> None:
    for metric, group in EQUALS:
        holds(rows, equals, metric, group)


@quiet
@given(some_missing())
def test_natural_pairs_and_agreement_with_people(rows: list[str]) -> None:
    def natural(filled: list[str]) -> list[Estimate]:
        pairs = make(filled, tasks=2, kind="natural", better=1)
        return natural_estimates(EstimateContext.for_protocol("J", "position", "base", 7), pairs, pairs)

    made = {tuple(filled): natural(filled) for filled in [rows, *completions(rows)]}
    for metric in (*NATURAL, "accuracy", "accuracy_both", "net_slot_preference"):
        holds(rows, lambda filled: made[tuple(filled)], metric, {})


@quiet
@given(some_missing())
def test_ratios_of_decided_calls(rows: list[str]) -> None:
    def ladder(filled: list[str]) -> list[Estimate]:
        return ladder_estimates(
            EstimateContext.for_protocol("J", "ladder", "base", 7),
            make(filled, tasks=2, kind="prefix", delta=1.0, better=1),
        )

    made = {tuple(filled): ladder(filled) for filled in [rows, *completions(rows)]}
    for metric in ("nontie_accuracy", "target_sensitivity", "wrong_choice", "miss_by_tie"):
        holds(rows, lambda filled: made[tuple(filled)], metric, {"delta": 1})


@quiet
@given(some_missing())
def test_the_shift_between_two_arms(rows: list[str]) -> None:
    def shift(filled: list[str]) -> float:
        whole: Pairs = make(["1t", *["t1"] * (len(filled) - 1)], tasks=2)
        found = protocol_shift(EstimateContext("J", "criterion", {}, 7), TIES, whole, make(filled, tasks=2))
        assert found.value is not None
        assert found.bounds is not None
        return found.value

    whole = make(["1t", *["t1"] * (len(rows) - 1)], tasks=2)
    bounds = protocol_shift(EstimateContext("J", "criterion", {}, 7), TIES, whole, make(rows, tasks=2)).bounds
    values = [shift(filled) for filled in completions(rows)]
    assert bounds == (pytest.approx(min(values)), pytest.approx(max(values)))


FLIPS = ("repeat_flip_rate", "swap_flip_rate")


def repeated(rows: list[str]) -> list[Estimate]:
    return flip_estimates(
        EstimateContext("J", "ladder", {"protocol": "base"}, 7), make(rows, tasks=2, replicates=2)
    )


def test_flip_rates_by_hand() -> None:
    # One pair, two replicates: u first 1 and lost, v first 2 and tie, so winners u, ?; u, tie.
    # Repeats: the second order differs, the first may: 1/2 or 2/2. Swaps: u meets u and tie, and so does the
    # lost one. A lost u: one flip of two again, 2/4; a lost v: both differ, 3/4.
    found = repeated(["12", "xt"])
    assert find(found, "repeat_flip_rate").bounds == (0.5, 1.0)
    assert find(found, "swap_flip_rate").bounds == (0.5, 0.75)
    assert find(found, "repeat_flip_rate").excluded == {"unreadable": 1, "failed": 0}
    # All u: .5 − .5 = 0. A v: .75 − 1 = −.25. A tie: .5 − 1 = −.5, and the least of swaps with the most of
    # repeats is the same here.
    assert find(found, "flip_excess").bounds == (-0.5, 0.0)


@quiet
@given(some_missing().filter(lambda rows: len(rows) > 2))
def test_flips_of_replicates(rows: list[str]) -> None:
    rows = ["11", "12", *rows[: len(rows) // 2 * 2]]
    made = {tuple(filled): repeated(filled) for filled in [rows, *completions(rows)]}
    for metric in FLIPS:
        holds(rows, lambda filled: made[tuple(filled)], metric, {})
    low, high = find(made[tuple(rows)], "flip_excess").bounds or (1.0, -1.0)
    values = [find(made[tuple(filled)], "flip_excess").value or 0.0 for filled in completions(rows)]
    assert low - 1e-9 <= min(values)
    assert high == pytest.approx(max(values))
