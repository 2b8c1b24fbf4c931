from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.content_hash import ContentHasher, canonical_json, content_hash, rng_for, shuffled

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@dataclass(frozen=True)
class Point:
    x: int
    y: tuple[int, ...]


def test_canonical_json_has_one_spelling() -> None:
    assert canonical_json({"b": 1, "a": [True, None, "é"]}) == '{"a":[true,null,"\\u00e9"],"b":1}'
    assert canonical_json(Point(1, (2, 3))) == '{"type":"Point","x":1,"y":[2,3]}'


def test_hash_is_sha256_of_the_canonical_json() -> None:
    assert content_hash([1, "a"]) == "sha256:" + hashlib.sha256(b'[1,"a"]').hexdigest()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_key_order_does_not_matter(body: dict[str, object]) -> None:
    assert content_hash(dict(reversed(body.items()))) == content_hash(body)


@pytest.mark.slow
@given(st.text(alphabet=st.characters(categories=["Cs", "L"]), min_size=1))
def test_lone_surrogates_have_a_hash(text: str) -> None:
    assert content_hash(text).startswith("sha256:")


def test_not_a_number_has_no_identity() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_hash(float("nan"))


def test_unknown_types_are_refused() -> None:
    with pytest.raises(TypeError, match="no canonical form for object"):
        canonical_json(object())


def test_random_streams_depend_on_names_alone() -> None:
    assert rng_for(1, "a").random() == rng_for(1, "a").random()
    assert len({rng_for(seed, name).random() for seed in (1, 2) for name in ("a", "b")}) == 4


@given(st.integers(0, 2**64 - 1), st.integers(0, 300))
def test_numbers_are_shuffled_as_a_list_is(seed: int, count: int) -> None:
    expected = list(range(count))
    rng_for(seed, "shuffled").shuffle(expected)
    assert shuffled(rng_for(seed, "shuffled"), count) == expected


@given(st.lists(st.lists(values, min_size=1, max_size=3), max_size=4))
def test_a_list_in_parts_has_the_hash_of_the_list(parts: list[list[object]]) -> None:
    whole = ContentHasher()
    for part in parts:
        whole.update("".join(f",{canonical_json(item)}" for item in part).encode("ascii"))
    assert whole.digest() == content_hash([item for part in parts for item in part])
