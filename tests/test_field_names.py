"""The one table of names that people give to the parts of an item."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from steelyard.core.field_names import SYNONYMS, known, nearest
from steelyard.tasks.sources.found_columns import FILLED, VERDICT, ColumnFinder, ColumnPart
from steelyard.tasks.sources.table import CellRows, Table


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


class CountedRows(list[tuple[str, ...]]):
    """Counts how often all rows are read."""

    reads = 0

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        self.reads += 1
        return super().__iter__()


def test_rows_are_read_once_for_all_columns() -> None:
    """A row is made of all its columns each time: a file of many columns took their number squared."""
    names = tuple(f"c{number}" for number in range(50))
    rows = CountedRows([tuple("1" for _ in names)] * 3)
    finder = ColumnFinder(Table("wide.csv", names, CellRows(names, rows)), {})
    part = ColumnPart("score", "the judge's verdict", holds=VERDICT)
    assert "and 38 more" in str(finder.missing(part, ColumnPart("item", "the item", holds=FILLED)))
    assert rows.reads == 1
