"""What reports say of remedies: which one for which fault, in a table, a line, and below the verdict."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from said import decision
from steelyard.commands.import_verdicts import import_verdicts
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.pairs import POSITION
from steelyard.datasheet.questions.questions import FAULTS, QUESTIONS
from steelyard.datasheet.render import markdown, terminal
from steelyard.datasheet.render.data_files import dumps, to_json
from steelyard.datasheet.render.html import page
from steelyard.datasheet.sections.remedies import (
    remedy_brief,
    remedy_for,
    remedy_line,
    remedy_tables,
    unknown_remedies,
)
from steelyard.datasheet.sections.summary import summarise
from steelyard.metrics.remedies.mitigations import AVERAGE, JURY, MAJORITY, MEAN, ORDERS, PROTOCOL

ANSWERS = ("11", "11", "11", "12", "1t", "11", "21", "11")


def line(probe: str, kind: str, pair: int, first: str, answer: str, **facts: Any) -> dict[str, Any]:
    name = f"{kind}-{facts.get('delta', 0)}-{pair:02d}"
    said = {"t": "tie"}.get(answer, answer)
    shown = {"probe": probe, "kind": kind, "task": f"t{pair % 16:02d}", "pair": name, **facts}
    return {"judge": "lean", **shown, "first": first, "answer": said}


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Datasheet:
    """A judge that leans to the first slot, on pairs of equals and pairs one step apart."""
    lines = []
    for n in range(32):
        for first, answer in zip("uv", ANSWERS[n % 8], strict=True):
            lines.append(line("ladder", "same_subset", n, first, answer, delta=0))
        for first, answer in zip("uv", "11" if n % 3 == 0 else "12", strict=True):
            lines.append(line("ladder", "prefix", n, first, answer, delta=1, better="u"))
    path: Path = tmp_path_factory.mktemp("calls") / "lean.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return import_verdicts([path], "lean").datasheet


def test_the_remedy_for_a_lean_is_to_ask_in_both_orders(sheet: Datasheet) -> None:
    (lean,) = (each for each in sheet.findings if each.question is POSITION)
    cured = remedy_for(sheet, lean)
    assert cured is not None
    assert (cured.remedy, cured.calls) == ("orders", 2)
    told = remedy_line(sheet, "lean")
    # Equals: 2·8 + 2·20 + 4 of 64 calls commit, 8 of 32 pairs with both orders; one step: 53 of 64, 21 of 32.
    assert told.startswith(
        "Remedy for “leans to slot 1”: both orders, a tie where they differ (2 calls per verdict): "
    )
    assert "prefers between equals (raw false preference) 0.94 [0.78, 0.98] → 0.25 [" in told
    assert "leans to slot 1 (net slot preference) +0.69 [+0.45, +0.92] → 0 by construction" in told
    assert "chooses the better text (target sensitivity), one step 0.83 [0.71, 0.91] → 0.66 [" in told
    brief = remedy_brief(sheet, "lean")
    assert "net slot" not in brief
    assert "(raw false preference) 0.94 [0.78, 0.98] → 0.25" in brief


def test_remedies_for_what_was_flagged_stand_first_below_the_judge_itself(sheet: Datasheet) -> None:
    (table,) = remedy_tables(summarise(sheet))
    assert table.header[:3] == ("", "calls per verdict", "prefers between equals (raw false preference)")
    titles = [title for title, _, _ in table.rows]
    assert titles == ["as measured", "both orders, a tie where they differ", "average of both orders"]
    cell = table.rows[1][2][0]
    assert cell.figure.startswith("0.25 [")
    assert cell.change.startswith("−0.69 [")
    assert str(cell) == f"{cell.figure} ({cell.change})"


def test_what_the_calls_do_not_tell_is_told_once_for_each_lack(sheet: Datasheet) -> None:
    unknown = unknown_remedies(sheet, "lean")
    assert (
        "majority of 3, majority of 3 in both orders: needs 3 repeats of each call (--replicates 3)"
        in unknown
    )
    assert (
        "strict instruction, strict instruction, both orders: needs calls under the strict protocol"
        in unknown
    )
    assert "jury of three: needs three judges in one run, on the same stimuli." in unknown


def test_a_judge_without_a_flag_has_no_remedy_line(sheet: Datasheet) -> None:
    calm = replace(
        sheet, findings=tuple(replace(reading, status="clear") for reading in sheet.findings), verdicts=()
    )
    assert remedy_line(calm, "lean") == remedy_brief(calm, "lean") == ""
    assert remedy_tables(summarise(calm))
    odd = replace(calm, findings=(decision("lean", "Robustness", "flagged"),))
    assert remedy_line(odd, "lean") == ""


def test_every_report_shows_them(sheet: Datasheet) -> None:
    written = markdown.render(sheet)
    assert "## Remedies" in written
    assert "- **Remedy:** both orders, a tie where they differ (2 calls per verdict)" in written
    stream = io.StringIO()
    terminal.render(sheet, Console(file=stream, width=200))
    assert "remedy: both orders, a tie where they differ" in stream.getvalue()
    html = page.render(sheet)
    assert 'id="remedies"' in html
    assert "0 by construction" in html


def test_a_sheet_comes_back_with_its_remedies_and_an_old_one_has_none(sheet: Datasheet) -> None:
    again = Datasheet.loads(dumps(sheet))
    assert again.remedies == sheet.remedies
    body = to_json(sheet)
    del body["remedies"]
    old = Datasheet.from_json(body)
    assert old.remedies == ()
    assert remedy_tables(summarise(old)) == ()
    assert "## Remedies" not in markdown.render(old)


def test_every_remedy_of_a_question_is_a_kind_that_is_computed() -> None:
    own = {kind for question in QUESTIONS for kind in question.remedies}
    causes = {kind for _, fault in FAULTS for kind in fault.remedies}
    assert own | causes == {ORDERS, AVERAGE, PROTOCOL, MAJORITY, MEAN, JURY}
