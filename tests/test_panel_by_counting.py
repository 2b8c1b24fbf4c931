"""Juries, common errors and spreads over judges against plain loops; and what must not matter to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import nan
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

from scores import Answer, call
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel_metrics import (
    VoteMatrix,
    error_correlation,
    error_correlations,
    members,
    vote_matrix,
)
from steelyard.metrics.run.volatility import spread_figures
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.stats.agreement import SMOOTHING, dawid_skene

HEADING = EstimateContext("panel", "panel", {"protocol": "base"}, 7)
JURY = Metric("jury", "jury", "A jury's accuracy.")
few = settings(max_examples=40)
Vote = float
rows_of_votes = st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, nan]), min_size=3, max_size=3), max_size=6)


def table(votes: Sequence[Sequence[Vote]], labels: Sequence[float], *, tasks: int = 3) -> VoteMatrix:
    """Items that go round a few tasks; every one is answered with yes or no."""
    count = len(votes)
    return VoteMatrix(
        votes=np.array(votes, dtype=np.float64).reshape(count, -1),
        labels=np.array(labels, dtype=np.float64),
        cluster=np.arange(count) % tasks,
        judges=tuple("abcdef"[: len(votes[0])]) if count else (),
        scale=np.zeros(count, dtype=np.int64),
    )


@st.composite
def panels(draw: st.DrawFn, *, lost: bool = True, judges: int = 3) -> VoteMatrix:
    """A few items, three judges, every item with a label."""
    answer = st.sampled_from([0.0, 1.0, nan] if lost else [0.0, 1.0])
    items = draw(st.integers(1, 7))
    votes = [[draw(answer) for _ in range(judges)] for _ in range(items)]
    labels = [draw(st.sampled_from([0.0, 1.0])) for _ in range(items)]
    return table(votes, labels, tasks=draw(st.integers(1, 4)))


# Errors in common


@pytest.mark.slow
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
def test_inputs_that_one_of_two_judges_lost_are_left_out(votes: VoteMatrix) -> None:
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


# VoteMatrix from observations

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
    found = vote_matrix(scores)
    assert found.judges == ("a", "b")
    assert found.labels.tolist() == [item % 2 for item in range(len(rows))]
    for item, sides in enumerate(rows):
        for column, side in enumerate(sides):
            # Three repeats: two that agree stand, whatever became of the third.
            hands = Counter(a for a in side if isinstance(a, int))
            agreed = [answer for answer, count in hands.items() if count > 1]
            vote = found.votes[item, column]
            assert [vote] == agreed if agreed else np.isnan(vote)


def test_an_input_that_one_judge_did_not_see_is_a_lost_vote() -> None:
    found = vote_matrix(
        {
            "a": collect_scores([call("i0", 1, 1, judge="a"), call("i1", 0, 0, judge="a")]),
            "b": collect_scores([call("i1", 1, 0, judge="b"), call("i2", 1, 1, judge="b")]),
        }
    )
    np.testing.assert_array_equal(found.votes, [[1, nan], [0, 1], [nan, 1]])
    assert found.labels.tolist() == [1, 0, 1]


# Spread, and Dawid and Skene


@few
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_spread_is_that_of_the_standard_library(values: list[float]) -> None:
    found, spread, alone, low, high = spread_figures(values, "judge", 0.25)
    assert found == (pytest.approx(mean(values)), f"over {len(values)} judges")
    assert spread == (pytest.approx(stdev(values), abs=1e-9), f"{found[1]}; sampling alone would give 0.25")
    assert alone == (0.25, f"{found[1]}; items that judges share count once")
    assert (low[0], high[0]) == (min(values), max(values))


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
    assert np.mean(verdict == truth) >= np.mean((votes.sum(axis=1) > 2) == truth)


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
