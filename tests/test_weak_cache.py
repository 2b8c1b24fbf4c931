"""What is worked out of a thing once: equal things are two, and nothing outlives the thing it was made of."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from itertools import chain

import pytest

from pairs import pair
from steelyard.core.arrays import weak_cache
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.decomposition import decompose
from steelyard.metrics.pairs.slot import position_test
from steelyard.verdicts.observations import Observations


@dataclass(frozen=True, eq=False)
class Thing:
    number: int


def test_a_value_is_made_once_for_each_thing() -> None:
    made: list[int] = []

    @weak_cache
    def double(thing: Thing) -> list[int]:
        made.append(thing.number)
        return [2 * thing.number]

    one, twin = Thing(3), Thing(3)
    assert double(one) is double(one)
    assert double(one) == double(twin) == [6]
    assert made == [3, 3]


def test_a_thing_that_is_its_own_value_is_forgotten_too() -> None:
    made: list[int] = []

    @weak_cache
    def itself(thing: Thing) -> Thing:
        made.append(thing.number)
        return thing

    thing = Thing(1)
    assert itself(thing) is itself(thing) is thing
    assert made == [1]
    gone = weakref.ref(thing)
    del thing
    assert gone() is None


@pytest.fixture
def seen() -> Observations:
    answers = (("1", "2"), ("1", "1"), ("tie", "unreadable"))
    return Observations.of(chain.from_iterable(pair(f"p{n}", told) for n, told in enumerate(answers)))


@pytest.mark.parametrize("whole", [True, False])
def test_columns_and_what_was_made_of_them_go_with_their_observations(
    seen: Observations, whole: bool
) -> None:
    rows = seen[:4] if whole else seen[:]
    pairs = collect(rows)
    assert collect(rows) is pairs
    position_test(decompose(pairs))
    gone = weakref.ref(rows), weakref.ref(pairs)
    gc.disable()
    try:
        del rows, pairs
        assert [thing() for thing in gone] == [None, None]
    finally:
        gc.enable()


def test_other_rows_have_columns_of_their_own(seen: Observations) -> None:
    assert collect(seen[:2]) is not collect(seen[:2])
    assert len(collect(seen)) == 3
    assert len(collect(seen[:2])) == 1
    assert collect(list(seen)) is not collect(list(seen))


def test_a_choice_that_keeps_every_row_is_the_same_collection(seen: Observations) -> None:
    assert seen.filter("ladder") is seen.filter(protocol="base") is seen
    assert seen.filter("ladder", "base", ("prefix", "other"), labelled=True) is seen
    assert (
        len(seen.filter("position")) == len(seen.filter(kinds=())) == len(seen.filter(protocol="strict")) == 0
    )


def test_shared_columns_refuse_to_be_changed(seen: Observations) -> None:
    pairs = collect(seen)
    with pytest.raises(ValueError, match="read-only"):
        pairs.u_first[0] = 2
    assert pairs.where(pairs.u_first == 0).u_first.flags.writeable
