"""Files of scores: decoding and careful reading end alike, whatever somebody wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded_calls import read_lines, score_lines
from steelyard.commands.import_verdicts import import_verdicts, read_recorded, score_probes
from steelyard.core.content_hash import content_hash
from steelyard.errors import DataError
from steelyard.importing.jsonl import Lines
from steelyard.importing.scores import read_scores

many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)

NAMES = st.sampled_from(["A", "b", "né", "日本", 'q"uote', "back\\slash", "a, \\score", "x/y"])
SCALES = st.sampled_from([None, "1-5", "0-9"])


@st.composite
def recorded(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Lines that agree with each other: every judge on some texts, several outcomes."""
    scale, lines = draw(SCALES), []
    for item in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        facts: dict[str, Any] = {"item": item}
        if draw(st.booleans()):
            facts["expected"] = draw(st.integers(1, 5))
        if draw(st.booleans()):
            facts["task"] = draw(NAMES)
        if scale:
            facts["scale"] = scale
        variants: list[dict[str, Any]] = [{"probe": "typos", **facts, "variant": "original"}]
        for level in draw(st.lists(st.sampled_from([0.5, 1.0, 2]), max_size=2, unique=True)):
            variants.append({"probe": "typos", **facts, "variant": "perturbed", "edit": "e", "level": level})
        if draw(st.booleans()):
            variants.append({"probe": "vacuum", **facts, "kind": "empty"})
        for judge in draw(st.lists(NAMES, min_size=1, max_size=2, unique=True)):
            for shown in variants:
                for replicate in range(draw(st.integers(1, 2))):
                    lines.append({"judge": judge, **shown, **draw(outcomes()), "replicate": replicate})
    return lines


@st.composite
def outcomes(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"score": draw(st.integers(1, 5))}
    return {"score": None, "outcome": draw(st.sampled_from(["abstain", "unreadable", "failed"]))}


@pytest.mark.slow
@many
@given(recorded(), st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}]), st.randoms())
def test_decoded_lines_are_those_of_the_careful_reader(
    tmp_path: Path, lines: list[dict[str, Any]], style: dict[str, Any], chance: Any
) -> None:
    chance.shuffle(lines)
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(line, **style) + "\n" for line in lines), encoding="utf-8")
    fast, remarks = read_scores([path])
    careful, same_remarks = read_scores([path], read_lines)
    assert remarks == same_remarks
    bodies = score_lines(path, fast.subjects[0].scale)
    for table in (fast, careful):
        assert "".join(table.lines()) == "".join(json.dumps(body) + "\n" for body in bodies)
        whole, arms = table.hashes
        assert whole == content_hash(bodies)
        for (judge, protocol), digest in arms.items():
            mine = [b for b in bodies if (b["judge"], b["protocol"]) == (judge, protocol)]
            assert digest == content_hash(mine)
    assert fast.stimulus_set() == careful.stimulus_set()
    assert list(fast.observations()) == list(careful.observations())
    assert [probe.name for probe in score_probes(fast)] == [probe.name for probe in score_probes(careful)]


def line(**changes: Any) -> str:
    body = {"judge": "A", "probe": "typos", "item": "i", "variant": "original", "scale": "1-5", "score": 3}
    return json.dumps({**body, **changes}) + "\n"


LINE = line()
ODD = {
    "the same call again": LINE,
    "the same call under another probe": line(probe="synonyms"),
    "another score under another probe": line(probe="synonyms", score=4),
    "a score off the scale": line(item="j", score=9),
    "a label off the scale": line(item="j", expected=9),
    "a scale of its own": line(item="j", scale="0-9", score=9),
    "the item told in two ways": line(variant="original", task="t", judge="B"),
    "levels that sort alike": line(variant="perturbed", level=1.0)
    + line(variant="perturbed", level=1.0000001),
    "no score and no outcome": line(item="j", score=None),
    "both a score and an outcome": line(item="j", outcome="failed"),
    "an abstention": line(item="j", score=None, outcome="abstain"),
    "a score that is true": line(item="j", score=True),
    "a score that is text": line(item="j", score="3"),
    "a score with a point": line(item="j", score=3.0),
    "a huge score": line(item="j", score=10**30),
    "NaN": LINE.replace("3}", "NaN}"),
    "a list for a name": line(item=["j"]),
    "a key nobody knows": line(item="j", colour="red"),
    "no judge": '{"probe": "typos", "item": "j", "variant": "original", "score": 3}\n',
    "no item": '{"judge": "A", "probe": "typos", "variant": "original", "score": 3}\n',
    "another order of keys": '{"score": 3, "judge": "A", "item": "j", "variant": "original", "probe": "x"}\n',
    "a key twice": LINE.replace('"item": "i"', '"item": "i", "item": "j"'),
    "a key in two parts": LINE.replace("3}", '3, "item": "j"}'),
    "text that looks like a cut": line(item='j, "score": 3'),
    "an escape": LINE.replace('"i"', '"\\u0069x"'),
    "half a surrogate": LINE.replace('"i"', '"\\ud800"'),
    "a line in three": LINE.replace(', "probe"', '\n"probe"').replace(', "score"', '\n"score"'),
    "blank lines": f"\n  \n{line(item='j')}\n\n",
    "a blank of another kind": f"\u3000\n{line(item='j')}",
    "line ends of Windows": line(item="j").replace("\n", "\r\n"),
    "line ends of old": line(item="j").replace("\n", "\r") + line(item="k"),
    "a mark of UTF-8": f"\ufeff{line(item='j')}",
    "no line end": line(item="j").rstrip("\n"),
    "a space before": f" {line(item='j')}",
    "half a line": line(item="j")[:30],
    "a pair": LINE.replace("score", "answer").replace("item", "pair"),
    "nothing": "",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("place", ["alone", "first", "last"])
def test_odd_lines_end_as_the_careful_way_ends(tmp_path: Path, odd: str, place: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_bytes({"alone": odd, "first": odd + LINE, "last": LINE + odd}[place].encode())

    def outcome(lines: Lines | None) -> tuple[Any, ...]:
        try:
            table, remarks = read_scores([path], lines)
            return table.hashes, remarks
        except DataError as error:
            return (str(error),)

    assert outcome(None) == outcome(read_lines)


def test_a_fault_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(LINE + line(item="j", score=9))
    with pytest.raises(DataError, match="line 2: score is 9, expected an answer of the scale 1-5"):
        import_verdicts([path])


def test_two_files_are_one_table(tmp_path: Path) -> None:
    path, other = tmp_path / "scores.jsonl", tmp_path / "more.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + (LINE + "\n" + line(item="j")).replace("\n", "\r\n").encode())
    other.write_text(json.dumps(json.loads(line(judge="B")), separators=(",", ":")))
    assert read_scores([path, other])[0].judges == ("A", "B")
    assert len(read_recorded([path, other]).observations) == 3
