"""The table of ratings: long and wide tables, kinds that are never guessed, and what a file supports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from commands import Command
from steelyard.errors import ConfigError, DataError
from steelyard.importing.rating_reader import read_ratings
from steelyard.importing.ratings import Rating, RatingColumns, RatingsTable
from steelyard.survey.rating_files import load_ratings, rating_checks

LONG = "item,rater,kind,value,task,run\n1,gpt,judge,pass,t1,\n1,ann,human,1,t1,\n2,gpt,judge,0,t1,\n"


def written(folder: Path, text: str, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, name: str = "r.csv", **how: str | list[str] | None) -> RatingsTable:
    return read_ratings(written(folder, text, name), RatingColumns.parse(**how))  # type: ignore[arg-type]


def test_a_long_table(tmp_path: Path) -> None:
    table = read(tmp_path, LONG)
    assert table.ratings == (
        Rating("1", "gpt", "judge", 1.0, task="t1"),
        Rating("1", "ann", "human", 1.0, task="t1"),
        Rating("2", "gpt", "judge", 0.0, task="t1"),
    )
    assert table.raters("judge") == {"gpt": 2}


def test_jsonl_and_parquet_say_the_same_as_csv(tmp_path: Path) -> None:
    rows = [
        {"item": "1", "rater": "gpt", "kind": "LLM_JUDGE", "value": True, "p_drawn": 0.5},
        {"item": "1", "rater": "ann", "kind": "HUMAN", "value": 0, "p_drawn": 0.5},
    ]
    lines = read(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "r.jsonl")
    expected = (
        Rating("1", "gpt", "judge", 1.0, p_drawn=0.5),
        Rating("1", "ann", "human", 0.0, p_drawn=0.5),
    )
    assert lines.ratings == expected
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    stored = [{**row, "value": float(row["value"])} for row in rows]  # type: ignore[arg-type]
    parquet.write_table(pyarrow.Table.from_pylist(stored), tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet", RatingColumns()).ratings == expected


def test_a_wide_table_by_named_columns(tmp_path: Path) -> None:
    text = "id,verdict,human,topic\nx,good,yes,a\ny,bad,,b\nz,,no,b\n"
    table = read(
        tmp_path,
        text,
        columns="item=id,stratum=topic",
        judges=["verdict"],
        people=["human"],
        values="good=1,bad=0",
    )
    assert table.ratings == (
        Rating("x", "verdict", "judge", 1.0, stratum="a"),
        Rating("x", "human", "human", 1.0, stratum="a"),
        Rating("y", "verdict", "judge", 0.0, stratum="b"),
        Rating("z", "verdict", "judge", None, stratum="b"),  # no verdict is no 0
        Rating("z", "human", "human", 0.0, stratum="b"),
    )


def test_comparisons_know_both_systems(tmp_path: Path) -> None:
    text = "n,model_a,model_b,human,j\n1,p,q,model_a,B\n2,q,p,tie_bothbad,tie\n"
    columns = "item=n,system_a=model_a,system_b=model_b"
    table = read(tmp_path, text, columns=columns, judges=["j"], people=["human"])
    assert [(r.system, r.versus, r.rater, r.value) for r in table.ratings] == [
        ("p", "q", "j", 0.0),
        ("p", "q", "human", 1.0),
        ("q", "p", "j", 0.5),
        ("q", "p", "human", 0.5),
    ]
    assert table.systems == ["p", "q"]


def test_repeats_of_a_judge_are_numbered(tmp_path: Path) -> None:
    table = read(tmp_path, "item,rater,kind,value\n1,g,judge,1\n1,g,judge,0\n")
    assert [rating.run for rating in table.ratings] == ["", "1"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("item,rater,kind,value\n1,gpt,,1\n", "rater 'gpt' is of kind '', expected human, judge or code"),
        ("item,rater,kind,value\n1,gpt,model,1\n", "the kind is never guessed"),
        ("item,rater,kind,value\n1,,judge,1\n", "row 1: the rater is empty"),
        ("item,rater,kind,value\n,g,judge,1\n", "row 1: the item is empty"),
        ("item,rater,kind,value\n1,g,judge,superb\n", "holds 'superb', expected a number"),
        ("item,rater,kind\n1,g,judge\n", "columns rater and kind without value"),
        ("item,rater,kind,value\n1,ann,human,1\n1,ann,human,0\n", "ann rated item '1' twice"),
        ("item,rater,kind,value\n1,ann,human,1\n2,ann,judge,0\n", "'ann' is of kind human and of kind judge"),
        ("item,rater,kind,value\n1,g,judge,1e16\n", "expected a number up to 1e+15"),
        ("item,rater,kind,value,run\n1,g,judge,1,a\n1,g,judge,0,a\n", "twice in run 'a'"),
        ("item,rater,kind,value,p_drawn\n1,g,judge,1,0\n", "p_drawn is '0', expected the item's chance"),
        ("id,mark\n1,1\n", "no columns rater and kind, expected who rated"),
        ("id,mark\n1,1\n", "found: 'id', 'mark'; name the judge's column and people's, as in --judge mark"),
        ("id,verdict,score\n1,1,0\n", "columns 'verdict' and 'score' could each be the judge's"),
        ("id,mark,verdict,human,expert\n1,1,1,1,0\n", "say which with --people human"),
    ],
)
def test_a_table_that_says_too_little_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DataError, match=r".") as caught:
        read(tmp_path, text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"columns": "itm=id"}, "unknown key 'itm' (did you mean 'item'?)"),
        ({"values": "good=much"}, "--values: "),
        ({"where": "split"}, "--where: found 'split'"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path: Path, how: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=r".") as caught:
        read(tmp_path, LONG, **how)  # type: ignore[arg-type]
    assert told in str(caught.value)


def checks(table: RatingsTable) -> dict[str, tuple[str, str]]:
    return {check.subject: (check.state, check.found) for check in rating_checks(table)}


def test_what_a_file_without_people_supports(tmp_path: Path) -> None:
    rows = "item,rater,kind,value,system\n1,g,judge,1,p\n1,g,judge,0,q\n"
    found = checks(read(tmp_path, rows))
    assert (found["correction"][0], "no human" in found["correction"][1]) == ("absent", True)
    assert (found["ranking"][0], "2 systems" in found["ranking"][1]) == ("ok", True)


def test_what_labels_support(tmp_path: Path) -> None:
    found = checks(read(tmp_path, LONG + "1,bob,human,0,t1,\n3,ann,human,0,t1,\n"))
    assert (found["ratings"][0], re.findall(r"\d", found["ratings"][1])) == ("ok", ["5", "3"])
    assert (found["people"][0], re.findall(r"\w+ \(\d\)", found["people"][1])) == (
        "ok",
        ["ann (2)", "bob (1)"],
    )
    assert (found["correction"][0], found["correction"][1].startswith("1 item ")) == ("ok", True)
    assert "--design" in found["correction"][1]
    assert found["agreement"][0] == "ok"
    assert found["ranking"][0] == "absent"
    apart = checks(read(tmp_path, "item,rater,kind,value\n1,g,judge,1\n2,ann,human,1\n"))
    assert "labels from elsewhere" in apart["correction"][1]


def test_doctor_says_what_a_file_supports(command: Command, tmp_path: Path) -> None:
    written(tmp_path, LONG)
    done = command("doctor", "r.csv")
    assert done.code == 0
    assert "1 item judged" in " ".join(done.out.split())
    written(tmp_path, "id,j,h\n1,1,0\n", "wide.csv")
    done = command("doctor", "wide.csv")
    assert done.code == 0
    words = ["steelyard", "import", "wide.csv", "--columns", "score=j,expected=h,item=id"]
    assert words in [line.split()[:5] for line in done.out.splitlines()]
    done = command("doctor", "wide.csv", "-j", "j", "--people", "h", "--columns", "item=id")
    assert done.code == 0
    assert "h (1)" in done.out


def test_doctor_takes_no_column_of_texts_for_a_judge(command: Command, tmp_path: Path) -> None:
    """A team A or B is no verdict on one text; a column of numbers is one only if the user says so."""
    for column, cells, imported in (("team", "AB", False), ("priority", "13", True)):
        rows = "".join(
            f"T{n},ask {n},so {n},{'PASS' if n % 3 else 'FAIL'},{cells[n % 2]}\n" for n in range(12)
        )
        written(tmp_path, f"ticket,question,answer,human verdict,{column}\n{rows}", f"{column}.csv")
        done = command("doctor", f"{column}.csv")
        assert f"steelyard measure --data {column}.csv --prompt FILE -j MODEL" in done.out
        assert (f"steelyard import {column}.csv" in done.out) is imported


def test_a_run_of_pairs_has_no_ratings_of_single_items(command: Command, tmp_path: Path) -> None:
    command("measure", "-j", "planted/tie", "-p", "vacuum", "--profile", "quick", "--out", "pairs")
    done = command("estimate", "pairs", "--design", "random")
    assert (done.code, "pairs: no verdicts" in done.err) == (2, True), done.err


def test_a_run_folder_as_ratings(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"how {n}?,so {n},{n % 2}\n" for n in range(30))
    written(tmp_path, "q,a,ok\n" + rows, "items.csv")
    written(tmp_path, "What is asked for counts.\n", "rubric.md")
    made = command(
        *("measure", "-j", "planted/rater", "--data", "items.csv", "--scale", "binary", "--out", "run"),
        *("--columns", "request=q,response=a,label=ok", "--rubric", "rubric.md"),
        *("-p", "stochastic_stability"),
    )
    assert made.code == 0, made.err
    bare = load_ratings(tmp_path / "run", RatingColumns())
    assert set(bare.raters("judge")) == {"planted/rater"}
    assert bare.raters("human") == {}  # whether a label is a person's is said, not guessed
    told = load_ratings(tmp_path / "run", RatingColumns(people=("label",)))
    assert told.raters("human") == {"label": 30}
    with pytest.raises(ConfigError, match="no people 'ann' in a run folder"):
        load_ratings(tmp_path / "run", RatingColumns(people=("ann",)))
    with pytest.raises(ConfigError, match=r"no results\.jsonl found"):
        load_ratings(tmp_path, RatingColumns())
    done = command("estimate", "run", "--people", "label", "--design", "random")
    assert done.code == 0, done.err
    body = json.loads((tmp_path / "run" / "estimate.json").read_text())
    assert body["corrected"]["value"] == pytest.approx(0.5)  # every item is labelled
    written(tmp_path, "corrected_pass_rate: {min: 0.4}\nflags: allow\n", "policy.yaml")
    gated = command("gate", "run", "--policy", "policy.yaml")
    assert (gated.code, "corrected pass rate" in gated.out) == (0, True), gated.err
    written(tmp_path, "corrected_pass_rate: {min: 0.6}\nflags: allow\n", "policy.yaml")
    assert command("gate", "run", "--policy", "policy.yaml").code == 3
    command("estimate", "run", "--people", "label", "--design", "random", "--confidence", "0.8")
    other = command("gate", "run", "--policy", "policy.yaml")
    assert (other.code, re.findall(r"\d\d %", other.err)) == (2, ["80 %", "95 %"])
    command("estimate", "run", "--people", "label", "--design", "random")
    results = tmp_path / "run" / "results.jsonl"
    results.write_text(results.read_text() + "\n")
    stale = command("gate", "run", "--policy", "policy.yaml")
    assert (stale.code, "of other results" in stale.err) == (2, True)
    for broken in ("{}", "[]", "{", '{"schema": "steelyard.estimate/9"}', json.dumps({**body, "bounds": []})):
        written(tmp_path / "run", broken, "estimate.json")
        done = command("gate", "run", "--policy", "policy.yaml")
        assert (done.code, "not an estimate" in done.err) == (2, True), broken


def test_an_edited_estimate_is_not_certified(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one of results that were edited before it was made."""
    written(tmp_path, "q,a,ok\n" + "".join(f"how {n}?,so {n},{n % 2}\n" for n in range(30)), "items.csv")
    written(tmp_path, "What is asked for counts.\n", "rubric.md")
    command(
        *("measure", "-j", "planted/rater", "--data", "items.csv", "--scale", "binary", "--out", "run"),
        *("--columns", "request=q,response=a,label=ok", "--rubric", "rubric.md"),
        *("-p", "stochastic_stability"),
    )
    estimate = ("estimate", "run", "--people", "label", "--design", "random")
    gate = ("gate", "run", "--policy", "policy.yaml")
    written(tmp_path, "corrected_pass_rate: {min: 0.6}\nflags: allow\n", "policy.yaml")
    command(*estimate)
    assert command(*gate).code == 3
    path = tmp_path / "run" / "estimate.json"
    kept = path.read_text()
    body = json.loads(kept)
    body["corrected"] |= {"value": 0.9, "low": 0.85, "high": 0.95}
    for signed in (body, {name: value for name, value in body.items() if name != "signature"}):
        path.write_text(json.dumps(signed))
        edited = command(*gate)
        assert (edited.code, "estimate.json: not as" in edited.err) == (2, True), edited.err
    path.write_text(kept)
    assert command(*gate).code == 3
    (tmp_path / "file").touch()
    with monkeypatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(tmp_path / "file" / "cache"))
        without = command(*gate)
    assert (without.code, "set STEELYARD_CACHE" in without.err) == (2, True)
    results = tmp_path / "run" / "results.jsonl"
    results.write_text(re.sub(r'"label": ?"?0"?', '"label": "1"', results.read_text()))
    assert json.loads(command(*estimate, "--json").out)["corrected"]["value"] > 0.9
    forged = command(*gate)
    assert (forged.code, "of the replies" in forged.err) == (2, True), forged.err
    assert command("report", "run").code == 0
    command(*estimate)
    assert command(*gate).code == 3
