"""`steelyard trust`: fit, apply and check as commands, hostile files, and `steelyard.trusted` in Python."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import steelyard
from commands import Command, StartedCommand, run_command
from steelyard.core.content_hash import content_hash
from steelyard.errors import CertificateError, ConfigError, UsageError
from steelyard.trust.trust_file import NO_ANSWER, NO_SIGNAL, UNKNOWN_ANSWER, UNSURE
from steelyard.trust.verdict_table import Signal

FIT = ("trust", "fit", "verdicts.csv", "--people", "human", "--judge", "verdict", "--signal", "confidence")


def write_verdicts(path: Path, rows: int = 600, labelled: int = 400, seed: int = 1, **about: Any) -> None:
    """A judge that is right as often as it says, a quick one that is sure of easy items, and labels."""
    rng = np.random.default_rng(seed)
    sharp = about.get("sharp", 0.7)
    with path.open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["item", "topic", "verdict", "confidence", "noise", "quick", "sure", "human"])
        for n in range(rows):
            truth = int(rng.integers(2))
            chance = float(rng.uniform(sharp, 1))
            easy = bool(rng.random() < 0.5)
            quick_right = rng.random() < (0.98 if easy else 0.6)
            verdict = truth if rng.random() < chance else 1 - truth
            quick = truth if quick_right else 1 - truth
            sure = (0.9 if easy else 0.5) + 0.1 * float(rng.random())
            label = ("pass" if truth else "fail") if n < labelled else ""
            write.writerow(
                [
                    f"i{n}",
                    f"t{n // 3}",
                    verdict,
                    f"{chance:.4f}",
                    f"{rng.random():.4f}",
                    quick,
                    f"{sure:.4f}",
                    label,
                ]
            )


@pytest.fixture
def verdicts(tmp_path: Path) -> Path:
    path = tmp_path / "verdicts.csv"
    write_verdicts(path)
    return path


def trust_of(folder: Path, name: str = "trust.json") -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / name).read_text())
    return body


# fit


def test_a_promise_from_a_table(command: Command, verdicts: Path, tmp_path: Path) -> None:
    done = command(*FIT)
    assert done.code == 0, done.err
    body = trust_of(tmp_path)
    stage = body["stages"][0]
    assert body["schema"] == "steelyard.trust/1"
    assert (body["verdicts"], stage["judge"], stage["signal"]["name"]) == (600, "verdict", "confidence")
    assert body["promise"] == {"error": 0.1, "confidence": 0.9, "only": None}
    assert stage["bound"] <= 0.1
    assert stage["labels"]["reached"] == 400
    with verdicts.open(newline="") as file:
        rows = list(csv.DictReader(file))
    above = [row for row in rows if float(row["confidence"]) >= stage["threshold"]]
    assert len(above) == body["accepted"] == stage["verdicts"]["accepted"]
    labelled = [row for row in above if row["human"]]
    wrong = sum({"pass": "1", "fail": "0"}[row["human"]] != row["verdict"] for row in labelled)
    assert (stage["labels"]["accepted"], stage["labels"]["wrong"]) == (len(labelled), wrong)


def test_the_signal_is_chosen_on_other_labels(command: Command, verdicts: Path, tmp_path: Path) -> None:
    done = command(*FIT, "--signal", "noise", "--error", "0.15")
    assert done.code == 0, done.err
    body = trust_of(tmp_path)
    assert body["stages"][0]["signal"]["name"] == "confidence"
    assert body["labels"] == {"clusters": 400, "signal_chosen_on": 133}
    assert body["stages"][0]["labels"]["reached"] == 267


def test_verdicts_of_one_task_count_once(command: Command, verdicts: Path, tmp_path: Path) -> None:
    done = command(*FIT, "--columns", "task=topic", "--error", "0.2")
    assert done.code == 0, done.err
    body = trust_of(tmp_path)
    assert body["labels"]["clusters"] == 134
    assert body["stages"][0]["labels"]["reached"] == 134


def test_rows_of_which_nobody_can_tell_whether_they_repeat(command: Command, verdicts: Path) -> None:
    told = "No column names the items, so each row counts as one of its own."
    assert told not in " ".join(command(*FIT).out.split())
    verdicts.write_text(verdicts.read_text().replace("item,", "note,", 1))
    assert told in " ".join(command(*FIT).out.split())


def test_repeated_rows_are_no_further_labels(command: Command, verdicts: Path, tmp_path: Path) -> None:
    lines = verdicts.read_text().splitlines()
    verdicts.write_text("\n".join([lines[0], *(line for line in lines[1:] for _ in range(3))]) + "\n")
    assert command(*FIT, "--error", "0.2").code == 0
    assert trust_of(tmp_path)["labels"]["clusters"] == 400


@pytest.mark.parametrize(
    ("rows", "options", "missing"),
    [
        (40, (), "missing are labels: about 49 of independent items, where 40 were tested"),
        (400, ("--error", "0.02"), "missing are labels"),
        (400, ("--signal", "noise"), "missing is a signal that tells right from wrong"),
        (400, ("--error", "0.05"), "the surest answers are wrong too often"),
    ],
)
def test_a_refusal_says_what_is_missing(
    command: Command, tmp_path: Path, rows: int, options: tuple[str, ...], missing: str
) -> None:
    sharp = {"noise": 0.5, "0.05": 0.6}.get(options[-1] if options else "", 0.7)
    write_verdicts(tmp_path / "verdicts.csv", rows, rows, sharp=sharp)
    fit = FIT[:-1] if options[:1] == ("--signal",) else FIT
    given = (*fit, *options[1:]) if options[:1] == ("--signal",) else (*fit, *options)
    if options == ("--error", "0.05"):
        table = (tmp_path / "verdicts.csv").read_text().splitlines()
        flip = {"pass": "fail", "fail": "pass"}
        rows_of = [line.split(",") for line in table[1:]]
        for n, cells in enumerate(rows_of):
            if n % 4 == 0:
                cells[-1] = flip[cells[-1]]
        (tmp_path / "verdicts.csv").write_text("\n".join([table[0], *map(",".join, rows_of)]) + "\n")
    done = command(*given)
    assert done.code == 4, done.out
    assert missing in " ".join(done.out.split())
    assert trust_of(tmp_path)["refused"]
    refused = command("trust", "apply", "trust.json", "verdicts.csv")
    assert refused.code == 3
    assert "holds a refusal" in refused.err


def test_a_signal_that_is_nowhere_is_what_is_missing(
    command: Command, verdicts: Path, tmp_path: Path
) -> None:
    head, *rows = [line.split(",") for line in verdicts.read_text().splitlines()]
    for cells in rows:
        cells[head.index("confidence")] = ""
    verdicts.write_text("\n".join(map(",".join, [head, *rows])) + "\n")
    done = command(*FIT)
    assert (done.code, "is a signal" in " ".join(done.out.split())) == (4, True)


CASCADE = (
    *("trust", "fit", "verdicts.csv", "--people", "human", "--judge", "quick", "--judge", "verdict"),
    *("--signal", "quick=sure", "--signal", "verdict=confidence", "--error", "0.15"),
)


def test_a_cascade_costs_less_at_the_same_promise(command: Command, tmp_path: Path) -> None:
    write_verdicts(tmp_path / "verdicts.csv", 2000, 1200)
    prices = ("--price", "quick=1", "--price", "verdict=40", "--price", "people=900")
    done = command(*CASCADE, *prices)
    assert done.code == 0, done.err
    body = trust_of(tmp_path)
    fitted, quick, verdict = body["routes"]
    assert fitted["judges"] == ["quick", "verdict"]
    assert fitted["dollars"] < min(quick["dollars"], verdict["dollars"])
    for stage in body["stages"]:  # half of the failure for each judge, half of that for each walk
        wrong, accepted = stage["labels"]["wrong"], stage["labels"]["accepted"]
        assert stage["bound"] == pytest.approx(beta.ppf(1 - 0.1 / 4, wrong + 1, accepted - wrong), abs=1e-9)
        assert stage["bound"] <= 0.15
    first, second, people = fitted["shares"]
    assert fitted["dollars"] == pytest.approx(1 * first + 40 * second + 900 * people)
    assert second == pytest.approx(1 - body["stages"][0]["verdicts"]["accepted"] / 2000)
    assert f"${fitted['dollars']:,.2f}" in done.out


def test_the_ring_is_that_of_the_first_judge_that_accepts(command: Command, verdicts: Path) -> None:
    useless = ("--judge", "quick", "--judge", "verdict", "--signal", "quick=noise")
    fit = (*FIT[:5], *useless, "--signal", "verdict=confidence", "--html", "page.html")
    assert command(*fit, "--error", "0.12").code == 0
    assert "threshold of verdict." in verdicts.with_name("page.html").read_text()
    assert command(*fit, "--error", "0.01").code == 4
    assert "A ring marks" not in verdicts.with_name("page.html").read_text()


def test_one_sided_errors(command: Command, verdicts: Path, tmp_path: Path) -> None:
    done = command(*FIT, "--only", "pass", "--error", "0.08")
    assert done.code == 0, done.err
    assert trust_of(tmp_path)["promise"] == {"error": 0.08, "confidence": 0.9, "only": "1"}
    assert command(*FIT, "--only", "maybe").code == 2


# Hostile files


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (("confidence", "certainty"), (), "no column 'confidence' for the signal"),
        (("human", "person"), (), "no column 'human' for people"),
        (("verdict,", "answer,"), (), "no column 'verdict' for the judge"),
        (
            (",pass\n", ",maybe\n"),
            (),
            "column 'human' holds 'maybe', expected an answer that a judge gives (0, 1)",
        ),
        ((",pass\n", ",7\n"), ("--scale", "binary"), "column 'human' holds '7', expected one of 0, 1"),
        (("i0,t0,", "i0,t0,9"), ("--scale", "binary"), "column 'verdict' holds '9"),
        ((",pass\n", ",\n"), ("--where", "human=pass"), "none of 600 rows fits"),
    ],
)
def test_hostile_tables(
    command: Command, verdicts: Path, change: tuple[str, str], options: tuple[str, ...], told: str
) -> None:
    verdicts.write_text(verdicts.read_text().replace(*change))
    done = command(*FIT, *options)
    assert done.code == 2
    assert told in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf", "sure", "1e999"])
def test_a_signal_that_is_no_number(command: Command, verdicts: Path, cell: str) -> None:
    lines = verdicts.read_text().splitlines()
    cells = lines[3].split(",")
    lines[3] = ",".join([*cells[:3], cell, *cells[4:]])
    verdicts.write_text("\n".join(lines) + "\n")
    done = command(*FIT)
    assert done.code == 2
    assert re.search(rf"row 3: .*'confidence' holds '{re.escape(cell)}'", done.err)


def test_nan_of_a_line_of_json(command: Command, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"verdict": 1, "human": 1, "confidence": NaN}\n')
    done = command("trust", "fit", "v.jsonl", "--people", "human", "-j", "verdict", "--signal", "confidence")
    assert done.code == 2
    assert "'confidence' holds 'nan'" in done.err


@pytest.mark.parametrize("text", ["", "item,verdict,confidence,human\n"])
def test_empty_tables(command: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "verdicts.csv").write_text(text)
    done = command(*FIT)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_a_table_without_labels(command: Command, verdicts: Path) -> None:
    verdicts.write_text(verdicts.read_text().replace(",pass\n", ",\n").replace(",fail\n", ",\n"))
    done = command(*FIT)
    assert done.code == 2
    assert "no label found" in done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--judge", "quick"), "--signal: found 'confidence' beside 2 judges, expected JUDGE=SIGNAL"),
        (("--price", "verdict"), "--price: found 'verdict', expected verdict, people, an equals sign"),
        (("--price", "verdict=x"), "--price: found 'verdict=x'"),
        (("--price", "verdict=1"), "--price: none found for people"),
        (("--price", "verdict=1", "--price", "verdict=2"), "priced twice"),
        (("--bind", "planted/rater"), "--bind: found without --scale"),
        (("--error", "0"), "--error: found '0', expected a number from 0.001 to 0.5"),
        (("--certificate", "none.json", "--scale", "binary"), "none.json: no such file"),
    ],
)
def test_options_that_make_no_sense(
    command: Command, verdicts: Path, options: tuple[str, ...], told: str
) -> None:
    done = command(*FIT, *options)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize("other", [("--judge", "human"), ("--judge", "verdict", "--signal", "human")])
def test_people_are_not_compared_with_themselves(
    command: Command, verdicts: Path, other: tuple[str, ...]
) -> None:
    done = command("trust", "fit", "verdicts.csv", "--people", "human", "--signal", "confidence", *other)
    assert done.code == 2
    assert "--people: column 'human'" in done.err


def test_columns_that_nobody_named(command: Command, verdicts: Path) -> None:
    done = command("trust", "fit", "verdicts.csv", "--judge", "verdict", "--signal", "confidence")
    assert done.code == 2
    assert "expected --people COLUMN" in done.err
    done = command("trust", "fit", "verdicts.csv", "--judge", "verdict", "--people", "human")
    assert done.code == 2
    assert re.search("--signal: none .*'verdict'", done.err)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda body: {**body, "promise": {**body["promise"], "error": 0.01}}, "not that of its digest"),
        (
            lambda body: {**body, "stages": [{**body["stages"][0], "threshold": 0.0}]},
            "not that of its digest",
        ),
        (lambda body: {**body, "expires": None, "people": "x"}, "not that of its digest"),
        (lambda body: {**body, "schema": "steelyard.trust/9"}, "found schema 'steelyard.trust/9'"),
        (lambda body: [body], "found schema 'list'"),
        (lambda body: {key: body[key] for key in ("schema", "digest")}, "not that of its digest"),
        (lambda body: signed({key: body[key] for key in ("schema", "promise")}), "no key 'stages' found"),
        (lambda body: signed({**body, "stages": 3}), "stages: found 3, expected a list"),
    ],
)
def test_an_edited_file_is_refused(
    command: Command, verdicts: Path, tmp_path: Path, edit: Any, told: str
) -> None:
    assert command(*FIT).code == 0
    (tmp_path / "trust.json").write_text(json.dumps(edit(trust_of(tmp_path))))
    for arguments in (("apply", "trust.json", "verdicts.csv"), ("check", "trust.json", "verdicts.csv")):
        done = command("trust", *arguments)
        assert done.code == 2
        assert told in done.err
        assert len(done.err.splitlines()) == 1


def signed(body: dict[str, Any]) -> dict[str, Any]:
    """As a hostile hand would: the digest is no signature."""
    plain = {key: value for key, value in body.items() if key != "digest"}
    return {**plain, "digest": content_hash(plain)}


NESTED = '{"schema": "steelyard.trust/1", "x": ' + "[" * 900 + "]" * 900 + "}"


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[" * 100_000, '{"schema": "steelyard.trust/1", "x": NaN}', NESTED]
)
def test_files_that_are_none(command: Command, verdicts: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "trust.json").write_text(text)
    done = command("trust", "apply", "trust.json", "verdicts.csv")
    assert done.code == 2
    assert "trust.json: " in done.err


# apply


def test_rows_are_accepted_or_escalated(command: Command, verdicts: Path, tmp_path: Path) -> None:
    assert command(*FIT).code == 0
    threshold = trust_of(tmp_path)["stages"][0]["threshold"]
    lines = verdicts.read_text().splitlines()
    odd = [
        "x1,t,unreadable,0.99,0,1,1,",
        "x2,t,1,,0,1,1,",
        f"x3,t,1,{threshold!r},0,1,1,",
        "x4,t,,0.99,0,1,1,",
        "=x5,t,0,0.1,0,1,1,",
    ]
    (tmp_path / "fresh.csv").write_text("\n".join([lines[0], *odd]) + "\n")
    done = command("trust", "apply", "trust.json", "fresh.csv")
    assert done.code == 0, done.err
    with (tmp_path / "fresh-trust.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    decided = [(row["trust"], row["trust_answer"], row["trust_judge"], row["trust_reason"]) for row in rows]
    assert decided == [
        ("escalate", "", "", NO_ANSWER),
        ("escalate", "", "", NO_SIGNAL),
        ("accept", "1", "verdict", ""),
        ("ask", "", "verdict", "not asked yet"),
        ("escalate", "", "", UNSURE),
    ]
    assert rows[4]["item"] == "'=x5"
    assert re.search(r"Accepted: 1 of 5 .*\(20 %\)", done.out)
    counts = json.loads(command("trust", "apply", "trust.json", "fresh.csv", "--json").out)
    assert (counts["accepted"], counts["asked"]) == ({"verdict": 1}, {"verdict": 1})


def test_the_next_judge_is_asked_only_where_it_is_needed(command: Command, tmp_path: Path) -> None:
    write_verdicts(tmp_path / "verdicts.csv", 2000, 1200)
    assert command(*CASCADE).code == 0
    body = trust_of(tmp_path)
    assert all(stage["threshold"] is not None for stage in body["stages"])
    with (tmp_path / "verdicts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "fresh.csv").open("w", newline="") as file:
        write = csv.DictWriter(file, rows[0].keys())
        write.writeheader()
        write.writerows({**row, "verdict": "", "confidence": ""} for row in rows)
    done = command("trust", "apply", "trust.json", "fresh.csv", "--json")
    counts = json.loads(done.out)
    assert counts["accepted"] == {"quick": body["stages"][0]["verdicts"]["accepted"]}
    assert counts["asked"] == {"verdict": 2000 - counts["accepted"]["quick"]}
    whole = json.loads(command("trust", "apply", "trust.json", "verdicts.csv", "--json").out)
    assert sum(whole["accepted"].values()) == body["accepted"]


def test_a_table_is_never_written_over(command: Command, verdicts: Path) -> None:
    assert command(*FIT).code == 0
    before = verdicts.read_bytes()
    done = command("trust", "apply", "trust.json", "verdicts.csv", "--out", "verdicts.csv")
    assert done.code == 2
    assert "is the table" in done.err
    assert verdicts.read_bytes() == before


def test_decisions_are_replaced_by_later_ones(command: Command, verdicts: Path, tmp_path: Path) -> None:
    assert command(*FIT).code == 0
    assert command("trust", "apply", "trust.json", "verdicts.csv", "--out", "one.csv").code == 0
    assert command("trust", "apply", "trust.json", "one.csv", "--out", "two.csv").code == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_other_verdicts_than_those_of_the_fit_are_said(
    command: Command, verdicts: Path, tmp_path: Path
) -> None:
    assert command(*FIT).code == 0
    share = trust_of(tmp_path)["accepted"] / 600
    write_verdicts(tmp_path / "same.csv", seed=2)
    write_verdicts(tmp_path / "unsure.csv", seed=3, sharp=0.5)
    write_verdicts(tmp_path / "few.csv", rows=9, seed=3, sharp=0.5)
    told = f"Where the promise was fitted, {100 * share:.1f} % were accepted"
    for name, said in (("same", False), ("unsure", True), ("few", False)):
        done = command("trust", "apply", "trust.json", f"{name}.csv")
        assert (told in " ".join(done.out.split())) is said, (name, done.out)
        counts = json.loads(command("trust", "apply", "trust.json", f"{name}.csv", "--json").out)
        assert counts["is_like_fit"] is not said
        assert counts["accepted_at_fit"] == share


@pytest.mark.parametrize(("shift", "said"), [(-0.05, False), (0.05, False), (-0.15, True), (0.15, True)])
def test_a_share_is_another_one_from_ten_points_on(
    command: Command, verdicts: Path, tmp_path: Path, shift: float, said: bool
) -> None:
    assert command(*FIT).code == 0
    body = trust_of(tmp_path)
    accepted = round(4000 * (body["accepted"] / 600 + shift))
    sure, unsure = body["stages"][0]["threshold"], body["stages"][0]["threshold"] - 0.01
    rows = "".join(f"i{n},1,{sure if n < accepted else unsure}\n" for n in range(4000))
    (tmp_path / "new.csv").write_text("item,verdict,confidence\n" + rows)
    counts = json.loads(command("trust", "apply", "trust.json", "new.csv", "--json").out)
    assert counts["accepted"] == {"verdict": accepted}
    assert counts["is_like_fit"] is not said


def test_a_kill_while_applying_loses_and_repeats_nothing(tmp_path: Path) -> None:
    write_verdicts(tmp_path / "verdicts.csv")
    run_command(tmp_path, *FIT)
    write_verdicts(tmp_path / "large.csv", 60_000, 0)
    apply = ("trust", "apply", "trust.json", "large.csv", "--out", "decided.csv")
    (tmp_path / "decided.csv").write_text("an earlier table\n")
    for seen in (
        lambda: True,
        lambda: any(tmp_path.glob("*decided.csv?*")) or any(tmp_path.glob(".*decided*")),
    ):
        started = StartedCommand(apply, tmp_path, os.environ)
        started.wait_until(seen)
        started.kill()
        rows = (tmp_path / "decided.csv").read_text().count("\n")
        assert rows in (1, 60_001)
    run_command(tmp_path, *apply)
    whole = (tmp_path / "decided.csv").read_text()
    run_command(tmp_path, *apply)
    assert (tmp_path / "decided.csv").read_text() == whole
    items = [line.split(",")[0] for line in whole.splitlines()[1:]]
    assert items == [f"i{n}" for n in range(60_000)]


# check


def audited(path: Path, trust: dict[str, Any], error: float, rows: int = 900, seed: int = 4) -> None:
    """Accepted answers, so many of them wrong."""
    rng = np.random.default_rng(seed)
    threshold = trust["stages"][0]["threshold"]
    lines = ["item,verdict,confidence,human"]
    lines += [f"a{n},1,{threshold},{'fail' if rng.random() < error else 'pass'}" for n in range(rows)]
    path.write_text("\n".join([*lines, f"b,1,{threshold - 0.1},fail", f"c,1,{threshold},"]) + "\n")


def test_audits_of_a_kept_promise(command: Command, verdicts: Path, tmp_path: Path) -> None:
    assert command(*FIT).code == 0
    audited(tmp_path / "audited.csv", trust_of(tmp_path), 0.05)
    done = command("trust", "check", "trust.json", "audited.csv", "--out", "check.json")
    assert done.code == 0, done.err
    body = json.loads((tmp_path / "check.json").read_text())
    assert body["audits"] == 900
    assert (body["kept"], body["promise"]["error"]) == (True, 0.1)
    assert body["wrong"] == (tmp_path / "audited.csv").read_text().split("\nb,")[0].count("fail")
    assert 70 <= body["delays"]["2"] <= 100


def test_several_audits_of_an_item_are_one(command: Command, verdicts: Path, tmp_path: Path) -> None:
    """Ten people on each of forty answers; the first of them counts."""
    assert command(*FIT).code == 0
    sure = trust_of(tmp_path)["stages"][0]["threshold"]
    rows = [f"a{n},1,{sure},{'fail' if k else 'pass'}" for n in range(40) for k in range(10)]
    (tmp_path / "audited.csv").write_text("\n".join(["item,verdict,confidence,human", *rows]) + "\n")
    done = command("trust", "check", "trust.json", "audited.csv", "--out", "check.json")
    body = json.loads((tmp_path / "check.json").read_text())
    assert (done.code, body["audits"], body["wrong"]) == (0, 40, 0)


def test_labels_of_the_fit_are_no_audits(command: Command, verdicts: Path, tmp_path: Path) -> None:
    """They chose the threshold, so that they say nothing of later verdicts."""
    assert command(*FIT).code == 0
    told = "These are the labels on which the promise was fitted"
    assert told in " ".join(command("trust", "check", "trust.json", "verdicts.csv").out.split())
    audited(tmp_path / "audited.csv", trust_of(tmp_path), 0.05)
    assert told not in " ".join(command("trust", "check", "trust.json", "audited.csv").out.split())


def test_drift_is_found(command: Command, verdicts: Path, tmp_path: Path) -> None:
    assert command(*FIT).code == 0
    audited(tmp_path / "audited.csv", trust_of(tmp_path), 0.2)
    done = command("trust", "check", "trust.json", "audited.csv", "--json")
    assert (done.code, json.loads(done.out)["kept"]) == (3, False)


def test_audits_of_nothing(command: Command, verdicts: Path, tmp_path: Path) -> None:
    assert command(*FIT).code == 0
    (tmp_path / "audited.csv").write_text("item,verdict,confidence,human\na,1,0.0,pass\nb,1,1.0,\n")
    done = command("trust", "check", "trust.json", "audited.csv")
    assert done.code == 2
    assert "no accepted answer" in done.err


# Python

JUDGE = """
def judge(request, response):
    sure = {"sure": 1.0, "unsure": 0.0, "blind": None}[request]
    return 1, sure
"""


def bound_file(folder: Path, scale: str = "binary") -> None:
    write_verdicts(folder / "verdicts.csv")
    (folder / "own.py").write_text(JUDGE)
    bind = ("--bind", "python/own:judge", "--scale", scale)
    run_command(folder, *FIT, *bind)


def test_a_function_answers_or_escalates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = import_module("own")

    ask = steelyard.trusted(own.judge, "trust.json")
    assert ask("sure", "x") == 1
    found = ask("unsure", "x")
    assert isinstance(found, steelyard.Escalate)
    assert (found.reason, found.answer, found.signal) == (UNSURE, 1, 0.0)
    assert ask("blind", "x") == steelyard.Escalate(NO_SIGNAL, 1)

    def judge(request: str, response: str) -> tuple[int, float]:
        return 1, 1.0

    with pytest.raises(CertificateError, match="the judge has changed, so fit the thresholds anew"):
        steelyard.trusted(judge, "trust.json")


def test_a_file_that_is_tied_to_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_verdicts(tmp_path / "verdicts.csv")
    run_command(tmp_path, *FIT)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CertificateError, match="is tied to no fingerprint of judge 'verdict'"):
        steelyard.trusted(lambda request, response: (1, 1.0), "trust.json")


def test_a_promise_expires_with_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = import_module("own")

    now = datetime.now(UTC)
    base = trust_of(tmp_path)["stages"][0]["fingerprint"]
    write_certificate(tmp_path / "certificate.json", base, now + timedelta(days=1))
    again = (*FIT, "--certificate", "certificate.json")
    run_command(tmp_path, *again, "--scale", "binary")
    body = trust_of(tmp_path)
    assert body["stages"][0]["fingerprint"] == base
    assert body["expires"][:10] == (now + timedelta(days=1)).date().isoformat()
    assert steelyard.trusted(own.judge, "trust.json")("sure", "x") == 1
    told = "--certificate: found without --scale, expected the scale that the judge is asked on; add it."
    assert told in run_command(tmp_path, *again, code=2).err
    (tmp_path / "trust.json").write_text(json.dumps(signed({**body, "scale": None})))
    with pytest.raises(ConfigError, match=r"names no scale, expected the one .* fit it again with --scale"):
        steelyard.trusted(own.judge, "trust.json")
    past = signed({**body, "expires": (now - timedelta(days=1)).isoformat()})
    (tmp_path / "trust.json").write_text(json.dumps(past))
    with pytest.raises(CertificateError, match=r"expired on .* with the judges' certificate"):
        steelyard.trusted(own.judge, "trust.json")
    assert run_command(tmp_path, "trust", "apply", "trust.json", "verdicts.csv", code=3).err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"result": "FAIL"},
            "says FAIL of judge 'verdict', expected PASS; take a judge that passes, or gate the run by "
            "another policy with `steelyard gate DIR --policy FILE`.",
        ),
        ({"name": "other"}, "does not speak of judge 'verdict', only of other"),
        ({"protocols": {"base": "sha256:00"}}, "was certified with fingerprint 00, found"),
    ],
)
def test_certificates_that_do_not_fit(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    bound_file(tmp_path)
    base = trust_of(tmp_path)["stages"][0]["fingerprint"]
    write_certificate(tmp_path / "certificate.json", base, None, **change)
    bind = ("--bind", "python/own:judge", "--scale", "binary", "--certificate", "certificate.json")
    done = run_command(tmp_path, *FIT, *bind, code=3)
    assert told in done.err


def write_certificate(path: Path, base: str, expires: datetime | None, **change: Any) -> None:
    judge = {"name": "verdict", "model": "m", "protocols": {"base": base}, "result": "PASS", **change}
    body = {
        "schema": "steelyard.certificate/1",
        "result": "PASS",
        "judges": [judge],
        "stimulus_set": "sha256:1",
        "policy": {},
        "versions": {"steelyard": "1", "python": "3"},
        "issued": datetime.now(UTC).isoformat(),
        "expires": None if expires is None else expires.isoformat(),
    }
    path.write_text(json.dumps(body))


def test_an_answer_without_its_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "bare.py").write_text("def judge(request, response):\n    return 1\n")
    bind = ("--bind", "python/bare:judge", "--scale", "binary")
    run_command(tmp_path, *FIT, *bind)
    bare = import_module("bare")

    with pytest.raises(UsageError, match="expected a pair of its answer and its signal"):
        steelyard.trusted(bare.judge, "trust.json")("x", "y")


def test_judges_of_a_cascade_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_verdicts(tmp_path / "verdicts.csv", 2000, 1200)
    for name, sure in (("quick", 0.0), ("strong", 1.0)):
        (tmp_path / f"{name}_judge.py").write_text(
            f"def judge(request, response):\n    return {name == 'strong':d}, {sure}\n"
        )
    bind = ("--bind", "quick=python/quick_judge:judge", "--bind", "verdict=python/strong_judge:judge")
    run_command(tmp_path, *CASCADE, *bind, "--scale", "binary")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    quick_judge = import_module("quick_judge")
    strong_judge = import_module("strong_judge")

    ask = steelyard.trusted({"quick": quick_judge.judge, "verdict": strong_judge.judge}, "trust.json")
    assert ask("a", "b") == 1
    with pytest.raises(ConfigError, match="asks judge 'verdict', found quick"):
        steelyard.trusted({"quick": quick_judge.judge}, "trust.json")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (("maybe", 1.0), "an answer that no judge gave in the fit"),
        ((float("nan"), 1.0), "an answer that no judge gave in the fit"),
        (("", 1.0), "an answer that no judge gave in the fit"),
        ((1, float("inf")), "no signal of confidence"),
        ((1, float("nan")), "no signal of confidence"),
        ((1, 95), "no signal of confidence"),
        (("pass", 1.0), None),
        ((True, 1.0), None),
    ],
)
def test_what_a_function_may_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: tuple[Any, float], reason: str | None
) -> None:
    """A word that is no answer, and a signal that is no share as that of the fit was, are escalated."""
    write_verdicts(tmp_path / "verdicts.csv")
    (tmp_path / "says.py").write_text("SAID = []\ndef judge(request, response):\n    return SAID[-1]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "says", raising=False)
    run_command(tmp_path, *FIT, "--bind", "python/says:judge", "--scale", "binary")
    says = import_module("says")
    ask = steelyard.trusted(says.judge, "trust.json")
    says.SAID.append(said)
    found = ask("q", "a")
    if reason is None:
        assert found == said[0]
    else:
        assert isinstance(found, steelyard.Escalate)
        assert found.reason == reason


def test_an_answer_that_the_fit_did_not_have_is_escalated(
    command: Command, verdicts: Path, tmp_path: Path
) -> None:
    """Without a scale any word is read; only those that were tested may be accepted."""
    assert command(*FIT).code == 0
    fresh = "item,verdict,confidence\na,unsure,1.0\nb,1,1.0\n"
    (tmp_path / "fresh.csv").write_text(fresh)
    counts = json.loads(command("trust", "apply", "trust.json", "fresh.csv", "--json").out)
    assert counts["accepted"] == {"verdict": 1}
    assert counts["escalated"] == {UNKNOWN_ANSWER: 1}


def test_a_decided_table_is_decided_again_and_runs_no_formula(command: Command, tmp_path: Path) -> None:
    """Columns of an earlier decision are replaced, though only a later row has them."""
    write_verdicts(tmp_path / "verdicts.csv")
    assert command(*FIT).code == 0
    rows = [{"verdict": 1, "confidence": 1.0, "=1+1": "=2"}, {"verdict": 1, "confidence": 0.5, "trust": "x"}]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("trust", "apply", "trust.json", "v.jsonl", "--out", "v.csv").code == 0
    head, *decided = csv.reader((tmp_path / "v.csv").read_text().splitlines())
    assert head == ["verdict", "confidence", "'=1+1", "trust", "trust_answer", "trust_judge", "trust_reason"]
    assert [row[2:4] for row in decided] == [["'=2", "accept"], ["", "escalate"]]


def test_a_signal_on_another_scale_is_refused(command: Command, verdicts: Path, tmp_path: Path) -> None:
    """Fitted on shares, 45 percent would lie above every threshold."""
    assert command(*FIT).code == 0
    (tmp_path / "fresh.csv").write_text("item,verdict,confidence\na,1,0.99\nb,1,45\n")
    done = command("trust", "apply", "trust.json", "fresh.csv")
    assert done.code == 2
    assert re.search(r"item 'b': .*'confidence' holds 45, .* 0 to 1", done.err)


def test_another_scale_is_refused(
    command: Command, verdicts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers 0 and 1 of a longer scale would be accepted as those of the fitted one."""
    told = "was fitted on the scale binary, found 0-5"
    bound_file(tmp_path)
    for each in ("apply", "check"):
        done = command("trust", each, "trust.json", "verdicts.csv", "--scale", "0-5")
        assert (done.code, told in done.err) == (3, True)
    assert command("trust", "apply", "trust.json", "verdicts.csv", "--scale", "binary").code == 0
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    judge = import_module("own").judge
    body = trust_of(tmp_path)
    stage = body["stages"][0] | {"signal": body["stages"][0]["signal"] | {"kind": "repeats", "calls": 1}}
    (tmp_path / "trust.json").write_text(json.dumps(signed({**body, "stages": [stage]})))
    with pytest.raises(CertificateError, match=told):
        steelyard.trusted(steelyard.remedied(judge, scale="0-5"), "trust.json")
    steelyard.trusted(steelyard.remedied(judge, scale="binary"), "trust.json")


def test_items_without_a_task_are_still_one_item(command: Command, tmp_path: Path) -> None:
    """Sixty items ten times each; a single row of another has a task."""
    rows = [f"i{n},,1,0.9,1" for n in range(60) for _ in range(10)]
    (tmp_path / "v.csv").write_text("\n".join(["item,task,j,c,h", *rows, "z,t1,1,0.9,1"]) + "\n")
    command("trust", "fit", "v.csv", "--people", "h", "-j", "j", "--signal", "c")
    assert trust_of(tmp_path)["labels"]["clusters"] == 61


def test_large_tasks_that_are_worse_are_told_of(command: Command, tmp_path: Path) -> None:
    """300 tasks of one right answer, 20 of fifty of which two fifths are wrong: by tasks 2.5 % are wrong."""
    rows = [f"s{n},s{n},1,0.9,1" for n in range(300)]
    rows += [f"b{n}.{k},b{n},1,0.9,{int(k >= 20)}" for n in range(20) for k in range(50)]
    rows.append("u,u,0,0.1,0")
    (tmp_path / "v.csv").write_text("\n".join(["item,task,j,c,h", *rows]) + "\n")
    done = command("trust", "fit", "v.csv", "--people", "h", "-j", "j", "--signal", "c")
    assert done.code == 0
    told = " ".join(done.out.split())
    assert re.search(r"all tasks alike\. .* 1,301 .*\b400 are wrong", told)


def test_words_of_pairs_and_of_abstention(command: Command, tmp_path: Path) -> None:
    """A judge that writes A and B, abstains on every fifth, and people that name the models."""
    rows = [
        f"{n},{'pass' if n % 5 == 0 else 'AB'[n % 2]},0.9,{('model_a', 'model_b')[n % 2]}" for n in range(200)
    ]
    (tmp_path / "v.csv").write_text("\n".join(["item,j,c,h", *rows]) + "\n")
    fit = ("trust", "fit", "v.csv", "--people", "h", "-j", "j", "--signal", "c", "--scale", "pairwise")
    assert "of 1, 2, tie" in command(*fit).err
    done = command(*fit, "--values", "pass=abstained")
    assert done.code == 0, done.err
    assert (trust_of(tmp_path)["accepted"], trust_of(tmp_path)["answers"]) == (160, ["1", "2"])


def test_agreement_is_no_chance(command: Command, verdicts: Path, tmp_path: Path) -> None:
    assert command(*FIT).code == 0
    quality = trust_of(tmp_path)["stages"][0]["signals"][0]
    assert quality["brier"] is not None
    made = Signal("repeats", np.array([1.0, 0.5]), "repeats")
    assert made.is_share
    assert not made.is_chance
