"""Recorded verdicts: judges that keep to the middle, errors of each label, and what was not measured."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from commands import Command
from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
from steelyard.datasheet.conclusion import CARE
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.render.markdown import render as markdown
from steelyard.datasheet.sections.summary import not_measured
from steelyard.importing.mapped_columns import MappedTable
from steelyard.importing.recorded_columns import parse_recorded_columns

COLUMNS = MappedTable(parse_recorded_columns("item=item,judge=judge,score=score,expected=expected"))


def write(path: Path, rows: Sequence[tuple[str, str, object, int]]) -> Path:
    lines = ["item,judge,score,expected", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def graded(path: Path, judges: int, slope: float) -> Path:
    """Scores from 1 to 5 of 200 texts for each judge, which lie `slope` times as far from 3 as the labels."""
    chance = np.random.default_rng([judges, int(100 * slope)])
    rows = []
    for judge in range(judges):
        labels = chance.integers(1, 6, 200)
        given = np.clip(np.rint(3 + slope * (labels - 3) + 0.35 * chance.normal(size=200)), 1, 5)
        pairs = zip(given.astype(int).tolist(), labels.tolist(), strict=True)
        rows += [(f"{judge}-{n}", f"j{judge}", score, label) for n, (score, label) in enumerate(pairs)]
    return write(path, rows)


@pytest.mark.slow
def test_a_judge_that_keeps_to_the_middle_is_named(tmp_path: Path) -> None:
    for slope, share in ((0.5, 8), (1.0, 0)):
        sheet = import_verdicts([graded(tmp_path / f"{slope}.csv", 8, slope)], "t", 7, COLUMNS).datasheet
        assert sum(Cause.SPREAD in verdict.causes for verdict in sheet.verdicts) == share
        if share:
            assert {verdict.word for verdict in sheet.verdicts} == {CARE}
            assert "to the middle" in markdown(sheet)


@pytest.mark.parametrize("score", [None, 3])
def test_a_judge_without_any_error_and_one_without_any_spread_have_ends(
    score: int | None, tmp_path: Path
) -> None:
    rows = [(f"i{n}", "j", score or 1 + n % 5, 1 + n % 5) for n in range(60)]
    sheet = import_verdicts([write(tmp_path / "t.csv", rows)], "t", 7, COLUMNS).datasheet
    (ratio,) = [e for e in sheet.estimates if (e.metric, e.probe) == ("compression", "original")]
    assert ratio.value == pytest.approx(0.0 if score else 1.0)
    assert ratio.interval is not None
    assert ratio.interval.high is not None
    # 60 texts, a cluster each: the share of others that fits at t = 2.00 is t²/(60 + t²) = .063.
    assert (ratio.interval.low, ratio.interval.high) == pytest.approx(
        (0.0, 0.0) if score else (0.937, 1.063), abs=2e-3
    )
    assert (Cause.SPREAD in sheet.verdict.causes) is False


def test_what_it_does_with_either_label_stands_on_the_first_screen(command: Command, tmp_path: Path) -> None:
    # 40 that should pass, 38 passed; 60 that should fail, 33 failed.
    rows = [(f"p{n}", "j", int(n < 38), 1) for n in range(40)]
    rows += [(f"f{n}", "j", int(n >= 33), 0) for n in range(60)]
    path = write(tmp_path / "t.csv", rows)
    columns = "item=item,judge=judge,score=score,expected=expected"
    done = command("import", path, "--columns", columns, "--out", "sheet")
    # 2 of 40 and 27 of 60 by Wilson.
    said = (
        "Of the answers that should pass it failed 0.05 [0.01, 0.17], of those that should fail it passed "
        "0.45 [0.33, 0.58]."
    )
    assert said in " ".join(done.out.split())
    assert said in (ImportFolder(Path("sheet")).path / "datasheet.md").read_text().replace("\\", "")
    page = (Path("sheet") / "datasheet.html").read_text()
    assert all(share in page for share in ("0.05 [0.01, 0.17]", "0.45 [0.33, 0.58]"))
    body = json.loads((Path("sheet") / "datasheet.json").read_text())
    (reading,) = [each for each in body["readings"] if each["title"] == "Errors by label"]
    assert reading["sentence"] == said.rstrip(".").replace("Of the answers", "of the answers")


def test_an_abstention_is_an_error_on_neither_label(tmp_path: Path) -> None:
    lines = [
        {"judge": "j", "probe": "original", "variant": "original", "item": f"i{n}", "expected": n % 2}
        | ({"score": None, "outcome": "abstain"} if n < 4 else {"score": n % 2})
        for n in range(40)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # No error in 20 calls of either label; Wilson on the 18 that give a grade.
    said = "of the answers that should pass it failed 0.00 [0.00, 0.18]"
    assert said in markdown(import_verdicts([path]).datasheet).lower().replace("\\", "")


def missing(path: Path, columns: str) -> dict[str, str]:
    table = MappedTable(parse_recorded_columns(columns))
    return dict(not_measured(import_verdicts([path], "t", 7, table).datasheet))


def test_an_import_says_which_column_would_measure_the_rest(tmp_path: Path) -> None:
    rows = [f"i{n},{n % 2},{n % 2},{20 + n},{'ab'[n % 2]}" for n in range(20)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,score,label,words,part", *rows]) + "\n")
    assert missing(path, "item=id,score=score") == {
        "knows when it is wrong": "column confidence",
        "tells good from bad": "column expected",
        "goes by length": "column words, or text",
        "right less often in a stratum": "column stratum",
        "changes with edits that keep the label": "edited texts in JSONL, each under its probe",
        "repeats its answer": "the same calls again, column replicate",
    }
    given = missing(path, "item=id,score=score,expected=label,words=words,stratum=part")
    assert set(given) == {
        "changes with edits that keep the label",
        "knows when it is wrong",
        "repeats its answer",
    }


def test_pairs_say_which_column_would_measure_the_rest(tmp_path: Path) -> None:
    rows = [f"p{n},{1 + n % 2},{first},{1 + n % 2},{20 + n},25" for n in range(12) for first in (1, 2)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["pair,answer,first,better,a,b", *rows]) + "\n")
    bare = missing(path, "pair=pair,answer=answer,first=first")
    assert bare["tells good from bad"] == "column better"
    assert bare["goes by length"] == "columns words_1 and words_2, or text_1 and text_2"
    whole = missing(path, "pair=pair,answer=answer,first=first,better=better,words_1=a,words_2=b")
    assert not {"tells good from bad", "goes by length", "leans to slot 1 on natural pairs"} & whole.keys()
    alone = tmp_path / "one.csv"
    alone.write_text("pair,answer,better\np,1,1\nq,2,1\n")
    one_order = missing(alone, "pair=pair,answer=answer,better=better")
    assert one_order["leans to slot 1 on natural pairs"] == "each pair in both orders, column first"
    assert "tells good from bad" not in one_order  # the column is there, the other order is not


def test_a_measured_run_says_which_option_would_measure_the_rest(command: Command) -> None:
    done = command("measure", "-j", "planted/probit", "--out", "run")
    said = "Not measured: goes by length (--profile standard); is swayed by a cue (-p tradeoff)"
    assert re.search(r"goes by length \(--profile standard\); 3 more\.$", done.out, re.M)  # one line
    assert said in Path("run/datasheet.md").read_text().replace("\\", "")
    assert said in Path("run/datasheet.html").read_text()
    body = json.loads(Path("run/datasheet.json").read_text())
    assert "-p tradeoff" in [each["by"] for each in body["not_measured"]]
    assert command("measure", "-j", "planted/probit", "--out", "twice", "--replicates", "2").code == 0
    twice = json.loads(Path("twice/datasheet.json").read_text())
    repeats = [[each["by"] for each in of["not_measured"]].count("--replicates 2") for of in (body, twice)]
    assert repeats == [1, 0]
    assert "(--replicates 2)" in Path("run/datasheet.md").read_text(encoding="utf-8")
    assert "(--replicates 2)" not in Path("twice/datasheet.md").read_text(encoding="utf-8")


def test_lengths_that_are_there_are_not_asked_for(tmp_path: Path) -> None:
    rows = [f"p{n},{1 + n % 2},{first},1,30,25" for n in range(6) for first in (1, 2)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["pair,answer,first,better,a,b", *rows]) + "\n")
    columns = "pair=pair,answer=answer,first=first,better=better,words_1=a,words_2=b"
    assert "goes by length" not in missing(path, columns)  # people prefer the longer text in every pair


def test_calls_without_a_verdict_are_said_to_be_left_out_of_the_errors_of_each_label(
    command: Command, tmp_path: Path
) -> None:
    """Every fourth verdict cannot be read: 30 of 40 that should pass and 45 of 60 that should fail can."""
    labels = [1] * 40 + [0] * 60
    rows = [(f"i{n}", "j", "" if n % 4 == 0 else label, label) for n, label in enumerate(labels)]
    path = write(tmp_path / "t.csv", rows)
    columns = "item=item,judge=judge,score=score,expected=expected"
    told = " ".join(command("import", path, "--columns", columns, "--out", "sheet").out.split())
    assert re.search(r" it passed 0\.00 \[0\.00, 0\.08\]; 25 calls ", told)
