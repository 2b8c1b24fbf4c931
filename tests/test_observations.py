"""The collection of observations: columns that answer what the single observations would."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.metrics import collect, collect_scores
from steelyard.probes.probe import select
from steelyard.stimuli.stimulus import Label, Lineage, NoPreference, Prefers, Stimulus, Unknown
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable

ENDS = (Decided("1"), Decided("2"), Tie(), Abstained(), Unreadable("no answer"), Failed("timeout"))


def pair(number: int) -> Stimulus:
    return Stimulus(
        id=f"pair-{number}",
        probe=("vacuum", "ladder", "position")[number % 3],
        kind=("empty", "prefix", "natural")[number % 3],
        cluster=f"t{number % 2}",
        stratum="general",
        request="?",
        texts=("a", "b"),
        expectation=(NoPreference(), Prefers("v"), Unknown())[number % 3],
        lineage=Lineage(f"t{number % 2}", "none"),
        delta=1.0 if number % 3 == 1 else None,
    )


def text(number: int) -> Stimulus:
    kind = ("original", "perturbed")[number % 2]
    return Stimulus(
        id=f"i{number // 2}/{kind}",
        probe=("original", "typos")[number % 2],
        kind=kind,
        cluster="hb",
        stratum="general",
        request="?",
        texts=("a",),
        expectation=Label(str(1 + number % 2)),
        lineage=Lineage(f"i{number // 2}", "none"),
        scale="1-6",
        level=0.5 if number % 2 else None,
    )


pairs = st.builds(
    Observation,
    judge=st.sampled_from("AB"),
    protocol=st.sampled_from(["base", "strict"]),
    stimulus=st.builds(pair, st.integers(0, 8)),
    order=st.sampled_from(["uv", "vu"]),
    replicate=st.integers(0, 2),
    verdict=st.sampled_from(ENDS),
    usage=st.builds(Usage, st.integers(0, 3)),
    prompt=st.sampled_from(["", "x"]),
    own_label=st.booleans(),
)


def place(o: Observation) -> tuple[str, str, str, int, str]:
    return o.judge, o.protocol, o.stimulus.id, o.replicate, o.order


rows = st.lists(pairs, max_size=30, unique_by=place)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(given_rows: list[Observation], chance: Random) -> None:
    shuffled = chance.sample(given_rows, len(given_rows))
    seen = Observations.of(shuffled)
    assert list(seen) == sorted(given_rows, key=place)
    assert [seen[n] for n in range(-len(seen), 0)] == list(seen)
    assert list(seen[1:3]) == list(seen)[1:3]
    assert Observations.of(seen) is seen


@given(rows)
def test_columns_choose_and_count_as_comprehensions_do(given_rows: list[Observation]) -> None:
    ordered = sorted(given_rows, key=place)
    seen = Observations.of(given_rows)
    assert seen.counts() == Counter((o.judge, o.verdict) for o in ordered)
    names = {o.protocol for o in ordered}
    assert seen.protocols_seen == sorted(names, key=lambda name: (name != "base", name))
    assert seen.prompts_seen == {o.prompt for o in ordered}
    assert seen.units == len({(o.stimulus.unit, o.protocol) for o in ordered})
    assert seen.stimuli_seen == sorted({o.stimulus for o in ordered}, key=lambda s: s.id)
    assert list(seen.of_judge("A")) == [o for o in ordered if o.judge == "A"]
    assert list(seen.filter("ladder", "base")) == [
        o for o in ordered if (o.stimulus.probe, o.protocol) == ("ladder", "base")
    ]
    assert list(seen.filter(kinds=("empty", "natural"), labelled=True)) == [
        o for o in ordered if o.stimulus.kind == "empty"
    ]
    assert list(seen.filter(calls=seen.ended(Failed, Unreadable))) == [
        o for o in ordered if isinstance(o.verdict, (Failed, Unreadable))
    ]
    events, calls = seen.by_cluster(seen.ended(Tie))
    tasks = sorted({o.stimulus.cluster for o in ordered})
    mine = [[o for o in ordered if o.stimulus.cluster == task] for task in tasks]
    assert calls.tolist() == [len(task) for task in mine]
    assert events.tolist() == [sum(o.verdict == Tie() for o in task) for task in mine]


def test_a_judge_or_a_protocol_without_calls_has_no_rows() -> None:
    seen = Observations.of([Observation("A", "base", pair(0), "uv", 0, Tie(), Usage(), "")])
    assert (len(seen.of_judge("B")), len(seen.filter(protocol="strict"))) == (0, 0)
    empty = Observations.of([])
    assert (list(empty), empty.units, empty.counts(), empty.pointwise) == ([], 0, Counter(), False)
    assert (len(collect(empty)), len(collect_scores(empty))) == (0, 0)


@pytest.mark.parametrize("index", [1, -2])
def test_a_row_that_is_not_there(index: int) -> None:
    seen = Observations.of([Observation("A", "base", pair(0), "uv", 0, Tie(), Usage(), "")])
    with pytest.raises(IndexError, match="out of range"):
        seen[index]


def test_lists_and_collections_give_the_same_columns() -> None:
    chance = Random(3)
    shown = [(text(n), replicate) for n in range(10) for replicate in range(2)]
    listed = [
        Observation("J", "base", s, "uv", r, Decided(str(chance.randint(1, 6))), Usage(n), "", n % 3 == 0)
        for n, (s, r) in enumerate(shown)
    ]
    chance.shuffle(listed)
    assert len(select(listed, "typos", "base")) == 10
    ours, theirs = collect_scores(Observations.of(listed)), collect_scores(listed[::-1])
    for column in fields(ours):
        np.testing.assert_array_equal(getattr(ours, column.name), getattr(theirs, column.name))
    # Sorted by input and repeat, each row is one of the calls.
    expected = sorted(listed, key=lambda o: (o.stimulus.id, o.replicate))
    assert ours.score.tolist() == [int(o.verdict.value) for o in expected]
    assert [ours.stimuli[n] for n in ours.stimulus] == [o.stimulus.id for o in expected]
    assert [ours.items[n] for n in ours.item] == [o.stimulus.lineage.parent for o in expected]
    assert ours.own_label.tolist() == [o.own_label for o in expected]
    assert ours.expected.tolist() == [float(o.stimulus.expectation.value) for o in expected]
    assert (set(ours.low.tolist()), set(ours.high.tolist())) == ({1}, {6})
