"""Recorded scores on another range than that of their item, which nothing but a file may bring."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from steelyard.commands.import_verdicts import ImportResult, import_verdicts
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example_selection import ExampleSelector, explain
from steelyard.errors import DataError
from steelyard.verdicts.call_answers import CallAnswers


def line(number: int, scale: str, score: int, expected: int | None, **more: Any) -> dict[str, Any]:
    body = {
        "judge": "J",
        "probe": "a",
        "item": f"i{number}",
        "variant": "original",
        "scale": scale,
        "score": score,
    }
    return {**body, **({} if expected is None else {"expected": expected}), **more}


def edited(number: int, scale: str, score: int, expected: int | None) -> dict[str, Any]:
    return line(number, scale, score, expected, probe="b", variant="perturbed", edit="another range")


def read(tmp_path: Path, lines: Iterable[dict[str, Any]]) -> ImportResult:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(body) + "\n" for body in lines))
    return import_verdicts([path])


def right(sheet: Datasheet) -> tuple[int | None, int | None]:
    found = sheet.find("J", "accuracy", "b", protocol="base")
    assert found is not None
    return found.numerator, found.denominator


@pytest.mark.parametrize(("plain", "other"), [("binary", "1-10"), ("1-10", "binary")])
def test_yes_and_no_are_on_no_range(tmp_path: Path, plain: str, other: str) -> None:
    """A figure of both together would be of nothing; it ended as a fault, or in numbers off the scale."""
    lines = [body for n in range(4) for body in (line(n, plain, 1, 1), edited(n, other, 1, 1))]
    with pytest.raises(DataError, match=f"item 'i0' is scored on {plain} and on {other}, expected a text "):
        read(tmp_path, lines)


def test_a_label_that_an_edit_changes_stays_changed_on_another_range(tmp_path: Path) -> None:
    """The item is 1 of 1-5 and its edit 10 of 1-10, which is 5 of 1-5: 10 is right, and 1 wrong."""
    told = {0: 10, 1: 10, 2: 1, 3: 1}
    lines = [
        body for n, score in told.items() for body in (line(n, "1-5", 1, 1), edited(n, "1-10", score, 10))
    ]
    imported = read(tmp_path, lines)
    assert right(imported.datasheet) == (2, 4)
    answers = CallAnswers.of(imported.observations)
    assert int(answers.right.sum()) == 4 + 2


def test_a_label_that_was_renumbered_is_that_of_the_item(tmp_path: Path) -> None:
    """3 of 1-5 is 6 of 1-10 (5.5, halves go up); 5 and 6 lie nearest to level 3, 7 to level 4 (3.67)."""
    told = {0: 5, 1: 6, 2: 7}
    lines = [
        body for n, score in told.items() for body in (line(n, "1-5", 3, 3), edited(n, "1-10", score, 6))
    ]
    imported = read(tmp_path, lines)
    assert right(imported.datasheet) == (2, 3)
    assert int(CallAnswers.of(imported.observations).right.sum()) == 3 + 2
    # Repeats of one edit, and the sentence about them.
    lines = [
        line(0, "1-5", 3, 3),
        *({**edited(0, "1-10", score, 6), "replicate": n} for n, score in told.items()),
    ]
    seen = read(tmp_path, lines).observations
    wrong, every = (ExampleSelector(seen).choose(outcome, 9, 7) for outcome in ("wrong", None))
    assert [explain(case) for case in wrong] == [
        "the reference is 6; 1 of 3 calls gave another answer, which counts as an error"
    ]
    assert "2 of 3 calls met the reference" in " ".join(map(explain, every))


def test_an_edit_without_a_label_of_its_own_has_that_of_its_item_nowhere(tmp_path: Path) -> None:
    lines = [body for n in range(3) for body in (line(n, "1-5", 3, 3), edited(n, "1-10", 6, None))]
    imported = read(tmp_path, lines)
    assert right(imported.datasheet) == (None, None)
    assert int(CallAnswers.of(imported.observations).right.sum()) == 3
