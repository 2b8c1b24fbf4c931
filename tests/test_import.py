"""Recorded verdicts through the command: published judges come out as published, wrong lines are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run_command
from recorded_calls import observations_of, read_calls, sorted_calls
from steelyard.commands.gate.policy import find_policy
from steelyard.commands.gate.ruling import apply_policy
from steelyard.commands.import_verdicts import import_verdicts
from steelyard.datasheet.render import html
from steelyard.datasheet.render.clauses import fact_text
from steelyard.datasheet.render.data_files import dumps
from steelyard.errors import DataError
from steelyard.importing.pairs import PAIRS, VERDICTS
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.equals import vacuum_estimates
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.signal_detection import criterion_estimates
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.run_folder.run_folder import RESULTS
from strategies import make
from test_golden import JUDGES, PRINTED, ladder_of, vacuum_of

WORDS = ("1", "2", "tie", "abstain", "unreadable", "failed")
LINE = {
    "judge": "Qwen32B", "probe": "ladder", "protocol": "base", "task": "t03", "pair": "t03-d0-2", "delta": 0,
    "kind": "same_subset", "better": None, "first": "u", "answer": "1", "replicate": 0,
}  # fmt: skip
"""The example of the contract."""
NATURAL = {"judge": "a", "probe": "position", "kind": "natural", "pair": "p", "first": "u", "answer": "1"}
BOTH = {"item_id": "s#1", "judge": "a", "prompt": "CoT", "winner_AB": "1", "winner_BA": "2", "gold": "1"}
ONE = {"item_id": "s#1", "gold": "1", "verdict_a": "1", "response_1": "x"}


def lines_of(pairs: Pairs, **fixed: str) -> Iterator[dict[str, Any]]:
    """Both calls of each row, as the contract writes them."""
    for row in range(len(pairs)):
        for first, codes in (("u", pairs.u_first), ("v", pairs.v_first)):
            yield {
                **fixed,
                "task": pairs.clusters[pairs.cluster[row]],
                "pair": f"{fixed['probe']}-{pairs.names[pairs.pair[row]]}",
                "kind": str(pairs.kind[row]),
                "delta": None if fixed["probe"] == "vacuum" else float(pairs.delta[row]),
                "better": [None, "u", "v"][pairs.better[row]],
                "first": first,
                "answer": WORDS[codes[row]],
                "replicate": int(pairs.replicate[row]),
            }


def published() -> Iterator[dict[str, Any]]:
    """The four published judges; the strict one is the strict protocol of Qwen32B."""
    for judge, (decided, _, _) in JUDGES.items():
        name, _, protocol = judge.partition("-")
        arm = {"judge": name, "protocol": protocol or "base"}
        if decided is not None:
            yield from lines_of(vacuum_of(decided), probe="vacuum", **arm)
        yield from lines_of(ladder_of(judge), probe="ladder", **arm)


def write(path: Path, lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def as_read(rows: Any) -> dict[str, dict[str, Any]]:
    """Estimates by what they are about, through JSON."""
    bodies = [json.loads(json.dumps(row.to_json() if hasattr(row, "to_json") else row)) for row in rows]
    return {json.dumps([b["judge"], b["probe"], b["metric"], b["group"]], sort_keys=True): b for b in bodies}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the published judges."""
    folder = tmp_path_factory.mktemp("published")
    write(folder / "published.jsonl", published())
    done = run_command(folder, "import", "published.jsonl", "--out", "sheet", "--json")
    assert done.out == (folder / "sheet" / "datasheet.json").read_text(encoding="utf-8")
    return folder / "sheet"


def test_the_published_judges_come_out_as_published(imported: Path) -> None:
    sheet = json.loads((imported / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["study"]["name"] == "published"
    assert [j["name"] for j in sheet["judges"]] == ["Llama8B", "Qwen14B", "Qwen32B"]
    found = as_read(sheet["estimates"])
    for judge, (decided, _, _) in JUDGES.items():
        name, _, protocol = judge.partition("-")
        arm = protocol or "base"
        expected = ladder_estimates(EstimateContext.for_protocol(name, "ladder", arm, 7), ladder_of(judge))
        if decided is not None:
            expected += vacuum_estimates(
                EstimateContext.for_protocol(name, "vacuum", arm, 7), vacuum_of(decided)
            )
        for address, row in as_read(expected).items():
            assert found[address] == row, address
    shifts = criterion_estimates(
        EstimateContext.for_protocol("Qwen32B", "criterion", "strict", 7),
        vacuum_of(0),
        make([]),
        ladder_of("Qwen32B"),
        ladder_of("Qwen32B-strict"),
    )
    assert len(shifts) > 2
    for address, row in as_read(shifts).items():
        assert found[address] == row, address


def test_printed_intervals_reach_the_datasheet(imported: Path) -> None:
    """Counts and limits of the paper, without a detour over this project's own estimates."""
    rows = json.loads((imported / "datasheet.json").read_text(encoding="utf-8"))["estimates"]
    names = {
        "dark_current": "dark_current",
        "RFP0": "raw_false_preference",
        "SCS": "stable_cross_sensitivity",
        "PFP": "positional_false_preference",
        "OSC": "one_sided_commit",
    }
    checked_rows = 0
    for judge, metric, numerator, denominator, low, high in PRINTED:
        name, _, protocol = judge.partition("-")
        if metric not in names:
            continue
        group: dict[str, Any] = {"protocol": protocol or "base"}
        group |= {} if metric == "dark_current" else {"delta": 0, "kind": "same_subset"}
        (row,) = [r for r in rows if (r["judge"], r["metric"], r["group"]) == (name, names[metric], group)]
        (limits,) = [i for i in row["intervals"] if i["method"] == "wilson"]
        assert (row["numerator"], row["denominator"]) == (numerator, denominator)
        assert (limits["low"], limits["high"]) == pytest.approx((low, high), abs=6e-5)
        checked_rows += 1
    assert checked_rows >= 9


def test_the_folder_holds_every_file_and_report_rebuilds_it(steelyard, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [BOTH])
    assert steelyard("import", "a.jsonl", "--out", "small", "--name", "four", "--seed", 3).returncode == 0
    one = [line for line in published() if (line["judge"], line["protocol"]) == ("Qwen32B", "base")]
    write(tmp_path / "b.jsonl", one)
    assert steelyard("import", "b.jsonl", "--out", "large").returncode == 0
    for folder in (tmp_path / "small", tmp_path / "large"):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        sheets = {"datasheet.json", "datasheet.md", "datasheet.html", *RESULTS}
        assert set(before) == {"observations.jsonl", "import.json", *sheets}
        for name in sheets:
            (folder / name).unlink()
        done = steelyard("report", folder.name, "--format", "json")
        assert done.returncode == 0, done.stderr
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert after.pop(".published.json")
        assert after == before
        assert done.stdout.encode() == before["datasheet.json"]


def test_an_edited_folder_is_not_reported(steelyard, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [BOTH])
    assert steelyard("import", "a.jsonl", "--out", "o").returncode == 0
    calls, source = tmp_path / "o" / "observations.jsonl", tmp_path / "o" / "import.json"
    kept = calls.read_text()
    calls.write_text(kept.replace('"answer": "1"', '"answer": "2"', 1))
    done = steelyard("report", "o")
    assert done.returncode == 2
    assert "o/observations.jsonl: not the calls that were imported here" in done.stderr
    calls.write_text(kept)
    assert steelyard("report", "o").returncode == 0
    source.write_text("{}")
    done = steelyard("report", "o")
    assert done.returncode == 2
    assert "o/import.json: not the name and seed of an import" in done.stderr


def test_what_is_kept_can_be_imported_again(steelyard, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [BOTH, {**BOTH, "item_id": "s#2", "winner_BA": None}])
    assert steelyard("import", "a.jsonl", "--out", "o", "--name", "x").returncode == 0
    assert steelyard("import", "o/observations.jsonl", "--out", "o2", "--name", "x").returncode == 0
    for name in ("observations.jsonl", "datasheet.json"):
        assert (tmp_path / "o" / name).read_bytes() == (tmp_path / "o2" / name).read_bytes()


@pytest.mark.slow
def test_the_order_of_lines_and_files_does_not_matter(tmp_path: Path) -> None:
    lines = list(published())[::4]
    whole = write(tmp_path / "whole.jsonl", lines)
    parts = [write(tmp_path / f"{n}.jsonl", lines[n::2][::-1]) for n in (1, 0)]
    assert dumps(import_verdicts([whole], "x").datasheet) == dumps(import_verdicts(parts, "x").datasheet)


def test_another_folder_is_never_overwritten(steelyard, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [BOTH])
    write(tmp_path / "b.jsonl", [{**BOTH, "judge": "b"}])
    assert steelyard("measure", "-j", "planted/tie", "-p", "vacuum", "--out", "run").returncode == 0
    assert steelyard("import", "a.jsonl", "--out", "o").returncode == 0
    assert steelyard("import", "a.jsonl", "--out", "o").returncode == 0
    for out, held in (("run", "a measured run"), ("o", "other recorded verdicts")):
        done = steelyard("import", "b.jsonl", "--out", out)
        assert (done.returncode, done.stderr) == (
            2, f"steelyard: {out}: holds {held}; choose another --out.\n",
        )  # fmt: skip


def test_a_judge_without_any_verdict_ends_with_1(steelyard, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{**BOTH, "winner_AB": None, "winner_BA": None}])
    done = steelyard("import", "a.jsonl", "--out", "o")
    assert done.returncode == 1
    assert "judge a: no readable verdict in 2 calls" in done.stderr
    sheet = json.loads((tmp_path / "o" / "datasheet.json").read_text())
    (accuracy,) = [e for e in sheet["estimates"] if e["metric"] == "accuracy" and "slot" not in e["group"]]
    assert accuracy["value"] is None


def always_first(tasks: int, **fixed: str) -> list[dict[str, Any]]:
    """A judge that names slot 1 in every call, on pairs whose better text is u."""
    return [
        {"judge": "J", "probe": "ladder", "task": f"t{number}", "pair": f"p{number}", "kind": "prefix"}
        | {"delta": 1, "better": "u", "answer": "1", "first": "u"}
        | fixed
        for number in range(tasks)
    ]


def test_a_better_text_that_never_leaves_its_slot_shows_no_sensitivity(command, tmp_path: Path) -> None:
    write(tmp_path / "calls.jsonl", always_first(60))
    rows = json.loads(command("import", "calls.jsonl", "--out", "run", "--json").out)["estimates"]
    found = {row["metric"]: row for row in rows if row["group"].get("delta") == 1}
    seen = found["target_sensitivity"]
    assert (seen["numerator"], seen["denominator"], seen["bounds"]) == (60, 60, [0.5, 1.0])
    assert "one slot only" in seen["note"]
    assert "without a verdict" not in seen["note"]
    assert seen["finding"] == "inconclusive"
    assert [row["value"] for row in rows if row["metric"] == "delta75"] == [None]
    (tmp_path / "policy.yaml").write_text("target_sensitivity: {delta: 1, min: 0.8}\n")
    assert command("gate", "run", "--policy", "policy.yaml").code == 4


def test_a_better_text_that_seldom_leaves_its_slot_shows_no_sensitivity(command, tmp_path: Path) -> None:
    """Slot 1 in 190 of 200 calls, all right; in slot 2 none of 10: of both tried alike, half would be."""
    calls = [*always_first(200)[:190], *always_first(200, first="v")[190:]]
    write(tmp_path / "calls.jsonl", calls)
    body = json.loads(command("import", "calls.jsonl", "--out", "run", "--json").out)
    found = {row["metric"]: row for row in body["estimates"] if row["group"].get("delta") == 1}
    seen = found["target_sensitivity"]
    assert (seen["numerator"], seen["denominator"], seen["finding"]) == (190, 200, "inconclusive")
    # 180 calls are lacking in slot 2, where none of 10 tasks was right: Wilson's upper limit by t(9), with
    # the correlation that is assumed within tasks of one call.
    upper = wilson_cluster(Tally(np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.int64), 10, 10))[1]
    assert seen["bounds"] == pytest.approx([190 / 380, 190 / 200])
    assert (190 + 180 * upper) / 380 < 190 / 200
    stood = "the better text stood in slot 1 in 190 of 200 calls"
    assert seen["note"].startswith(f"{stood}; both slots counted alike, the share is 0.50; ")
    (threshold,) = [row for row in body["estimates"] if row["metric"] == "delta75"]
    untold = f"{stood}: not told from a preference for that slot"
    assert (threshold["value"], threshold["note"]) == (None, untold)
    (reading,) = [row for row in body["readings"] if row["title"] == "Sensitivity"]
    assert reading["sentence"].endswith(f"; {untold}")
    (tmp_path / "policy.yaml").write_text("target_sensitivity: {delta: 1, min: 0.8}\nflags: allow\n")
    done = command("gate", "run", "--policy", "policy.yaml")
    assert done.code == 4


def test_a_slot_that_was_tried_less_and_well_enough_leaves_the_word(tmp_path: Path) -> None:
    """Right in 140 of 140 calls in slot 1 and in 60 of 60 in slot 2: 80 lacking calls can not change much."""
    right = [{**call, "answer": "2"} for call in always_first(200, first="v")[140:]]
    calls = [*always_first(200)[:140], *right]
    estimates = import_verdicts([write(tmp_path / "calls.jsonl", calls)]).datasheet.estimates
    (found,) = [one for one in estimates if one.metric == "target_sensitivity" and "delta" in one.group]
    lower = wilson_cluster(Tally(np.ones(60, dtype=np.int64), np.ones(60, dtype=np.int64), 60, 60))[0]
    assert found.bounds == pytest.approx(((200 + 80 * lower) / 280, 1.0))
    assert (found.status, found.value) == ("clear", 1.0)
    (threshold,) = [one for one in estimates if one.metric == "delta75"]
    assert threshold.value == 1.0


def test_both_slots_tried_leave_sensitivity_to_the_calls(tmp_path: Path) -> None:
    calls = [*always_first(60)[:30], *always_first(60, first="v")[30:]]
    estimates = import_verdicts([write(tmp_path / "calls.jsonl", calls)]).datasheet.estimates
    (found,) = [one for one in estimates if one.metric == "target_sensitivity" and "delta" in one.group]
    assert (found.value, found.bounds, found.status) == (0.5, (0.5, 0.5), "flagged")


def test_the_position_probe_needs_recorded_pairs(steelyard) -> None:
    done = steelyard("measure", "-j", "planted/tie", "-p", "position")
    assert done.returncode == 2
    assert "holds no natural pairs; give data with two responses a row, use `steelyard import`" in done.stderr


WRONG = [
    ({**LINE, "colour": "red"}, "unknown key 'colour'"),
    ({k: v for k, v in LINE.items() if k != "answer"}, "no key 'answer' found"),
    (
        {**LINE, "answer": "A"},
        "answer: found 'A', expected '1', '2', 'tie', 'abstain', 'unreadable' or 'failed'",
    ),
    ({**LINE, "answer": 1}, "answer: found 1, expected '1'"),
    ({**LINE, "first": "A"}, "first: found 'A', expected 'u' or 'v'"),
    ({**LINE, "probe": "zero"}, "probe: found 'zero', expected 'vacuum', 'ladder' or 'position'"),
    ({**LINE, "kind": "natural"}, "kind is 'natural', expected prefix or same_subset"),
    ({**LINE, "kind": "prefix", "delta": 1}, "found delta 1.0 and better None"),
    ({**LINE, "kind": "prefix", "better": "u"}, "needs a delta above 0"),
    ({**LINE, "better": "u"}, "has no better text"),
    ({**LINE, "delta": 2}, "has no better text, found delta 2.0"),
    ({**LINE, "delta": "2"}, "delta: found '2', expected a number"),
    ({**LINE, "delta": float("nan")}, "delta: found nan, expected a finite number"),
    ({**LINE, "delta": -1}, "delta: found -1, expected a number from 0"),
    ({**LINE, "replicate": True}, "replicate: found True, expected a whole number"),
    ({**LINE, "replicate": 10**30}, "expected a number up to 1000000"),
    ({**LINE, "judge": ""}, "judge: found '', expected a name"),
    ({**LINE, "judge": "a\nb"}, "judge: found 'a\\nb', expected a name"),
    ({**LINE, "judge": "\ud800"}, "judge: found '\\ud800', expected a name"),
    ({"judge": "a", "item": "hb-12", "score": 1}, "pointwise"),
    ({**BOTH, "winner_AB": "A"}, "winner_AB: found 'A', expected '1', '2' or 'tie'"),
    ({k: v for k, v in BOTH.items() if k != "gold"}, "no key 'gold' found"),
    ({**BOTH, "answer": "1"}, "unknown key 'answer'"),
    ({**ONE, "verdict_a": "A"}, "verdict_a is 'A', expected"),
    ({**ONE, "verdict_a": ["1"]}, "verdict_a is ['1'], expected"),
    ({**ONE, "colour": "red"}, "unknown key 'colour'"),
    ([LINE], "found a list, expected one JSON object"),
]


@pytest.mark.parametrize(
    ("line", "told"), WRONG, ids=lambda value: value[:30] if isinstance(value, str) else ""
)
def test_a_wrong_line_is_refused_with_file_and_line(tmp_path: Path, line: Any, told: str) -> None:
    path = write(tmp_path / "a.jsonl", [LINE])
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(line) + "\n")
    with pytest.raises(DataError) as raised:
        import_verdicts([path])
    assert str(raised.value).startswith(f"{path}, line 3: ")
    assert told in str(raised.value)
    assert str(raised.value).count("\n") == 0


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (LINE, "answered pair 't03-d0-2' in this order already"),
        ({**LINE, "answer": "2"}, "answered pair 't03-d0-2' in this order already"),
        ({**LINE, "first": "v", "task": "t04"}, "pair 't03-d0-2' has task 't04' here, expected 't03'"),
        ({**LINE, "judge": "b", "kind": "filler"}, "has kind 'filler' here, expected 'same_subset'"),
    ],
)
def test_calls_must_agree_with_each_other(tmp_path: Path, second: dict[str, Any], told: str) -> None:
    one, two = write(tmp_path / "a.jsonl", [LINE]), write(tmp_path / "b.jsonl", [second])
    with pytest.raises(DataError, match=r"b\.jsonl, line 1: ") as raised:
        import_verdicts([one, two])
    assert told in str(raised.value)
    assert f"{one}, line 1" in str(raised.value)


def test_another_replicate_is_another_call(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [LINE, {**LINE, "replicate": 1}, {**LINE, "first": "v"}])
    assert len(import_verdicts([path]).calls) == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"\n  \n", "the file is empty"),
        (b"{", "line 1: not valid JSON"),
        (b'{"judge": "a", "judge": "b"}', "line 1: not valid JSON (key 'judge' stands there twice)"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        (b"[" * 100_000, "line 1: not valid JSON"),
    ],
)
def test_a_file_that_holds_no_verdicts_ends_with_2(
    steelyard, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    done = steelyard("import", "a.jsonl", "--out", "o")
    assert done.returncode == 2
    assert done.stderr.startswith("steelyard: a.jsonl")
    assert told in done.stderr
    assert not (tmp_path / "o").exists()


def test_a_file_that_is_not_there_ends_with_2(steelyard) -> None:
    done = steelyard("import", "none.jsonl", "--out", "o")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "none.jsonl: no such file in " in done.stderr


def test_a_byte_order_mark_and_line_separators_are_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = json.dumps({**ONE, "response_1": "x\u2028y"}, ensure_ascii=False)
    path.write_text("\ufeff" + text + "\r\n", encoding="utf-8", newline="")
    assert len(import_verdicts([path]).calls) == 1


def test_winners_by_identity_become_slots(tmp_path: Path) -> None:
    """With the second text first (BA), the winner "1" stands in slot 2."""
    path = write(
        tmp_path / "a.jsonl", [BOTH, {**BOTH, "item_id": "s#2", "winner_AB": None, "winner_BA": "tie"}]
    )
    found = {(c.pair.pair, c.first): c.answer for c in read_calls(path)}
    assert found == {
        ("s#1", "u"): "1", ("s#1", "v"): "1", ("s#2", "u"): "unreadable", ("s#2", "v"): "tie",
    }  # fmt: skip
    winners = {o.order: o.winner for o in observations_of(read_calls(path)) if o.stimulus.id == "s#1"}
    assert winners == {"uv": "u", "vu": "v"}


def test_a_first_stage_is_a_protocol_of_its_own(tmp_path: Path) -> None:
    line = {**BOTH, "prompt": "Swap", "winner_BA": "1", "stage1_AB": "1", "stage1_BA": "2"}
    sheet = import_verdicts([write(tmp_path / "a.jsonl", [line])]).datasheet
    assert sheet.find("a", "order_consistency", protocol="Swap").numerator == 1
    assert sheet.find("a", "flip_first", protocol="Swap(stage1)").numerator == 1


def test_a_verdict_says_that_only_other_prompts_were_recorded(tmp_path: Path) -> None:
    rows = [{**BOTH, "item_id": f"s#{n}", "winner_BA": "1"} for n in range(40)]
    (verdict,) = import_verdicts([write(tmp_path / "a.jsonl", rows)]).datasheet.verdicts
    assert [fact_text(fact) for fact in verdict.facts] == [
        "whether it tells good from bad was not measured with the prompt “base”, which a verdict is of; "
        "it was with others (CoT)"
    ]
    assert verdict.next is not None
    assert "name the prompt that is to be judged “base”" in verdict.next.purpose


@pytest.mark.parametrize("unread", [0, 1])
def test_pairs_in_one_order_leave_the_slot_open_for_sheet_and_gate(tmp_path: Path, unread: int) -> None:
    """Whether or not a call is missing too."""
    rows = [
        {**ONE, "item_id": f"s#{n}", "gold": "12"[n % 2], "verdict_a": "12"[n % 2] if n >= unread else None}
        for n in range(200)
    ]
    sheet = import_verdicts([write(tmp_path / "a.jsonl", rows)]).datasheet
    (verdict,) = sheet.verdicts
    assert verdict.next is not None
    assert "in the other order" in verdict.next.purpose
    found = {c.metric: c.result for c in apply_policy(sheet, find_policy("default"), ["a"], "o").checks}
    assert (found["merit"], found["net_slot_preference"]) == ("PASS", "INCONCLUSIVE")


answers = st.sampled_from(sorted(VERDICTS))
call_lines = st.builds(
    dict,
    judge=st.sampled_from(["a", "b"]),
    probe=st.just("position"),
    kind=st.just("natural"),
    pair=st.sampled_from(["p", "q", "r"]),
    first=st.sampled_from("uv"),
    answer=answers,
    protocol=st.sampled_from(["base", "terse"]),
    replicate=st.integers(0, 2),
)


@given(
    st.lists(
        call_lines,
        min_size=1,
        max_size=20,
        unique_by=lambda c: tuple(v for k, v in c.items() if k != "answer"),
    )
)
def test_calls_survive_the_way_to_the_file_and_back(tmp_path_factory, lines: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.mktemp("round") / "a.jsonl"
    first = sorted_calls(write(path, lines))
    second = sorted_calls(write(path, [call.to_json() for call in first]))
    assert [call.to_json() for call in first] == [call.to_json() for call in second]
    assert len(first) == len(lines)
    assert all(PAIRS.model.model_validate(call.to_json()) for call in first)


def test_a_page_of_natural_pairs_links_only_to_what_it_has(tmp_path: Path) -> None:
    page = html.render(import_verdicts([write(tmp_path / "a.jsonl", [BOTH])]).datasheet)
    targets = re.findall(r'href="#([\w-]+)"', page)
    assert targets
    assert all(f'id="{target}"' in page for target in targets)
