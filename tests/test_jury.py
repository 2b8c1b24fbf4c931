"""Juries: tie rules, choice on one half, error correlation, Dawid and Skene."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from scores import calls
from steelyard.metrics.panel.ballots import ballots
from steelyard.metrics.panel.jury import (
    Ballots,
    choose_jury,
    juries,
    jury_score,
    majority,
)
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.stats.dawid_skene import dawid_skene

NAN = float("nan")


def simulate(accuracies: list[float], items: int, seed: int) -> Ballots:
    """Judges that err independently on items with balanced labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, items).astype(float)
    right = generator.random((items, len(accuracies))) < accuracies
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    names = tuple(f"j{index}" for index in range(len(accuracies)))
    return Ballots(votes, labels, np.arange(items), names, np.zeros(items, dtype=np.int64))


def test_a_tie_is_decided_by_the_rule_that_was_given() -> None:
    votes = np.array([[0.0, 1.0], [1.0, 1.0], [NAN, 0.0], [NAN, NAN]])
    assert majority(votes, "low") == pytest.approx([0, 1, 0, NAN], nan_ok=True)
    assert majority(votes, "high") == pytest.approx([1, 1, 0, NAN], nan_ok=True)
    assert majority(votes, "none") == pytest.approx([NAN, 1, 0, NAN], nan_ok=True)
    with pytest.raises(ValueError, match="expected one of low, high, none"):
        majority(votes, "coin")


def test_a_jury_of_three_independent_judges_follows_condorcet() -> None:
    # p = .8: p³ + 3p²(1 − p) = .512 + .384 = .896.
    found = simulate([0.8, 0.8, 0.8], 20_000, 1)
    score = jury_score(found, found.judges)
    assert score.accuracy == pytest.approx(0.896, abs=0.01)


def test_every_trio_is_scored_and_the_best_stands_first() -> None:
    found = simulate([0.9, 0.85, 0.8, 0.6, 0.5], 4000, 2)
    scores = juries(found)
    assert {score.judges for score in scores} == set(combinations(found.judges, 3))
    assert scores[0].judges == ("j0", "j1", "j2")
    assert [score.right for score in scores] == sorted((score.right for score in scores), reverse=True)


def test_who_speaks_once_and_is_right_is_not_the_best() -> None:
    found = simulate([0.8, 0.7, 0.6, 0.5], 200, 2)
    found.votes[1:, 3], found.votes[0, 3] = NAN, found.labels[0]
    alone = juries(found, 1)
    assert [score.judges for score in alone] == [("j0",), ("j1",), ("j2",), ("j3",)]
    assert (alone[-1].right, alone[-1].items) == (1, 1)


def test_one_judge_three_times_errs_as_one() -> None:
    single = simulate([0.7, 0.7], 2000, 3)
    copied = Ballots(
        np.repeat(single.votes[:, :1], 3, axis=1),
        single.labels,
        single.cluster,
        ("a", "b", "c"),
        single.scale,
    )
    assert jury_score(copied, ("a", "b", "c")).right == jury_score(copied, ("a",)).right


def test_the_choosing_half_flatters_and_the_other_half_does_not() -> None:
    # Twelve coins: the best of 220 trios looks well above one half where it was chosen, and nowhere else.
    seen, unseen = [], []
    for seed in range(40):
        chosen = choose_jury(simulate([0.5] * 12, 60, seed), seed)
        assert chosen is not None
        seen.append(chosen.chosen.accuracy)
        unseen.append(chosen.held_out.accuracy)
    assert np.mean(seen) > 0.65
    assert np.mean(unseen) == pytest.approx(0.5, abs=0.04)


def test_the_split_keeps_tasks_whole_and_depends_on_the_seed_alone() -> None:
    found = simulate([0.9, 0.8, 0.7, 0.6], 40, 4)
    grouped = Ballots(found.votes, found.labels, np.arange(40) // 4, found.judges, found.scale)
    first, again = choose_jury(grouped, 9), choose_jury(grouped, 9)
    assert first == again
    assert first is not None
    assert (first.chosen.items, first.held_out.items) == (20, 20)
    one_task = Ballots(found.votes, found.labels, np.zeros(40, dtype=np.int64), found.judges, found.scale)
    assert choose_jury(one_task, 9) is None


def test_dawid_and_skene_learn_whom_to_believe() -> None:
    accuracies = [0.95, 0.9, 0.6, 0.6, 0.6]
    found = simulate(accuracies, 3000, 5)
    fitted = dawid_skene(found.votes)
    assert fitted is not None
    assert fitted.converged
    recovered = fitted.confusion[:, [0, 1], [0, 1]].mean(-1)
    assert recovered == pytest.approx(accuracies, abs=0.04)
    assert fitted.prevalence == pytest.approx([0.5, 0.5], abs=0.03)
    weighted = np.mean(fitted.verdict == found.labels)
    assert weighted > (jury_score(found, found.judges).accuracy or 1) + 0.02


def test_dawid_and_skene_on_unanimous_votes_say_what_was_voted() -> None:
    votes = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, NAN], [NAN, NAN]])
    fitted = dawid_skene(votes)
    assert fitted is not None
    assert fitted.verdict == pytest.approx([1, 0, 1, NAN], nan_ok=True)
    assert dawid_skene(np.full((2, 2), NAN)) is None


def test_ballots_join_judges_by_input_and_leave_lost_calls_empty() -> None:
    first = collect_scores(calls([1, 0, "failed"], [1, 1, 0]))
    second = collect_scores(calls([1, 1], [1, 1]))
    found = ballots({"b": second, "a": first})
    assert found.judges == ("a", "b")
    assert found.votes == pytest.approx(np.array([[1, 1], [0, 1], [NAN, NAN]]), nan_ok=True)
    assert found.labels == pytest.approx([1, 1, 0])
    assert jury_score(found, ("a", "b"), "high").right == 2
