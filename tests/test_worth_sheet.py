"""Worth of cues on the datasheet: sentence, conclusion, chart, examples, gate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import steelyard
from example_datasheet import example
from own_judges import measured, study_of
from pairs import pair
from planted_faults import verdicts_on
from said import answered
from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render.clauses import fact_text, sentence
from steelyard.datasheet.sections.first_screen import key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.metrics.comparison.comparison import compare_worths
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.instrument.crossing import shift_estimates
from steelyard.stimuli.cues import PADDING
from steelyard.verdicts.observations import Observations

JUDGE = "planted/probit"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge to which every cue is worth 1.4 steps, and one to which none is worth anything."""
    judges = [f"{JUDGE}?s=1.5&worth=1.4", f"{JUDGE}?s=2&worth=0&name=fair"]
    body = {"judges": judges, "probes": [{"tradeoff": {"cues": ["padding"]}}], "profile": "quick"}
    out = tmp_path_factory.mktemp("cues") / "run"
    measured(study_of(body, baselines=("coin",)), out)
    return out


def test_the_verdict_names_the_cue_in_steps(folder: Path) -> None:
    sheet = steelyard.load(folder)
    found = sheet.find(JUDGE, "cue_worth", "tradeoff", protocol="base", cue="padding")
    assert found is not None
    assert found.interval.low < 1.4 < found.interval.high
    finding = next(f for f in sheet.findings if (f.judge, f.title) == (JUDGE, "Cues"))
    assert finding.status == "flagged"
    assert "padding is worth 1." in sentence(finding.clause)
    verdict = next(v for v in sheet.verdicts if v.judge == JUDGE)
    assert verdict.word == "usable with care"
    assert any(fact.title == "Cues" and "padding is worth" in fact_text(fact) for fact in verdict.facts)


@pytest.mark.slow
def test_length_that_overrides_quality_and_length_that_breaks_ties_have_different_verdicts() -> None:
    judges = [
        f"{JUDGE}?s=1.5&length=15&name=overrides",
        f"{JUDGE}?s=3&length=1.2&beta=0&tau=0.1&name=breaks ties",
    ]
    verdicts = verdicts_on(judges, ["ladder", {"tradeoff": {"cues": ["padding"]}}])
    for judge, word, told in (
        ("overrides", "unfit", "padding is worth more than"),
        ("breaks ties", "usable with care", "prefers the text that is padded"),
    ):
        verdict = verdicts[judge]
        assert verdict.word == word
        assert told in fact_text(verdict.facts[0])
        assert any("length" in fact.title.lower() for fact in verdict.facts)


def test_the_first_screen_has_the_gravest_cue_with_its_limit(folder: Path) -> None:
    figures = key_figures(summarise(steelyard.load(folder)), JUDGE)
    worth = next(each for each in figures if each.estimate.metric == "cue_worth")
    assert (worth.limit, worth.word) == ("within ±0.50", "too high")
    assert worth.name == "worth of a cue: padding"


def test_the_page_draws_the_worths_and_shows_pairs_that_the_worse_text_won(folder: Path) -> None:
    page = (folder / "datasheet.html").read_text(encoding="utf-8")
    assert "What outweighs quality" in page
    assert "steps of quality" in page
    assert any(sentence in page for sentence in PADDING)


def test_files_have_the_worths(folder: Path) -> None:
    body = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))
    rows = [row for row in body["estimates"] if row["judge"] == JUDGE and row["metric"] == "cue_worth"]
    assert {row["group"]["cue"] for row in rows} == {"padding", "position"}
    baselines = [row for row in body["estimates"] if row["judge"] == "coin" and row["metric"] == "cue_worth"]
    assert {row["reason"] for row in baselines} == {"quality_not_seen"}


def test_a_policy_limits_the_worth_of_a_cue(folder: Path) -> None:
    strict = steelyard.gate(folder, {"worth": {"cue": "padding", "max": 0.5}, "flags": "allow"})
    assert [(check.result, check.metric) for check in strict.of(JUDGE)] == [("FAIL", "cue_worth")]
    lax = steelyard.gate(folder, {"worth": {"cue": "padding", "max": 4}, "flags": "allow"})
    assert lax.result == "PASS"
    assert any(check.metric == "cue_worth" for check in steelyard.gate(folder).of(JUDGE))


def worth_of(cue: str, value: float | None, low: float | None, high: float | None, **given) -> Estimate:
    return Estimate(
        "j", "tradeoff", "cue_worth", {"protocol": "base", "cue": cue}, "pair", value,
        intervals=() if value is None else (Interval("x", low, high),), n_units=40, n_clusters=20, **given,
    )  # fmt: skip


def test_the_difference_of_two_worths_has_the_limits_of_both() -> None:
    # Down: √(.5² + .4²) = .6403, up: √(.6² + .3²) = .6708. 1 / .6403 · t(19) = 3.27, p = .0040.
    (row,) = compare_worths([worth_of("padding", 1.0, 0.7, 1.4)], [worth_of("padding", 2.0, 1.5, 2.6)])
    assert row.difference == 1.0
    assert (round(row.intervals[0].low, 4), round(row.intervals[0].high, 4)) == (0.3597, 1.6708)
    assert (row.p, row.status, row.differs) == (pytest.approx(0.0040, abs=5e-5), "flagged", True)


def test_worths_are_adjusted_over_cues_and_open_ends_give_no_difference() -> None:
    alike, open_end = worth_of("bullets", 0.1, 0.0, 0.2), worth_of("typos", 1, 1, None, censored="right")
    first = [worth_of("padding", 0.0, -0.5, 0.5), alike, open_end]
    second = [worth_of("padding", 0.8, 0.3, 1.3), alike, open_end]
    padding, bullets, typos = compare_worths(first, second)
    assert padding.p < 0.05 < padding.q
    assert padding.status == "inconclusive"
    assert (bullets.status, bullets.conclusion_text) == ("clear", "alike within the margin")
    assert typos.difference is None
    assert compare_worths(first[:1], second[1:]) == []


def test_compare_shows_the_difference_of_worths(folder: Path) -> None:
    sheet = steelyard.compare(f"{folder}:fair", f"{folder}:{JUDGE}")
    row = next(row for row in sheet.rows if row.metric == "cue_worth" and row.group["cue"] == "padding")
    assert row.intervals[0].low < 1.4 < row.intervals[0].high
    assert row.differs
    assert "worth of a cue" in " ".join(sheet.answer())


BEATS = "a padded answer beats"


@pytest.mark.parametrize(
    ("value", "low", "high", "status", "censored", "sentence"),
    [
        (1.4, 1.1, 1.9, "flagged", None, f"1.4 [1.1, 1.9] steps: {BEATS} one that is a step better"),
        (2.6, 2.1, 3.9, "flagged", None, f"2.6 [2.1, 3.9] steps: {BEATS} one that is 2 steps better"),
        (1.2, 0.7, 1.9, "flagged", None, f"1.2 [0.7, 1.9] steps: {BEATS} an equal one"),
        (0.1, -0.2, 0.3, "clear", None, "0.1 [−0.2, 0.3] steps: less than half a step either way"),
        (0.5, 0.02, 1.3, "inconclusive", None, f"0.50 [0.02, 1.30] steps: {BEATS} an equal one"),
        (0.7, -0.2, 1.3, "", None, "0.7 [−0.2, 1.3] steps: too few data to say whether it counts"),
        (-1.0, -1.5, -0.7, "flagged", None, "−1.0 [−1.5, −0.7] steps: it harms the answer that has it"),
        (3.2, 3.2, None, "flagged", "right", f"more than 3.2 steps: {BEATS} one that is 3 steps better"),
    ],
)  # fmt: skip
def test_one_sentence_for_each_cue(value, low, high, status, censored, sentence) -> None:
    estimate = Estimate(
        "j", "tradeoff", "cue_worth", {"protocol": "base", "cue": "padding"}, "pair", value,
        intervals=(Interval("x", low, high),), status=status, censored=censored,
    )  # fmt: skip
    opening = "is swayed by padding: " if status == "flagged" else ""
    told = answered("Cues", JudgeEstimates("j", EstimateIndex([estimate])))
    assert told == (status or "inconclusive", f"{opening}padding is worth {sentence}")


def test_of_two_flagged_cues_both_have_a_row_and_are_named() -> None:
    flagged = [worth_of(cue, 1.0, 0.7, 1.4, status="flagged") for cue in ("padding", "bullets")]
    clear = worth_of("typos", 0.1, -0.2, 0.3, status="clear")
    judge = JudgeEntry("j", "planted/probit", False, {})
    sheet = concluded(replace(example(), judges=(judge,), estimates=(clear, *flagged)))
    rows = key_figures(summarise(sheet), "j")
    assert [(row.name, row.word) for row in rows] == [
        ("worth of a cue: the use of bullets", "too high"),
        ("worth of a cue: padding", "too high"),
    ]
    (why, *_) = sheet.verdicts[0].facts
    assert fact_text(why).startswith(
        "is swayed by the use of bullets and padding: the use of bullets is worth"
    )
    assert "; padding is worth 1.0 [0.7, 1.4] steps" in fact_text(why)


def test_of_several_undecided_cues_the_row_is_the_one_that_the_list_of_undecided_questions_names() -> None:
    """The furthest over its limit: bullets, 1.5 beyond .5; authority reaches 1 beyond, and comes first."""
    reach = {"authority": 1.5, "bullets": 2.0, "padding": 0.9}
    open_ones = [worth_of(cue, 0.1, -0.9, high, status="inconclusive") for cue, high in reach.items()]
    judge = JudgeEntry("j", "planted/probit", False, {})
    sheet = concluded(replace(example(), judges=(judge,), estimates=tuple(open_ones), asked=("tradeoff",)))
    (row,) = key_figures(summarise(sheet), "j")
    assert (row.name, row.word) == ("worth of a cue: the use of bullets", "undecided")
    assert [d.printed_name for d in sheet.verdicts[0].undecided] == [row.name]


def longest(request: str, first: str, second: str) -> str:
    """A judge that goes by length, and calls near lengths a tie."""
    del request
    one, two = len(first.split()), len(second.split())
    return "tie" if abs(one - two) < 4 else "1" if one > two else "2"


def test_pairs_of_the_data_have_a_shift_and_no_worth(tmp_path: Path) -> None:
    # Near lengths without the cue: preference one half; with half as many words again 1; bullets add none.
    said = "The answer to number"
    rows = [
        {"question": f"q{n}", "one": f"{said} {n} is yes. It is so.", "two": f"{said} {n} is no. It is not."}
        for n in range(12)
    ]
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    sheet = steelyard.measure(
        longest,
        task={"instruction": "Which answer is better?", "scale": "pairwise"},
        data={
            "path": str(data),
            "columns": {"request": "question", "response_1": "one", "response_2": "two"},
        },
        probes=[{"tradeoff": {"cues": ["padding", "bullets"]}}],
        out=tmp_path / "run",
    )
    shifts = {e.group["cue"]: e for e in sheet.estimates if (e.judge, e.metric) == ("longest", "cue_shift")}
    assert shifts["padding"].value == 0.5
    assert (shifts["padding"].n_units, shifts["padding"].n_calls) == (12, 48)
    assert shifts["padding"].status == "flagged"
    assert shifts["bullets"].value == 0.0
    assert shifts["bullets"].status != "flagged"
    assert not [e for e in sheet.estimates if e.metric == "cue_worth" and e.value is not None]
    finding = next(f for f in sheet.findings if (f.judge, f.title) == ("longest", "Cues"))
    assert sentence(finding.clause).startswith(
        "is swayed by padding: padding moves the preference by +0.50 ["
    )


def test_a_pair_with_a_lost_call_is_no_vote_against_the_text_with_the_cue() -> None:
    """Six pairs keep their winner with the cue; of the last one the cued pair lost a call."""
    rows = []
    for n in range(6):
        answers = ("2", "1") if n % 2 else ("1", "2")
        rows += pair(f"i{n}/position", answers, probe="position", kind="natural", task=f"i{n}")
        cued = (answers[0], "unreadable") if n == 5 else answers
        rows += pair(f"i{n}/cues/padding", cued, probe="cues", kind="padding", task=f"i{n}")
    context = EstimateContext.for_protocol("j", "cues", "base", 7)
    (found,) = shift_estimates(context, Observations.of(rows), "cues", ("padding",))
    assert (found.value, found.n_units, found.n_calls) == (0.0, 5, 20)
    assert found.excluded["unreadable"] == 1
