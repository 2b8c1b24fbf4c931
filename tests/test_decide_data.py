"""Early decisions on rows of the user's own data."""

from __future__ import annotations

import csv
import json
from math import log
from pathlib import Path

import pytest
from scipy.special import betaln

from commands import Command, Done
from steelyard.commands.decision import parse_rule
from steelyard.errors import ConfigError
from steelyard.probes.probe import PAIRWISE, POINTWISE


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Forty labelled single texts and pairs, the second text of each pair the longer and the better."""
    (tmp_path / "rubric.md").write_text("1 if the answer is right, else 0.\n")
    with (tmp_path / "rows.csv").open("w", newline="") as stream:
        rows = [(n, f"Question {n}?", f"Answer number {n}, in words.", n % 2) for n in range(40)]
        csv.writer(stream).writerows([("id", "question", "answer", "label"), *rows])
    with (tmp_path / "pairs.csv").open("w", newline="") as stream:
        pairs = [(n, f"Question {n}?", f"Short {n}.", f"A longer answer, number {n}.", 2) for n in range(40)]
        csv.writer(stream).writerows([("id", "question", "one", "two", "label"), *pairs])
    return tmp_path


ROWS = ("--data", "rows.csv", "--rubric", "rubric.md", "--scale", "binary")
PAIRS = ("--data", "pairs.csv", "--rubric", "rubric.md", "--scale", "pairwise")
LABEL = "request=question,response=answer,label=label"
NO_LABEL = "request=question,response=answer"
PAIRED = "request=question,response_1=one,response_2=two,label=label"


def decided(done: Done) -> dict[str, tuple[str, int, int]]:
    assert done.code == 0, done.err
    last = [(d["judge"], d["verdict"], d["looks"][-1]) for d in json.loads(done.out)]
    return {judge: (verdict, look["units"], look["calls"]) for judge, verdict, look in last}


def least(limit: float) -> int:
    """Looks of five until a judge that is always right is above the limit, by the formula of the guide."""
    for n in range(5, 100, 5):
        if betaln(0.5 + n, 0.5) - betaln(0.5, 0.5) - n * log(limit) >= log(20):
            return n
    raise AssertionError


def test_accuracy_on_single_texts_is_decided_row_by_row(command: Command, files: Path) -> None:
    right = "planted/rater?sensitivity=1&specificity=1&noise=0&name=right"
    judges = ("-j", right, "-j", "planted/constant?value=1")
    asked = ("measure", "--until", "accuracy>0.8", *ROWS, "--columns", LABEL, *judges, "--out", "d")
    outcome = decided(command(*asked, "--json"))
    rows = least(0.8)
    assert outcome["right"] == ("above", rows, rows)  # one call a row
    assert outcome["planted/constant"][0] == "below"
    printed = command(*asked)
    assert "Rows are sampled at random" in printed.out
    assert "No calls: every trial was answered before" in printed.out


def test_pairs_of_the_data_are_drawn_in_both_orders(command: Command, files: Path) -> None:
    arguments = (*PAIRS, "--columns", PAIRED, "-j", "planted/longest", "-j", "planted/first", "--json")
    right = decided(command("measure", "--until", "accuracy>0.8", *arguments, "--out", "a"))
    pairs = least(0.8)
    assert right["planted/longest"] == ("above", pairs, 2 * pairs)
    assert right["planted/first"][0] == "below"
    stays = decided(command("measure", "--until", "order_consistency>0.5", *arguments, "--out", "b"))
    assert (stays["planted/longest"][0], stays["planted/first"][0]) == ("above", "below")


def test_rows_without_a_label_decide_no_accuracy(command: Command, files: Path) -> None:
    done = command(
        *("measure", "--until", "accuracy>0.8", *ROWS, "--columns", NO_LABEL),
        *("-j", "planted/random", "--out", "d"),
    )
    assert done.code == 2
    assert "no row of the data has a label" in done.err


def test_a_rule_is_of_what_is_drawn() -> None:
    assert parse_rule("accuracy>0.8", POINTWISE).noun == "row"
    assert parse_rule("accuracy>0.8", PAIRWISE).probe == "position"
    assert parse_rule("tie_rate<0.5", PAIRWISE).delta is None  # natural pairs have no steps
    for text, form, hint in (
        ("accuracy>0.8", "built-in", "accuracy belongs to pairs of your data"),
        ("dark_current<0.1", POINTWISE, "dark_current belongs to the built-in pairs"),
        ("order_consistency>0.5", POINTWISE, "order_consistency belongs to pairs of your data"),
    ):
        with pytest.raises(ConfigError, match=hint):
            parse_rule(text, form)
