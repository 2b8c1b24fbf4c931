"""Whether a judge knows when it is wrong: recorded confidences through the real command."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard
from commands import run_command
from steelyard.commands.compare import load_verdicts
from steelyard.commands.history import address, paired_tests, series_of
from steelyard.metrics.comparison.comparison import compare_units
from steelyard.metrics.comparison.rows import UnitEvent
from steelyard.metrics.comparison.unit_events import CONFIDENCES, Units
from steelyard.metrics.run.confidence import RIGHT, WRONG
from steelyard.run_folder.published_files import read_datasheet
from steelyard.web.history import history

Row = tuple[bool, str]
"""Whether the judge is right, and the cell of its confidence."""
IMPORT = (
    "import",
    "rec.csv",
    "--columns",
    "item=id,score=verdict,expected=human,confidence=sure",
    "--out",
    "out",
)


def write(folder: Path, row: Callable[[int, random.Random], Row], size: int = 300) -> None:
    rng, lines = random.Random(3), ["id,verdict,human,sure"]
    for n in range(size):
        right, sure = row(n, rng)
        lines.append(f"i{n},{n % 2 if right else 1 - n % 2},{n % 2},{sure}")
    (folder / "rec.csv").write_text("\n".join(lines) + "\n")


def figures(folder: Path) -> dict[str, Any]:
    body = json.loads((folder / "out" / "datasheet.json").read_text())
    return {
        e["metric"]: e
        for e in body["estimates"]
        if e["probe"] == "confidence" and e["group"] == {"protocol": "base"}
    }


def overconfident(n: int, rng: random.Random) -> Row:
    sure = rng.choice([80, 90, 95, 99])
    return rng.random() < 0.45 + 0.5 * (sure - 80) / 19, str(sure)


def test_an_overconfident_judge_has_its_fault_and_its_row(tmp_path: Path) -> None:
    write(tmp_path, overconfident, 600)
    told = run_command(tmp_path, *IMPORT).out
    assert "is surer than" in " ".join(told.split())
    assert "too high" in next(line for line in told.splitlines() if line.startswith("  surer than"))
    found = figures(tmp_path)
    stated = found["overconfidence"]["details"]
    assert found["overconfidence"]["value"] == pytest.approx(stated["confidence"] - stated["right"])
    parts = found["brier_score"]["details"]
    whole = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
    assert found["brier_score"]["value"] == pytest.approx(whole)
    page = (tmp_path / "out" / "datasheet.html").read_text()
    assert "Reliability curves" in page
    shown = steelyard.load(tmp_path / "out").exhibits
    told = [each.why for each in shown if each.reading == "Confidence"]
    assert told
    assert all("confidence 99, which" in why for why in told)
    gated = run_command(tmp_path, "gate", "out", "--policy", "default", code=3)
    assert "surer than it" in gated.out + gated.err


def test_recalibrated_by_other_items_it_is_off_no_more(tmp_path: Path) -> None:
    write(tmp_path, overconfident, 600)
    run_command(tmp_path, *IMPORT)
    body = json.loads((tmp_path / "out" / "datasheet.json").read_text())
    anew = {e["metric"]: e for e in body["estimates"] if e["group"].get("signal") == "recalibrated"}
    assert abs(anew["overconfidence"]["value"]) < 0.03 < figures(tmp_path)["overconfidence"]["value"]
    shares = [share for _, share in anew["brier_score"]["details"]["map"]]
    assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("row", "status", "value"),
    [
        (lambda n, rng: (rng.random() < 0.8, "0.8"), "flagged", 0.5),
        (lambda n, rng: (True, "90"), None, None),
        (lambda n, rng: (False, "90"), None, None),
        (lambda n, rng: (n % 5 > 0, "" if n % 3 else f"{0.95 if n % 5 else 0.55}"), "clear", 1.0),
    ],
    ids=["constant", "all right", "all wrong", "missing in part"],
)
def test_signals_that_tell_nothing_or_little(
    tmp_path: Path, row: Callable[[int, random.Random], Row], status: str | None, value: float | None
) -> None:
    write(tmp_path, row)
    run_command(tmp_path, *IMPORT)
    tells = figures(tmp_path)["confidence_auroc"]
    assert (tells["finding"], tells["value"]) == (status, value)


def test_three_labels_decide_nothing(tmp_path: Path) -> None:
    write(tmp_path, lambda n, rng: (n > 0, f"0.{9 - n}"), 3)
    run_command(tmp_path, *IMPORT)
    assert figures(tmp_path)["confidence_auroc"]["finding"] == "inconclusive"


@pytest.mark.parametrize("cell", ["140", "-1", "high", "nan"])
def test_a_cell_that_is_no_confidence_is_refused(tmp_path: Path, cell: str) -> None:
    write(tmp_path, lambda n, rng: (True, cell), 4)
    assert "to 1, or percent" in run_command(tmp_path, *IMPORT, code=2).err


def test_labels_for_a_promise(tmp_path: Path) -> None:
    rows = "".join(f"a{n},{n % 2}\n" for n in range(60))
    (tmp_path / "judged.csv").write_text(f"id,verdict\n{rows}")
    plan = ("labels", "plan", "judged.csv", "--judge", "verdict", "--columns", "item=id")
    made = json.loads(run_command(tmp_path, *plan, "--promise", "0.05", "--json").out)["promised"]
    # None of 60 % may be wrong: .95^59 < .05, and 59/.6 = 98.3.
    assert made[0] == {"error": 0.0, "labels": 99}
    assert [row["labels"] for row in made] == sorted(row["labels"] for row in made)


def test_a_long_table_with_odds(tmp_path: Path) -> None:
    rng, lines = random.Random(5), ["id,who,said,sure,odds"]
    for n in range(400):
        odds = 0.8 if n % 2 else 0.4
        lines += [f"i{n},quick,{n % 2},{rng.random()},{odds}", f"i{n},ann,{n % 2},,{odds}"]
    (tmp_path / "long.csv").write_text("\n".join(lines) + "\n")
    columns = ("--columns", "item=id,rater=who,value=said,confidence=sure,p_drawn=odds")
    fit = (
        "trust",
        "fit",
        "long.csv",
        *columns,
        "-j",
        "quick",
        "--signal",
        "quick confidence",
        "--people",
        "ann",
    )
    told = " ".join(run_command(tmp_path, *fit).out.split())
    assert "at uneven odds" in told
    body = json.loads((tmp_path / "trust.json").read_text())
    assert 260 < body["labels"]["clusters"] < 340  # all 200 of .4, about half of the others
    (tmp_path / "long.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    assert "item 'i0' a" in run_command(tmp_path, *fit, code=2).err


def test_a_function_that_raises_is_escalated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{n % 2},{n % 2},0.9\n" for n in range(200))
    (tmp_path / "v.csv").write_text(f"verdict,human,sure\n{rows}")
    (tmp_path / "breaks.py").write_text("def judge(request, response):\n    return 1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    fit = ("trust", "fit", "v.csv", "-j", "verdict", "--people", "human", "--signal", "sure")
    run_command(tmp_path, *fit, "--bind", "python/breaks:judge", "--scale", "binary")
    from importlib import import_module

    ask = steelyard.trusted(import_module("breaks").judge, "trust.json")
    found = ask("q", "a")
    assert isinstance(found, steelyard.Escalate)
    assert "raised ZeroDivisionError: " in found.reason


def honest(n: int, rng: random.Random) -> Row:
    sure = rng.choice([0.55, 0.7, 0.85, 0.95])
    return rng.random() < sure, str(sure)


def recorded(folder: Path, name: str, row: Callable[[int, random.Random], Row], size: int = 400) -> list[Row]:
    """Verdicts of a judge in a folder of this name, and the same rows."""
    rng, rows = random.Random(name), []
    for n in range(size):
        rows.append(row(n, rng))
    cells = (f"i{n},{n % 2 if right else 1 - n % 2},{n % 2},{sure}" for n, (right, sure) in enumerate(rows))
    (folder / f"{name}.csv").write_text("\n".join(["id,verdict,human,sure", *cells]) + "\n")
    run_command(folder, "import", f"{name}.csv", "--judge", "judge", *IMPORT[2:4], "--out", name)
    return rows


def area(rows: list[Row]) -> float:
    """Every right answer beside every wrong one, a tie half."""
    right, wrong = ([float(sure) for ok, sure in rows if ok is kind] for kind in (True, False))
    return sum((a > b) + (a == b) / 2 for a in right for b in wrong) / (len(right) * len(wrong))


def test_two_judges_are_compared_on_the_calls_of_both(tmp_path: Path) -> None:
    first = recorded(tmp_path, "honest", honest)
    second = recorded(
        tmp_path, "boastful", lambda n, rng: (rng.random() < 0.75, rng.choice(["0.9", "0.95", "", "0.99"]))
    )
    files = ("--html", "c.html", "--markdown", "c.md")
    told = run_command(tmp_path, "compare", "honest", "boastful", *files).out
    body = json.loads(run_command(tmp_path, "compare", "honest", "boastful", "--json").out)
    shared = [n for n, (_, sure) in enumerate(second) if sure]
    mine, other = ([rows[n] for n in shared] for rows in (first, second))
    rows = {row["metric"]: row for row in body["comparisons"] if row["probe"] == "confidence"}
    tells, over = rows["confidence_auroc"], rows["overconfidence"]
    assert (tells["first"], tells["second"]) == pytest.approx((area(mine), area(other)))
    means = [np.mean([float(sure) - right for right, sure in part]) for part in (mine, other)]
    assert (over["first"], over["second"]) == pytest.approx(tuple(means))
    squares = [np.mean([(float(sure) - right) ** 2 for right, sure in part]) for part in (mine, other)]
    brier = rows["brier_score"]
    assert (brier["first"], brier["second"]) == pytest.approx(tuple(squares))
    assert (tells["state"], over["state"], tells["n_shared"]) == ("worse", "worse", len(shared))
    assert tells["dropped_second"]["unsure"] == len(first) - len(shared)
    page, text = ((tmp_path / name).read_text() for name in ("c.html", "c.md"))
    for words in ("knows when it is wrong", "surer than it is right"):
        assert all(words in each for each in (told, page, text))
    assert f"B: {len(first) - len(shared)} without a confidence" in text


def test_a_judge_without_a_confidence_is_compared_in_the_rest(tmp_path: Path) -> None:
    recorded(tmp_path, "honest", honest)
    (tmp_path / "plain.csv").write_text(
        "".join(f"{line.rpartition(',')[0]}\n" for line in (tmp_path / "honest.csv").read_text().splitlines())
    )
    run_command(tmp_path, "import", "plain.csv", *IMPORT[2:3], IMPORT[3].rpartition(",")[0], "--out", "plain")
    body = json.loads(run_command(tmp_path, "compare", "honest", "plain", "--json").out)
    rows = {row["metric"]: row for row in body["comparisons"]}
    assert rows["confidence_auroc"]["difference"] is None
    assert rows["accuracy"]["difference"] == 0
    assert "B has no" in run_command(tmp_path, "compare", "honest", "plain").out


def test_gate_and_history_know_the_question(tmp_path: Path) -> None:
    recorded(tmp_path, "honest", honest)
    recorded(tmp_path, "boastful", overconfident, 400)
    passed = json.loads(run_command(tmp_path, "gate", "honest", "--policy", "default", "--json").out)
    results = {check["metric"]: check["result"] for check in passed["checks"]}
    assert results["confidence_auroc"] == results["overconfidence"] == "PASS"
    drift = ("gate", "boastful", "--reference", "honest", "--policy", "default", "--json")
    checks = json.loads(run_command(tmp_path, *drift, code=3).out)["checks"]
    moved = [check for check in checks if "no drift" in check["rule"] and check["metric"] == "overconfidence"]
    assert [check["result"] for check in moved] == ["FAIL"]
    old, new = (load_verdicts(tmp_path / name) for name in ("honest", "boastful"))
    sheet = steelyard.load(tmp_path / "honest")
    decision = next(each for each in sheet.findings if each.question.name == "Confidence")
    charted = [address(test.estimate) for test in decision.tests]
    tests = paired_tests(old, old.pick(None), new, new.pick(None), charted)
    assert tests.keys() == set(charted)


def test_history_watches_every_figure_of_the_question(tmp_path: Path) -> None:
    """The same answers, told with more confidence in the same order: one of two figures moves."""
    rows = recorded(tmp_path, "before", honest)
    recorded(tmp_path, "surer", lambda n, _: (rows[n][0], f"{float(rows[n][1]) ** 0.25:.6f}"))
    folders = [tmp_path / name for name in ("before", "surer")]
    (series,) = series_of((n, folder, read_datasheet(folder)) for n, folder in enumerate(folders))
    old, new = map(load_verdicts, folders)
    made = history(
        series, (), 52, lambda _, __, wanted: paired_tests(old, old.pick(None), new, new.pick(None), wanted)
    )
    states = {charted.id: made.rows[0].state_of(charted) for charted in made.charted}
    assert states["confidence-confidence-auroc"] == "no change shown"
    assert states["confidence-overconfidence"] == "changed"


def both(rng: np.random.Generator, lift: float, size: int = 80) -> tuple[Units, Units]:
    """Two judges of correlated answers on the same items, the second one with a better signal by `lift`."""
    sides, easy = [], rng.normal(size=size)
    for gain in (0.0, lift):
        right = rng.normal(size=size) + easy > -1
        told = right * (1 + gain) + easy / 2 + rng.normal(size=size)
        key = ((f"i{n}", "", 0) for n in range(size))
        sides.append(
            {
                k: UnitEvent(value, None, k[0], k[0], "", RIGHT if ok else WRONG)
                for k, value, ok in zip(key, told.tolist(), right.tolist(), strict=True)
            }
        )
    first, second = (Units(side, "base", side.keys()) for side in sides)
    return first, second


@pytest.mark.slow
def test_equal_judges_seldom_differ_and_the_limits_cover() -> None:
    rng, runs = np.random.default_rng(8), 400
    rows = [compare_units(*both(rng, 0.0), CONFIDENCES[0]) for _ in range(runs)]
    alarms = sum(row.p is not None and row.p <= 0.05 for row in rows)
    covered = sum((row.intervals[0].low or 0) <= 0 <= (row.intervals[0].high or 0) for row in rows)
    error = (0.05 * 0.95 / runs) ** 0.5
    assert alarms / runs <= 0.05 + 2 * error  # each item's answers may have come from either judge
    assert 0.93 - 2 * error <= covered / runs
    better = [compare_units(*both(rng, 3.0), CONFIDENCES[0]) for _ in range(100)]
    assert sum(row.p is not None and row.p <= 0.05 and (row.difference or 0) > 0 for row in better) >= 80
