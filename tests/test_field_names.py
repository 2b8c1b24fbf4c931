"""The one table of names that people give to the parts of an item."""

from __future__ import annotations

import pytest

from steelyard.core.field_names import SYNONYMS, known, nearest


def test_no_name_means_two_fields() -> None:
    names = [name for words in SYNONYMS.values() for name in words.split()]
    assert len(names) == len(set(names))
    assert all(field in words.split() for field, words in SYNONYMS.items())


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("question", "request"),
        ("User Input", "request"),
        ("modelOutput", "response"),
        ("completion", "response"),
        ("expected-output", "reference"),
        ("answer_a", "response_1"),
        ("Response2", "response_2"),
        ("second", "response_2"),
        ("model_b", "system_2"),
        ("human_verdict", "label"),
        ("topic", None),
        ("a", None),
        ("question_1", None),
        ("answer quality", None),
        ("", None),
    ],
)
def test_a_name_means_a_field_where_that_is_certain(name: str, field: str | None) -> None:
    assert known(name) == field


@pytest.mark.parametrize(
    ("name", "field"),
    [("requst", "request"), ("correct_answer_text", "reference"), ("score", None), ("topic", None)],
)
def test_the_nearest_field_is_one_that_is_there(name: str, field: str | None) -> None:
    assert nearest(name, {"request", "response", "reference"}) == field
