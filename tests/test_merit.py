"""Merit: hand-derived values and limits, and what a judge that reads nothing can show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairs import pair
from scores import calls
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.merit import merit_estimates, merit_test_status
from steelyard.metrics.pairs.choices import ONE_SLOT
from steelyard.metrics.stats.intervals import score
from steelyard.metrics.stats.two_class import BalancedMean
from steelyard.stimuli.stimulus import RECORDED
from steelyard.verdicts.observations import Observation, Observations

STEPS = (1, 1, 3, 4, 5)
"""Quality steps of the ladders below, in turn."""


def ladder(answers: list[tuple[str, str]], judge: str = "j") -> list[Observation]:
    """One pair a cluster, u the better text, the quality steps in turn."""
    return [
        call
        for number, both in enumerate(answers)
        for call in pair(f"p{number:03}", both, "u", delta=STEPS[number % len(STEPS)], judge=judge)
    ]


LENGTHS = {"u": (9, 4), "v": (4, 9), "=": (9, 9), "?": None}


def natural(answers: list[tuple[str, str]], better: str = "uv", longer: str = "?") -> list[Observation]:
    """The text that people prefer, and the longer one, are those of these signs in turn."""
    return [
        call
        for number, both in enumerate(answers)
        for words in (LENGTHS[longer[number % len(longer)]],)
        for call in pair(
            f"n{number:03}",
            both,
            better[number % len(better)],
            probe="position",
            kind="natural",
            words=words,
            author=RECORDED,
        )
    ]


def merit(observations: list[Observation], *baselines: list[Observation]) -> Estimate:
    """The figure that decides."""
    others = {f"b{n}": Observations.of(seen) for n, seen in enumerate(baselines)}
    (found,) = [e for e in merit_estimates("j", Observations.of(observations), others, 7) if e.is_overall]
    return found


RIGHT, WRONG, FIRST, TIE = ("1", "2"), ("2", "1"), ("1", "1"), ("tie", "tie")


def test_a_tie_counts_half_and_both_slots_weigh_alike() -> None:
    """Three pairs right, one tied, one wrong: (3 + ½ + 0) / 5."""
    found = merit(ladder([RIGHT, RIGHT, RIGHT, TIE, WRONG]))
    assert found.value == pytest.approx(0.7)
    assert (found.n_calls, found.n_units, found.n_clusters, found.chance) == (10, 5, 5, 0.5)


@given(st.lists(st.sampled_from([FIRST, ("2", "2"), TIE]), min_size=2, max_size=40))
def test_answers_that_depend_on_the_slot_alone_have_merit_one_half(answers: list[tuple[str, str]]) -> None:
    found = merit(ladder(answers))
    assert found.value == 0.5
    assert found.status != "clear"


def test_a_judge_that_names_one_slot_is_known_after_twenty_pairs() -> None:
    """No pair of 20 shows a preference for a text, so at most 1 − .025^(1/20) = .168 of all do."""
    found = merit(ladder([FIRST] * 20))
    assert found.status == "flagged"
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.4158, 0.5842), abs=1e-4)
    assert merit(natural([FIRST] * 25)).status == "flagged"
    assert merit(natural([TIE] * 25)).status == "flagged"


def test_a_perfect_judge_has_merit_on_twenty_five_pairs_and_not_on_five() -> None:
    assert merit(ladder([RIGHT] * 25)).status == "clear"
    assert merit(ladder([RIGHT] * 5)).status == "inconclusive"
    assert merit(ladder([WRONG] * 25)).below_chance


def test_large_steps_that_are_missed_refute_merit_though_small_ones_are_seen() -> None:
    blind = [RIGHT if STEPS[n % 5] == 1 else FIRST for n in range(60)]
    assert merit(ladder(blind)).status == "flagged"


def test_a_count_of_words_has_to_be_beaten_on_natural_pairs() -> None:
    """Right where people prefer the longer text, which it always names: merit is ½ whatever the length."""
    longest = [RIGHT if n % 5 else WRONG for n in range(80)]
    assert merit(natural(longest, "u")).status == "clear"
    assert merit(natural(longest, "u", "vuuuu")).status == "flagged"
    assert merit(natural([RIGHT] * 80, "u", "vuuuu")).status == "clear"


def test_pairs_of_unknown_length_hide_no_count_of_words() -> None:
    """Of 160 pairs 80 have lengths; the others, on which people agree with it too, do not dilute them."""
    longest = [WRONG if n % 10 in (0, 5) else RIGHT for n in range(160)]
    whole, beside = merit_estimates("j", Observations.of(natural(longest, "u", "v?u?u?u?u?")), {}, 7)
    assert (whole.value, whole.status) == (pytest.approx(0.8), "flagged")
    assert (beside.value, beside.n_units) == (pytest.approx(0.5), 80)


def test_merit_on_natural_pairs_is_shown_at_a_tenth_of_the_usual_error() -> None:
    """Of 30 pairs 21 are right: .7 [.51, .84] lies above chance, the limit that one run in 400 misses not."""
    found = merit(natural([WRONG if n % 10 < 3 else RIGHT for n in range(30)], "u"))
    assert found.interval is not None
    assert found.decides is not None
    # 30 clusters of two equal calls: Wilson on 29 trials, t(29) = 2.045 and at .9975 3.038.
    for (low, _), reach in ((found.interval.span, 2.0452), (found.decides.span, 3.0380)):
        assert low == pytest.approx(score(0.7, 29, reach)[0], abs=1e-4)
    assert found.decides.span[0] < 0.5 < found.interval.span[0]
    assert found.status == "inconclusive"
    assert merit(natural([WRONG if n % 10 < 3 else RIGHT for n in range(60)], "u")).status == "clear"


def test_a_baseline_that_was_asked_more_often_is_held_against_the_same_pairs() -> None:
    answers = [WRONG if n in (1, 21) else RIGHT for n in range(60)]
    rule = [WRONG if n in (6, 26, 41) else RIGHT for n in range(60)]
    once = ladder(rule, "b")
    fewer = [call for n, call in enumerate(once) if n // 2 % 5]  # it lacks every fifth pair
    other = [replace(call, replicate=1) for call in ladder([WRONG] * 60, "b")]
    strange = [
        replace(call, stimulus=replace(call.stimulus, id=f"x{call.stimulus.id}"))
        for call in ladder([WRONG] * 60, "b")
    ]
    first, more = (
        merit_estimates("j", Observations.of(ladder(answers)), {"b": Observations.of(seen)}, 7)
        for seen in (fewer, [*fewer, *other, *strange])
    )
    assert first == more
    (gain,) = [e for e in first if "over" in e.group]
    kept = [n for n in range(60) if n % 5]
    assert gain.n_units == len(kept)
    right = [sum(each[n] == RIGHT for n in kept) for each in (answers, rule)]
    assert gain.value == pytest.approx((right[0] - right[1]) / len(kept))


def test_calls_without_a_verdict_are_no_grade_and_shrink_a_conclusion_to_chance() -> None:
    """Half of the calls lost: the value stays 1, and with them as chance it is .75, on the limit."""
    lost = [(RIGHT[0], "unreadable") if n % 2 else ("unreadable", RIGHT[1]) for n in range(100)]
    found = merit(ladder(lost))
    assert (found.value, found.excluded["unreadable"]) == (1.0, 100)
    assert (found.status, found.missing_decides) == ("inconclusive", True)
    assert not merit(ladder([RIGHT] * 5)).missing_decides


def test_one_slot_or_no_better_text_leaves_merit_undefined() -> None:
    one = [call for call in ladder([RIGHT] * 10) if call.order == "uv"]
    found = merit(one)
    assert (found.value, found.note) == (None, ONE_SLOT)


def rows(good: int, bad: int, passed_bad: int, failed_good: int = 0) -> list[Observation]:
    answers = [0] * failed_good + [1] * (good - failed_good) + [1] * passed_bad + [0] * (bad - passed_bad)
    return calls(answers, [1] * good + [0] * bad)


def test_skewed_labels_do_not_turn_merit_over() -> None:
    """Sensitivity .87 and specificity .95 at 90 % pass: below the constant in accuracy, and a good judge."""
    found = merit(rows(900, 100, 5, 117))
    assert found.value == pytest.approx(0.87 + 0.95 - 1)
    assert found.status == "clear"
    assert merit(rows(900, 100, 100)).value == 0.0
    assert merit(rows(900, 100, 100)).status == "flagged"
    assert merit(rows(900, 100, 80)).status == "flagged"


def test_labels_turned_round_lie_below_chance_and_a_coin_does_not() -> None:
    turned = calls([0] * 40 + [1] * 40, [1] * 40 + [0] * 40)
    assert merit(turned).below_chance
    coin = calls([n % 2 for n in range(80)], [1] * 40 + [0] * 40)
    assert not merit(coin).below_chance
    assert merit(coin).status == "flagged"


def test_scores_that_follow_the_label_have_merit_though_none_is_right() -> None:
    labels = [1 + n % 4 for n in range(60)]
    off_by_one = merit(calls([label + 1 for label in labels], labels, scale="1-5"))
    assert (off_by_one.value, off_by_one.status) == (pytest.approx(1.0), "clear")
    constant = merit(calls([3] * 60, labels, scale="1-5"))
    assert (constant.value, constant.status) == (0.0, "flagged")


def test_the_mean_of_class_means_does_not_know_how_common_a_class_is() -> None:
    first = np.array([True] * 90 + [False] * 10)
    values = np.array([1.0] * 90 + [0.0] * 10)
    mean = BalancedMean.of(np.arange(100), first, values)
    assert mean.value == 0.5
    low, high = mean.difference_limits()
    assert low < 0.5 < high


def test_lost_calls_counted_as_chance_refute_nothing_that_the_others_show() -> None:
    def word(low: float, high: float) -> str:
        found = Interval("wilson_cluster", low, high), Interval("decides", 0.45, 0.65)
        return merit_test_status(Estimate("j", "ladder", "merit", {}, "call", 0.8, intervals=found))

    assert (word(0.76, 0.9), word(0.4, 0.66)) == ("inconclusive", "flagged")
