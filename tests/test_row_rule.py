"""The row rule: what a row prints as interval, limit and state agrees, for every judge and folder at hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from calibration.words import sheet_of, verdicts_only
from calibration.worlds import KINDS, World
from commands import run_command
from record.folders import FOLDERS
from steelyard.commands.gate.gate import rule_on
from steelyard.commands.gate.policy import Policy, find_policy, parse_policy
from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.questions import question_of
from steelyard.datasheet.sections.first_screen import Row, key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.metrics.instrument.worth_estimates import WORTH
from steelyard.run_folder.published_files import read_datasheet

POLICY = parse_policy({"merit": "clear", "flags": "fail"}, "policy")
SIDES = {"at most": (-1e9, 1.0), "at least": (1.0, 1e9), "within ±": (-1.0, 1.0)}


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("+", "").replace("<", "").replace("∞", "inf"))


def state_of(interval: str, limit: str, *, tested: bool) -> str:
    """The state that a reader takes from the printed interval and the printed limit."""
    low, high = (number(end) for end in interval[1:-1].split(", "))
    found = re.fullmatch(r"(at most|at least|within ±) ?([\d.]+)", limit)
    assert found, limit
    least, most = SIDES[found[1]]
    edge = float(found[2])
    least, most = (least * edge if abs(least) == 1 else least), (most * edge if abs(most) == 1 else most)
    if least <= low and high <= most:
        return "fine"
    if tested and found[1] == "within ±":  # a difference that is shown is printed against 0
        assert low <= 0 <= high, (interval, limit)
    return "too high" if low > most else "too low" if high < least else "undecided"


def rows_of(sheet: Datasheet) -> list[Row]:
    summary = summarise(sheet)
    rows = []
    for judge in summary.measured:
        mine = key_figures(summary, judge.name)
        verdict = summary.verdict(judge.name)
        assert verdict is not None
        named = {question_of(cause) for cause in verdict.causes}
        # Every fault that is named, and every open question, has its row.
        assert named <= {row.decision.question for row in mine} | {None}, (judge.name, named)
        rows += mine
    return rows


def check(sheet: Datasheet) -> int:
    seen = 0
    for row in rows_of(sheet):
        if row.state is None or row.estimate.interval is None:
            continue
        told = f"{row.name}  {numbers.value(row.estimate)}  {row.interval}  {row.limit}  {row.word}"
        assert row.word == state_of(row.interval, row.limit, tested=row.estimate.metric != WORTH.id), told
        seen += 1
    return seen


@pytest.mark.parametrize("name", FOLDERS)
def test_rows_of_every_folder_agree_with_themselves(name: str, recorded: Callable[[str], Path]) -> None:
    check(read_datasheet(recorded(name)))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_planted_judge_agree_with_themselves(kind: str) -> None:
    answers = {judge: planted.answers for judge, planted in KINDS[kind].judges.items()}
    with verdicts_only():
        sheet = sheet_of(World.of(kind, 0, 3), answers, 3)
    assert check(sheet) > len(answers)
    shown = {f"{numbers.value(row.estimate)} {row.interval}" for row in rows_of(sheet)}
    for judge in answers:
        checks = rule_on(sheet, POLICY, [judge]).checks
        rows = [each for each in checks if each.rule.endswith(": within its limit")]
        assert {each.found for each in rows if each.value is not None} <= shown


@pytest.mark.parametrize(
    ("interval", "limit", "state"),
    [
        ("[0.59, 0.73]", "at least 0.75", "too low"),
        ("[+0.36, +1.00]", "at most 0", "too high"),
        ("[−0.10, +0.09]", "within ±0.10", "fine"),
        ("[0.62, 0.75]", "at least 0.75", "undecided"),
        ("[0.001, 0.09]", "at most 0.10", "fine"),
    ],
)
def test_a_reader_takes_the_state_from_what_is_printed(interval: str, limit: str, state: str) -> None:
    assert state_of(interval, limit, tested=True) == state


def test_calls_that_only_one_probe_loses_have_a_row_that_says_so(tmp_path: Path) -> None:
    """4 of 100 texts with other spaces, and no other call: far below the limit of 2 %, and no accident."""
    (tmp_path / "mine.py").write_text(
        "from steelyard.errors import Unreadable\n"
        "def judge(request, response):\n"
        "    if '  ' in response and int(request[1:]) % 25 == 0:\n"
        "        raise Unreadable('garbled')\n"
        "    return int(response.split()[-1])\n",
        encoding="utf-8",
    )
    rows = "\n".join(f"q{n},it is the case that we have {n % 2},{n % 2}" for n in range(100))
    (tmp_path / "rows.csv").write_text(f"request,response,label\n{rows}\n", encoding="utf-8")
    (tmp_path / "rubric.md").write_text("Right answers pass.\n", encoding="utf-8")
    data = ("--data", "rows.csv", "--rubric", "rubric.md", "--scale", "binary", "--out", "run")
    run_command(tmp_path, "measure", "-j", "python/mine.py:judge", *data)
    sheet = read_datasheet(tmp_path / "run")
    check(sheet)
    (row,) = (row for row in rows_of(sheet) if row.estimate.metric == "unreadable_rate")
    assert (row.name, row.limit, row.word) == (
        "unreadable in runs of spaces, against the others",
        "at most 0",
        "too high",
    )
    (found,) = (
        each
        for each in rule_on(sheet, default(), [sheet.verdict.judge]).checks
        if each.metric == "unreadable_rate"
    )
    assert found.result == "FAIL"
    assert "interval" not in found.reason


def default() -> Policy:
    return find_policy("default")


def test_a_row_that_contradicts_itself_is_seen() -> None:
    """Of real judges: a merit below its limit was called too high, a sure lean undecided."""
    assert state_of("[0.60, 0.71]", "at least 0.75", tested=False) != "too high"
    with pytest.raises(AssertionError, match=r"\+0\.36, \+1\.00"):
        state_of("[+0.36, +1.00]", "within ±0.10", tested=True)
