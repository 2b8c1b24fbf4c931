"""Lines cut together: each belongs to the beginning and the end that it has, however many there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import DataError
from steelyard.importing.alike_lines import MOST_LOOKS, AlikeLines, ManyWaysError
from steelyard.importing.cut_lines import CutLines, UnusualError, _Numbers
from steelyard.importing.fragments import read_table
from steelyard.importing.styles import read_calls

CUTS = ((b', "probe":', b'"probe":'), (b',"first":', b'"first":'))
HEADS = st.sampled_from([b'{"judge": "a"', b'{"judge": "ab"', b'{"judge": "b"', b"{"])
MIDDLES = st.sampled_from([b" 1", b" 2", b"", b' "x\xc3\xa9"', b' 1, "pair": "p"'])
TAILS = st.sampled_from([b' "u"}', b'"u"}', b' "v", "answer": "1"}', b"}", b"\0"])


def numbers() -> tuple[_Numbers, _Numbers, _Numbers]:
    return _Numbers(), _Numbers(), _Numbers()


def cut(lines: Sequence[bytes]) -> list[tuple[bytes, bytes, bytes]]:
    """The parts of each line, looked up by their numbers."""
    known = numbers()
    columns = AlikeLines(b"\n".join(lines)).cut(CUTS, known)
    texts = [list(part) for part in known]
    return [
        (texts[0][head], texts[1][middle], texts[2][tail])
        for head, middle, tail in zip(*columns, strict=True)
    ]


@given(st.lists(st.tuples(HEADS, MIDDLES, TAILS), min_size=1, max_size=12))
def test_every_line_has_its_own_parts(parts: list[tuple[bytes, bytes, bytes]]) -> None:
    lines = [head + CUTS[0][0] + middle + CUTS[1][0] + tail for head, middle, tail in parts]
    expected = [(head, b'"probe":' + middle, b'"first":' + tail) for head, middle, tail in parts]
    assert cut(lines) == expected


def test_numbers_follow_the_order_in_which_parts_come() -> None:
    edges = ((b"x", b"3"), (b"y", b"3"), (b"x", b"2"), (b"z", b"1"))
    lines = [begin + b', "probe":1,"first":' + end for begin, end in edges]
    head, middle, tail = AlikeLines(b"\n".join(lines)).cut(CUTS, numbers())
    assert head.tolist() == [0, 1, 0, 2]
    assert middle.tolist() == [0, 0, 0, 0]
    assert tail.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    "lines",
    [
        [b"x,1"],
        [b""],
        [b'x, "probe":1,"first":2', b""],
        [b'x, "probe":1,"first":2', b"   "],
        [b'x, "probe":1', b'x, "probe":1,"first":2'],
        [b'x,"first":2, "probe":1'],
        [b'x, "probe":1,"first":2', b',"first":2'],
    ],
)
def test_lines_without_both_cuts_in_their_order_are_left_to_others(lines: list[bytes]) -> None:
    with pytest.raises(ManyWaysError):
        cut(lines)


def test_many_beginnings_are_left_to_others() -> None:
    few = [b'%d, "probe":1,"first":2' % number for number in range(MOST_LOOKS)]
    many = [b'%d, "probe":1,"first":2' % number for number in range(3 * MOST_LOOKS)]
    assert len(cut(few)) == MOST_LOOKS
    with pytest.raises(ManyWaysError):
        cut(many)


def calls(path: Path, judges: int, colon: str = ": ", blank: str = "") -> Path:
    """A file of so many judges on two pairs, every judge answering one in both orders."""
    lines = [
        {
            "judge": f"j{judge}",
            "probe": "position",
            "pair": f"p{judge % 2}",
            "kind": "natural",
            "first": first,
        }
        for judge in range(judges)
        for first in "uv"
    ]
    told = [
        json.dumps({**line, "answer": "12"[n % 2]}, separators=(", ", colon)) for n, line in enumerate(lines)
    ]
    path.write_text(f"\n{blank}".join(told) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("judges", [1, 3, 200])
@pytest.mark.parametrize(
    ("colon", "blank"), [(": ", ""), (":", ""), (" :", ""), (": ", "\n"), (": ", "  \n")]
)
def test_a_file_reads_the_same_whichever_way_it_is_cut(
    tmp_path: Path, judges: int, colon: str, blank: str
) -> None:
    path = calls(tmp_path / "calls.jsonl", judges, colon, blank)
    table = read_table([path])
    assert table is not None
    told = [json.loads(line) for line in "".join(table.lines()).splitlines()]
    assert told == [call.to_json() for call in sorted(read_calls(path), key=lambda call: call.key)]


def test_blocks_of_a_file_are_cut_together_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = calls(tmp_path / "calls.jsonl", 40)
    whole = CutLines.of([path], ("probe", "first"))
    monkeypatch.setattr("steelyard.importing.cut_lines.BLOCK", 300)
    apart = CutLines.of([path], ("probe", "first"))
    assert apart.bodies == whole.bodies
    assert all(np.array_equal(one, other) for one, other in zip(apart.rows, whole.rows, strict=True))


@pytest.mark.parametrize(
    "middle",
    [
        '"probe": "position"}, {"kind": "natural"',
        '"probe": "position", "probe": "position"',
        '"probe": [1',
        '"probe": "x',
    ],
)
def test_a_part_that_is_no_object_of_its_own_is_unusual(tmp_path: Path, middle: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(f'{{"judge": "a", {middle}, "first": "u", "answer": "1"}}\n', encoding="utf-8")
    assert read_table([path]) is None
    with pytest.raises((DataError, UnusualError)):
        CutLines.of([path], ("probe", "first"))


def test_texts_that_reach_over_two_parts_are_no_text(tmp_path: Path) -> None:
    """Two middles that are no objects alone, and would be two where one is let reach into the next."""
    path = tmp_path / "calls.jsonl"
    middles = ['"probe": "x', 'y", "first": 1}, {"z": 1', '"probe": 1}, {"probe": 2']
    path.write_text(
        "".join(f'{{"judge": "a", "probe": {m}, "first": "u"}}\n' for m in middles), encoding="utf-8"
    )
    assert read_table([path]) is None
    with pytest.raises((DataError, UnusualError)):
        CutLines.of([path], ("probe", "first"))
