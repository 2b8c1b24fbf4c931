"""Judges with one fault each, measured on sixty labelled rows: every fault is read, and no other."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from own_judges import measured, study_of

JUDGES = {
    "sharp": "planted/rater?sensitivity=0.97&specificity=0.95&noise=0.02",
    "lenient": "planted/rater?sensitivity=0.97&specificity=0.65&noise=0.02",
    "noisy": "planted/rater?sensitivity=0.97&specificity=0.95&noise=0.35",
    "stubborn": "planted/constant?value=1",
}
Words = Mapping[str, Mapping[str, tuple[str, str]]]
"""Judge and title to word and sentence."""


def rows_of(path: Path, count: int = 60) -> Path:
    """Labelled answers whose length says nothing of their label."""
    chance = random.Random(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "question", "answer", "ok"))
        for n in range(count):
            words = " ".join(
                chance.choices(["alpha", "beta", "gamma", "delta", "omega"], k=chance.randint(5, 40))
            )
            writer.writerow((f"r{n:02d}", f"Question {n}?", f"Answer {n}: {words}.", int(n % 20 < 11)))
    return path


def study(folder: Path, judges: Mapping[str, str], probes: str) -> Path:
    (folder / "rubric.md").write_text("A helpful answer answers the question.\n", encoding="utf-8")
    listed = "".join(f'  - {{name: {name}, model: "{model}"}}\n' for name, model in judges.items())
    text = (
        f"name: panel\njudges:\n{listed}"
        'task: {instruction: "Is the answer helpful?", scale: binary, rubric: rubric.md}\n'
        "data:\n  path: rows.csv\n  columns: {request: question, response: answer, label: ok, id: id}\n"
        f"probes: [{probes}]\n"
    )
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return folder / "study.yaml"


def words_of(sheet: Mapping[str, Any]) -> Words:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for reading in sheet["readings"]:
        found.setdefault(reading["judge"], {})[reading["title"]] = reading["word"], reading["sentence"]
    return found


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the four judges' run."""
    folder = tmp_path_factory.mktemp("panel")
    rows_of(folder / "rows.csv")
    probes = "format_invariance_1, injection, stochastic_stability"
    measured(study_of(study(folder, JUDGES, probes), ("constant",)), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def words(panel: Path) -> Words:
    return words_of(json.loads((panel / "datasheet.json").read_text(encoding="utf-8")))


def test_four_judges_have_four_sets_of_words(words: Words) -> None:
    flagged, clear = (
        {judge: [t for t, (found, _) in said.items() if found == word] for judge, said in words.items()}
        for word in ("flagged", "clear")
    )
    assert flagged == {
        "sharp": [],
        "lenient": ["Leniency"],
        "noisy": ["Repeatability"],
        "stubborn": ["Merit", "Accuracy", "Leniency"],
    }
    assert {"Accuracy", "Repeatability"} <= set(clear["sharp"])
    assert "Accuracy" in clear["noisy"]
    assert words["noisy"]["Leniency"][0] == "inconclusive"


def test_a_constant_is_told_from_its_baseline_and_not_praised(words: Words) -> None:
    said = words["stubborn"]
    assert said["Merit"][1].startswith("does not tell good from bad: merit 0.00 ")
    assert said["Accuracy"][1].startswith("gives the reference answer in 33 of 60 rows (5 calls each) ")
    for title in ("Robustness", "Repeatability", "Volatility"):
        word, sentence = said[title]
        assert word == "undefined"
        assert sentence.startswith("says nothing: it gives the same answer to everything, 1 in ")


def test_leniency_is_told_with_both_false_rates_and_the_references(words: Words) -> None:
    word, sentence = words["lenient"]["Leniency"]
    assert word == "flagged"
    assert sentence.startswith("is lenient: passes 71 of 135 calls ")
    assert "; leniency +0." in sentence
    assert "(all on 13 of 27 rows, some on 3) that should fail" in sentence
    assert "where the references pass 0.55" in sentence


def test_every_report_has_the_new_figures(panel: Path, command: Command) -> None:
    said = command("report", panel, "--full")
    assert said.code == 0
    page, text = ((panel / f"datasheet.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    for words in ("Unchanged items", "over best baseline", "leniency", "share of passes"):
        assert all(words in " ".join(report.split()) for report in (page, text, said.out))


def test_a_gate_takes_items_as_they_are(panel: Path, command: Command, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("accuracy: {min: 0.8}\nkappa: {min: 0.4}\naccuracy_gain: {min: 0.1}\nflags: allow\n")
    done = command("gate", panel, "--policy", policy, "--json")
    checks = json.loads(done.out)["checks"]
    assert len(checks) == 3 * len(JUDGES)
    assert not [check for check in checks if "injection" in json.dumps(check)]
