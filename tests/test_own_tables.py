"""Tables as people have them: columns by their names, usual words, one map of values, one path."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from docs_pages import ROOT

COLUMNS = ("uid", "question", "answer", "judge_verdict", "human")


def answers(size: int = 200, labelled: int | None = None, words: tuple[str, str] = ("good", "bad")) -> list:
    """Rows of a judge that is wrong on every seventh; people's words on the first of them."""
    rows = []
    for number in range(size):
        right = number % 3 > 0
        said = right if number % 7 else not right
        label = words[not right] if labelled is None or number < labelled else ""
        rows.append((f"u{number}", f"Why {number}?", f"Since {number}.", words[not said], label))
    return rows


def write_csv(path: Path, rows: list, header: tuple[str, ...] = COLUMNS, **dialect: Any) -> Path:
    encoding = dialect.pop("encoding", "utf-8")
    with path.open("w", newline="", encoding=encoding) as stream:
        csv.writer(stream, **dialect).writerows([header, *rows])
    return path


def write_jsonl(path: Path, rows: list, header: tuple[str, ...] = COLUMNS) -> Path:
    lines = (json.dumps(dict(zip(header, row, strict=True))) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def accuracy(text: str) -> tuple[int, int]:
    rows = json.loads(text)["estimates"]
    found = next(
        row for row in rows if row["metric"] == "accuracy" and not row["group"].keys() - {"protocol"}
    )
    return found["numerator"], found["denominator"]


def said(text: str) -> str:
    return " ".join(text.split())


def printed_command(text: str) -> list[str]:
    """The words of the only `steelyard …` line, as a shell would take them."""
    (line,) = re.findall(r"^\s*(steelyard .+)$", text, flags=re.MULTILINE)
    return shlex.split(line)[1:]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_own_verdicts_are_imported_at_the_first_try(command: Command, tmp_path: Path, ending: str) -> None:
    write = write_jsonl if ending == "jsonl" else write_csv
    write(tmp_path / f"verdicts.{ending}", answers())
    done = command("import", f"verdicts.{ending}", "--out", "sheet", "--json")
    assert done.code == 0, done.err
    assert accuracy(done.out) == (171, 200)
    assert "--columns item=uid,score=judge_verdict,expected=human,text=answer" in done.err


def test_a_sheet_carries_texts_and_asks_for_no_label_twice(command: Command, tmp_path: Path) -> None:
    write_csv(tmp_path / "scored.csv", answers(labelled=80))
    done = command("labels", "draw", "scored.csv", "-n", 40, "--out", "lab")
    assert done.code == 0, done.err
    assert "80 items have a label in scored.csv already: not drawn, nor in the figure." in said(done.out)
    with (tmp_path / "lab" / "sheet.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 40
    for row in rows:
        number = int(re.fullmatch(r"Why (\d+)\?", row["request"])[1])
        assert row["response"] == f"Since {number}."
        assert number >= 80


def test_a_sheet_without_texts_is_refused(command: Command, tmp_path: Path) -> None:
    write_csv(
        tmp_path / "bare.csv",
        [row[:1] + row[3:] for row in answers(labelled=80)],
        ("uid", "verdict", "human"),
    )
    done = command("labels", "draw", "bare.csv", "-n", 40, "--out", "lab")
    assert done.code == 2
    assert "no texts to show" in done.err
    assert "--texts" in done.err
    assert not (tmp_path / "lab").exists()


def test_the_example_of_the_leaderboard_works_on_the_file_of_the_examples(command: Command) -> None:
    votes = ROOT / "examples" / "votes.csv"
    done = command("leaderboard", votes, "--judge", "verdict", "--people", "human", "--design", "random")
    assert done.code == 0, done.err
    mapped = command(
        *("leaderboard", votes, "--judge", "verdict", "--people", "human", "--design", "random"),
        *("--columns", "item=id,system_a=model_a,system_b=model_b"),
    )
    assert done.out == mapped.out
