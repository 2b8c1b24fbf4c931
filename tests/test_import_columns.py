"""Recorded verdicts in columns: what msgspec decodes is what the careful reader finds, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded_calls import observations_of, read_lines, sorted_calls
from steelyard.commands.import_verdicts import import_verdicts
from steelyard.core.content_hash import content_hash
from steelyard.core.registry import Spec
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.render.data_files import to_json
from steelyard.errors import DataError
from steelyard.importing.pairs import PairTable, read_pairs
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.probes.probe import PROBES
from steelyard.runner.run_messages import call_warnings, judges_without_verdicts
from steelyard.stimuli.stimulus import StimulusSet
from steelyard.verdicts.observations import Observations

NAMES = st.sampled_from(["a", "b", "é-1", 'q"uote', "back\\slash", 'x, "first": ', "z"])


@st.composite
def pair_facts(draw: st.DrawFn) -> dict[str, Any]:
    probe, kind = draw(
        st.sampled_from(
            [
                ("vacuum", "empty"),
                ("vacuum", "blank"),
                ("ladder", "prefix"),
                ("ladder", "same_subset"),
                ("position", "natural"),
            ]
        )
    )
    facts: dict[str, Any] = {"probe": probe, "kind": kind}
    if draw(st.booleans()):
        facts["task"] = draw(NAMES).strip()
    if draw(st.booleans()):
        facts["stratum"] = draw(st.sampled_from(["s", "ü"]))
    if kind == "prefix":
        facts |= {"delta": draw(st.sampled_from([0.5, 1, 2])), "better": draw(st.sampled_from("uv"))}
    elif kind == "natural":
        facts["better"] = draw(st.sampled_from(["u", "v", "tie", None]))
    elif kind == "same_subset":
        facts |= {"delta": 0, "base_level": draw(st.integers(0, 5))}
    return facts


@st.composite
def recorded(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Sound lines in the project's own format, keys in the order in which a writer would put them."""
    facts = {f"p{number}": draw(pair_facts()) for number in range(draw(st.integers(1, 6)))}
    keys = st.tuples(
        NAMES.map(str.strip),
        st.sampled_from(["base", "strict", None]),
        st.sampled_from(sorted(facts)),
        st.sampled_from("uv"),
        st.sampled_from([0, 1, 12, None]),
    )
    calls = draw(
        st.lists(
            keys,
            min_size=1,
            max_size=40,
            unique_by=lambda key: (key[0], key[1] or "base", *key[2:4], key[4] or 0),
        )
    )
    lines = []
    for judge, protocol, pair, first, replicate in calls:
        line: dict[str, Any] = {"judge": judge} | ({} if protocol is None else {"protocol": protocol})
        line |= {"probe": facts[pair]["probe"], "pair": pair, **facts[pair], "first": first}
        line["answer"] = draw(st.sampled_from(["1", "2", "tie", "abstain", "unreadable", "failed"]))
        lines.append(line | ({} if replicate is None else {"replicate": replicate}))
    return lines


def written(folder: Path, lines: list[dict[str, Any]], **style: Any) -> Path:
    path = folder / "calls.jsonl"
    path.write_text("".join(json.dumps(line, **style) + "\n" for line in lines), encoding="utf-8")
    return path


def same_pairs(one: Pairs, other: Pairs) -> bool:
    for f in fields(Pairs):
        left, right = getattr(one, f.name), getattr(other, f.name)
        same = (
            left == right
            if isinstance(left, (tuple, bool))
            else np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
        )
        if not same:
            return False
    return True


many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


@pytest.mark.slow
@many
@given(recorded(), st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}]))
def test_decoded_lines_are_those_of_the_careful_reader(
    tmp_path: Path, lines: list[dict[str, Any]], style: dict[str, Any]
) -> None:
    path = written(tmp_path, lines, **style)
    calls = sorted_calls(path)
    bodies = [call.to_json() for call in calls]
    for table in (read_pairs([path]), read_pairs([path], read_lines)):
        assert "".join(table.lines()) == "".join(json.dumps(body) + "\n" for body in bodies)
        whole, arms = table.hashes
        assert whole == content_hash(bodies)
        for (judge, protocol), digest in arms.items():
            mine = [b for b in bodies if (b["judge"], b["protocol"]) == (judge, protocol)]
            assert digest == content_hash(mine)
        observations = observations_of(calls)
        stimuli = {o.stimulus.id: o.stimulus for o in observations}
        assert table.stimulus_set() == StimulusSet.of(stimuli.values()).hash
        assert list(table.observations()) == observations
    check_collection(read_pairs([path]).observations(), Observations.of(observations), lines)


def check_collection(table: Observations, objects: Observations, lines: list[dict[str, Any]]) -> None:
    """A table makes the collection of its calls."""
    assert table.counts() == objects.counts()
    judges = sorted({line["judge"] for line in lines})
    assert list(call_warnings(table)) == list(call_warnings(objects))
    assert list(map(str, judges_without_verdicts(judges, table))) == list(
        map(str, judges_without_verdicts(judges, objects))
    )
    for judge in judges:
        for protocol in ("base", "strict"):
            mine = table.of_judge(judge).filter("ladder", protocol)
            assert same_pairs(collect(mine), collect(reversed(list(mine))))


@pytest.mark.slow
def test_the_datasheet_is_that_of_the_objects(tmp_path: Path) -> None:
    """Every figure from a list of observations and from their columns, to the byte."""
    answers = ["1", "2", "tie", "1", "unreadable", "tie", "1", "abstain", "2", "failed", "1"]
    shown = [
        ("vacuum", "empty", {}),
        ("ladder", "same_subset", {"delta": 0}),
        ("position", "natural", {"better": "u"}),
    ]
    shown += [("ladder", "prefix", {"delta": step, "better": "v"}) for step in (1, 2)]
    lines = [
        {
            "judge": judge,
            "protocol": protocol,
            "probe": probe,
            "pair": f"{kind}{facts.get('delta')}-{n}",
            "kind": kind,
            "task": f"t{n % 4}",
            **facts,
            "first": first,
        }
        for judge, protocol in (("A", "base"), ("A", "strict"), ("B", "base"))
        for probe, kind, facts in shown
        for n in range(9)
        for first in "uv"
    ]
    path = written(tmp_path, [{**line, "answer": answers[i * i % 11]} for i, line in enumerate(lines)])
    imported = import_verdicts([path], "x")
    specs = [Spec(name) for name in ("vacuum", "ladder", "position")] + [
        Spec("criterion", {"protocol": "strict"})
    ]
    again = assemble(
        name="x",
        seed=7,
        profile="recorded",
        stimulus_set=imported.datasheet.stimulus_set,
        judges=imported.datasheet.judges,
        probes=[PROBES.build(spec) for spec in specs],
        observations=observations_of(sorted_calls(path)),
        run={"calls": len(lines), "materials": {"prompts": [], "data": None, "recorded": True}},
    )
    # What to do next, and which calls to show, is the importer's to say.
    own = {"verdicts": None, "exhibits": None}
    one, other = ({**to_json(sheet), **own} for sheet in (imported.datasheet, again))
    assert one == other


LINE = (
    '{"judge": "A", "protocol": "base", "probe": "vacuum", "pair": "p", "kind": "empty", "task": "t", '
    '"first": "u", "answer": "1", "replicate": 0}\n'
)
OTHER = LINE.replace('"first": "u"', '"first": "v"')
ODD: dict[str, Callable[[str], str]] = {
    "another order of keys": lambda line: json.dumps(dict(reversed(json.loads(line).items()))) + "\n",
    "other spaces": lambda line: line.replace(', "first": ', ' , "first" :'),
    "blank lines, byte order mark and carriage returns": lambda line: f"\ufeff\r\n{line.rstrip()}\r\n \r\n",
    "no task": lambda line: line.replace('"task": "t", ', ""),
    "another task for the same pair": lambda line: line.replace('"task": "t"', '"task": "w"'),
    "a key twice in one part": lambda line: line.replace(
        '"kind": "empty"', '"kind": "empty", "kind": "empty"'
    ),
    "a key twice in two parts": lambda line: line.replace('"replicate": 0', '"protocol": "base"'),
    "an unknown key": lambda line: line.replace('"task"', '"topic"'),
    "a key of the pair in the tail": lambda line: line.replace('"task": "t", ', "").replace(
        "}", ', "task": "t"}'
    ),
    "a number as a name": lambda line: line.replace('"judge": "A"', '"judge": 1'),
    "a name with an outer space": lambda line: line.replace('"pair": "p"', '"pair": "p "'),
    "a name with a line break": lambda line: line.replace('"task": "t"', '"task": "a\\nb"'),
    "an empty name": lambda line: line.replace('"task": "t"', '"task": ""'),
    "no name": lambda line: line.replace('"pair": "p"', '"pair": null'),
    "half a surrogate": lambda line: line.replace('"pair": "p"', '"pair": "\\ud800"'),
    "nothing below nothing": lambda line: line.replace('"task": "t"', '"delta": 0.0').replace(
        "}", "}\n" + line.strip().replace('"pair": "p", "kind"', '"pair": "q", "delta": -0.0, "kind"'), 1
    ),
    "a line in three": lambda line: line.replace(', "probe"', '\n"probe"').replace(', "first"', '\n"first"'),
    "a huge number": lambda line: line.replace('"replicate": 0', f'"replicate": {10**400}'),
    "not a number": lambda line: line.replace('"task": "t"', '"delta": NaN'),
    "a wrong answer": lambda line: line.replace('"answer": "1"', '"answer": "3"'),
    "a replicate that is true": lambda line: line.replace('"replicate": 0', '"replicate": true'),
    "a wrong kind": lambda line: line.replace("empty", "prefix"),
    "an open brace": lambda line: line.replace("}", ""),
    "two objects": lambda line: line.replace("\n", LINE),
    "a nested object": lambda line: line.replace('{"judge": "A"', '{"judge": {"name": "A"'),
    "a list": lambda line: f"[{line.strip()}]\n",
    "the same call again": lambda line: LINE,
    "text that looks like a key": lambda line: line.replace(
        '"pair": "p"', '"pair": "p, \\"first\\": \\"u\\""'
    ),
    "a pair per line": lambda line: (
        '{"item_id": "i", "judge": "A", "winner_AB": "1", "winner_BA": "1", "gold": "1"}\n'
    ),
    "nothing": lambda line: "",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("place", ["alone", "first", "last"])
def test_odd_lines_end_as_the_careful_way_ends(tmp_path: Path, odd: Callable[[str], str], place: str) -> None:
    changed = odd(OTHER)
    text = {"alone": changed, "first": changed + LINE, "last": LINE + changed}[place]
    path = tmp_path / "calls.jsonl"
    path.write_bytes(text.encode())

    def outcome(read: Callable[[], PairTable]) -> str:
        try:
            return read().hashes[0]
        except DataError as error:
            return str(error)

    careful = outcome(lambda: read_pairs([path], read_lines))
    assert outcome(lambda: import_verdicts([path]).calls) == careful


def test_a_score_among_pairs_is_told_of_by_the_careful_way(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(LINE + '{"judge": "A", "probe": "x", "item": "i", "score": 1}\n')
    with pytest.raises(DataError, match="line 2: found a pointwise score, expected a pairwise verdict"):
        import_verdicts([path])


def test_bytes_that_are_no_text_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(LINE.encode() + b"\xff\n")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        import_verdicts([path])
