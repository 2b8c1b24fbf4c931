"""Recorded scores: every line is checked, every figure follows from the lines, nothing is guessed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
from steelyard.datasheet.conclusion import Step
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.render.data_files import dumps, to_json
from steelyard.errors import DataError
from steelyard.importing.scores import holds_scores
from steelyard.verdicts.observations import Observations

LINE = {
    "judge": "gpt-4o",
    "probe": "format_invariance_1",
    "task": "hb",
    "item": "hb-12",
    "variant": "perturbed",
    "protocol": "base",
    "edit": None,
    "level": None,
    "score": 1,
    "expected": 1,
    "replicate": 0,
}
"""The line of the contract."""


def line(**changes: Any) -> dict[str, Any]:
    return {**LINE, **changes}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(body) + "\n" for body in lines))
    return path


def pairs_of_calls(
    scores: list[tuple[int, int, int]], probe: str = "format_invariance_1"
) -> list[dict[str, Any]]:
    """Original score, edited score and label of each item; each item is a task of its own."""
    return [
        line(probe=probe, item=f"i{n}", task=f"t{n}", variant=variant, score=score, expected=label)
        for n, (before, after, label) in enumerate(scores)
        for variant, score in (("original", before), ("perturbed", after))
    ]


def find(sheet: dict[str, Any], metric: str, probe: str, **group: Any) -> dict[str, Any]:
    wanted = {"protocol": "base", **group}
    found = [
        row
        for row in sheet["estimates"]
        if (row["metric"], row["probe"], row["group"]) == (metric, probe, wanted)
    ]
    assert len(found) == 1, [(row["metric"], row["group"]) for row in sheet["estimates"]]
    return dict(found[0])


def imported(path: Path) -> dict[str, Any]:
    return to_json(import_verdicts([path]).datasheet)


def test_accuracy_and_invariance_by_hand(tmp_path: Path) -> None:
    """Of 8 edited items 6 are right; 5 of 8 keep the judge's own score of the item."""
    scores = [(1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0)]
    sheet = imported(write(tmp_path / "scores.jsonl", pairs_of_calls(scores)))
    accuracy = find(sheet, "accuracy", "format_invariance_1")
    assert (accuracy["numerator"], accuracy["denominator"]) == (6, 8)
    kept = find(sheet, "invariance", "format_invariance_1")
    assert (kept["numerator"], kept["denominator"]) == (5, 8)
    assert sheet["study"]["level"] == "pointwise"


def test_the_order_of_lines_changes_nothing(tmp_path: Path) -> None:
    lines = pairs_of_calls([(n % 2, n % 3 % 2, 1) for n in range(12)])
    first = dumps(import_verdicts([write(tmp_path / "a.jsonl", lines)], "x").datasheet)
    random.Random(1).shuffle(lines)
    assert dumps(import_verdicts([write(tmp_path / "b.jsonl", lines)], "x").datasheet) == first


@pytest.mark.slow
def test_what_lies_in_the_folder_rebuilds_the_datasheet(tmp_path: Path) -> None:
    """The format is its own inverse, kinds, edits, levels, outcomes and the assumed scale included."""
    nothing = {"judge": "gpt-4o", "probe": "vacuum", "item": "b", "task": "hb"}
    lines = [
        line(item="a", variant="original", score=4, expected=5),
        line(item="a", probe="typos", edit="one typo", level=0.1, score=3, expected=5),
        line(item="a", probe="typos", edit="two", level=0.2, score=None, outcome="unreadable", expected=5),
        line(item="b", variant="original", score=1, expected=2, stratum="s"),
        {**nothing, "kind": "master_key", "score": 6},
        {**nothing, "kind": "empty", "score": None, "outcome": "failed"},
    ]
    result = import_verdicts([write(tmp_path / "x.jsonl", lines)])
    assert any("taken from the scores found: 1-6" in warning for warning in result.warnings)
    folder = ImportFolder(tmp_path / "out")
    folder.write(result)
    assert dumps(folder.load().datasheet) == (tmp_path / "out" / "datasheet.json").read_text()
    again = import_verdicts([folder.observations], "x")
    assert to_json(again.datasheet)["estimates"] == to_json(result.datasheet)["estimates"]
    dark = find(to_json(result.datasheet), "dark_current", "vacuum")
    assert (dark["numerator"], dark["denominator"], dark["excluded"]["failed"]) == (1, 1, 1)


def test_a_failure_is_never_a_score(tmp_path: Path) -> None:
    lines = pairs_of_calls([(1, 1, 1)] * 6)
    for body in lines[1:6:2]:
        body |= {"score": None, "outcome": "unreadable"}
    accuracy = find(imported(write(tmp_path / "x.jsonl", lines)), "accuracy", "format_invariance_1")
    assert (accuracy["numerator"], accuracy["denominator"]) == (3, 3)
    assert accuracy["excluded"] == {"unreadable": 3, "failed": 0}
    assert accuracy["bounds"] == [0.5, 1.0]


def test_a_probe_nobody_registered_is_pooled_under_its_name(tmp_path: Path) -> None:
    sheet = imported(write(tmp_path / "x.jsonl", pairs_of_calls([(1, 1, 1), (1, 0, 1)], "emoji")))
    assert find(sheet, "accuracy", "emoji")["numerator"] == 1


def test_items_as_they_are_need_no_edit(tmp_path: Path) -> None:
    plain = line(probe="my_benchmark", task=None, variant="original")
    lines = [{**plain, "item": f"i{n}", "score": n % 2} for n in range(10)]
    assert find(imported(write(tmp_path / "x.jsonl", lines)), "accuracy", "my_benchmark")["numerator"] == 5


def test_an_edit_that_nobody_was_shown_has_no_figure(tmp_path: Path) -> None:
    """Known edits by their name, others by another judge's lines, under every protocol."""
    lines = [
        line(probe=probe, protocol=protocol, item=f"i{n}", variant="original", score=n % 2)
        for probe in ("format_invariance_2", "answer_ambiguity", "emoji")
        for protocol in ("base", "strict")
        for n in range(6)
    ]
    lines += [line(judge="other", probe="emoji", item=f"i{n}") for n in range(6)]
    sheet = imported(write(tmp_path / "x.jsonl", lines))
    mine = [
        row
        for row in sheet["estimates"]
        if row["judge"] == "gpt-4o" and row["probe"] not in ("run", "original")
    ]
    assert {row["probe"] for row in mine} == {"format_invariance_2", "answer_ambiguity", "emoji"}
    assert [row for row in mine if row["value"] is not None] == []


def test_an_original_told_under_two_probes_is_one_call(tmp_path: Path) -> None:
    lines = pairs_of_calls([(1, 1, 1)] * 3) + pairs_of_calls([(1, 0, 1)] * 3, "typos")
    result = import_verdicts([write(tmp_path / "x.jsonl", lines)])
    sheet = to_json(result.datasheet)
    assert len(result.calls) == 12
    assert find(sheet, "accuracy", "typos", kind="original")["denominator"] == 3
    assert find(sheet, "accuracy", "typos")["numerator"] == 0
    lines[-2]["score"] = 0  # the last item as it is, under typos
    with pytest.raises(DataError, match="scored this text of item 'i2' already"):
        import_verdicts([write(tmp_path / "x.jsonl", lines)])


def test_other_protocols_have_figures_of_their_own(tmp_path: Path) -> None:
    base = pairs_of_calls([(1, 1, 1)] * 4)
    strict = [{**body, "protocol": "strict", "score": 0} for body in base]
    sheet = imported(write(tmp_path / "x.jsonl", base + strict))
    pooled = [row for row in sheet["estimates"] if row["metric"] == "accuracy" and "kind" not in row["group"]]
    rates = {row["group"]["protocol"]: row["value"] for row in pooled}
    assert rates == {"base": 1.0, "strict": 0.0}


WRONG = {
    "both": (line(outcome="failed"), "found score 1 and outcome failed, expected a score, or null"),
    "neither": (line(score=None), "found score None and outcome None"),
    "a word": (line(score="1"), "score: found '1', expected a whole number"),
    "true": (line(score=True), "score: found True, expected a whole number"),
    "below zero": (line(score=-1), "score: found -1, expected a number from 0 on"),
    "off the scale": (line(score=7, scale="1-6"), "score is 7, expected an answer of the scale 1-6"),
    "label off the scale": (
        line(expected=2, scale="binary"),
        "expected is 2, expected an answer",
    ),
    "no scale": (line(scale="big"), "scale: scale: found 'big'"),
    "a pairwise scale": (line(scale="pairwise"), "found 'pairwise', expected binary or a range"),
    "no item": ({k: v for k, v in LINE.items() if k != "item"}, "no key 'item' found"),
    "no variant": (line(variant=None), "variant is None and kind None"),
    "a kind": (line(kind="empty"), "a kind for vacuum only"),
    "vacuum without a kind": (line(probe="vacuum"), "kind is None, expected empty or blank"),
    "unknown key": (line(verdict=1), "unknown key 'verdict'"),
    "a pair": (line(pair="p"), "unknown key 'pair'"),
    "a probe of pairs": (line(probe="ladder"), "probe 'ladder' compares pairs"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_line_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    body, complaint = WRONG[name]
    with pytest.raises(DataError) as caught:
        import_verdicts([write(tmp_path / "x.jsonl", [body])])
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_calls_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with pytest.raises(DataError, match="line 2: judge 'gpt-4o' scored this text of item 'hb-12' already"):
        import_verdicts([write(path, [line(), line()])])
    with pytest.raises(DataError, match="line 2: item 'hb-12' has expected 0 here, expected 1 as in"):
        import_verdicts([write(path, [line(), line(replicate=1, expected=0)])])
    assert import_verdicts([write(path, [line(), line(replicate=1)])]).datasheet


def test_scores_are_told_from_pairs_by_the_first_line(tmp_path: Path) -> None:
    assert holds_scores(write(tmp_path / "a.jsonl", [line()]))
    assert not holds_scores(write(tmp_path / "b.jsonl", [{"pair": "p", "answer": "1"}]))
    assert not holds_scores(tmp_path / "absent.jsonl")


def test_the_command(steelyard, tmp_path: Path) -> None:
    write(tmp_path / "scores.jsonl", pairs_of_calls([(1, n % 2, 1) for n in range(20)]))
    done = steelyard("import", "scores.jsonl", "--out", "sheet", "--full")
    assert done.returncode == 0, done.stderr
    assert "calls/items/clusters" in done.stdout
    before = (tmp_path / "sheet" / "datasheet.json").read_bytes()
    assert steelyard("report", "sheet").returncode == 0
    assert (tmp_path / "sheet" / "datasheet.json").read_bytes() == before
    write(tmp_path / "all-lost.jsonl", [line(score=None, outcome="unreadable")])
    lost = steelyard("import", "all-lost.jsonl", "--out", "lost")
    assert lost.returncode == 1
    assert "no readable verdict" in lost.stderr


def test_the_columns_are_those_of_single_observations(tmp_path: Path) -> None:
    lines = [
        *pairs_of_calls([(1, 1, 1), (0, 1, 0), (1, 0, 1)]),
        line(judge="z", score=None, outcome="abstain"),
        line(judge="a", replicate=10),
        line(judge="a", replicate=2),
    ]
    seen = import_verdicts([write(tmp_path / "x.jsonl", lines)]).observations
    again = Observations.of(list(reversed(list(seen))))
    assert list(again) == list(seen)
    for name in ("judges", "protocols", "verdicts", "usages", "prompts"):
        assert getattr(again, name) == getattr(seen, name)


def test_a_call_that_several_probes_tell_of_is_counted_once_on_every_line(
    command: Command, tmp_path: Path
) -> None:
    """Twelve items as they are, told by two probes, and an edit of each by either: 48 lines, 36 calls."""
    line = {"judge": "j", "protocol": "base", "score": 1, "expected": 1}
    lines = [
        json.dumps({**line, "probe": probe, "item": f"i{n}", "variant": variant}) + "\n"
        for probe in ("format_invariance_1", "format_invariance_2")
        for n in range(12)
        for variant in ("original", "perturbed")
    ]
    (tmp_path / "calls.jsonl").write_text("".join(lines), encoding="utf-8")
    told = command("import", "calls.jsonl", "--out", "sheet").out
    assert "calls · recorded profile · 36 calls" in told
    assert "36 recorded calls, none made" in told
    assert json.loads((tmp_path / "sheet" / "datasheet.json").read_text())["run"]["calls"] == 36


def test_failed_calls_that_were_recorded_are_asked_again_by_no_command_here(
    command: Command, tmp_path: Path
) -> None:
    lines = [
        json.dumps(
            {"judge": "j", "probe": "format_invariance_1", "item": f"i{n}", "variant": "original"}
            | {"protocol": "base", "expected": n % 2}
            | ({"score": None, "outcome": "failed"} if n % 5 == 0 else {"score": n % 2})
        )
        + "\n"
        for n in range(100)
    ]
    (tmp_path / "calls.jsonl").write_text("".join(lines), encoding="utf-8")
    told = command("import", "calls.jsonl", "--out", "sheet").out
    (verdict,) = json.loads((tmp_path / "sheet" / "datasheet.json").read_text(encoding="utf-8"))["verdicts"]
    assert (verdict["verdict"], verdict["remedy"]) == ("usable_with_care", Advice.FIX_CALLS.value)
    assert (verdict["next"]["step"], verdict["command"]) == (Step.RECORD.name, None)
    assert verdict["next"]["purpose"] in told
