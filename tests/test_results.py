from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from commands import Command
from own_judges import measured, study_of
from pairs import pair
from scores import call
from steelyard.datasheet.results import Results
from steelyard.errors import StoreError
from steelyard.run_folder.published_files import write_results
from steelyard.run_folder.run_folder import PARQUET, RESULTS
from steelyard.verdicts.observations import Observation, Observations

RATER = "planted/rater?sensitivity=0.9&specificity=0.8&noise=0.1"


def rows_of(folder: Path) -> list[dict[str, str]]:
    """The rows of `results.csv`."""
    with (folder / "results.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def lines_of(results: Results) -> list[dict[str, object]]:
    return [json.loads(line) for line in "".join(results.jsonl()).splitlines()]


def cells_of(results: Results) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(results.csv()), newline="")))


def results(*observations: Observation, baselines: tuple[str, ...] = ()) -> Results:
    return Results(Observations.of(observations), baselines)


def test_an_answer_on_another_range_is_right_where_its_level_is_the_items() -> None:
    """Level 3 of 1-5 is 5 of 0-10; 6 lies nearest to it too, 7 is nearer to level 4."""
    edits = [
        call("a", answer, 5, scale="0-10", probe="score_range", replicate=answer) for answer in (4, 5, 6, 7)
    ]
    table = results(call("a", 4, 3, scale="1-5"), *edits)
    assert [(row["probe"], row["verdict"], row["right"]) for row in lines_of(table)] == [
        ("original", "4", False),
        ("score_range", "4", True),
        ("score_range", "5", True),
        ("score_range", "6", True),
        ("score_range", "7", False),
    ]
    assert [row["right"] for row in lines_of(results(*edits))] == [False, True, False, False]


def test_a_row_says_what_was_shown_what_was_answered_and_whether_it_is_right() -> None:
    table = results(
        call("a", 1, 1), call("b", 0, 1), call("c", "abstain", 0), call("d", "unreadable", 1), call("e", 1)
    )
    told = [
        (row["id"], row["item"], row["label"], row["verdict"], row["reason"], row["right"])
        for row in lines_of(table)
    ]
    assert told == [
        ("a/original", "a", "1", "1", None, True),
        ("b/original", "b", "1", "0", None, False),
        ("c/original", "c", "0", "abstain", None, False),
        ("d/original", "d", "1", "unreadable", "no answer", None),
        ("e/original", "e", None, "1", None, None),
    ]
    assert {(row["order"], row["winner"]) for row in lines_of(table)} == {(None, None)}


def test_a_pair_names_the_content_that_won_in_either_order() -> None:
    table = results(*pair("p", ("1", "1"), better="u"), *pair("q", ("tie", "2")))
    told = [
        (row["id"], row["order"], row["verdict"], row["winner"], row["label"], row["right"])
        for row in lines_of(table)
    ]
    assert told == [
        ("p", "uv", "1", "u", "u", True),
        ("p", "vu", "1", "v", "u", False),
        ("q", "uv", "tie", None, "tie", True),
        ("q", "vu", "2", "u", "tie", False),
    ]


def test_the_jury_is_the_answer_of_most_judges_under_test_on_the_same_presentation() -> None:
    votes = {"a": (1, 0, 1), "b": (1, 1, "unreadable"), "c": (0, 0, 0), "constant": (0, 0, 0)}
    table = results(
        *(
            call(f"i{item}", answer, 1, judge=judge)
            for judge, answers in votes.items()
            for item, answer in enumerate(answers)
        ),
        baselines=("constant",),
    )
    juries = {str(row["item"]): row["jury"] for row in lines_of(table)}
    assert juries == {"i0": "1", "i1": "0", "i2": "unreadable"}  # one against one, and the third vote is lost
    assert {row["judge"] for row in lines_of(table) if row["baseline"]} == {"constant"}


def test_two_judges_are_no_jury() -> None:
    table = results(
        call("a", 1, 1, judge="x"), call("a", 1, 1, judge="y"), call("a", 1, 1, judge="z"), baselines=("z",)
    )
    assert {row["jury"] for row in lines_of(table)} == {None}


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_of_a_users_text_is_a_formula(text: str) -> None:
    (row,) = cells_of(results(call(text, 1, 1, judge=text)))
    assert row["item"] == row["judge"] == f"'{text}"
    (line,) = lines_of(results(call(text, 1, 1, judge=text)))
    assert line["item"] == line["judge"] == text  # the line keeps the name that joins with stimuli.jsonl


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("+11", ""), ("-5", ""), ("@alice", ""), ("=A1", ""), ("=cmd|' /C calc'!A0", "'"), ("@SUM(A1)", "'")],
)
def test_the_id_joins_with_the_stimuli_unless_it_is_a_trap(name: str, prefix: str) -> None:
    observation = call(name, 1, 1)
    named = replace(observation.stimulus, id=f"{name}/format_invariance_1/0")
    (row,) = cells_of(results(replace(observation, stimulus=named)))
    assert row["id"] == f"{prefix}{named.id}"


def test_a_negative_number_stays_a_number() -> None:
    observation = call("a", 1, 1)
    stimulus = replace(observation.stimulus, stratum="-3.5")
    (row,) = cells_of(results(replace(observation, stimulus=stimulus)))
    assert row["stratum"] == "-3.5"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True))
def test_names_come_back_from_the_lines_whatever_they_hold(names: list[str]) -> None:
    table = results(*(call(name, 1, 1) for name in names))
    assert sorted(str(row["item"]) for row in lines_of(table)) == sorted(names)
    assert len(cells_of(table)) == len(names)  # line breaks and quotes stay inside their cells


def test_columns_say_what_single_observations_say() -> None:
    observations = [
        *pair("p", ("1", "tie"), better="v"),
        *pair("q", ("abstain", "failed")),
        *pair("r", ("2", "unreadable"), better="u", replicate=1),
    ]
    seen = Observations.of(observations)
    told = [(row["id"], row["order"], row["replicate"], row["winner"]) for row in lines_of(Results(seen))]
    assert told == [(o.stimulus.id, o.order, o.replicate, o.winner) for o in seen]


def test_an_empty_collection_is_a_header(tmp_path: Path) -> None:
    write_results(tmp_path, results())
    assert rows_of(tmp_path) == []
    assert (tmp_path / "results.jsonl").read_text() == ""
    assert parquet.read_table(tmp_path / "results.parquet").num_rows == 0


@pytest.mark.parametrize("taken", RESULTS)
def test_a_file_that_cannot_be_written_is_told_and_the_others_are_whole(tmp_path: Path, taken: str) -> None:
    sound = tmp_path / "sound"
    sound.mkdir()
    write_results(sound, results())
    folder = tmp_path / "taken"
    (folder / taken).mkdir(parents=True)
    with pytest.raises(StoreError, match=taken):
        write_results(folder, results())
    written = {path.name for path in folder.iterdir() if path.is_file()}
    assert written >= {PARQUET} - {taken}
    assert written <= {*RESULTS} - {taken}
    assert all((folder / name).read_bytes() == (sound / name).read_bytes() for name in written)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a rater beside a baseline; tests put back what they take from it."""
    folder = tmp_path_factory.mktemp("measured") / "run"
    body = {"judges": [RATER], "task": {"scale": "binary"}, "probes": ["typos", "stochastic_stability"]}
    measured(study_of(body, ("constant",)), folder)
    return folder


def test_every_run_has_its_results_and_a_report_writes_the_same_bytes(command: Command, run: Path) -> None:
    known = {json.loads(line)["id"] for line in (run / "stimuli.jsonl").read_text().splitlines()}
    rows = rows_of(run)
    assert {row["id"] for row in rows} == known
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert parquet.read_table(run / "results.parquet").to_pylist() == lines
    assert [row["id"] for row in rows] == [line["id"] for line in lines]
    assert {(line["judge"], line["baseline"]) for line in lines} == {
        ("planted/rater", False),
        ("constant", True),
    }
    before = {name: (run / name).read_bytes() for name in RESULTS}
    for name in before:
        (run / name).unlink()
    assert command("report", run).code == 0
    assert {name: (run / name).read_bytes() for name in before} == before


def test_the_accuracy_of_the_datasheet_can_be_counted_from_the_rows(run: Path) -> None:
    sheet = json.loads((run / "datasheet.json").read_text())
    mine = [r for r in rows_of(run) if r["judge"] == "planted/rater"]
    for kind in ("original", "perturbed"):
        rows = [r for r in mine if r["kind"] == kind]
        group = {"protocol": "base", **({"kind": "original"} if kind == "original" else {})}
        (figure,) = [
            e
            for e in sheet["estimates"]
            if (e["judge"], e["metric"], e["probe"], e["group"])
            == ("planted/rater", "accuracy", "typos", group)
        ]
        assert [r["right"] for r in rows].count("true") == figure["numerator"]
        assert sum(r["right"] != "" for r in rows) == figure["denominator"]


def test_imported_verdicts_have_results_too(command: Command, tmp_path: Path) -> None:
    lines = [
        {"judge": "j", "probe": "position", "task": "t", "pair": "=p", "kind": "natural", "better": "u"}
        | {"first": first, "answer": answer, "protocol": "base", "replicate": 0}
        for first, answer in (("u", "1"), ("v", "1"))
    ]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command("import", "calls.jsonl", "--out", "run").code == 0
    told = [(row["id"], row["winner"], row["right"]) for row in rows_of(tmp_path / "run")]
    assert told == [("=p", "u", "true"), ("=p", "v", "false")]


def test_without_pyarrow_there_is_no_parquet_and_doctor_says_so(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results.parquet").write_bytes(b"of an earlier sitting")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    write_results(tmp_path, results())
    done = command("doctor")
    assert done.code == 0, done.err
    assert {path.name for path in tmp_path.iterdir()} == {"results.csv", "results.jsonl"}
    assert "pyarrow is not installed" in done.out


def test_columns_of_the_data_are_kept_beside_the_verdicts(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"r{n},q,a {n},{n % 2},{'' if n == 2 else f'=site {n}'},note {n}\n" for n in range(6))
    (tmp_path / "items.csv").write_text("name,question,answer,ok,source,note\n" + rows)
    study = {
        "judges": ["planted/rater"],
        "task": {"scale": "binary", "rubric": "What is asked for counts.\n"},
        "data": {
            "path": "items.csv",
            "columns": {"id": "name", "request": "question", "response": "answer", "label": "ok"},
            "keep": ["source"],
        },
        "probes": ["format_invariance_1"],
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    measured(study_of(tmp_path / "study.yaml"), tmp_path / "run")
    (tmp_path / "items.csv").unlink()
    before = [(tmp_path / "run" / f"results.{form}").read_text() for form in ("csv", "jsonl")]
    assert command("report", "run", "--verify").code == 0
    table, lines = [(tmp_path / "run" / f"results.{form}").read_text() for form in ("csv", "jsonl")]
    assert [table, lines] == before
    cells, bodies = (
        list(csv.DictReader(table.splitlines())),
        [json.loads(line) for line in lines.splitlines()],
    )
    for found, mark in ((cells, "'"), (bodies, "")):
        kept = {(row["item"], row["data.source"] or None) for row in found}
        assert kept == {(f"r{n}", None if n == 2 else f"{mark}=site {n}") for n in range(6)}
        assert "data.note" not in found[0]
    assert "site" not in (tmp_path / "run" / "stimuli.jsonl").read_text()
    study["data"]["keep"] = ["sauce"]
    (tmp_path / "items.csv").write_text("name,question,answer,ok,source,note\n" + rows)
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    assert "no column 'sauce' for keep; did you mean 'source'?" in command("plan", "study.yaml").err


def test_the_jury_is_compared_with_another_column_too(command: Command, tmp_path: Path) -> None:
    """Every figure of the jury against `expert2` counted from the rows of results.csv."""
    rows = "".join(
        f"r{n},q {n},a {n},{n % 2},{'' if n == 7 else 'yes' if (n % 2) != (n % 5 == 0) else 'no'}\n"
        for n in range(40)
    )
    (tmp_path / "items.csv").write_text("name,question,answer,ok,expert2\n" + rows)
    columns = {"id": "name", "request": "question", "response": "answer", "label": "ok"}
    study: dict[str, Any] = {
        "judges": [
            {"model": "planted/rater", "name": f"j{n}", "sensitivity": 0.7 + n / 20, "specificity": 0.8}
            for n in range(3)
        ],
        "task": {"scale": "binary", "rubric": "What is asked for counts.\n"},
        "data": {"path": "items.csv", "columns": columns, "jury_reference": "expert2"},
        "probes": ["format_invariance_1"],
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    measured(study_of(tmp_path / "study.yaml"), tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    votes = {
        row["item"]: (row["jury"], row["data.expert2"])
        for row in lines
        if row["judge"] == "j0" and row["kind"] == "original" and row["data.expert2"] is not None
    }
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    figures = {e["metric"]: e for e in sheet["panel"] if e["group"].get("reference") == "expert2"}
    right = sum(vote == label for vote, label in votes.values())
    assert len(votes) == 39
    assert (figures["jury_accuracy"]["numerator"], figures["jury_accuracy"]["denominator"]) == (right, 39)
    missed = [vote for vote, label in votes.values() if label == "1"]
    assert figures["jury_false_negative_rate"]["numerator"] == missed.count("0")
    assert figures["jury_false_negative_rate"]["denominator"] == len(missed)
    own = next(e for e in sheet["panel"] if e["metric"] == "jury_accuracy" and e["probe"] == "original")
    assert own["numerator"] != right
    page = (tmp_path / "run" / "datasheet.html").read_text()
    assert "majority of all 3, against expert2" in page
    before = (tmp_path / "run" / "datasheet.json").read_text()
    assert command("report", "run", "--verify").code == 0
    assert (
        json.loads(before)["panel"] == json.loads((tmp_path / "run" / "datasheet.json").read_text())["panel"]
    )
    (tmp_path / "items.csv").write_text("name,question,answer,ok,expert2\nr1,q,a,1,perhaps\n")
    assert "column 'expert2' holds 'perhaps', expected one of" in command("plan", "study.yaml").err
