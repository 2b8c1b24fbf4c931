"""The way of a new user: own rows, several judges, an own function, the gate; each in a clean process."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

JUDGES = {
    "sharp": "planted/rater?sensitivity=0.97&specificity=0.95&noise=0.02",
    "lenient": "planted/rater?sensitivity=0.97&specificity=0.65&noise=0.02",
    "noisy": "planted/rater?sensitivity=0.97&specificity=0.97&noise=0.35",
    "stubborn": "planted/constant?value=1",
}
READ = ("--columns", "request=question,response=answer,label=label,id=id")
WITH = ("--rubric", "rubric.md", "--scale", "binary")


def named(judges: dict[str, str]) -> list[str]:
    return [part for name, judge in judges.items() for part in ("-j", f"{judge}&name={name}")]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A user's folder: rows with labels, a rubric, a function."""
    (tmp_path / "rubric.md").write_text("1 if the answer is right, else 0.\n")
    (tmp_path / "judges.py").write_text("def grade(request, response):\n    return len(response) % 2\n")
    for count in (60, 200):
        with (tmp_path / f"rows{count}.csv").open("w", newline="") as stream:
            rows = [(n, f"Question {n}?", "word " * (3 + n % 7), int(n % 9 < 5)) for n in range(count)]
            csv.writer(stream).writerows([("id", "question", "answer", "label"), *rows])
    return tmp_path


def verdicts(folder: Path) -> dict[str, tuple[str, str]]:
    """Word, and title of the first fact, of every judge."""
    body = json.loads((folder / "datasheet.json").read_text())
    return {
        v["judge"]: (v["verdict"], v["facts"][0]["title"] if v["facts"] else "") for v in body["verdicts"]
    }


def test_four_judges_of_sixty_rows_get_four_headlines(steelyard, desk: Path) -> None:
    done = steelyard("measure", "--data", "rows60.csv", *READ, *WITH, *named(JUDGES), "--out", "four")
    assert done.returncode == 0, done.stderr
    found = verdicts(desk / "four")
    assert len(set(found.values())) == 4, found
    assert found["sharp"][0] == "no_fault_found"
    assert found["lenient"] == ("usable_with_care", "Leniency")
    assert found["noisy"][1] == "Repeatability"
    assert found["stubborn"] == ("unfit", "Accuracy")
    assert done.stdout.rstrip().endswith("four/datasheet.html")


def test_an_own_function_is_measured_and_the_gate_tells_it_from_a_sharp_judge(steelyard, desk: Path) -> None:
    rows = ("--data", "rows200.csv", *READ, *WITH)
    own = steelyard("measure", *rows, "-j", "python/judges.py:grade", "--out", "own")
    assert own.returncode == 0, own.stderr
    ((word, title),) = verdicts(desk / "own").values()
    assert (word, title) == ("unfit", "Accuracy")
    assert steelyard("gate", "own", "--policy", "default").returncode == 3
    sharp = steelyard("measure", *rows, *named({"sharp": JUDGES["sharp"]}), "--out", "sharp")
    assert sharp.returncode == 0, sharp.stderr
    passed = steelyard("gate", "sharp", "--policy", "default")
    assert passed.returncode == 0, passed.stdout
    shown = steelyard("show", "own", "--outcome", "wrong", "-n", "1")
    assert shown.returncode == 0, shown.stderr
    assert "Question" in shown.stdout
