"""Rows of one item or task are one audit: the trust file holds the columns that say so."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from commands import Done, run_command
from docs_pages import ROOT
from steelyard.core.content_hash import content_hash

VERDICTS = ROOT / "examples" / "verdicts.csv"
FIT = ("--people", "human", "--error", "0.08", "--judge", "quick")
WIDE = ("--signal", "quick=quick_sure")


def fit(folder: Path, file: str, *options: str) -> dict[str, Any]:
    run_command(folder, "trust", "fit", file, *FIT, *options, "--out", "t.json")
    body: dict[str, Any] = json.loads((folder / "t.json").read_text())
    return body


def check(folder: Path, file: str, *options: str) -> tuple[int, int, float]:
    """Audits, wrong ones and the evidence against the promise."""
    run_command(folder, "trust", "check", "t.json", file, *options, "--out", "check.json")
    body = json.loads((folder / "check.json").read_text())
    return body["audits"], body["wrong"], round(body["evidence"], 3)


def write(path: Path, rows: Iterable[Mapping[str, str]], times: int = 1) -> None:
    repeated = [row for row in rows for _ in range(times)]
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, repeated[0])
        table.writeheader()
        table.writerows(repeated)


def labelled() -> list[dict[str, str]]:
    """Ninety sure answers with labels, of which each ninth was made wrong."""
    with VERDICTS.open(newline="") as file:
        sure = [row for row in csv.DictReader(file) if row["human"] and float(row["quick_sure"]) > 0.8][:90]
    for row in sure[8::9]:
        row["human"] = {"pass": "fail", "fail": "pass"}[row["quick"]]
    return sure


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same audits once, three and eight times; of items, and of tasks whose items differ."""
    folder = tmp_path_factory.mktemp("audits")
    (folder / "verdicts.csv").write_bytes(VERDICTS.read_bytes())
    with VERDICTS.open(newline="") as file:
        write(folder / "topics.csv", [row | {"topic": f"t{row['id']}"} for row in csv.DictReader(file)])
    for times in (1, 3, 8):
        write(folder / f"a{times}.csv", labelled(), times)
        tasks = [
            row | {"id": f"{row['id']}.{n}", "topic": f"t{row['id']}"}
            for row in labelled()
            for n in range(times)
        ]
        write(folder / f"t{times}.csv", tasks)
    return folder


@pytest.mark.parametrize("times", [1, 3, 8])
def test_rows_of_an_item_are_one_audit_without_naming_its_column_again(audits: Path, times: int) -> None:
    body = fit(audits, "verdicts.csv", *WIDE, "--columns", "item=id")
    assert check(audits, f"a{times}.csv") == (90, 12, 0.411)
    assert body["columns"] == {"item": "id"}


@pytest.mark.parametrize("times", [1, 3, 8])
def test_rows_of_a_task_are_one_audit(audits: Path, times: int) -> None:
    body = fit(audits, "topics.csv", *WIDE, "--columns", "task=topic,item=id")
    assert check(audits, f"t{times}.csv") == (90, 12, 0.411)
    assert body["columns"] == {"task": "topic", "item": "id"}


def test_columns_that_are_given_go_before_those_of_the_fit(audits: Path) -> None:
    fit(audits, "topics.csv", *WIDE, "--columns", "item=id")
    assert check(audits, "t3.csv") == (270, 36, 4.651)
    assert check(audits, "t3.csv", "--columns", "item=topic") == (90, 12, 0.411)


def without_columns(folder: Path) -> None:
    """As a version wrote it that stored no columns."""
    body = json.loads((folder / "t.json").read_text())
    plain = {key: value for key, value in body.items() if key not in ("columns", "digest")}
    (folder / "t.json").write_text(json.dumps({**plain, "digest": content_hash(plain)}))


def test_a_file_of_an_earlier_version_says_that_each_row_is_an_audit(audits: Path) -> None:
    fit(audits, "verdicts.csv", *WIDE, "--columns", "item=id")
    told = "Each row was taken as an audit of its own, since no column names the items"
    assert told not in words(run_command(audits, "trust", "check", "t.json", "a8.csv"))
    without_columns(audits)
    done = run_command(audits, "trust", "check", "t.json", "a8.csv", code=3)
    assert "96 of 720 audited answers are wrong" in words(done)
    assert told in words(done)
    assert check(audits, "a8.csv", "--columns", "item=id") == (90, 12, 0.411)


def words(done: Done) -> str:
    return " ".join(done.out.split())


@pytest.mark.parametrize(("part", "column"), [("item", "id"), ("task", "topic")])
def test_a_file_without_the_column_of_the_fit_is_refused(audits: Path, part: str, column: str) -> None:
    fit(audits, "topics.csv", *WIDE, "--columns", f"{part}={column}")
    rows = [{"nr" if key == column else key: cell for key, cell in row.items()} for row in labelled()]
    rows = [row if part == "item" else row | {"nr": row["id"]} for row in rows]
    write(audits / "other.csv", rows, 3)
    done = run_command(audits, "trust", "check", "t.json", "other.csv", code=2)
    assert f"other.csv: no column '{column}' for {part}, as in the fit; found: " in done.err
    assert f"name its column with --columns {part}=COLUMN." in done.err
    assert len(done.err.splitlines()) == 1
    assert check(audits, "other.csv", "--columns", f"{part}=nr") == (90, 12, 0.411)
    run_command(audits, "trust", "apply", "t.json", "other.csv")  # which counts nothing by it


def test_a_long_table_goes_round_without_naming_its_columns_again(audits: Path) -> None:
    for source, name in ((VERDICTS, "long.csv"), (audits / "a1.csv", "audits.csv")):
        with source.open(newline="") as file:
            rows = list(csv.DictReader(file))
        quick = [{"nr": r["id"], "who": "quick", "said": r["quick"], "sure": r["quick_sure"]} for r in rows]
        people = [{"nr": r["id"], "who": "human", "said": r["human"], "sure": ""} for r in rows if r["human"]]
        write(audits / name, quick + people)
    columns = "item=nr,rater=who,value=said,confidence=sure"
    body = fit(audits, "long.csv", "--signal", "quick confidence", "--columns", columns)
    assert check(audits, "audits.csv") == (90, 12, 0.411)
    run_command(audits, "trust", "apply", "t.json", "long.csv", "--out", "decided.csv")
    assert check(audits, "decided.csv")[:2] == (363, body["stages"][0]["labels"]["wrong"])


def test_the_odds_of_the_fit_are_not_those_of_the_audits(audits: Path) -> None:
    """Rows that are audited later were not drawn at them, and have none."""
    with VERDICTS.open(newline="") as file:
        rows = [row | {"odds": "0.5" if row["human"] else ""} for row in csv.DictReader(file)]
    write(audits / "drawn.csv", rows)
    fit(audits, "drawn.csv", *WIDE, "--columns", "item=id,p_drawn=odds")
    write(audits / "later.csv", [row | {"odds": ""} for row in labelled()])
    assert check(audits, "later.csv") == (90, 12, 0.411)


def test_the_decided_table_of_the_guide_is_known_as_that_of_the_fit(audits: Path) -> None:
    fit(audits, "verdicts.csv", *WIDE, "--columns", "item=id")
    run_command(audits, "trust", "apply", "t.json", "verdicts.csv", "--out", "decided.csv")
    done = run_command(audits, "trust", "check", "t.json", "decided.csv")
    assert "These are the labels on which the promise was fitted" in words(done)


@pytest.mark.parametrize("times", [1, 20])
def test_copies_of_a_row_do_not_make_another_share_surer(audits: Path, times: int) -> None:
    """8 of 20 items are accepted, where 60.9 % were: too few to tell, however often each is written."""
    body = fit(audits, "verdicts.csv", *WIDE, "--columns", "item=id")
    sure = body["stages"][0]["threshold"]
    rows = [{"id": f"n{n}", "quick": "pass", "quick_sure": str(sure - 0.01 * (n >= 8))} for n in range(20)]
    write(audits / "new.csv", rows, times)
    done = run_command(audits, "trust", "apply", "t.json", "new.csv", "--json")
    counts = json.loads(done.out)
    assert (counts["rows"], counts["accepted"]["quick"]) == (20 * times, 8 * times)
    assert counts["is_like_fit"]
