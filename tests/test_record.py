"""Run folders of every kind: each form says the same word, the same rows and the same next step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from record.diff import summary
from record.folders import FOLDERS
from record.render import WIDE, forms
from record.reports import REPORTS, printed
from record.write import recorded_forms, report_file, write_folder

WORDS = "unfit|usable with care|no fault found[^|]*?|too little data"
STATES = {
    **dict.fromkeys(("too high", "too low", "↑", "↓"), "flagged"),
    **dict.fromkeys(("undecided", "?"), "inconclusive"),
    **dict.fromkeys(("fine", ""), "clear"),
}
"""What people read to the words of JSON."""
INTERVAL = r"[\[(][^\[\]()]*[\])]"


class Row(NamedTuple):
    """One figure of a first screen."""

    name: str
    value: str
    interval: str
    limit: str
    state: str


class Said(NamedTuple):
    """What a form says of one judge or several."""

    words: dict[str, str]
    """Judge to verdict."""
    rows: list[Row]
    steps: list[str]
    """The next steps that stand first, each with its command."""


def on_screen(text: str) -> Said:
    words = dict(re.findall(rf"^(?:\d+  )?(\S.*?): ({WORDS})$", text, re.M))
    cells = [re.split(r" {2,}", line.strip()) for line in re.findall(r"^  \S.*  .*$", text, re.M)]
    rows = [Row(*row) for row in cells if len(row) == len(Row._fields)]
    return Said(
        words, rows, re.findall(r"^Next(?: for .*?)?: (.*(?:\nsteelyard (?:measure|gate) .*)?)", text, re.M)
    )


def in_markdown(text: str) -> Said:
    words = dict(re.findall(rf"^## (.*): ({WORDS})$", text, re.M))
    found = rf"^\| (\S.*) \| (\S+) ({INTERVAL})[^|]* \| (.*) \| (?:\*\*)?(.*?)(?:\*\*)? \|$"
    every = [Row(*row) for row in re.findall(found, text.partition("\n## ")[0], re.M)]
    rows = [row for row in every if row.limit != "no limit"]
    steps = re.findall(r"^- \*\*Next:\*\* (.*(?:\n\nsh\n.*)?)", text, re.M)
    return Said(words, rows, [step.replace("\n\nsh", "") for step in steps])


def on_page(text: str) -> Said:
    first, _, rest = text.partition("\nReasons in full\n")
    words = dict(re.findall(rf"^(.*): ({WORDS})$", rest, re.M))
    states = "|".join(map(re.escape, filter(None, STATES)))
    found = rf"^(.*) \| (\S+) \[[^\[\]]*\] ({INTERVAL}) .*\| \| ({states}) (.*)$"
    rows = [Row(r[0][0].lower() + r[0][1:], r[1], r[2], r[4], r[3]) for r in re.findall(found, first, re.M)]
    steps = re.findall(
        rf"^Next (?:for (?:{'|'.join(map(re.escape, words))}) )?(.*(?:\nsteelyard (?:measure|gate) .*)?)",
        first,
        re.M,
    )
    return Said(words, rows, steps)


def several(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Of several judges: column and judge to what the cell holds, of Markdown or of the page."""
    lines = [line for line in text.splitlines() if " | " in line]
    start = next(n for n, line in enumerate(lines) if line.strip("| ").startswith("judge | verdict"))
    _, _, *columns = lines[start].strip("| ").split(" | ")
    found = {}
    for line in lines[start + 1 :]:
        judge, word, *cells = line.strip("| ").split(" | ")
        is_rule = judge.startswith(":--")
        if len(cells) != len(columns) or not (is_rule or re.search(WORDS, word)):
            break
        if not is_rule:
            found |= {(name, judge): cell_parts(cell) for name, cell in zip(columns, cells, strict=True)}
    return found


def cell_parts(cell: str) -> tuple[str, ...]:
    """Value, interval, and the state where it is printed."""
    words = "fine|too high|too low|undecided"
    found = re.match(rf"(\S+)(?: \[[^\[\]\d][^\[\]]*\])?(?: (?:{words}))? ({INTERVAL})", cell)
    state = re.search(rf"\b({words})\b", cell)
    return (found[1], found[2], STATES[state[1] if state else ""]) if found else (cell, "", "clear")


def several_on_screen(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    judges = re.findall(rf"^\d+  (\S.*?): (?:{WORDS})$", text, re.M)
    rows = text.partition("\n↑ too high")[0].rpartition("\n\n")[2].splitlines()[1:]
    cells = [row.strip().rsplit(maxsplit=len(judges)) for row in rows if not re.match(r"\d+: ", row)]
    return {
        (name, judge): (value.rstrip("↑↓?"), STATES[value[-1] if value[-1] in "↑↓?" else ""])
        for name, *values in cells
        for judge, value in zip(judges, values, strict=True)
    }


def near(printed: str, number: float | None) -> bool:
    """Whether the number is printed so: to within half of the last place, or a little more at an end."""
    if number is None:
        return "∞" in printed
    figure = printed.replace("−", "-").replace("+", "").replace(",", "")
    places = len(figure.partition(".")[2])
    return abs(float(figure) - number) <= 0.501 * 10**-places


def is_of(row: Row, estimate: dict[str, Any]) -> bool:
    ends = row.interval.strip("[]()").split(", ")
    held = [*estimate["intervals"], *([estimate["decides"]] if estimate.get("decides") else [])]
    return (
        estimate["value"] is not None
        and near(row.value, estimate["value"])
        and any(near(ends[0], each["low"]) and near(ends[1], each["high"]) for each in held)
        and estimate["finding"] in (STATES[row.state], _of_parts(estimate))
    )


def _of_parts(estimate: dict[str, Any]) -> str | None:
    """What a test of merit has as its finding, where it is one of several: that of all stands elsewhere."""
    return None if estimate["metric"] == "merit" else ""


def step_of(verdict: dict[str, Any]) -> str:
    """The step of a verdict in JSON, as people read it."""
    step = verdict["next"]
    price = f" ({step['price']})" if step["price"] else ""
    return f"{step['purpose']}{price}" + (f":\n{step['command']}" if step["command"] else "")


def difference(path: Path, text: str) -> str:
    """What is other than recorded."""
    was = path.read_text(encoding="utf-8")
    changed = unified_diff(was.splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=1)
    return "\n".join([f"{path.name}: if right, PYTHONPATH=tests python -m record.write", *changed])


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_printed_as_recorded(name: str, tmp_path: Path) -> None:
    path, text = report_file(name), printed(name, tmp_path)
    assert text == path.read_text(encoding="utf-8"), difference(path, text)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_form_says_the_same(name: str, recorded: Callable[[str], Path]) -> None:
    run = recorded(name)
    told = forms(run, WIDE)
    for path, text in recorded_forms(name, told).items():
        was = path.read_text(encoding="utf-8")
        assert text == was, difference(path, text)
    told["markdown"] = re.sub(r"\\(.)", r"\1", told["markdown"])
    told = {form: text.replace("`", "") for form, text in told.items()}  # the page has code, not its marks
    screen, text, page = on_screen(told["screen"]), in_markdown(told["markdown"]), on_page(told["page"])
    verdicts = json.loads(told["json"])["verdicts"]
    assert screen.words == text.words == page.words
    assert list(screen.words) == [verdict["judge"] for verdict in verdicts]
    assert all(screen.words[v["judge"]].startswith(v["verdict"].replace("_", " ")) for v in verdicts)
    steps = [step_of(verdict) for verdict in verdicts]
    assert text.steps == steps
    if len(verdicts) == 1:
        assert screen.rows == text.rows == page.rows
        assert screen.rows
        estimates = json.loads((run / "datasheet.json").read_text(encoding="utf-8"))["estimates"]
        for row in screen.rows:
            assert any(is_of(row, e) for e in estimates if e["judge"] == verdicts[0]["judge"]), row
        assert [step.rstrip(".") for step in page.steps] == screen.steps == steps
    else:
        marked = several_on_screen(told["screen"])
        listed, drawn = several(told["markdown"]), several(told["page"])
        assert marked == {place: (value, state) for place, (value, _, state) in listed.items()}
        assert {place: parts[:2] for place, parts in listed.items()} == {
            place: parts[:2] for place, parts in drawn.items()
        }
        assert set(screen.steps) <= set(steps)
        assert [step.rstrip(".") for step in page.steps] == screen.steps


def test_the_record_is_the_same_twice_and_a_change_is_told_once(tmp_path: Path) -> None:
    """Two servers on two ports, at two times, in two places: no byte differs."""
    old, new = tmp_path / "old", tmp_path / "new"
    for out in (old, new):
        out.mkdir()
        for name in ("server-dies", "import-scores", "plugin-probe"):
            write_folder(name, out)
    assert list(summary(old, new)) == ["0 changes, 0 told"]
    for number, name in enumerate(("server-dies", "import-scores"), start=1):
        path = new / f"{name}.screen.txt"
        path.write_text(path.read_text() + f"{number} more\n")
    assert list(summary(old, new)) == [
        "@@ 2× in import-scores.screen.txt, server-dies.screen.txt",
        "+2 more",
        "2 changes, 1 told",
    ]
    assert len(list(summary(old, new, every=True))) == 5
