"""Recorded verdicts that somebody else wrote: one thing wrong at a time is told in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import for_each
from recorded_calls import observations_of, read_calls, read_lines, sorted_calls
from steelyard.errors import DataError
from steelyard.importing.jsonl import Lines
from steelyard.importing.pairs import read_pairs, recording_of
from steelyard.importing.scores import holds_scores, read_scores

CALL = {
    "judge": "A",
    "probe": "ladder",
    "pair": "p1",
    "kind": "prefix",
    "first": "u",
    "answer": "1",
    "task": "t1",
    "delta": 1.0,
    "better": "u",
}
BOTH = {"item_id": "S#1", "judge": "A", "winner_AB": "1", "winner_BA": "2", "gold": "1"}
RUNS = {"item_id": "S#1", "judge": "A", "gold": "2", "runs": {"r1": ["1", "2"]}}
ONE = {"item_id": "p", "gold": "1", "verdict_x": "1"}
STYLES = {"call": CALL, "both orders": BOTH, "runs": RUNS}
SCORE = {"judge": "A", "item": "i1", "score": 3, "scale": "1-5"}

ODD: tuple[Any, ...] = (None, True, [], {}, "", " ", "x", -1, 2.5, 10**12, [[]], {"a": 1})
ODD += ("\u202e", "a\nb", "1 ", "u v")


def write(folder: Path, *lines: dict[str, Any] | str) -> Path:
    path = folder / "calls.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def one_wrong() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each style with one key changed, lost or added."""
    for name, line in STYLES.items():
        for key in line:
            for value in ODD:
                if value != line[key]:
                    yield f"{name}: {key}={value!r}", {**line, key: value}, key
            yield f"{name}: no {key}", {k: v for k, v in line.items() if k != key}, key
        yield f"{name}: colour", {**line, "colour": "red"}, "colour"


CASES = list(one_wrong())


@pytest.mark.slow
@for_each(("name", "line", "key"), CASES, lambda case: case[0])
def test_one_wrong_key_is_one_sentence_or_no_fault(
    tmp_path: Path, name: str, line: dict[str, Any], key: str
) -> None:
    path = write(tmp_path, line)
    told = complaint(path)
    if told is None:
        for call in read_calls(path):
            assert call.answer in ("1", "2", "tie", "abstain", "unreadable", "failed")
            assert call.first in ("u", "v")
            assert call.replicate >= 0
        return
    assert told.startswith(str(path)), told
    assert "line 1" in told
    assert "\n" not in told
    assert told.endswith((".", "?")), told


def complaint(path: Path) -> str | None:
    """Why these are no verdicts; None where they are."""
    return same_end(lambda lines: read_pairs([path], lines))


def same_end(read: Callable[[Lines | None], object]) -> str | None:
    """How decoding ends, which is how careful reading ends."""
    ends: list[str | None] = []
    for lines in (None, read_lines):
        try:
            read(lines)
            ends.append(None)
        except DataError as error:
            ends.append(str(error))
    assert ends[0] == ends[1]
    return ends[0]


@pytest.mark.parametrize(
    "line",
    [
        "3",
        "null",
        "[]",
        '"x"',
        "{",
        '{"a": 1,}',
        "{'judge': 'A'}",
        '{"judge": "A", "judge": "B"}',
        "{}",
        "\x00",
    ],
    ids=repr,
)
def test_what_is_no_object_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    told = complaint(write(tmp_path, CALL, line))
    assert told is not None
    assert "line 2" in told
    assert "\n" not in told


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_any_line_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    )
    base = data.draw(st.sampled_from([*STYLES.values(), ONE, SCORE, {}]))
    keys = st.sampled_from([*CALL, *BOTH, *RUNS, "score", "x"])
    changes = data.draw(st.dictionaries(keys, values, max_size=3))
    path = write(tmp_path_factory.mktemp("fuzz"), {**base, **changes})
    told = complaint(path)
    if told is not None:
        assert "\n" not in told
    if holds_scores(path):
        assert scores_complaint(path) is None or "\n" not in (scores_complaint(path) or "")


def scores_complaint(path: Path) -> str | None:
    return same_end(lambda lines: read_scores([path], lines))


# Round trips

answers = st.sampled_from(["1", "2", "tie", "abstain", "unreadable", "failed"])


@st.composite
def recordings(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Calls of a few pairs, orders and replicates, each once."""
    rows = []
    for judge in draw(st.sets(st.sampled_from("AB"), min_size=1)):
        for pair in range(draw(st.integers(1, 3))):
            for first in ("u", "v"):
                for replicate in range(draw(st.integers(1, 2))):
                    place = {
                        "judge": judge,
                        "pair": f"p{pair}",
                        "first": first,
                        "replicate": replicate,
                    }
                    rows.append({**CALL, **place, "task": f"t{pair % 2}", "answer": draw(answers)})
    return draw(st.permutations(rows))


@settings(max_examples=30)
@given(rows=recordings())
def test_a_recording_of_what_was_read_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("again")
    first = observations_of(sorted_calls(write(folder, *rows)))
    (folder / "again.jsonl").write_text(recording_of(first), encoding="utf-8")
    second = observations_of(sorted_calls(folder / "again.jsonl"))
    key = [(o.judge, o.stimulus.id, o.order, o.replicate, o.verdict) for o in first]
    assert sorted(map(repr, key)) == sorted(
        repr((o.judge, o.stimulus.id, o.order, o.replicate, o.verdict)) for o in second
    )
    assert {o.stimulus for o in first} == {o.stimulus for o in second}


def test_the_same_call_twice_is_refused_and_a_pair_that_changes(tmp_path: Path) -> None:
    def told(*lines: dict[str, Any]) -> str:
        with pytest.raises(DataError) as caught:
            read_pairs([write(tmp_path, *lines)])
        return str(caught.value)

    twice = told(CALL, {**CALL, "answer": "2"})
    assert "line 2" in twice
    assert "line 1" in twice
    equal = {"kind": "same_subset", "delta": 0.0, "better": None}
    for change in ({"task": "t2"}, {"delta": 2.0}, {"better": "v"}, equal):
        words = told(CALL, {**CALL, "first": "v", **change})
        assert "p1" in words
        assert "\n" not in words


# Scores

SCORE_ODD: tuple[Any, ...] = (None, True, [], {}, "", "x", -1, 2.5, 10**12, "\u202e", "a\nb")


@pytest.mark.parametrize("key", [*SCORE, "colour"])
@pytest.mark.parametrize("value", SCORE_ODD, ids=repr)
def test_one_wrong_key_of_a_score_is_one_sentence_or_no_fault(tmp_path: Path, key: str, value: Any) -> None:
    path = write(tmp_path, SCORE, {**SCORE, "item": "i2", key: value})
    told = scores_complaint(path)
    if told is None:
        assert len(read_scores([path])[0]) == 2
    else:
        assert "\n" not in told
        assert "line" in told or "scale" in told


def test_lines_of_one_order_have_one_verdict_per_judge(tmp_path: Path) -> None:
    found = list(read_calls(write(tmp_path, {**ONE, "verdict_y": "2"}, {**ONE, "item_id": "q"})))
    assert [(call.judge, call.answer) for call in found] == [("x", "1"), ("y", "2"), ("x", "1")]
    assert {call.first for call in found} == {"u"}
