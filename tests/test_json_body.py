"""Dataclasses from their JSON: what was written comes back, and what is wrong is said with the way to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.json_dataclasses import from_body, keyed, mapping, read_fields, written_fields
from steelyard.metrics.estimate import Estimate, Interval


@dataclass(frozen=True)
class Leaf:
    """One of each plain kind."""

    text: str
    count: int
    share: float
    sure: bool
    note: str | None = None
    either: str | float = "x"


@dataclass(frozen=True)
class Tree:
    """Leaves in a list, a pair, a mapping."""

    leaves: tuple[Leaf, ...]
    ends: tuple[float, float] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    best: Leaf | None = None
    anything: Any = None
    renamed: int = keyed("other-name", 0)


LEAF = {"text": "t", "count": 3, "share": 0.5, "sure": True}
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
texts = st.text(max_size=8)


def test_a_leaf_and_its_defaults() -> None:
    assert from_body(Leaf, LEAF) == Leaf("t", 3, 0.5, True)
    assert from_body(Leaf, {**LEAF, "note": "n", "either": 2}) == Leaf("t", 3, 0.5, True, "n", 2)
    assert from_body(Leaf, {**LEAF, "of a later version": 1}) == Leaf("t", 3, 0.5, True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"text": 3}, "text: found 3, expected text"),
        ({"text": None}, "text: found null, expected text"),
        ({"count": 3.0}, "count: found 3.0, expected a whole number"),
        ({"count": True}, "count: found true, expected a whole number"),
        ({"count": "3"}, 'count: found "3", expected a whole number'),
        ({"share": "0.5"}, 'share: found "0.5", expected a number'),
        ({"share": False}, "share: found false, expected a number"),
        ({"share": float("nan")}, "share: found NaN, expected a number"),
        ({"share": float("inf")}, "share: found Infinity, expected a number"),
        ({"sure": 1}, "sure: found 1, expected true or false"),
        ({"sure": "yes"}, 'sure: found "yes", expected true or false'),
        ({"note": 3}, "note: found 3, expected text or null"),
        ({"either": []}, r"either: found \[\], expected text or a number"),
        ({"either": None}, "either: found null, expected text or a number"),
    ],
)
def test_a_value_of_another_kind(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}$"):
        from_body(Leaf, {**LEAF, **change})


def test_a_whole_number_is_a_number_and_stays_whole() -> None:
    held = from_body(Leaf, {**LEAF, "share": 1})
    assert held.share == 1
    assert json.dumps(held.share) == "1"


@pytest.mark.parametrize("key", ["text", "count", "share", "sure"])
def test_a_missing_key_is_named_with_what_it_should_hold(key: str) -> None:
    body = {name: value for name, value in LEAF.items() if name != key}
    with pytest.raises(ValueError, match=f"^in.{key}: missing, expected "):
        from_body(Leaf, body, "in")


@pytest.mark.parametrize("body", [None, 3, "x", [], [LEAF]])
def test_what_is_no_object(body: object) -> None:
    with pytest.raises(ValueError, match=r"^here: found .*, expected an object$"):
        from_body(Leaf, body, "here")
    with pytest.raises(ValueError, match=r"^found .*, expected an object$"):
        mapping(body, "")


def test_a_tree_with_everything() -> None:
    body = {
        "leaves": [LEAF, {**LEAF, "count": 4}],
        "ends": [0, 1.5],
        "counts": {"a": 1},
        "best": LEAF,
        "anything": {"x": [1]},
        "other-name": 7,
    }
    found = from_body(Tree, body)
    assert [leaf.count for leaf in found.leaves] == [3, 4]
    assert found.ends == (0, 1.5)
    assert found.best == found.leaves[0]
    assert (found.counts, found.anything, found.renamed) == ({"a": 1}, {"x": [1]}, 7)
    assert written_fields(found, ("renamed", "ends")) == {"other-name": 7, "ends": [0, 1.5]}
    assert read_fields(Tree, body, names=("counts",)) == {"counts": {"a": 1}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"leaves": {}}, r"leaves: found \{\}, expected a list"),
        ({"leaves": [LEAF, 3]}, r"leaves\.1: found 3, expected an object"),
        ({"leaves": [LEAF, {**LEAF, "count": "x"}]}, r'leaves\.1\.count: found "x", expected a whole number'),
        ({"ends": [1]}, r"ends: found \[1\], expected a list of 2"),
        ({"ends": [1, "2"]}, r'ends\.1: found "2", expected a number'),
        ({"counts": {"a": 1.5}}, r"counts\.a: found 1\.5, expected a whole number"),
        ({"counts": []}, r"counts: found \[\], expected an object"),
        ({"best": 3}, "best: found 3, expected an object"),
        ({"other-name": "x"}, 'other-name: found "x", expected a whole number'),
    ],
)
def test_the_way_to_what_is_wrong(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}"):
        from_body(Tree, {"leaves": [LEAF], **change})


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(ValueError, match="…, expected a whole number") as caught:
        from_body(Leaf, {**LEAF, "count": "x" * 10_000})
    assert len(str(caught.value)) < 150


# Estimates

intervals = st.builds(
    Interval, st.sampled_from(["wilson", "t_cluster"]), st.none() | finite, st.none() | finite
)
shares = st.none() | finite
words = st.none() | texts
estimates = st.builds(
    Estimate,
    judge=texts,
    probe=texts,
    metric=texts,
    group=st.dictionaries(texts, texts | finite, max_size=3),
    unit=st.sampled_from(["call", "pair", "input"]),
    value=shares,
    numerator=st.none() | st.integers(0, 10**9),
    denominator=st.none() | st.integers(0, 10**9),
    intervals=st.lists(intervals, max_size=3).map(tuple),
    n_calls=st.integers(0, 10**6),
    n_units=st.integers(0, 10**6),
    n_clusters=st.integers(0, 10**6),
    design_effect=shares,
    excluded=st.fixed_dictionaries({"unreadable": st.integers(0, 9), "failed": st.integers(0, 9)}),
    abstained=st.integers(0, 9),
    bounds=st.none() | st.tuples(finite, finite),
    censored=st.sampled_from([None, "left", "right"]),
    chance=shares,
    status=st.sampled_from([None, "clear", "flagged", "inconclusive"]),
    minimum_detectable=shares,
    note=words,
    calls_needed=st.none() | st.integers(0, 10**9),
    reading=words,
    p=shares,
    p_corrected=shares,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(estimates)
def test_an_estimate_comes_back_and_is_written_in_the_same_bytes(estimate: Estimate) -> None:
    text = json.dumps(estimate.to_json())
    again = Estimate.from_json(json.loads(text))
    assert again == estimate
    assert json.dumps(again.to_json()) == text


KINDS = ("", [], [[]], {}, True, None)


@pytest.mark.slow
@settings(max_examples=40)
@given(estimates, st.sampled_from([each.name for each in fields(Estimate) if each.name != "status"]))
def test_a_field_of_another_kind_is_told_with_its_place_or_kept(estimate: Estimate, name: str) -> None:
    for value in KINDS:
        body = {**json.loads(json.dumps(estimate.to_json())), name: value}
        told = reading(body)
        if told is None:
            again = Estimate.from_json(body).to_json()
            assert again.get(name) == value or (name not in again and not value)
        else:
            assert told.startswith(f"estimates.0.{name}")
            assert "\n" not in told


def reading(body: dict[str, Any]) -> str | None:
    """Why this is no estimate; None where it is one."""
    try:
        Estimate.from_json(body, "estimates.0")
    except ValueError as error:
        return str(error)
    return None
