"""Verdicts over all combinations of words, and the short sentence of every fact, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_datasheet import rate, threshold
from steelyard.datasheet.look_up import Figures, LookUp
from steelyard.datasheet.reading import Reading
from steelyard.datasheet.verdict import CARE, NO_FAULT, TOO_LITTLE, UNFIT
from steelyard.datasheet.verdicts.conclude import MOST_FACTS
from steelyard.datasheet.verdicts.facts import (
    beats_no_baseline,
    mostly_failed,
    mostly_unreadable,
    no_step_seen,
    sentence,
    slot_decides,
)
from steelyard.datasheet.verdicts.rules import FAULTS, GUIDE, RIGHT, Gravity, guide_to
from steelyard.datasheet.words import titles
from steelyard.metrics.estimate import Estimate, Interval
from test_verdict import judged

BASE: dict[str, str | float] = {"protocol": "base"}
EQUALS: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": "same_subset"}
FAULTY = sorted({rule.title for rule in FAULTS})
WORDS = ["clear", "flagged", "underpowered", "undefined"]
readings = st.dictionaries(st.sampled_from(FAULTY), st.sampled_from(WORDS), max_size=len(FAULTY))


def of(*estimates: Estimate) -> Figures:
    return Figures("J", LookUp(estimates))


def share(probe: str, metric: str, k: int, n: int, group: Mapping[str, str | float] = BASE) -> Estimate:
    return rate("J", probe, metric, group, k, n)


def figure(
    probe: str, metric: str, value: float, reach: float, group: Mapping[str, str | float] = BASE
) -> Estimate:
    """A difference with its interval to both sides."""
    ends = (Interval("t_cluster", value - reach, value + reach),)
    return Estimate("J", probe, metric, group, "pair", value, intervals=ends, n_calls=40, n_units=20)


def told(title: str, *estimates: Estimate) -> str:
    return sentence(Reading("J", title, "flagged", "the long one"), of(*estimates))


# Whatever the words.


@settings(max_examples=150)
@given(readings)
def test_no_flag_is_lost_and_no_fact_invented(words: dict[str, str]) -> None:
    verdict = judged(words)
    flagged = {title for title, word in words.items() if word == "flagged"}
    shown = [fact.title for fact in verdict.facts if fact.title in words]
    assert len(verdict.facts) <= MOST_FACTS
    assert len(set(shown)) == len(shown)
    if not flagged:
        assert verdict.word in (NO_FAULT, TOO_LITTLE)
        return
    assert set(shown) <= flagged
    brought = {title for fact in verdict.facts for title in fact.brings}
    assert brought <= flagged
    if len(verdict.facts) < MOST_FACTS:
        assert flagged == {*shown, *brought}
    for fact in verdict.facts:
        assert fact.title not in fact.brings


@settings(max_examples=150)
@given(readings)
def test_only_a_judge_that_is_shown_to_be_right_is_without_fault(words: dict[str, str]) -> None:
    verdict = judged(words)
    clean = "flagged" not in words.values() and any(words.get(title) == "clear" for title in RIGHT)
    assert (verdict.word == NO_FAULT) == clean
    if clean:
        unsure = any(word == "underpowered" for word in words.values())
        assert verdict.so == (
            "What is undecided may still hide a fault." if unsure else "Nothing has to be cured."
        )


@settings(max_examples=100)
@given(readings)
def test_gravest_first(words: dict[str, str]) -> None:
    """Without figures, accuracy that is flagged beats no baseline, and nothing else makes a judge useless."""
    verdict = judged(words)
    flagged = [title for title, word in words.items() if word == "flagged"]
    heard = any(word != "undefined" for title, word in words.items() if title != titles.FAILURES)
    if titles.ACCURACY in flagged:
        assert verdict.word == UNFIT
        first = verdict.facts[0]
        assert titles.ACCURACY in (first.title, *first.brings)
    elif flagged:
        assert verdict.word == (CARE if heard else TOO_LITTLE)
        rank = {
            title: min(rule.gravity for rule in FAULTS if rule.title == title and rule.when is None)
            for title in flagged
        }
        gravities = [rank[fact.title] for fact in verdict.facts if fact.title in rank]
        assert gravities == sorted(gravities)


def test_a_larger_flag_set_never_makes_a_verdict_better() -> None:
    worse = [NO_FAULT, CARE, UNFIT]
    sound = {"Sensitivity": "clear", "Accuracy": "clear"}
    for title in FAULTY:
        one = judged({**sound, title: "flagged"})
        for second in FAULTY:
            two = judged({**sound, title: "flagged", second: "flagged"})
            assert worse.index(two.word) >= worse.index(one.word), (title, second)


def test_every_rule_leads_to_its_heading() -> None:
    for rule in FAULTS:
        assert rule.guide == guide_to(rule.title) == f"{GUIDE}#{rule.title.lower().replace(' ', '-')}"
        assert rule.remedy.endswith(".")
        assert rule.gravity in Gravity


# What has to hold beside a flag.


@pytest.mark.parametrize(("side", "blind"), [("right", True), ("left", False), (None, False)])
def test_no_step_is_seen_where_the_threshold_lies_beyond_all(side: str | None, blind: bool) -> None:
    assert no_step_seen(of(threshold("J", "base", 5.0, 5.0, None, side))) is blind
    assert no_step_seen(of(threshold("J", "strict", 5.0, 5.0, None, "right"))) is False
    assert no_step_seen(of()) is False


@pytest.mark.parametrize(
    ("value", "reach", "decides"),
    [(0.8, 0.2, True), (0.7, 0.2, False), (-0.8, 0.2, True), (-0.7, 0.2, False), (0.0, 0.1, False)],
)
def test_the_slot_decides_where_the_whole_interval_lies_beyond_one_half(
    value: float, reach: float, decides: bool
) -> None:
    assert slot_decides(of(figure("position", "net_slot_preference", value, reach))) is decides


def test_a_slot_preference_without_limits_decides_nothing() -> None:
    whole = figure("position", "net_slot_preference", 0.9, 0.1)
    assert slot_decides(of(replace(whole, intervals=()))) is False
    open_end = replace(whole, intervals=(Interval("t_cluster", 0.8, None),))
    assert slot_decides(of(open_end)) is False
    assert slot_decides(of(replace(whole, group=EQUALS))) is False


def test_most_replies_are_unreadable_where_the_flag_and_the_interval_say_so() -> None:
    lost = rate("J", "run", "unreadable_rate", {}, 90, 120, finding="flagged")
    assert mostly_unreadable(of(lost)) is True
    assert mostly_unreadable(of(replace(lost, finding="underpowered"))) is False
    assert mostly_unreadable(of(replace(lost, intervals=()))) is False
    assert mostly_unreadable(of(rate("J", "run", "unreadable_rate", {}, 62, 120, finding="flagged"))) is False
    assert mostly_unreadable(of()) is False


def test_most_calls_failed_by_their_count_alone() -> None:
    """Nobody is blamed, so nothing has to be shown: what is lost is lost."""
    for failed, said in ((61, True), (60, False), (0, False)):
        lost = rate("J", "run", "failed_rate", {}, failed, 120, finding="underpowered")
        assert mostly_failed(of(lost)) is said
    assert mostly_failed(of()) is False


def gained(probe: str, metric: str, finding: str | None) -> Estimate:
    row = figure(probe, metric, 0.2, 0.1)
    return replace(row, finding=finding, rival="always yes")


@pytest.mark.parametrize(
    ("probe", "metric"),
    [("original", "accuracy_gain"), ("position", "accuracy_gain"), ("original", "error_gain")],
)
def test_a_judge_beats_a_rule_that_reads_nothing_where_it_is_shown(probe: str, metric: str) -> None:
    assert beats_no_baseline(of()) is True
    for finding, beaten in (("clear", False), ("underpowered", True), ("flagged", True), (None, True)):
        assert beats_no_baseline(of(gained(probe, metric, finding))) is beaten


# The sentences.


def test_without_its_figures_a_fact_is_the_reading() -> None:
    for title in FAULTY:
        assert told(title) == "the long one"


def test_the_zero_point_of_pairs_and_of_single_texts() -> None:
    nothing = share("vacuum", "dark_current", 30, 40)
    assert told(titles.ZERO_POINT, nothing) == (
        "gives texts without content more than the lowest score in 30 of 40 calls"
    )
    same = share("vacuum", "dark_current", 10, 10, {**BASE, "kind": "identical"})
    assert told(titles.ZERO_POINT, nothing, same) == (
        "prefers one of two texts that do not differ in 30 of 40 calls"
    )


@pytest.mark.parametrize(("value", "slot"), [(0.5, "first"), (-0.5, "second")])
def test_the_slot_that_is_favoured(value: float, slot: str) -> None:
    net = figure("ladder", "net_slot_preference", value, 0.1, EQUALS)
    same = share("ladder", "positional_false_preference", 12, 20, EQUALS)
    sign = "+" if value > 0 else "−"
    ends = sorted((abs(value) - 0.1, abs(value) + 0.1), reverse=value < 0)
    assert told(titles.POSITION, net, same) == (
        f"favours the {slot} text whatever it says: same slot in both orders for 12 of 20 pairs of equals, "
        f"net preference {sign}0.50 [{sign}{ends[0]:.2f}, {sign}{ends[1]:.2f}]"
    )
    natural = figure("position", "net_slot_preference", value, 0.1)
    stays = share("position", "order_consistency", 4, 20)
    assert told(titles.NATURAL_PAIRS, natural, stays).startswith(f"favours the {slot} text, net preference ")
    assert told(titles.NATURAL_PAIRS, natural, stays).endswith("in both orders for only 4 of 20 pairs")


def test_wording_that_is_preferred() -> None:
    stable = share("ladder", "stable_cross_sensitivity", 7, 20, EQUALS)
    assert told(titles.SURFACE, stable) == (
        "prefers one of two equally good wordings, in both orders, for 7 of 20 pairs"
    )


def test_a_step_that_is_not_seen_at_any_distance() -> None:
    seen = share("ladder", "target_sensitivity", 8, 40, {**BASE, "delta": 1})
    plain = told(titles.SENSITIVITY, seen)
    assert plain == "sees which text is better by one step in 8 of 40 calls, 0.20 [0.10, 0.37]"
    blind = threshold("J", "base", 5.0, 5.0, None, "right")
    assert told(titles.SENSITIVITY, seen, blind) == f"{plain}, and is right in three calls of four at no step"


def test_accuracy_beside_the_rule_that_reads_nothing() -> None:
    right = share("original", "accuracy", 20, 40)
    start = "gives the reference answer in 20 of 40 calls, 0.50 [0.33, 0.67]"
    assert told(titles.ACCURACY, right) == start
    words_of = (("clear", "better than"), ("underpowered", "not shown to beat"), ("flagged", "worse than"))
    for finding, words in words_of:
        gain = gained("original", "accuracy_gain", finding)
        assert told(titles.ACCURACY, right, gain) == f"{start}, {words} always yes"


def test_texts_as_they_are_come_before_natural_pairs() -> None:
    single, pairs = share("original", "accuracy", 20, 40), share("position", "accuracy", 10, 40)
    assert told(titles.ACCURACY, pairs, single).startswith("gives the reference answer in 20 of 40 calls")
    assert told(titles.ACCURACY, pairs).startswith("gives the reference answer in 10 of 40 calls")


@pytest.mark.parametrize(("value", "side"), [(0.2, "lenient"), (-0.2, "strict")])
def test_leniency_by_its_two_kinds_of_error(value: float, side: str) -> None:
    rows = (
        figure("original", "leniency", value, 0.1),
        share("original", "false_positive_rate", 9, 20),
        share("original", "false_negative_rate", 1, 20),
    )
    assert told(titles.LENIENCY, *rows) == (
        f"is {side}: passes 9 of 20 calls that should fail, fails 1 of 20 calls that should pass"
    )
    assert told(titles.LENIENCY, *rows[:2]) == "the long one"


def test_losses_by_kind_and_only_those_there_are() -> None:
    unread, failed = (rate("J", "run", f"{kind}_rate", {}, 3, 120) for kind in ("unreadable", "failed"))
    none = rate("J", "run", "failed_rate", {}, 0, 120)
    assert told(titles.FAILURES, unread, none) == "no readable reply in 3 of 120 calls"
    assert told(titles.FAILURES, unread, failed) == (
        "no readable reply in 3 of 120 calls, no reply at all in 3 of 120 calls"
    )
    assert told(titles.FAILURES, none) == "the long one"
