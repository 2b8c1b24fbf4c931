"""The way of a new user: own rows, several judges, an own function, the gate; each in a clean process."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from commands import run_command

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


ROWS = (
    "--data",
    "rows140.csv",
    *READ,
    *WITH,
    "-p",
    "stochastic_stability",
    "-j",
    f"{JUDGES['sharp']}&name=sharp",
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder: rows with labels, a rubric, a function, and the run of a sharp judge."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "rubric.md").write_text("1 if the answer is right, else 0.\n")
    (folder / "judges.py").write_text("def grade(request, response):\n    return len(response) % 2\n")
    for count in (60, 140):
        with (folder / f"rows{count}.csv").open("w", newline="") as stream:
            rows = [(n, f"Question {n}?", "word " * (3 + n % 7), int(n % 9 < 5)) for n in range(count)]
            csv.writer(stream).writerows([("id", "question", "answer", "label"), *rows])
    run_command(folder, "measure", *ROWS, "--out", "run")
    return folder


@pytest.fixture
def desk(measured: Path, tmp_path: Path) -> Path:
    return shutil.copytree(measured, tmp_path, dirs_exist_ok=True)


def verdicts(folder: Path) -> dict[str, tuple[str, str]]:
    """Word, and title of the first fact, of every judge."""
    body = json.loads((folder / "datasheet.json").read_text())
    return {
        v["judge"]: (v["verdict"], v["facts"][0]["title"] if v["facts"] else "") for v in body["verdicts"]
    }


def test_judges_of_sixty_rows_get_their_headlines_and_an_own_function_is_measured(
    steelyard, desk: Path
) -> None:
    own = ("-j", "python/judges.py:grade?name=own")
    done = steelyard(
        "measure",
        "--data",
        "rows60.csv",
        *READ,
        *WITH,
        *named(JUDGES),
        *own,
        "-p",
        "stochastic_stability",
        "--out",
        "five",
    )
    assert done.returncode == 0, done.stderr
    found = verdicts(desk / "five")
    assert found.pop("own") == ("unfit", "Merit")
    assert len(set(found.values())) == 4, found
    assert found["sharp"][0] == "no_fault_found"
    assert found["lenient"] == ("usable_with_care", "Leniency")
    assert found["noisy"][1] == "Repeatability"
    assert found["stubborn"] == ("unfit", "Merit")
    assert done.stdout.rstrip().endswith("five/datasheet.html")
    assert steelyard("gate", "five", "-j", "own", "--policy", "default").returncode == 3
    shown = steelyard("show", "five", "-j", "own", "--outcome", "wrong", "-n", "1")
    assert shown.returncode == 0, shown.stderr
    assert "Question" in shown.stdout


def test_the_gate_passes_a_sharp_judge(steelyard, desk: Path) -> None:
    passed = steelyard("gate", "run", "--policy", "default")
    assert passed.returncode == 0, passed.stdout


def test_files_of_a_run_that_are_no_input_are_told_what_they_are(steelyard, desk: Path) -> None:
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
    assert steelyard("plan", *ROWS, "--out", "run").returncode == 0
    seed = steelyard("plan", *ROWS, "--out", "run", "--seed", "8")
    assert (seed.returncode, "run: holds another study (seed" in seed.stderr) == (2, True)
    for job in ("plan", "measure"):
        data = steelyard(job, "--data", "rows60.csv", *ROWS[2:], "--out", "run")
        assert data.returncode == 2
        assert "run: holds a study of other data than rows60.csv; choose another --out." in data.stderr
