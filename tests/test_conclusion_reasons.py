"""Verdicts over all combinations of words, and the figures that every fact is told with, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_datasheet import example, rate
from said import clause, figures_in, question
from steelyard.datasheet import numbers
from steelyard.datasheet.clause import ClauseFigure, times
from steelyard.datasheet.conclude import MOST_FACTS, concluded
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import GUIDE, Advice, Severity
from steelyard.datasheet.questions.labels import never_right
from steelyard.datasheet.questions.merit import merit_is_reversed, same_answer
from steelyard.datasheet.questions.pairs import never_ties, only_empty_texts, prefers_at_random
from steelyard.datasheet.questions.questions import FAULTS
from steelyard.datasheet.questions.run import mostly_failed, mostly_unreadable
from steelyard.datasheet.render.clauses import conclusion_text, text
from steelyard.datasheet.sections.first_screen import key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.metrics.estimate import Estimate, Interval
from test_conclusion import brought as titles_brought
from test_conclusion import judged

BASE: dict[str, str | float] = {"protocol": "base"}
EQUALS: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": "same_subset"}
FAULTY = sorted({question.name for question, _ in FAULTS})
WORDS = ["clear", "flagged", "inconclusive", "undefined"]
readings = st.dictionaries(st.sampled_from(FAULTY), st.sampled_from(WORDS), max_size=len(FAULTY))


def of(*estimates: Estimate) -> JudgeEstimates:
    return JudgeEstimates("J", EstimateIndex(estimates))


def share(probe: str, metric: str, k: int, n: int, group: Mapping[str, str | float] = BASE) -> Estimate:
    return rate("J", probe, metric, group, k, n)


def figure(
    probe: str, metric: str, value: float, reach: float, group: Mapping[str, str | float] = BASE
) -> Estimate:
    """A difference with its interval to both sides."""
    ends = (Interval("t_cluster", value - reach, value + reach),)
    return Estimate("J", probe, metric, group, "pair", value, intervals=ends, n_calls=40, n_units=20)


def main_figures(title: str, *estimates: Estimate) -> list[ClauseFigure]:
    """The main figures that a question is answered with."""
    return figures_in(clause(title, of(*estimates)).short)


def lead(title: str, *estimates: Estimate) -> str:
    return text(clause(title, of(*estimates)).lead)


def row(title: str, *estimates: Estimate) -> str:
    """State and limit of the only row of a question."""
    (decision,) = question(title).decisions(of(*estimates))
    (test,) = decision.rows
    return f"{test.state and test.state.value}: {test.limit}"


# Whatever the words.


@pytest.mark.slow
@settings(max_examples=150)
@given(readings)
def test_no_flag_is_lost_no_fact_invented_and_the_gravest_is_first(words: dict[str, str]) -> None:
    verdict = judged(words)
    flagged = {title for title, word in words.items() if word == "flagged"}
    shown = [fact.title for fact in verdict.facts if fact.title in words]
    assert len(verdict.facts) <= MOST_FACTS
    assert len(set(shown)) == len(shown)
    if not flagged:
        assert verdict.word in (NO_FAULT, TOO_LITTLE)
        return
    assert set(shown) <= flagged
    brought = {title for fact in verdict.facts for title in titles_brought(fact)}
    assert brought <= flagged
    if len(verdict.facts) < MOST_FACTS:
        assert flagged == {*shown, *brought}
    for fact in verdict.facts:
        assert fact.title not in titles_brought(fact)
    # Gravest first.
    rank = {
        title: min(rule.cause.severity for asked, rule in FAULTS if asked.name == title and rule.when is None)
        for title in flagged
    }
    gravities = [rank[fact.title] for fact in verdict.facts if fact.title in rank]
    assert gravities == sorted(gravities)


@pytest.mark.slow
@settings(max_examples=150)
@given(readings, st.sampled_from(WORDS))
def test_merit_decides_before_all_else(words: dict[str, str], merit: str) -> None:
    verdict = judged({**words, "Merit": merit})
    flagged = "flagged" in words.values()
    due = {"flagged": UNFIT, "clear": CARE if flagged else NO_FAULT}.get(merit, TOO_LITTLE)
    assert verdict.word == due
    assert ("usable" in conclusion_text(verdict)) == (due == CARE)
    if due == NO_FAULT:
        one_order = words.get("Natural pairs") == "undefined"
        unsure = one_order or any(word == "inconclusive" for word in words.values())
        assert verdict.advice is (Advice.STILL_OPEN if unsure else Advice.NOTHING_OPEN)


@pytest.mark.slow
def test_a_larger_flag_set_never_makes_a_verdict_better() -> None:
    worse = [NO_FAULT, CARE, UNFIT]
    sound = {"Sensitivity": "clear", "Accuracy": "clear"}
    for title in FAULTY:
        one = judged({**sound, title: "flagged"})
        for second in FAULTY:
            two = judged({**sound, title: "flagged", second: "flagged"})
            assert worse.index(two.word) >= worse.index(one.word), (title, second)


def test_every_rule_leads_to_its_heading() -> None:
    for _, rule in FAULTS:
        assert rule.cause.guide == f"{GUIDE}#{rule.cause.title.lower().replace(' ', '-')}"
        assert rule.remedy.value.endswith(".")
        assert rule.cause.severity in Severity


# What has to hold beside a flag.


def merit(value: float, reach: float, finding: str, probe: str = "ladder") -> Estimate:
    return replace(figure(probe, "merit", value, reach), chance=0.5, status=finding)


def test_merit_is_reversed_where_the_whole_interval_lies_below_chance() -> None:
    assert merit_is_reversed(of(merit(0.2, 0.2, "flagged"))) is True
    assert merit_is_reversed(of(merit(0.45, 0.06, "flagged"))) is False
    assert merit_is_reversed(of()) is False


def step(metric: str, k: int, n: int, delta: int) -> Estimate:
    return share("ladder", metric, k, n, {**BASE, "delta": delta})


def test_a_judge_whose_answers_never_vary_is_told_what_it_answers() -> None:
    always = of(step("miss_by_tie", 8, 8, 1), step("miss_by_tie", 6, 6, 3))
    counted = "a tie in {0} of {0} calls on texts that differ in quality; "
    assert same_answer(always) == ("answers tie whatever the texts are", counted.format(14))
    padded = share("ladder", "raw_false_preference", 4, 4, {**BASE, "delta": 0, "kind": "filler"})
    by_length = of(step("miss_by_tie", 8, 8, 1), padded)
    assert same_answer(by_length) == ("answers tie where texts differ", counted.format(8))
    assert same_answer(of(step("miss_by_tie", 8, 8, 1), step("miss_by_tie", 5, 6, 3))) is None
    by_slot = [share("position", "accuracy", k, 20, {**BASE, "slot": slot}) for slot, k in ((1, 20), (2, 0))]
    assert same_answer(of(*by_slot)) == ("names the first text whatever the texts are", "")
    net = figure("ladder", "net_slot_preference", -1.0, 0.1, EQUALS)
    half = replace(figure("ladder", "merit", 0.5, 0.1), chance=0.5)
    assert same_answer(of(net, half)) == ("names the second text whatever the texts are", "")
    assert same_answer(of(net, replace(half, value=0.6))) is None


def test_a_judge_that_names_a_winner_in_every_call_never_ties() -> None:
    identical = share("vacuum", "dark_current", 10, 10, {**BASE, "kind": "identical"})
    equal = share("ladder", "raw_false_preference", 60, 60, EQUALS)
    assert never_ties(of(identical, equal, step("miss_by_tie", 0, 8, 1))) is True
    assert never_ties(of(identical, equal, step("miss_by_tie", 1, 8, 1))) is False
    assert never_ties(of(identical)) is False


def test_preferences_between_equals_are_random_where_neither_slot_nor_wording_is_kept_to() -> None:
    equal = share("ladder", "raw_false_preference", 60, 120, EQUALS)
    net = replace(figure("ladder", "net_slot_preference", 0.02, 0.2, EQUALS), status="inconclusive")
    assert prefers_at_random(of(equal, net)) is True
    leaning = figure("ladder", "net_slot_preference", 0.4, 0.3, EQUALS)
    assert prefers_at_random(of(equal, leaning)) is False
    assert prefers_at_random(of(share("ladder", "raw_false_preference", 12, 120, EQUALS), net)) is False


def test_empty_texts_are_the_whole_fault_where_nothing_else_is_reacted_to() -> None:
    def kind(name: str, k: int) -> Estimate:
        return share("vacuum", "dark_current", k, 20, {**BASE, "kind": name})

    assert only_empty_texts(of(kind("empty", 20), kind("blank", 3), kind("identical", 0))) is True
    assert only_empty_texts(of(kind("empty", 20), kind("identical", 1))) is False
    assert only_empty_texts(of(kind("empty", 0), kind("blank", 0))) is False


def test_an_ordinal_judge_is_never_right_where_a_guess_would_be_right_more_often() -> None:
    right = replace(share("original", "accuracy", 0, 180), chance=0.2)
    assert never_right(of(right)) is True
    assert never_right(of(replace(share("original", "accuracy", 40, 180), chance=0.2))) is False
    assert never_right(of(replace(right, chance=0.5))) is False


def test_most_replies_are_unreadable_where_the_flag_and_the_interval_say_so() -> None:
    lost = rate("J", "run", "unreadable_rate", {}, 90, 120, status="flagged")
    assert mostly_unreadable(of(lost)) is True
    assert mostly_unreadable(of(replace(lost, status="inconclusive"))) is False
    assert mostly_unreadable(of(replace(lost, intervals=()))) is False
    assert mostly_unreadable(of(rate("J", "run", "unreadable_rate", {}, 62, 120, status="flagged"))) is False
    assert mostly_unreadable(of()) is False


def test_most_calls_failed_by_their_count_alone() -> None:
    """Nobody is blamed, so nothing has to be shown: what is lost is lost."""
    for failed, said in ((61, True), (60, False), (0, False)):
        lost = rate("J", "run", "failed_rate", {}, failed, 120, status="inconclusive")
        assert mostly_failed(of(lost)) is said
    assert mostly_failed(of()) is False


# The figures of the sentences.


def test_without_its_figures_a_question_is_not_asked() -> None:
    for title in FAULTY:
        assert question(title).decisions(of()) == []


def test_the_zero_point_of_pairs_and_of_single_texts() -> None:
    nothing = share("vacuum", "dark_current", 30, 40)
    assert main_figures("Dark current", nothing) == [times(nothing, "call"), ClauseFigure(nothing)]
    assert "the lowest score" in lead("Dark current", nothing)
    same = share("vacuum", "dark_current", 10, 10, {**BASE, "kind": "identical"})
    assert main_figures("Dark current", nothing, same) == [times(nothing, "call"), ClauseFigure(nothing)]
    assert "one of two texts" in lead("Dark current", nothing, same)


@pytest.mark.parametrize(("value", "slot"), [(0.5, "first"), (-0.5, "second")])
def test_the_slot_that_is_favoured(value: float, slot: str) -> None:
    net = replace(figure("ladder", "net_slot_preference", value, 0.1, EQUALS), status="flagged")
    same = share("ladder", "positional_false_preference", 12, 20, EQUALS)
    (decision,) = question("Position").decisions(of(net, same))
    assert (decision.status, main_figures("Position", net, same)) == ("flagged", [ClauseFigure(net)])
    assert figures_in(decision.clause.more) == [times(same, "pair"), ClauseFigure(same)]
    assert lead("Position", net, same) == f"favours the {slot} text between equals"
    natural = replace(figure("position", "net_slot_preference", value, 0.1), status="flagged")
    stays = share("position", "order_consistency", 4, 20)
    assert main_figures("Natural pairs", natural, stays) == [ClauseFigure(natural)]
    assert lead("Natural pairs", natural, stays) == f"favours the {slot} text"
    more = figures_in(clause("Natural pairs", of(natural, stays)).more)
    assert more == [times(stays, "natural pair"), ClauseFigure(stays)]


def test_wording_that_is_preferred() -> None:
    stable = share("ladder", "stable_cross_sensitivity", 7, 20, EQUALS)
    assert main_figures("Surface", stable) == [times(stable, "pair"), ClauseFigure(stable)]


def test_a_step_that_is_seen_now_and_then() -> None:
    seen = share("ladder", "target_sensitivity", 8, 40, {**BASE, "delta": 1})
    assert main_figures("Sensitivity", seen) == [times(seen, "call"), ClauseFigure(seen)]
    assert "by one step in" in lead("Sensitivity", seen)


def test_merit_on_each_kind_of_evidence() -> None:
    none = merit(0.5, 0.1, "flagged")
    assert main_figures("Merit", none) == [ClauseFigure(none)]
    assert "0.70" in clause("Merit", of(none)).figures  # what is wanted
    assert lead("Merit", none).startswith("does not tell")
    assert lead("Merit", merit(0.2, 0.1, "flagged")).startswith("says the opposite")
    both = merit(0.9, 0.1, "clear"), merit(0.8, 0.1, "clear", "position")
    assert main_figures("Merit", *both) == list(map(ClauseFigure, both))
    assert lead("Merit", *both).startswith("tells good")
    assert "on natural pairs" in clause("Merit", of(*both)).figures


@pytest.mark.parametrize(
    ("value", "reach", "finding", "said"),
    [
        (0.03, 0.05, "clear", "fine: within ±0.10"),
        (0.08, 0.12, "inconclusive", "undecided: within ±0.10"),
        (0.2, 0.12, "flagged", "too high: at most 0"),
        (-0.2, 0.12, "flagged", "too low: at least 0"),
    ],
)
def test_the_row_of_a_difference_names_the_limit_that_decides_it(
    value: float, reach: float, finding: str, said: str
) -> None:
    net = replace(figure("ladder", "net_slot_preference", value, reach, EQUALS), status=finding)
    assert row("Position", net) == said


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        (merit(0.8, 0.1, "clear"), "fine: at least 0.50"),
        (merit(0.55, 0.2, "inconclusive"), "undecided: at least 0.50"),
        (merit(0.45, 0.1, "flagged"), "too low: at least 0.70"),
        (replace(merit(0.4, 0.2, "inconclusive", "original"), chance=0.3), "undecided: at least 0.30"),
        (replace(merit(0.6, 0.2, "clear", "original"), chance=0.3), "fine: at least 0.30"),
    ],
)
def test_the_row_of_merit_names_chance_or_what_would_do(estimate: Estimate, said: str) -> None:
    assert row("Merit", estimate) == said


@pytest.mark.parametrize(
    ("whole", "at_large_steps", "said"),
    [
        # Above chance and above the limit, but not shown to be: the interval at large steps holds 0.75.
        (
            merit(0.77, 0.12, "inconclusive"),
            (0.85, 0.14),
            "at three steps and more 0.85 [0.71, 0.99] at least 0.75 undecided",
        ),
        # Sure of 0.75 at large steps, and not of chance over all.
        (
            merit(0.62, 0.13, "inconclusive"),
            (0.9, 0.08),
            "0.62 [0.49, 0.75] at least 0.50 undecided",
        ),
        (merit(0.5, 0.08, "flagged"), (0.5, 0.3), "0.50 [0.42, 0.58] at least 0.70 too low"),
        # A real judge: above chance, and too seldom right at large steps.
        (
            merit(0.65, 0.05, "flagged"),
            (0.66, 0.07),
            "at three steps and more 0.66 [0.59, 0.73] at least 0.75 too low",
        ),
        (merit(0.92, 0.06, "clear"), (0.97, 0.02), "0.92 [0.86, 0.98] at least 0.50 fine"),
    ],
)
def test_the_row_of_merit_is_the_test_that_decides_it(
    whole: Estimate, at_large_steps: tuple[float, float], said: str
) -> None:
    large = figure("ladder", "merit", *at_large_steps, {**whole.group, "steps": "3 and more"})
    sheet = concluded(
        replace(example(), judges=(JudgeEntry("J", "planted/probit", False, {}),), estimates=(whole, large))
    )
    (shown,) = key_figures(summarise(sheet), whole.judge)
    told = f"{shown.name} {numbers.figure(shown.estimate)} {shown.limit} {shown.word}"
    assert told == f"tells good from bad {said}"


def test_accuracy_beside_agreement_beyond_chance() -> None:
    right = share("original", "accuracy", 20, 40)
    assert main_figures("Accuracy", right) == [times(right, "call"), ClauseFigure(right)]
    kappa = replace(figure("original", "kappa", 0.25, 0.1), status="flagged")
    assert main_figures("Accuracy", right, kappa) == [*main_figures("Accuracy", right), ClauseFigure(kappa)]
    assert clause("Accuracy", of(right, kappa)).figures[-1] == ", floor 0.4"


def test_texts_as_they_are_come_before_natural_pairs() -> None:
    single, pairs = share("original", "accuracy", 20, 40), share("position", "accuracy", 10, 40)
    assert main_figures("Accuracy", pairs, single) == [times(single, "call"), ClauseFigure(single)]
    assert main_figures("Accuracy", pairs) == [times(pairs, "call"), ClauseFigure(pairs)]


@pytest.mark.parametrize(("value", "side"), [(0.2, "lenient"), (-0.2, "strict")])
def test_leniency_by_its_two_kinds_of_error(value: float, side: str) -> None:
    shift, *errors = rows = (
        replace(figure("original", "leniency", value, 0.1), status="flagged"),
        share("original", "false_positive_rate", 9, 20),
        share("original", "false_negative_rate", 1, 20),
    )
    passed, failed = ([times(error, "call"), ClauseFigure(error)] for error in errors)
    assert lead("Leniency", *rows) == f"is {side}"
    assert main_figures("Leniency", *rows) == [*passed, *failed, ClauseFigure(shift)]
    assert main_figures("Leniency", *rows[:2]) == [*passed, ClauseFigure(shift)]


def test_losses_by_kind_and_only_those_there_are() -> None:
    unread, failed = (rate("J", "run", f"{kind}_rate", {}, 3, 120) for kind in ("unreadable", "failed"))
    none = rate("J", "run", "failed_rate", {}, 0, 120)
    assert main_figures("Failures", unread, none) == [times(unread, "call")]
    assert main_figures("Failures", unread, failed) == [times(unread, "call"), times(failed, "call")]
    assert main_figures("Failures", none) == []
    assert lead("Failures", none).startswith("each of 120 calls")


def test_a_share_that_noise_would_show_too_has_no_row() -> None:
    stable = figure("ladder", "stable_cross_sensitivity", 0.48, 0.15, EQUALS)
    noise = replace(stable, status="inconclusive", reading="by chance")
    (by_chance,) = question("Surface").decisions(of(noise))
    assert by_chance.rows == ()
    assert main_figures("Surface", noise) == [times(noise, "pair"), ClauseFigure(noise)]
    assert text(clause("Surface", of(noise)).more).endswith("told from noise")
    assert row("Surface", replace(noise, reading=None)) == "undecided: at most 0.10"
