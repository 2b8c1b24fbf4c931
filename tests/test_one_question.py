"""What users saw go wrong between a figure and its sentence, each on a run folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from record.folders import make
from record.render import forms
from steelyard.datasheet.clause import Clause, Figure
from steelyard.datasheet.conclusion import NO_FAULT, UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.question import Decision
from steelyard.datasheet.render import html
from steelyard.datasheet.render.clauses import css_class, headword, lead
from steelyard.datasheet.sections.first_screen import judge_rows, key_figures, shared_step
from steelyard.datasheet.sections.remedies import remedy_tables
from steelyard.datasheet.sections.summary import summarise
from steelyard.run_folder.published_files import read_datasheet

WIDE = 400


def sheet_of(name: str, place: Path) -> Datasheet:
    return read_datasheet(make(name, place))


def decision(sheet: Datasheet, name: str) -> Decision:
    return next(each for each in sheet.findings if each.title == name)


def test_a_stratum_is_named_whole_in_every_form(tmp_path: Path) -> None:
    run = make("rows-strata", tmp_path)
    said = "It is right less often in billing: refunds (2024)."
    assert lead(read_datasheet(run).verdict) == said
    told = forms(run, WIDE)
    assert all(said in told[form].replace("\\", "") for form in ("screen", "markdown", "page"))
    figure = r"against the others +−0.50 +\[−0.68, −0.32\] +at least 0 +too low"
    assert re.search(rf"  right in billing: refunds \(2024\), {figure}", told["screen"])


def test_equal_counts_lead_to_their_own_calls(tmp_path: Path) -> None:
    sheet = sheet_of("rows-equal-errors", tmp_path)
    clause = decision(sheet, "Leniency").clause
    counted = [part.estimate.metric for part in clause.whole if isinstance(part, Figure)]
    wrong = ["false_positive_rate"] * 2 + ["false_negative_rate"] * 2
    assert counted[:4] == wrong
    mine = [e for e in sheet.look_up.of_judge(sheet.verdict.judge) if e.is_overall and e.probe == "original"]
    rates = {e.metric: e for e in mine if e.metric in wrong}
    assert {(e.numerator, e.denominator) for e in rates.values()} == {(30, 300)}
    page = html.render(sheet)
    places = {m: page.count(f'href="#estimate-{sheet.estimates.index(e)}"') for m, e in rates.items()}
    assert all(places.values()), places


@pytest.mark.parametrize("name", ["tradeoff-two-cues-quick", "tradeoff-two-cues-of-rows"])
def test_every_cue_that_is_named_has_its_row(name: str, tmp_path: Path) -> None:
    sheet = sheet_of(name, tmp_path)
    judge = sheet.verdict.judge
    flagged = [e for e in sheet.estimates if e.metric == "cue_worth" and e.status == "flagged"]
    assert len(flagged) >= 2
    shown = [row for row in key_figures(summarise(sheet), judge) if row.estimate.metric == "cue_worth"]
    assert {row.estimate.group["cue"] for row in shown} == {e.group["cue"] for e in flagged}
    assert {row.word for row in shown} == {"too high"}


def test_a_probe_that_was_asked_for_has_a_row_decided_or_not(tmp_path: Path) -> None:
    sheet = sheet_of("pairs-criterion-quick", tmp_path)
    assert "criterion" in sheet.asked
    rows = key_figures(summarise(sheet), sheet.verdict.judge)
    (asked,) = [row for row in rows if row.estimate.probe == "criterion"]
    assert (asked.limit, asked.word) == ("no limit", "")


@pytest.mark.parametrize(("name", "shade"), [("pairs-sound-quick", "usable"), ("pairs-sound-standard", "no")])
def test_green_is_for_a_judge_with_nothing_undecided(name: str, shade: str, tmp_path: Path) -> None:
    verdict = sheet_of(name, tmp_path).verdict
    assert (verdict.word, css_class(verdict)) == (NO_FAULT, shade)
    open_ = len(verdict.undecided)
    assert (open_ == 0) == (shade == "no")
    said = f"no fault found so far; {open_} questions undecided" if open_ else "no fault found"
    assert headword(verdict) == said


def test_several_judges_have_one_next_step_that_measures_no_unfit_judge(tmp_path: Path) -> None:
    sheet = sheet_of("judges-five-pairs", tmp_path)
    step = shared_step(summarise(sheet))
    assert step is not None
    assert (step.judge, step.word) == ("sound", NO_FAULT)
    assert step.command is not None
    assert step.command.count(" -j ") == 1
    unfit = [verdict.judge for verdict in sheet.verdicts if verdict.word == UNFIT]
    assert len(unfit) == 2
    assert not [name for name in unfit if name in step.command]


def test_a_judge_whose_server_did_not_answer_says_that_first(tmp_path: Path) -> None:
    run = make("server-dies", tmp_path)
    sheet = read_datasheet(run)
    assert sheet.verdict.advice is Advice.NO_SERVER
    assert lead(sheet.verdict) == "No reply at all in 10 of 12 calls."
    told = forms(run, WIDE)
    for form in ("screen", "markdown", "page"):
        assert "have the failed calls asked again (10 calls, " in told[form]
    # Replies that never came are not called readable.
    assert "unreadable" not in [row.name for row in key_figures(summarise(sheet), sheet.verdict.judge)]


def test_a_word_stands_beside_every_number_of_several_judges(tmp_path: Path) -> None:
    run = make("judges-five-pairs", tmp_path)
    _, rows = judge_rows(summarise(read_datasheet(run)))
    cells = [cell for row in rows for cell in row.figures if cell is not None]
    page = (run / "datasheet.html").read_text(encoding="utf-8")
    table = page[page.index('<table class="judges">') : page.index("</table>")]
    words = re.findall(r"</b> (fine|too high|too low|undecided)</span>", table)
    assert words == [cell.word for cell in cells]
    assert len(set(words)) == 4


def test_only_figures_as_measured_lead_to_calls(tmp_path: Path) -> None:
    summary = summarise(sheet_of("pairs-criterion-quick", tmp_path))
    (table,) = remedy_tables(summary)
    (_, _, first), *others = table.rows
    assert any(cell.measured is not None for cell in first)
    assert not [cell for _, _, cells in others for cell in cells if cell.measured is not None]


def test_a_clause_is_no_text() -> None:
    clause = Clause(("is so",))
    assert not isinstance(clause, str)
    assert "__str__" not in vars(Clause)
