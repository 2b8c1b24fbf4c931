"""Verdicts: the word, the gravest fact first, and nothing that the readings do not say."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from example_datasheet import FAILING, example, rate, renamed
from planted_faults import verdicts_on
from said import decision, figures_in
from steelyard.datasheet.clause import figure
from steelyard.datasheet.conclude import REASONS_OF_NO_MERIT, concluded, conclusions_of
from steelyard.datasheet.conclusion import (
    CARE,
    JSON_WORDS,
    NO_FAULT,
    TOO_LITTLE,
    UNFIT,
    WORDS,
    Conclusion,
    Fact,
    NextStep,
    next_steps_in,
)
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import GUIDE, Advice, Cause
from steelyard.datasheet.questions.questions import FAULTS, QUESTIONS, decisions_of
from steelyard.datasheet.render import html, markdown, terminal
from steelyard.datasheet.render.clauses import conclusion_text, fact_text, is_settled
from steelyard.datasheet.render.data_files import NotebookSheet, dumps
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Faults
from steelyard.probes.probe import PROBES

ROOT = Path(__file__).parent.parent
SHOWN = {"Merit": "clear"}


def judged(
    words: Mapping[str, str], *estimates: Estimate, profile: str = "standard", run: Mapping[str, object] = {}
) -> Conclusion:
    """The verdict on a judge with these readings and figures; merit is shown unless said otherwise."""
    judges = (JudgeEntry("J", "planted/J", False, {}),)
    stated = (decision("J", title, word, f"about {title}") for title, word in {**SHOWN, **words}.items())
    of_plugins = (d for d in decisions_of(judges, estimates) if d.question not in QUESTIONS)
    sheet = Datasheet(
        name="study",
        seed=7,
        stimulus_set="sha256:0",
        version="0",
        profile=profile,
        judges=judges,
        estimates=estimates,
        findings=(*stated, *of_plugins),
        run=run,
    )
    faults = Faults()
    (verdict,) = conclusions_of(sheet, faults)
    assert not faults.found
    return verdict


def titles(verdict: Conclusion) -> list[str]:
    return [fact.title for fact in verdict.facts]


def brought(fact: Fact) -> list[str]:
    return [decision.title for decision in fact.brings]


def told(judge: str = "J") -> Datasheet:
    """The example with its verdicts."""
    sheet = example()
    sheet = renamed(sheet, "Llama8B", judge) if judge != "J" else sheet
    return replace(sheet, verdicts=tuple(conclusions_of(sheet, Faults())))


# The rules.


def test_a_flag_with_a_remedy_is_usable_with_care() -> None:
    verdict = judged({"Position": "flagged", "Sensitivity": "clear"})
    assert (verdict.word, titles(verdict)) == (CARE, ["Position"])
    assert verdict.advice is Advice.BOTH_ORDERS
    assert verdict.facts[0].cause.guide == "docs/guides/fix-a-judge.md#position"


def test_a_cause_stands_for_what_it_brings() -> None:
    verdict = judged({"Dark current": "flagged", "Position": "flagged", "Sensitivity": "flagged"})
    assert titles(verdict) == ["Position"]
    assert brought(verdict.facts[0]) == ["Dark current", "Sensitivity"]
    assert verdict.word == CARE


def test_a_fault_that_is_told_itself_is_not_told_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    question, rule = next(each for each in FAULTS if each[1].cause is Cause.NEVER_RIGHT)
    others = (each for each in FAULTS if each[1].cause in (Cause.LENIENCY, Cause.ROBUSTNESS))
    rules = ((question, replace(rule, when=None)), *others)
    monkeypatch.setattr("steelyard.datasheet.conclude.FAULTS", rules)
    verdict = judged(dict.fromkeys(("Accuracy", "Leniency", "Robustness"), "flagged"))
    assert [(fact.title, fact.brings) for fact in verdict.facts] == [
        ("Accuracy", ()),
        ("Leniency", ()),
        ("Robustness", ()),
    ]


def test_no_merit_is_unfit_whatever_else_is_flagged_and_names_one_cause() -> None:
    coin = judged({"Merit": "flagged", "Dark current": "flagged", "Sensitivity": "flagged"})
    assert (coin.word, titles(coin)) == (UNFIT, ["Merit"])
    assert brought(coin.facts[0]) == ["Dark current", "Sensitivity"]
    first = judged({"Merit": "flagged", "Dark current": "flagged", "Position": "flagged"})
    assert (first.word, titles(first)) == (UNFIT, ["Position", "Merit"])
    longest = judged({"Merit": "flagged", "Length": "flagged", "Position": "flagged"})
    assert titles(longest) == ["Length", "Merit"]
    advice = [verdict.advice for verdict in (coin, first, longest)]
    assert advice == [Advice.USELESS, Advice.BY_SLOT, Advice.BY_LENGTH]


def test_undecided_merit_is_too_little_data_whatever_is_flagged() -> None:
    verdict = judged({"Merit": "inconclusive", "Position": "flagged", "Surface": "flagged"})
    assert (verdict.word, titles(verdict)) == (TOO_LITTLE, ["Position", "Surface", "Unknown"])
    assert "usable" not in conclusion_text(verdict)
    many = judged(
        {"Merit": "inconclusive", "Length": "flagged", "Robustness": "flagged", "Position": "flagged"}
    )
    assert titles(many) == ["Position", "Length", "Unknown"]
    assert judged({"Merit": "undefined", "Position": "flagged"}).word == TOO_LITTLE


def test_a_judge_that_asks_several_times_is_not_told_to_do_so() -> None:
    sheet = Datasheet(
        "study", 7, "sha256:0", "0", "standard",
        judges=(JudgeEntry("J", "majority/3", False, {}, ("planted/coin",), 3),),
        estimates=(),
        findings=(decision("J", "Merit", "clear"), decision("J", "Repeatability", "flagged")),
    )  # fmt: skip
    (verdict,) = conclusions_of(sheet, Faults())
    assert verdict.advice is Advice.COLDER_OR_STRONGER
    assert judged({"Repeatability": "flagged"}).advice is Advice.STEADY


def test_biased_comes_before_imprecise() -> None:
    assert judged({"Sensitivity": "flagged"}).word == CARE
    verdict = judged(dict.fromkeys(("Repeatability", "Robustness", "Leniency"), "flagged"))
    assert titles(verdict) == ["Leniency", "Robustness", "Repeatability"]


def test_three_facts_at_most() -> None:
    many = ("Length", "Leniency", "Robustness", "Repeatability", "Position", "Surface", "Failures")
    assert len(judged(dict.fromkeys(many, "flagged")).facts) == 3


def test_pairs_in_one_order_leave_a_slot_preference_open() -> None:
    verdict = judged({"Sensitivity": "clear", "Natural pairs": "undefined"})
    assert (verdict.word, verdict.advice) == (NO_FAULT, Advice.STILL_OPEN)
    open_ = verdict.facts[-1].decision
    assert open_ is not None
    assert (open_.title, open_.status) == ("Natural pairs", "undefined")


def test_nothing_flagged_and_right_is_no_fault_so_far() -> None:
    verdict = judged({"Sensitivity": "clear", "Position": "inconclusive", "Failures": "clear"})
    assert verdict.word == NO_FAULT
    assert titles(verdict) == ["Merit", "Sensitivity", "Undecided"]
    assert [decision.title for decision in verdict.undecided] == ["Position"]
    assert (is_settled(verdict), verdict.advice) == (False, Advice.STILL_OPEN)
    settled = judged({"Sensitivity": "clear", "Failures": "clear"})
    assert (settled.word, settled.undecided) == (NO_FAULT, ())
    assert (is_settled(settled), settled.advice) == (True, Advice.NOTHING_OPEN)


@pytest.mark.parametrize(
    "words",
    [
        {"Merit": "inconclusive"},
        {"Merit": "undefined", "Failures": "clear"},
        {"Merit": "inconclusive", "Sensitivity": "clear"},
        {"Merit": "undefined", "Robustness": "clear", "Accuracy": "undefined"},
    ],
)
def test_without_a_clear_answer_about_good_and_bad_there_is_too_little_data(words: dict[str, str]) -> None:
    assert judged(words).word == TOO_LITTLE


def test_unlabelled_data_say_what_was_not_measured() -> None:
    verdict = judged({"Merit": "undefined", "Position": "flagged"})
    assert [(fact.title, fact.cause) for fact in verdict.facts] == [
        ("Position", Cause.POSITION),
        ("Unknown", None),
    ]


def test_a_partial_run_clears_nobody_and_still_shows_faults() -> None:
    run = {"partial": True, "asked": 3, "planned": 9, "unfinished": {"J": {"asked": 3, "planned": 9}}}
    verdict = judged({"Sensitivity": "clear"}, run=run)
    assert verdict.word == TOO_LITTLE
    assert fact_text(verdict.facts[0]) == "3 of 9 calls were asked"
    faulty = judged({"Position": "flagged"}, run=run)
    # The gate passes no judge on a part of its calls, and the word "usable" would send it into use.
    assert (faulty.word, titles(faulty)) == (TOO_LITTLE, ["Position", "Partial"])
    assert faulty.advice is Advice.UNFINISHED


def lost(metric: str, count: int) -> Estimate:
    return rate("J", "run", metric, {}, count, 120, status="flagged")


def test_most_replies_unreadable_is_unfit_and_most_calls_failed_too_little() -> None:
    words = {"Sensitivity": "flagged", "Failures": "flagged"}
    unreadable = judged(words, lost("unreadable_rate", 118))
    assert (unreadable.word, titles(unreadable)) == (UNFIT, ["Failures"])
    failed = judged(words, lost("failed_rate", 110))
    assert (failed.word, titles(failed)) == (TOO_LITTLE, ["Failures"])
    few = judged(words, lost("unreadable_rate", 12))
    assert (few.word, titles(few)) == (CARE, ["Sensitivity", "Failures"])


@pytest.mark.parametrize(
    ("failed", "unreadable", "cure"), [(12, 3, Advice.FIX_CALLS), (3, 12, Advice.READABLE)]
)
def test_calls_without_a_reply_are_asked_again_and_others_read(
    failed: int, unreadable: int, cure: Advice
) -> None:
    rates = lost("failed_rate", failed), lost("unreadable_rate", unreadable)
    verdict = judged({"Sensitivity": "clear", "Failures": "flagged"}, *rates)
    assert (verdict.word, titles(verdict)) == (CARE, ["Failures"])
    assert verdict.advice is cure


def test_a_smoke_test_never_reads_as_clearance() -> None:
    quick = judged({"Sensitivity": "clear", "Failures": "clear"}, profile="quick")
    assert (quick.word, quick.advice) == (NO_FAULT, Advice.SMOKE)


def test_readings_of_other_protocols_are_no_faults_of_the_judge() -> None:
    assert judged({"Sensitivity": "clear", "Resolution, strict": "flagged"}).word == NO_FAULT


def test_every_rule_has_a_section_in_the_guide_and_no_title_twice_alike() -> None:
    headings = {
        line.removeprefix("## ") for line in (ROOT / GUIDE).read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    }  # fmt: skip
    assert {cause.title for cause in Cause} | {rule.question.name for rule in REASONS_OF_NO_MERIT} <= headings
    assert {rule.cause for _, rule in FAULTS} == set(Cause) - {Cause.MERIT}
    assert len({(rule.cause.title, rule.cause.severity, rule.when) for _, rule in FAULTS}) == len(FAULTS)


def test_what_a_rule_brings_comes_after_it() -> None:
    order = [rule.cause for _, rule in FAULTS]
    for _, rule in FAULTS:
        later = order[order.index(rule.cause) :]
        assert set(rule.brings) - {Cause.SURFACE} <= set(later), rule.cause


def test_a_limit_of_a_plug_in_is_told_after_the_built_in_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pitch(**group: str) -> Estimate:
        return rate("J", "pitch", "pitch_error", {"protocol": "base", **group}, 30, 40, status="flagged")

    sound = {"Sensitivity": "clear"}
    away = judged(sound, pitch())  # of a plug-in that is not installed here
    assert (away.word, titles(away)) == (CARE, ["Pitch"])
    monkeypatch.setitem(PROBES._factories, "pitch", object)
    verdict = judged(sound, pitch(), pitch(kind="loud"))
    assert (verdict.word, titles(verdict)) == (CARE, ["Pitch"])
    assert figures_in(verdict.facts[0].clause.short) == [figure(pitch())]
    both = judged({**sound, "Position": "flagged"}, pitch())
    assert titles(both) == ["Position", "Pitch"]
    assert both.advice is Advice.BOTH_ORDERS


# What is published.


def test_verdicts_are_written_and_made_of_the_figures_again() -> None:
    step = NextStep("measure again", "steelyard measure", "12 calls, free", 12, 0.0)
    sheet = concluded(replace(example(), next_steps={"Qwen14B": step}))
    stated = json.loads(dumps(told()))
    assert [(entry["judge"], entry["verdict"]) for entry in stated["verdicts"]] == [
        ("Llama8B", "usable_with_care"),
        ("Qwen14B", "no_fault_found"),
        ("Qwen32B", "no_fault_found"),
        (FAILING, "too_little_data"),
    ]
    body = json.loads(dumps(sheet))
    assert set(body["verdicts"][0]) >= {"judge", "verdict", "facts", "remedy", "next"}
    read = Datasheet.from_json(body)
    assert (read.findings, read.verdicts, read.next_steps) == ((), (), {"Qwen14B": step})
    assert concluded(read) == sheet
    del body["verdicts"], body["readings"], body["study"]["own_data"]
    bare = concluded(Datasheet.from_json(body))
    assert bare.findings == sheet.findings
    assert [replace(verdict, next=None) for verdict in sheet.verdicts] == list(bare.verdicts)


def test_words_that_somebody_changed_in_the_file_change_no_verdict() -> None:
    sheet = concluded(example())
    body = json.loads(dumps(sheet))
    body["verdicts"][0]["verdict"] = "splendid"
    body["readings"][0]["word"] = "clear"
    assert concluded(Datasheet.from_json(body)) == sheet


def test_the_words_are_spelled_as_files_promise() -> None:
    assert list(JSON_WORDS.values()) == ["unfit", "usable_with_care", "no_fault_found", "too_little_data"]
    assert WORDS[0] == UNFIT


def test_one_judge_has_a_verdict_of_its_own() -> None:
    sheet = told()
    with pytest.raises(ValueError, match="4 verdicts, expected one"):
        _ = sheet.verdict
    assert replace(sheet, verdicts=sheet.verdicts[:1]).verdict.judge == "Llama8B"


def shown(sheet: Datasheet) -> list[str]:
    """The three reports, white space joined."""
    console = Console(file=io.StringIO(), width=80)
    terminal.render(sheet, console)
    texts = (console.file.getvalue(), markdown.render(sheet), html.render(sheet))  # type: ignore[attr-defined]
    return [" ".join(text.split()) for text in texts]


HOSTILE = "<script>alert(1)</script>"
COMMAND = "steelyard measure -j 'planted/probit?s=4&tau=1' --columns request=q_1,label=`x`"


@cache
def published() -> tuple[Datasheet, list[str]]:
    """The example with a hostile name and a next step for its first judge, and its three reports."""
    sheet = told(HOSTILE)
    step = NextStep("measure again", COMMAND, "12 calls, free", 12, 0.0)
    sheet = replace(sheet, verdicts=(replace(sheet.verdicts[0], next=step), *sheet.verdicts[1:]))
    return sheet, shown(sheet)


def test_every_report_begins_with_the_verdicts() -> None:
    for text in published()[1]:
        word, fact, so = (
            text.find(part)
            for part in ("usable with care", "avours the first text between equals", "Ask in both orders")
        )
        assert -1 < word < fact < so
        assert so < text.find("net slot preference")


def test_every_report_has_the_words_of_all_judges_in_one_table() -> None:
    _, text, page = published()[1]
    assert "| leans to slot 1 | **too high** | undecided | undecided | not measured |" in text
    assert page.find('id="readings"') < page.find('class="matrix"') < page.find('class="cards"')


@pytest.mark.slow
def test_reports_are_named_after_their_judges_and_quick_ones_are_smoke_tests() -> None:
    sheet = replace(told(), profile="quick")
    one = replace(sheet, judges=tuple(judge for judge in sheet.judges if judge.name in ("Qwen32B", "coin")))
    for text in shown(one):
        assert "Judge Datasheet, smoke test: Qwen32B" in text
    assert replace(one, own_data=True).kind == "Judge Datasheet"
    assert sheet.title == "Llama8B, Qwen14B and 2 others"


def test_a_command_can_be_copied_as_it_is() -> None:
    sheet, (_, text, page) = published()
    console = Console(file=io.StringIO(), width=60)
    terminal.render(sheet, console)
    screen = console.file.getvalue()  # type: ignore[attr-defined]
    for shown_text in (screen, str(NotebookSheet.for_notebook(sheet, Path()))):
        lines = shown_text.splitlines()
        place = lines.index(f"  {COMMAND}")
        assert lines[place - 1].rstrip() == "  next: measure again (12 calls, free):"
    assert f"- **Next:** measure again (12 calls, free): ```sh {COMMAND} ```" in text
    assert "<code>steelyard measure -j &#39;planted/probit?s=4&amp;tau=1&#39; --columns" in page


def test_what_an_older_program_wrote_of_the_next_step_is_read() -> None:
    """There `next` was one sentence, with the command in it."""
    command = "steelyard measure -j planted/coin --profile standard"
    step = NextStep("measure at standard size", command, "660 calls, free", 660, 0.0)
    sheet = replace(told(), next_steps={"Llama8B": step})
    (first, *others) = json.loads(dumps(concluded(sheet)))["verdicts"]
    assert (first["next"]["command"], first["command"], first["calls"]) == (command, command, 660)
    assert next_steps_in([first, *others]) == {"Llama8B": step}
    sentence = f"measure at standard size: {command} (660 calls, free)"
    assert next_steps_in([{**first, "next": sentence}]) == {"Llama8B": NextStep(sentence)}
    assert next_steps_in([{**first, "next": ""}, "no verdict", {"judge": "K"}]) == {}
    with pytest.raises(ValueError, match=r"verdicts\.next\.command: found 7"):
        next_steps_in([{**first, "next": {**first["next"], "command": 7}}])


def test_hostile_names_stay_text_in_verdicts() -> None:
    _, text, page = published()[1]
    assert "<script>alert" not in text
    assert "<script>alert" not in page


@pytest.mark.slow
def test_padding_does_not_excuse_a_preference_between_texts_of_equal_length() -> None:
    """Pairs that show the surface have equal numbers of words: advice about length would not mend that."""
    judge = "planted/probit?s=2.5&sigma=2&beta=0&tau=0.4&lapse=0&length=1.5"
    (verdict,) = verdicts_on([judge], ["ladder"]).values()
    assert [fact.title for fact in verdict.facts] == ["Length", "Surface"]
    assert not any(fact.brings for fact in verdict.facts)


@pytest.mark.slow
def test_a_slot_does_not_excuse_a_preference_that_is_kept_in_both_orders() -> None:
    """Both orders mend the preference for a slot and leave that for a wording."""
    judge = "planted/probit?s=2.5&sigma=2.5&beta=1&tau=0.6&lapse=0&seed=1"
    (verdict,) = verdicts_on([judge], ["vacuum", "ladder"]).values()
    assert [fact.title for fact in verdict.facts] == ["Position", "Surface"]
    assert brought(verdict.facts[0]) == ["Dark current"]
