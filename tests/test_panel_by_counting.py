"""Juries, common errors and spreads over judges against plain loops; and what must not matter to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from math import nan
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

from scores import Answer, call
from steelyard.metrics.heading import Heading
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel.ballots import ballots
from steelyard.metrics.panel.error_correlation import error_correlation, error_correlations
from steelyard.metrics.panel.jury import (
    TIES,
    Ballots,
    choose_jury,
    halves,
    juries,
    jury_score,
    jury_verdict,
    majority,
)
from steelyard.metrics.panel.jury_shares import accuracy, error_rates, sitting, weighed
from steelyard.metrics.panel.over_judges import members
from steelyard.metrics.run.volatility import spread
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.stats.dawid_skene import SMOOTHING, dawid_skene

HEADING = Heading("panel", "panel", {"protocol": "base"}, 7)
JURY = Metric("jury", "jury", "A jury's accuracy.")
few = settings(max_examples=40)
Vote = float
rows_of_votes = st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, nan]), min_size=3, max_size=3), max_size=6)


def table(votes: Sequence[Sequence[Vote]], labels: Sequence[float], *, tasks: int = 3) -> Ballots:
    """Items that go round a few tasks; every one is answered with yes or no."""
    count = len(votes)
    return Ballots(
        votes=np.array(votes, dtype=np.float64).reshape(count, -1),
        labels=np.array(labels, dtype=np.float64),
        cluster=np.arange(count) % tasks,
        judges=tuple("abcdef"[: len(votes[0])]) if count else (),
        scale=np.zeros(count, dtype=np.int64),
        scales=("0-1",),
    )


@st.composite
def panels(draw: st.DrawFn, *, lost: bool = True, judges: int = 3) -> Ballots:
    """A few items, three judges, every item with a label."""
    answer = st.sampled_from([0.0, 1.0, nan] if lost else [0.0, 1.0])
    items = draw(st.integers(1, 7))
    votes = [[draw(answer) for _ in range(judges)] for _ in range(items)]
    labels = [draw(st.sampled_from([0.0, 1.0])) for _ in range(items)]
    return table(votes, labels, tasks=draw(st.integers(1, 4)))


# The majority


@few
@given(rows_of_votes, st.sampled_from(TIES))
def test_the_majority_by_counting_hands(votes: list[list[float]], tie: str) -> None:
    found = majority(np.array(votes, dtype=np.float64).reshape(len(votes), 3), tie)
    for row, verdict in zip(votes, found, strict=True):
        hands = Counter(vote for vote in row if not np.isnan(vote))
        most = [answer for answer, count in hands.items() if count == max(hands.values())]
        if not most or (len(most) > 1 and tie == "none"):
            assert np.isnan(verdict)
        else:
            assert verdict == (max(most) if tie == "high" else min(most))


@few
@given(rows_of_votes, st.permutations(range(3)), st.sampled_from(TIES))
def test_who_sits_where_does_not_matter(votes: list[list[float]], seats: list[int], tie: str) -> None:
    hands = np.array(votes, dtype=np.float64).reshape(len(votes), 3)
    np.testing.assert_array_equal(majority(hands[:, seats], tie), majority(hands, tie))


def test_an_unknown_tie_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of low, high, none"):
        majority(np.array([[0.0, 1.0]]), "coin")


@few
@given(panels())
def test_a_jury_of_one_is_that_judge(votes: Ballots) -> None:
    for column, name in enumerate(votes.judges):
        np.testing.assert_array_equal(jury_verdict(votes, [name]), votes.votes[:, column])
        spoke = ~np.isnan(votes.votes[:, column])
        found = jury_score(votes, [name])
        assert found.items == int(spoke.sum())
        assert found.right == int((votes.votes[spoke, column] == votes.labels[spoke]).sum())
        assert found.accuracy == (None if not found.items else found.right / found.items)


@few
@given(panels())
def test_every_jury_is_ranked_by_what_it_gets_right(votes: Ballots) -> None:
    for size in (1, 2, 3):
        found = juries(votes, size)
        assert {score.judges for score in found} == set(combinations(votes.judges, size))
        assert [score.right for score in found] == sorted((s.right for s in found), reverse=True)
        for one, two in combinations(found, 2):
            if one.right == two.right:
                assert (one.items, one.judges) < (two.items, two.judges)


@few
@given(panels(), st.integers(0, 50))
def test_halves_part_the_tasks(votes: Ballots, seed: int) -> None:
    split = halves(votes, seed)
    tasks = set(votes.cluster.tolist())
    if len(tasks) < 2:
        assert split is None
        assert choose_jury(votes, seed) is None
        return
    assert split is not None
    one, other = (set(half.cluster.tolist()) for half in split)
    assert one | other == tasks
    assert not one & other
    assert len(one) == len(tasks) // 2
    assert sum(len(half.labels) for half in split) == len(votes.labels)


@few
@given(panels(lost=False), st.integers(0, 20))
def test_the_chosen_jury_is_the_best_of_its_half_and_reported_on_the_other(votes: Ballots, seed: int) -> None:
    split = halves(votes, seed)
    assume(split is not None)
    assert split is not None
    found = choose_jury(votes, seed)
    assert found is not None
    assert found.chosen == juries(split[0])[0]
    assert found.held_out == jury_score(split[1], found.chosen.judges)
    assert found.best_single == jury_score(split[1], juries(split[0], 1)[0].judges)


def test_too_few_judges_choose_no_jury() -> None:
    votes = table([[0.0, 1.0]] * 4, [0, 1, 0, 1])
    assert choose_jury(votes, 7) is None
    assert choose_jury(votes, 7, size=2) is not None


def test_judges_that_never_spoke_are_left_out() -> None:
    votes = table([[0.0, nan, 1.0], [1.0, nan, nan]], [0, 1])
    assert votes.heard.judges == ("a", "c")
    assert votes.heard.votes.shape == (2, 2)


# Lost votes


def completions(votes: Ballots) -> list[Ballots]:
    holes = list(zip(*np.where(np.isnan(votes.votes)), strict=True))
    made = []
    for filling in product((0.0, 1.0), repeat=len(holes)):
        filled = votes.votes.copy()
        for place, answer in zip(holes, filling, strict=True):
            filled[place] = answer
        made.append(replace(votes, votes=filled))
    return made


@settings(max_examples=30)
@given(panels())
def test_bounds_hold_every_way_to_fill_in_lost_votes(votes: Ballots) -> None:
    assume(np.isnan(votes.votes).sum() <= 7)
    jury = sitting(votes, votes.judges)
    found = accuracy(HEADING, JURY, jury)
    shares = [jury_score(full, full.judges).accuracy for full in completions(votes)]
    reached = [share for share in shares if share is not None]
    assert float(jury.surely.mean()) <= min(reached) + 1e-12
    assert float(jury.possibly.mean()) >= max(reached) - 1e-12
    if found.value is not None:
        assert found.bounds is not None
        assert found.bounds[0] == pytest.approx(min(reached))
        assert found.bounds[1] == pytest.approx(max(reached))


@pytest.mark.parametrize(
    ("votes", "label", "scale", "surely"),
    [
        ([0, nan, nan], 0, "0-1", False),  # Nobody ever said 1, and two lost votes might have.
        ([0, 0, nan], 0, "0-1", True),
        ([1, nan], 1, "1-4", True),  # A tie goes to the lower answer, and no answer is below 1.
        ([4, nan], 4, "1-4", False),
        ([1, nan], 1, "0-1", False),
    ],
)
def test_what_lost_votes_could_have_been_is_any_answer_of_the_scale(
    votes: list[float], label: float, scale: str, surely: bool
) -> None:
    other = {"0-1": "1-4", "1-4": "0-1"}[scale]
    rows = np.array([votes, [0.0 if other == "0-1" else 4.0] * len(votes)])
    mixed = Ballots(
        votes=rows,
        labels=np.array([label, rows[1, 0]]),
        cluster=np.array([0, 1]),
        judges=tuple("abc"[: len(votes)]),
        scale=np.array([0, 1]),
        scales=(scale, other),
    )
    jury = sitting(mixed, mixed.judges)
    assert jury.surely.tolist() == [surely, True]
    assert jury.possibly.all()


def test_scales_without_names_set_no_ends() -> None:
    for names in ((), ("",)):
        nameless = replace(table([[0.0, nan]], [0.0]), scales=names)
        assert nameless.ends.tolist() == [[-np.inf, np.inf]]
        assert sitting(nameless, nameless.judges).possibly.all()


@few
@given(panels())
def test_errors_of_a_jury_part_its_verdicts(votes: Ballots) -> None:
    jury = sitting(votes, votes.judges)
    spoke = ~np.isnan(jury.verdict)
    right = accuracy(HEADING, JURY, jury)
    rates = {e.metric: e for e in error_rates(HEADING, jury)}
    assert set(rates) == {"jury_false_positive_rate", "jury_false_negative_rate", "jury_error_rate"}
    for metric, label in (("jury_false_positive_rate", 0), ("jury_false_negative_rate", 1)):
        here = spoke & (votes.labels == label)
        wrong = int((jury.verdict[here] != label).sum())
        if here.any():
            assert (rates[metric].numerator, rates[metric].denominator) == (wrong, int(here.sum()))
        else:
            assert rates[metric].value is None
    total = rates["jury_error_rate"]
    if total.denominator:
        assert (right.numerator or 0) + (total.numerator or 0) == total.denominator
        assert total.bounds == pytest.approx((1 - float(jury.possibly.mean()), 1 - float(jury.surely.mean())))


def test_lost_votes_are_told() -> None:
    votes = table([[0.0, 0.0, nan], [1.0, 1.0, 1.0], [nan, 1.0, 0.0]], [0, 1, 1])
    told = accuracy(HEADING, JURY, sitting(votes, votes.judges)).note or ""
    assert "2 of 3 inputs lack the vote of a member" in told
    pair = accuracy(HEADING, JURY, sitting(votes, ("b", "c"))).note or ""
    assert "1 of 3 inputs lacks the vote of a member" in pair
    assert "lack" not in (accuracy(HEADING, JURY, sitting(votes, ("b",))).note or "")


def test_a_jury_without_yes_and_no_has_no_error_rates() -> None:
    votes = replace(table([[1.0, 2.0, 3.0]] * 3, [1, 2, 3]), scales=("1-4",))
    assert error_rates(HEADING, sitting(votes, votes.judges)) == []


def test_an_open_verdict_of_another_rule_could_be_either() -> None:
    votes = table([[0.0], [1.0], [1.0]], [0, 0, 1])
    found = accuracy(HEADING, JURY, weighed(votes, np.array([0.0, 1.0, nan])))
    assert (found.numerator, found.denominator) == (1, 2)
    assert found.bounds == pytest.approx((1 / 3, 2 / 3))


# Errors in common


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_the_correlation_of_errors_is_that_of_matthews(errors: list[tuple[bool, bool]]) -> None:
    wrong = np.array(errors, dtype=np.float64)
    found = error_correlation(HEADING, wrong, np.arange(len(wrong)) % 4)
    if len(set(wrong[:, 0])) < 2 or len(set(wrong[:, 1])) < 2:
        assert found.value is None
        assert "always right or always wrong" in (found.note or "")
        return
    assert found.value == pytest.approx(matthews_corrcoef(wrong[:, 0], wrong[:, 1]), abs=1e-9)
    assert (found.n_units, found.n_calls) == (len(wrong), 2 * len(wrong))
    for limits in found.intervals:
        assert limits.low is not None
        assert limits.high is not None
        assert -1 <= limits.low <= found.value <= limits.high <= 1


@few
@given(panels())
def test_inputs_that_one_of_two_judges_lost_are_left_out(votes: Ballots) -> None:
    found = list(error_correlations(HEADING, votes))
    assert [(e.group["judge_1"], e.group["judge_2"]) for e in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    for estimate in found:
        one, two = (votes.judges.index(str(estimate.group[f"judge_{n}"])) for n in (1, 2))
        both = int((~np.isnan(votes.votes[:, [one, two]]).any(axis=1)).sum())
        assert estimate.n_units == (both if estimate.value is not None else 0)


def test_errors_of_one_judge_twice_correlate_fully_and_have_no_interval() -> None:
    wrong = np.array([[1, 1], [0, 0], [1, 1], [0, 0]], dtype=np.float64)
    found = error_correlation(HEADING, wrong, np.arange(4))
    assert found.value == pytest.approx(1)
    assert not found.intervals
    assert "no interval" in (found.note or "")


def test_exchanging_right_and_wrong_of_one_judge_turns_the_sign() -> None:
    wrong = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 1]], dtype=np.float64)
    other = np.column_stack([wrong[:, 0], 1 - wrong[:, 1]])
    one, two = (error_correlation(HEADING, rows, np.arange(6)) for rows in (wrong, other))
    assert one.value == pytest.approx(-(two.value or 0))


# Ballots from observations

answers = st.sampled_from([0, 1, "abstain", "failed", "unreadable"])


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.tuples(answers, answers, answers)] * 2), min_size=1, max_size=5))
def test_repeats_go_to_their_majority(rows: list[tuple[tuple[Answer, ...], ...]]) -> None:
    scores = {
        judge: collect_scores(
            call(f"i{item}", answer, item % 2, replicate=replicate, judge=judge)
            for item, sides in enumerate(rows)
            for replicate, answer in enumerate(sides[column])
        )
        for column, judge in enumerate("ab")
    }
    found = ballots(scores)
    assert found.judges == ("a", "b")
    assert found.labels.tolist() == [item % 2 for item in range(len(rows))]
    for item, sides in enumerate(rows):
        for column, side in enumerate(sides):
            hands = Counter(a for a in side if isinstance(a, int))
            vote = found.votes[item, column]
            if not hands:
                assert np.isnan(vote)
            else:
                assert vote == min(a for a in hands if hands[a] == max(hands.values()))


def test_an_input_that_one_judge_did_not_see_is_a_lost_vote() -> None:
    found = ballots(
        {
            "a": collect_scores([call("i0", 1, 1, judge="a"), call("i1", 0, 0, judge="a")]),
            "b": collect_scores([call("i1", 1, 0, judge="b"), call("i2", 1, 1, judge="b")]),
        }
    )
    np.testing.assert_array_equal(found.votes, [[1, nan], [0, 1], [nan, 1]])
    assert found.labels.tolist() == [1, 0, 1]
    assert found.binary.all()


# Spread, and Dawid and Skene


@few
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_spread_is_that_of_the_standard_library(values: list[float]) -> None:
    found = spread(values)
    assert found.count == len(values)
    assert found.mean == pytest.approx(mean(values))
    assert found.sd == pytest.approx(stdev(values), abs=1e-9)
    assert (found.low, found.high) == (min(values), max(values))


def test_one_value_has_no_spread() -> None:
    assert spread([0.4]).sd is None


def test_judges_as_keys_of_a_group() -> None:
    assert members(["x", "y"]) == {"judge_1": "x", "judge_2": "y"}
    assert members([]) == {}


def test_dawid_and_skene_do_not_ask_for_the_order_of_judges() -> None:
    chance = np.random.default_rng(4)
    truth = chance.integers(0, 2, 60).astype(np.float64)
    wrong = chance.random((60, 4)) < [0.05, 0.2, 0.3, 0.4]
    votes = np.where(wrong, 1 - truth[:, None], truth[:, None])
    one, two = dawid_skene(votes), dawid_skene(votes[:, ::-1])
    assert one is not None
    assert two is not None
    assert one.posterior == pytest.approx(two.posterior, abs=1e-6)
    assert one.confusion == pytest.approx(two.confusion[::-1], abs=1e-6)
    assert one.posterior.sum(axis=1) == pytest.approx(np.ones(60))
    assert one.confusion.sum(axis=-1) == pytest.approx(np.ones((4, 2)))
    assert one.prevalence.sum() == pytest.approx(1)
    verdict = one.answers[one.posterior.argmax(axis=1)]
    assert np.mean(verdict == truth) >= np.mean(majority(votes) == truth)


def test_dawid_and_skene_stand_still_where_counting_by_hand_does() -> None:
    chance = np.random.default_rng(6)
    truth = chance.integers(1, 4, 80)
    votes = np.where(chance.random((80, 3)) < 0.3, chance.integers(1, 4, (80, 3)), truth[:, None]).astype(
        float
    )
    votes[chance.random((80, 3)) < 0.2] = nan
    votes[0] = nan
    found = dawid_skene(votes)
    assert found is not None
    assert found.converged
    assert np.isnan(found.posterior[0]).all()
    for judge, true in product(range(3), range(3)):
        row = dict.fromkeys((1.0, 2.0, 3.0), SMOOTHING)
        for vote, posterior in zip(votes[:, judge], found.posterior, strict=True):
            if vote in row:
                row[vote] += posterior[true]
        shares = [count / sum(row.values()) for count in row.values()]
        assert found.confusion[judge, true] == pytest.approx(shares, abs=1e-6)
    for ballot, posterior in zip(votes[1:], found.posterior[1:], strict=True):
        odds = found.prevalence.copy()
        for judge, vote in enumerate(ballot):
            if vote == vote:
                odds *= found.confusion[judge, :, int(vote) - 1]
        if np.isfinite(posterior).all():
            assert posterior == pytest.approx(odds / odds.sum(), abs=1e-6)
