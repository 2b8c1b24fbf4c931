"""Lines made of coded parts: whatever is spelled together, a line reads as its parts do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.arrays import CHUNK, DictionaryWriter, Part, coded, encode, fixed, joined

ROWS = st.lists(st.integers(0, 10**6), max_size=30)
COLUMNS = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=6)


def made_of(rows: list[int], columns: list[tuple[int, bool]]) -> list[Part]:
    """Parts that tell one code from another, some sharing that of their neighbour."""
    made: list[Part] = []
    for place, (kinds, same) in enumerate(columns):
        codes = np.array([row // 7**place % kinds for row in rows], dtype=np.int64)
        if same and made:
            kinds, codes = len(made[-1][0]), made[-1][1]
        made.append(([f"{place}-{kind};" for kind in range(kinds)], codes))
    return made


def read(parts: list[Part], rows: int) -> list[str]:
    """Each line, one part after the other."""
    return ["".join(words[codes[n]] for words, codes in parts) for n in range(rows)]


@given(ROWS, COLUMNS, st.integers(0, 40))
def test_parts_joined_with_their_neighbours_read_the_same(
    rows: list[int], columns: list[tuple[int, bool]], most: int
) -> None:
    made = made_of(rows, columns)
    assert read(joined(made, most), len(rows)) == read(made, len(rows))


@given(ROWS, COLUMNS)
def test_lines_are_their_parts_in_order(rows: list[int], columns: list[tuple[int, bool]]) -> None:
    parts = [fixed("<", len(rows)), *made_of(rows, columns), fixed(">\n", len(rows))]
    assert "".join(DictionaryWriter(parts).chunks()) == "".join(read(parts, len(rows)))


def test_combinations_that_do_not_occur_are_not_spelled() -> None:
    codes = np.arange(100, dtype=np.int64) % 10
    words = [str(n) for n in range(10)]
    ((known, _),) = joined([(words, codes), (words, codes.copy())], 20)
    assert known == [f"{n}{n}" for n in range(10)]


def test_too_many_combinations_stay_apart() -> None:
    one, other = np.divmod(np.arange(100, dtype=np.int64), 10)
    words = [str(n) for n in range(10)]
    assert len(joined([(words, one), (words, other)], 20)) == 2


def test_a_long_text_comes_in_chunks_of_any_range_of_lines() -> None:
    numbers = np.arange(CHUNK + 7, dtype=np.int64)
    lines = DictionaryWriter([encode(numbers), fixed("\n", len(numbers))])
    whole = list(lines.chunks())
    assert len(whole) == 2
    assert "".join(whole).split() == [str(n) for n in numbers]
    assert "".join(lines.chunks(5, 9)) == "5\n6\n7\n8\n"


def test_equal_spellings_have_one_code() -> None:
    words, codes = coded(["a", "b", "a"], np.array([2, 1, 0, 1], dtype=np.int64))
    assert (words, codes.tolist()) == (["a", "b"], [0, 1, 0, 1])
