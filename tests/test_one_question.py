"""What users saw go wrong between a figure and its sentence, each on a run folder."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from calibration.words import sheet_of as sheet_of_world
from calibration.words import verdicts_only
from calibration.worlds import KINDS, World
from commands import run_command
from record.folders import FOLDERS, SOUND, SWAYED
from record.render import forms
from servers import ScriptedServer, fails, says
from steelyard.datasheet import numbers
from steelyard.datasheet.clause import Clause, ClauseFigure
from steelyard.datasheet.conclusion import NO_FAULT, UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import address
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.question import Decision, State
from steelyard.datasheet.render import html
from steelyard.datasheet.render.clauses import css_class, headword, lead, state_of
from steelyard.datasheet.sections.first_screen import judge_rows, key_figures, shared_step
from steelyard.datasheet.sections.remedies import remedy_tables
from steelyard.datasheet.sections.summary import Summary, summarise
from steelyard.run_folder.published_files import read_datasheet

WIDE = 400


Recorded = Callable[[str], Path]


@pytest.fixture
def sheet_of(recorded: Recorded) -> Callable[[str], Datasheet]:
    """The datasheet of a run folder of the record."""
    return lambda name: read_datasheet(recorded(name))


def decision(sheet: Datasheet, name: str) -> Decision:
    return next(each for each in sheet.findings if each.title == name)


def test_a_stratum_is_named_whole_in_every_form(recorded: Recorded) -> None:
    run = recorded("rows-strata")
    said = "It is right less often in billing: refunds (2024)."
    assert lead(read_datasheet(run).verdict) == said
    told = forms(run, WIDE)
    assert all(said in told[form].replace("\\", "") for form in ("screen", "markdown", "page"))
    figure = r"against the others +−0.50 +\[−0.68, −0.32\] +at least 0 +too low"
    assert re.search(rf"  right in billing: refunds \(2024\), {figure}", told["screen"])


def test_equal_counts_lead_to_their_own_calls(sheet_of: Callable[[str], Datasheet]) -> None:
    sheet = sheet_of("rows-equal-errors")
    clause = decision(sheet, "Leniency").clause
    counted = [part.estimate.metric for part in clause.whole if isinstance(part, ClauseFigure)]
    wrong = ["false_positive_rate"] * 2 + ["false_negative_rate"] * 2
    assert counted[:4] == wrong
    mine = [e for e in sheet.look_up.of_judge(sheet.verdict.judge) if e.is_overall and e.probe == "original"]
    rates = {e.metric: e for e in mine if e.metric in wrong}
    assert {(e.numerator, e.denominator) for e in rates.values()} == {(30, 300)}
    page = html.render(sheet)
    places = {m: page.count(f'href="#estimate-{sheet.estimates.index(e)}"') for m, e in rates.items()}
    assert all(places.values()), places


@pytest.mark.parametrize("name", ["tradeoff-two-cues-quick", "tradeoff-two-cues-of-rows"])
def test_every_cue_that_is_named_has_its_row(name: str, sheet_of: Callable[[str], Datasheet]) -> None:
    sheet = sheet_of(name)
    judge = sheet.verdict.judge
    flagged = [e for e in sheet.estimates if e.metric == "cue_worth" and e.status == "flagged"]
    assert len(flagged) >= 2
    shown = [row for row in key_figures(summarise(sheet), judge) if row.estimate.metric == "cue_worth"]
    assert {row.estimate.group["cue"] for row in shown} == {e.group["cue"] for e in flagged}
    assert {row.word for row in shown} == {"too high"}


def test_a_probe_that_was_asked_for_has_a_row_decided_or_not(sheet_of: Callable[[str], Datasheet]) -> None:
    sheet = sheet_of("pairs-criterion-quick")
    assert "criterion" in sheet.asked
    rows = key_figures(summarise(sheet), sheet.verdict.judge)
    (asked,) = [row for row in rows if row.estimate.probe == "criterion"]
    assert (asked.limit, asked.word) == ("no limit", "")


@pytest.mark.parametrize(("name", "shade"), [("pairs-sound-quick", "usable"), ("pairs-sound-standard", "no")])
def test_green_is_for_a_judge_with_nothing_undecided(
    name: str, shade: str, sheet_of: Callable[[str], Datasheet]
) -> None:
    verdict = sheet_of(name).verdict
    assert (verdict.word, css_class(verdict)) == (NO_FAULT, shade)
    open_ = len(verdict.undecided)
    assert (open_ == 0) == (shade == "no")
    said = f"no fault found so far; {open_} questions undecided" if open_ else "no fault found"
    assert headword(verdict) == said


def test_several_judges_have_one_next_step_that_measures_no_unfit_judge(
    sheet_of: Callable[[str], Datasheet],
) -> None:
    sheet = sheet_of("judges-five-pairs")
    step = shared_step(summarise(sheet))
    assert step is not None
    assert (step.judge, step.word) == ("sound", NO_FAULT)
    assert step.command is not None
    assert step.command.count(" -j ") == 1
    unfit = [verdict.judge for verdict in sheet.verdicts if verdict.word == UNFIT]
    assert len(unfit) == 2
    assert not [name for name in unfit if name in step.command]


def test_a_judge_whose_server_did_not_answer_says_that_first(recorded: Recorded) -> None:
    run = recorded("server-dies")
    sheet = read_datasheet(run)
    assert sheet.verdict.advice is Advice.NO_SERVER
    assert lead(sheet.verdict) == "No reply at all in 10 of 12 calls."
    told = forms(run, WIDE)
    for form in ("screen", "markdown", "page"):
        assert "have the failed calls asked again (10 calls, " in told[form]
    # Replies that never came are not called readable.
    assert "unreadable" not in [row.name for row in key_figures(summarise(sheet), sheet.verdict.judge)]


def test_a_word_stands_beside_every_number_of_several_judges(recorded: Recorded) -> None:
    run = recorded("judges-five-pairs")
    _, rows = judge_rows(summarise(read_datasheet(run)))
    cells = [cell for row in rows for cell in row.figures if cell is not None]
    page = (run / "datasheet.html").read_text(encoding="utf-8")
    table = page[page.index('<table class="judges">') : page.index("</table>")]
    words = re.findall(r"</b> <span>(fine|too high|too low|undecided)</span></span>", table)
    assert words == [cell.word for cell in cells]
    assert len(set(words)) == 4


def test_figures_as_measured_and_remedied_lead_to_calls_of_their_own(
    sheet_of: Callable[[str], Datasheet],
) -> None:
    summary = summarise(sheet_of("pairs-criterion-quick"))
    (table,) = remedy_tables(summary)
    (_, _, first), *others = table.rows
    assert any(cell.measured is not None for cell in first)
    assert {cell.remedy for cell in first} == {""}
    for _, _, cells in others:
        led = {cell.remedy for cell in cells if cell.measured is not None}
        assert "" not in led
        assert len(led) <= 1
    assert any(cell.remedy for _, _, cells in others for cell in cells)


def test_a_clause_is_no_text() -> None:
    clause = Clause(("is so",))
    assert not isinstance(clause, str)
    assert "__str__" not in vars(Clause)


def measured_together(place: Path, *words: str) -> Summary:
    place.mkdir(exist_ok=True)
    run_command(place, "measure", *words, "--out", place / "run")
    return summarise(read_datasheet(place / "run"))


def test_judges_that_are_all_unfit_have_a_next_step_too(tmp_path: Path) -> None:
    summary = measured_together(tmp_path, "-j", "planted/first", "-j", "planted/tie")
    assert {verdict.word for verdict in summary.datasheet.verdicts} == {UNFIT}
    step = shared_step(summary)
    assert step is not None
    assert step.next is not None
    assert step.next.step == "FIX_AND_REPEAT"


def test_a_column_holds_one_figure_and_every_named_fault_has_one(
    sheet_of: Callable[[str], Datasheet], tmp_path: Path
) -> None:
    """Both rates of lost calls, and both cues, whichever judge of several has which."""
    summary = summarise(sheet_of("server-refuses"))
    columns, (silent, other) = judge_rows(summary)
    assert [row and row.name for row in silent.figures] == [None, "failed"]
    assert [row and row.name for row in other.figures] == columns == ["reacts to nothing", "failed"]
    assert other.figures[1] is not None
    assert other.figures[1].state is None
    given = ("-j", SWAYED, "-j", SOUND, "-p", "tradeoff")
    columns, rows = judge_rows(measured_together(tmp_path / "cues", *given))
    swayed = key_figures(summarise(read_datasheet(tmp_path / "cues" / "run")), "swayed")
    outside = [row.name for row in swayed if row.state in (State.TOO_HIGH, State.TOO_LOW)]
    assert len(outside) >= 2
    assert set(outside) <= set(columns)
    assert all(
        known is None or known.name == name
        for row in rows
        for known, name in zip(row.figures, columns, strict=True)
    )


def test_no_column_is_empty_beside_another_of_its_question(tmp_path: Path) -> None:
    """A judge without a criterion has no figure where the others have theirs, and no column of its own."""
    given = ("-j", "planted/probit", "-j", "planted/coin", "-p", "vacuum", "-p", "ladder", "-p", "criterion")
    columns, rows = judge_rows(measured_together(tmp_path, *given))
    assert "more ties when told so: strict" in columns
    assert [name for place, name in enumerate(columns) if not any(row.figures[place] for row in rows)] == []


def test_a_judge_of_which_no_call_was_made_has_no_remedies_and_no_fault_of_ours(tmp_path: Path) -> None:
    """A wrong key stops a run of single texts before the second judge is asked."""
    rows = "\n".join(f"q{n},a {n % 2},{n % 2}" for n in range(20))
    (tmp_path / "rows.csv").write_text(f"request,response,label\n{rows}\n", encoding="utf-8")
    (tmp_path / "rubric.md").write_text("Right answers pass.\n", encoding="utf-8")
    data = ("--data", "rows.csv", "--rubric", "rubric.md", "--scale", "binary", "--concurrency", 1)
    answers = [says('{"score": 0}')] * 3 + [fails(401, "no such key")]
    with ScriptedServer(*answers) as server:
        judges = [f"openai/{name}?base_url={server.url}&name={name}" for name in ("asked", "never")]
        given = ("measure", "-j", judges[0], "-j", judges[1], *data, "--out", "run")
        run_command(tmp_path, *given, code=2, OPENAI_API_KEY="k")
    done = run_command(tmp_path, "report", "run")
    assert "could not be computed" not in done.err


def test_a_server_that_answered_nothing_has_no_rate_of_unreadable_replies(tmp_path: Path) -> None:
    """Beside a judge whose replies cannot be read, the column stays empty for the one that gave none."""
    with ScriptedServer(says("I would rather not say.")) as server:
        mute = f"openai/mute?base_url={server.url}&name=mute"
        dead = "openai/x?base_url=http://127.0.0.1:9/v1&name=dead"
        given = ("-j", mute, "-j", dead, "-p", "vacuum", "--no-preflight", "--attempts", 1, "--out", "run")
        run_command(tmp_path, "measure", *given, code=1, OPENAI_API_KEY="k")
    columns, rows = judge_rows(summarise(read_datasheet(tmp_path / "run")))
    told = {row.judge: dict(zip(columns, row.figures, strict=True)) for row in rows}
    assert told["mute"]["unreadable"] is not None
    assert told["dead"]["unreadable"] is None
    assert told["dead"]["failed"] is not None


@pytest.mark.parametrize("name", ["natural-longer-preferred", "pairs-blunt-quick"])
def test_a_list_of_all_figures_has_the_words_that_the_file_has(
    name: str, sheet_of: Callable[[str], Datasheet]
) -> None:
    words = {"clear": "fine", "inconclusive": "undecided"}
    every = [each for each in sheet_of(name).estimates if each.status in words]
    assert [e for e in every if state_of(e) not in (words[e.status], "")] == []


def gaps(summary: Summary) -> list[tuple[str, str]]:
    """Judge and column of each dash in whose place the sheet has the figure that another judge shows.

    A question that is not measured of a judge has no figure, such as whether one repeats its only answer.
    """
    columns, rows = judge_rows(summary)
    found = []
    for place, name in enumerate(columns):
        shown = next(figure for row in rows if (figure := row.figures[place]) is not None)
        measured = summary.datasheet.look_up.rows[address(shown.estimate)[1:]]
        for row in rows:
            own = summary.finding(row.judge, shown.decision.title)
            if row.figures[place] is None and own is not None and own.state is not State.NOT_MEASURED:
                found += [(row.judge, name)] if numbers.defined(measured.get(row.judge)) else []
    return found


@pytest.mark.parametrize("name", [each for each in FOLDERS if each.startswith("judges-")])
def test_a_dash_is_a_figure_that_was_not_measured(name: str, sheet_of: Callable[[str], Datasheet]) -> None:
    assert gaps(summarise(sheet_of(name))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_planted_judge_of_several_has_its_figure_in_every_column(kind: str) -> None:
    """Merit that is fine at all steps beside one refuted at three, or a taste that chance explains."""
    answers = {judge: planted.answers for judge, planted in KINDS[kind].judges.items()}
    with verdicts_only():
        sheet = sheet_of_world(World.of(kind, 0, 3), answers, 3)
    assert gaps(summarise(sheet)) == []


def test_calls_are_one_count_where_a_server_of_several_is_dead(tmp_path: Path) -> None:
    dead = "openai/x?base_url=http://127.0.0.1:9/v1"
    given = ("-j", SOUND, "-j", dead, "-p", "vacuum", "--out", "run")
    done = run_command(tmp_path, "measure", *given, code=1, OPENAI_API_KEY="k")
    asked = read_datasheet(tmp_path / "run").facts.asked
    partial, head, *_ = (line for line in done.out.splitlines() if f"{asked} " in line)
    assert partial.startswith(f"Partial: {asked} of ")
    assert head.endswith(f"{asked} calls")
    assert f"\n{asked} calls in this run, 1 of them failed." in done.out


def test_no_call_lost_is_not_marked_as_undecided(sheet_of: Callable[[str], Datasheet]) -> None:
    sheet = sheet_of("pairs-sound-quick")
    rate = sheet.find("sound", "failed_rate", "run")
    assert rate is not None
    assert (rate.numerator, rate.status) == (0, "inconclusive")
    assert summarise(sheet).status(rate) == ""
    assert decision(sheet, "Failures").state is State.FINE


def test_an_unfit_judge_of_a_partial_run_is_not_measured_to_the_end(
    recorded: Recorded, tmp_path: Path
) -> None:
    """What was asked shows that it says the opposite; the other calls would be paid for nothing."""
    place = recorded("rows-reversed")
    with closing(sqlite3.connect(place / "run.db")) as store, store:
        store.execute("DELETE FROM replies WHERE trial = (SELECT max(trial) FROM replies)")
    run_command(tmp_path, "report", place)
    sheet = read_datasheet(place)
    assert sheet.partial
    assert sheet.verdict.word == UNFIT
    assert sheet.verdict.next is not None
    assert sheet.verdict.next.step == "FIX_AND_REPEAT"
