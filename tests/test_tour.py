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
    assert found["stubborn"] == ("unfit", "Merit")
    assert done.stdout.rstrip().endswith("four/datasheet.html")


def test_an_own_function_is_measured_and_the_gate_tells_it_from_a_sharp_judge(steelyard, desk: Path) -> None:
    rows = ("--data", "rows200.csv", *READ, *WITH)
    own = steelyard(
        "measure", "--data", "rows60.csv", *rows[2:], "-j", "python/judges.py:grade", "--out", "own"
    )
    assert own.returncode == 0, own.stderr
    ((word, title),) = verdicts(desk / "own").values()
    assert (word, title) == ("unfit", "Merit")
    assert steelyard("gate", "own", "--policy", "default").returncode == 3
    sharp = steelyard("measure", *rows, *named({"sharp": JUDGES["sharp"]}), "--out", "sharp")
    assert sharp.returncode == 0, sharp.stderr
    passed = steelyard("gate", "sharp", "--policy", "default")
    assert passed.returncode == 0, passed.stdout
    shown = steelyard("show", "own", "--outcome", "wrong", "-n", "1")
    assert shown.returncode == 0, shown.stderr
    assert "Question" in shown.stdout


def test_files_of_a_run_that_are_no_input_are_told_what_they_are(steelyard, desk: Path) -> None:
    rows = ("--data", "rows60.csv", *READ, *WITH, "-p", "stochastic_stability")
    assert steelyard("measure", *rows, "-j", JUDGES["sharp"], "--out", "run").returncode == 0
    assert steelyard("export", "run", "--out", "told").returncode == 0
    for place in ("told/observations.jsonl", "run/results.jsonl"):
        lines = steelyard("import", place, "--out", "imported")
        assert lines.returncode == 2
        assert f"{place}, line 1: a line of a run's results or of `steelyard export`" in lines.stderr
    frozen = steelyard("measure", "run/study.yaml", "--out", "run")
    assert frozen.returncode == 2
    assert "run/study.yaml: is what a run keeps of its study" in frozen.stderr
    assert "with --out run, or see its figures with `steelyard report run`" in frozen.stderr


def test_a_plan_refuses_the_folder_that_a_measurement_would(steelyard, desk: Path) -> None:
    rows = ("--data", "rows60.csv", *READ, *WITH, "-p", "stochastic_stability")
    assert steelyard("measure", *rows, "-j", JUDGES["sharp"], "--out", "run").returncode == 0
    assert steelyard("plan", *rows, "-j", JUDGES["sharp"], "--out", "run").returncode == 0
    seed = steelyard("plan", *rows, "-j", JUDGES["sharp"], "--out", "run", "--seed", "8")
    assert (seed.returncode, "run: holds another study (seed" in seed.stderr) == (2, True)
    other = ("--data", "rows200.csv", *rows[2:])
    for job in ("plan", "measure"):
        data = steelyard(job, *other, "-j", JUDGES["sharp"], "--out", "run")
        assert data.returncode == 2
        assert "run: holds a study of other data than rows200.csv; choose another --out." in data.stderr
