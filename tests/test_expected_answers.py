"""Texts written or changed to earn an answer: a judge that misses it has a fault, and passes no gate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Steelyard
from scores import call
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.shares import followed
from steelyard.tasks.pack import pack

POLICIES = ("smoke", "default", "strict")
Line = Mapping[str, str | int | None]


def line(probe: str, item: str, score: int, expected: int, edit: str | None = None) -> Line:
    variant = "original" if edit is None else "perturbed"
    body: dict[str, str | int] = {"judge": "j", "probe": probe, "task": item, "item": item, "replicate": 0}
    body |= {"variant": variant, "protocol": "base", "score": score, "expected": expected}
    return body if edit is None else {**body, "edit": edit}


def flips(rows: int, follows: int) -> list[Line]:
    """Right on every row, and on so many of the flipped ones."""
    lines = []
    for n in range(rows):
        label = n % 2
        score = 1 - label if n < follows else label
        lines += [
            line("label_flip", f"r{n}", label, label),
            line("label_flip", f"r{n}", score, 1 - label, "flip"),
        ]
    return lines


def levels(rows: int, *, turned: bool, constant: bool = False) -> list[Line]:
    """Right on every row of a scale 1-6; texts for each level right, turned round, or always 3."""
    lines = []
    for n in range(rows):
        label = 1 + n % 6
        lines.append(line("label_flip", f"r{n}", label, label))
        for level in range(1, 7):
            score = 3 if constant else 7 - level if turned else level
            lines.append(line("synthetic_ordinal", f"r{n}", score, level, f"level {level}"))
    return [{**each, "scale": "1-6"} for each in lines]


def imported(steelyard: Steelyard, folder: Path, lines: Iterable[Line]) -> str:
    """What the first screen says of recorded verdicts."""
    file = folder / "verdicts.jsonl"
    file.write_text("\n".join(json.dumps(each) for each in lines), encoding="utf-8")
    done = steelyard("import", file, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    return done.stdout


def results(steelyard: Steelyard, run: Path) -> dict[str, int]:
    return {name: steelyard("gate", run, "--policy", name).returncode for name in POLICIES}


def test_a_judge_that_follows_no_flip_has_a_fault_and_fails_every_shipped_policy(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    """0 of 250: the upper Wilson limit is 3.84 / 253.84 = .015, below .65."""
    screen = imported(steelyard, tmp_path, flips(250, 0))
    assert "j: usable with care" in screen
    assert "It follows a changed label in only 0 of 250 calls." in screen
    assert "follows a changed label  0.00   [0.00, 0.02]    at least 0.65  too low" in screen
    assert results(steelyard, tmp_path / "run") == dict.fromkeys(POLICIES, 3)
    sheet = (tmp_path / "run" / "datasheet.md").read_text(encoding="utf-8").replace("\\", "")
    assert "Follows a changed label in only 0 of 250 calls, 0.00 [0.00, 0.02]; floor 0.65" in sheet
    page = (tmp_path / "run" / "datasheet.html").read_text(encoding="utf-8")
    assert "Follows a changed label" in page
    assert "Expected answers" in page


@pytest.mark.parametrize(("follows", "word"), [(250, "fine"), (163, "undecided"), (140, "too low")])
def test_the_floor_is_compared_with_the_whole_interval(
    steelyard: Steelyard, tmp_path: Path, follows: int, word: str
) -> None:
    """163 of 250 is .652 [.59, .71]; 140 is .56 [.50, .62]."""
    screen = imported(steelyard, tmp_path, flips(250, follows))
    row = next(each for each in screen.splitlines() if each.strip().startswith("follows a changed label"))
    assert row.rstrip().endswith(f"at least 0.65  {word}")
    assert ("usable with care" in screen) == (word == "too low")
    codes = results(steelyard, tmp_path / "run")
    assert codes["smoke"] == (3 if word == "too low" else 0)
    assert codes["strict"] == {"fine": codes["strict"], "undecided": 4, "too low": 3}[word]


@pytest.mark.parametrize("lost", ["unreadable", "failed"])
def test_lost_flips_are_in_the_interval_that_the_row_shows(
    steelyard: Steelyard, tmp_path: Path, lost: str
) -> None:
    """50 of 50 followed and 50 lost: at worst 50 of 100, which is below the floor."""
    lines = flips(100, 100)
    lines = [
        {**each, "score": None, "outcome": lost} if "edit" in each and n % 4 == 1 else each
        for n, each in enumerate(lines)
    ]
    screen = imported(steelyard, tmp_path, lines)
    row = next(each for each in screen.splitlines() if each.strip().startswith("follows a changed label"))
    low, high = (float(end) for end in row.partition("[")[2].partition("]")[0].split(","))
    assert low < 0.65 < high
    assert row.rstrip().endswith("undecided")


def test_abstentions_on_flips_are_told(steelyard: Steelyard, tmp_path: Path) -> None:
    lines = [
        {**each, "score": None, "outcome": "abstain"} if "edit" in each and n % 4 == 1 else each
        for n, each in enumerate(flips(100, 100))
    ]
    imported(steelyard, tmp_path, lines)
    sheet = (tmp_path / "run" / "datasheet.md").read_text(encoding="utf-8")
    assert "abstains in 50 of 100 calls" in sheet


@pytest.mark.parametrize("constant", [False, True])
def test_a_judge_that_misses_every_written_level_fails(
    steelyard: Steelyard, tmp_path: Path, constant: bool
) -> None:
    """The wrong way round the rank agreement is −1; one that always answers 3 has none, which counts as 0."""
    screen = imported(steelyard, tmp_path, levels(40, turned=True, constant=constant))
    row = next(each for each in screen.splitlines() if each.strip().startswith("ranks written levels"))
    assert row.split()[3] == ("0.00" if constant else "−1.00")
    assert row.rstrip().endswith("at least 0.30  too low")
    assert "It does not rank texts written for each level by that level." in screen
    assert results(steelyard, tmp_path / "run") == dict.fromkeys(POLICIES, 3)


def test_a_judge_that_ranks_written_levels_passes(steelyard: Steelyard, tmp_path: Path) -> None:
    screen = imported(steelyard, tmp_path, levels(40, turned=False))
    assert "no fault found" in screen
    row = next(each for each in screen.splitlines() if each.strip().startswith("ranks written levels"))
    assert row.rstrip().endswith("at least 0.30  fine")
    assert results(steelyard, tmp_path / "run")["smoke"] == 0


def test_a_flip_without_labelled_rows_is_a_fault_all_the_same(steelyard: Steelyard, tmp_path: Path) -> None:
    """Nothing is known of merit; the fault is named, and the gate fails and does not wait for more."""
    changed = [each for each in flips(80, 0) if "edit" in each]
    screen = imported(steelyard, tmp_path, changed)
    assert "too little data" in screen
    assert "It follows a changed label in only 0 of 80 calls" in screen
    assert results(steelyard, tmp_path / "run") == dict.fromkeys(POLICIES, 3)


def test_a_policy_of_ones_own_that_asks_for_merit_fails_it_once(steelyard: Steelyard, tmp_path: Path) -> None:
    imported(steelyard, tmp_path, flips(250, 0))
    policy = tmp_path / "policy.yaml"
    policy.write_text("merit: clear\n", encoding="utf-8")
    done = steelyard("gate", tmp_path / "run", "--policy", policy, "--json")
    assert done.returncode == 3
    failed = [check["rule"] for check in json.loads(done.stdout)["checks"] if check["result"] == "FAIL"]
    assert failed == ["follows a changed label (label followed): at least 0.65"]


@pytest.mark.parametrize(("score", "goes"), [(6, 0), (5, 0), (4, 0), (3, 1), (2, 1), (1, 1)])
def test_on_a_scale_a_score_follows_where_it_lies_nearer_to_the_changed_label(score: int, goes: int) -> None:
    """Label 6 changed to 1: up to 3 is nearer to 1. Label 3 changed to 5: a 4 is nearer to neither."""
    rows = [call("a", 6, 6, scale="1-6"), call("a", score, 1, probe="label_flip", scale="1-6")]
    rows += [call("b", 3, 3, scale="1-6"), call("b", 4, 5, probe="label_flip", scale="1-6")]
    context = EstimateContext.for_protocol("j", "label_flip", "base", 7)
    found = followed(context, collect_scores(rows))
    assert (found.numerator, found.denominator) == (goes, 2)


def test_on_a_scale_a_flip_is_compared_with_its_item_whosever_label_that_has() -> None:
    changed = call("a", 5, 6, probe="label_flip", scale="1-6")
    context = EstimateContext.for_protocol("j", "label_flip", "base", 7)
    assert followed(context, collect_scores([changed])).value is None
    plain = replace(call("a", 1, 1, scale="1-6"), own_label=True)
    assert followed(context, collect_scores([plain, changed])).value == 1.0


def test_the_built_in_flips_are_measured_and_gated(steelyard: Steelyard, tmp_path: Path) -> None:
    """A judge that knows every response of the pack, and takes a changed one for its original."""
    answers = {
        text: entry.label
        for task in pack()
        for entry in task.items
        for text in (entry.response, entry.label_flip.response)
    }
    (tmp_path / "mine.py").write_text(
        f"ANSWERS = {answers!r}\n\n\ndef judge(request, response):\n    return ANSWERS[response]\n",
        encoding="utf-8",
    )
    measured = steelyard(
        *("measure", "-j", f"python/{tmp_path / 'mine.py'}:judge", "-p", "label_flip", "--scale", "binary"),
        *("--out", tmp_path / "run"),
    )
    assert measured.returncode == 0, measured.stderr
    assert "It follows a changed label in only 0 of " in measured.stdout
    assert results(steelyard, tmp_path / "run") == dict.fromkeys(POLICIES, 3)
