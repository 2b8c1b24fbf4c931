"""Rules by which several verdicts become one: by hand, and against every way the missing could have voted."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.verdicts.majority_vote import _distinct_lines, agreement, average, plurality, swap_slots
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

ONE, TWO, TIE, SHY = Decided("1"), Decided("2"), Tie(), Abstained()
BLUR, LOST = Unreadable("no answer"), Failed("timeout")
PAIR_ANSWERS: tuple[Verdict, ...] = (ONE, TWO, TIE, SHY)
SCORE_ANSWERS: tuple[Verdict, ...] = (*(Decided(str(score)) for score in range(1, 5)), SHY)


@pytest.mark.parametrize(
    ("verdicts", "common"),
    [
        ((ONE, ONE), ONE),
        ((ONE, TWO), TIE),
        ((ONE, TIE), TIE),
        ((TIE, TIE), TIE),
        ((SHY, SHY), SHY),
        ((SHY, ONE), TIE),
        ((TIE, LOST), TIE),
        ((ONE, LOST), LOST),
        ((SHY, BLUR), BLUR),
        ((BLUR, LOST), LOST),
    ],
)
def test_two_orders_agree_or_tie(verdicts: tuple[Verdict, ...], common: Verdict) -> None:
    assert agreement(verdicts, True) == common


@pytest.mark.parametrize(
    ("verdicts", "common"),
    [
        ((ONE, ONE, TWO), ONE),
        ((ONE, TWO, TIE), TIE),
        ((ONE, TWO), TIE),
        ((ONE, ONE, TIE, TIE), TIE),
        ((ONE, ONE, TWO, TIE, TIE), TIE),
        ((ONE, SHY, TIE), TIE),
        ((SHY, SHY, SHY), SHY),
        ((ONE, ONE, LOST), ONE),
        ((ONE, TWO, LOST), LOST),
        ((TIE, TIE, BLUR), TIE),
        ((TIE, BLUR, TIE, ONE), TIE),
        ((SHY, BLUR), BLUR),
        ((BLUR, LOST, BLUR), LOST),
    ],
)
def test_most_votes_decide_between_two_texts(verdicts: tuple[Verdict, ...], common: Verdict) -> None:
    assert plurality(verdicts, True) == common


@pytest.mark.parametrize(
    ("scores", "common"),
    [("445", Decided("4")), ("1355", Decided("5")), ("54", SHY), ("135", SHY), ("1155", SHY), ("01", SHY)],
)
def test_most_votes_decide_a_score_and_a_split_abstains(scores: str, common: Verdict) -> None:
    assert plurality([Decided(score) for score in scores], False) == common


def test_an_abstention_is_a_vote_for_none() -> None:
    assert plurality((SHY, Decided("3")), False) == SHY
    assert plurality((SHY, SHY, Decided("3")), False) == SHY
    assert plurality((SHY, Decided("3"), Decided("3")), False) == Decided("3")


@pytest.mark.parametrize(
    ("verdicts", "common"),
    [
        ((Decided("1"), Decided("1"), LOST), Decided("1")),
        ((Decided("1"), Decided("0"), LOST), LOST),
        ((Decided("1"), BLUR, BLUR), BLUR),
        ((Decided("1"), BLUR), BLUR),
        ((SHY, SHY, LOST), SHY),
        ((SHY, LOST), SHY),
        ((LOST, BLUR, BLUR), LOST),
    ],
)
def test_who_has_no_verdict_has_no_vote(verdicts: tuple[Verdict, ...], common: Verdict) -> None:
    """Two of three that agree stand; one alone of two or three does not, nor a split."""
    assert plurality(verdicts, False) == common


@pytest.mark.parametrize(
    ("verdicts", "common"),
    [
        ((Decided("4"), Decided("5"), Decided("5")), Decided("5")),
        ((Decided("4"), Decided("5")), Decided("4")),
        ((Decided("1"), Decided("2"), Decided("6")), Decided("3")),
        ((Decided("1"), SHY, Decided("3")), Decided("2")),
        ((SHY, SHY), SHY),
        ((Decided("1"), BLUR, Decided("3")), BLUR),
    ],
)
def test_a_mean_is_rounded_and_halves_go_down(verdicts: tuple[Verdict, ...], common: Verdict) -> None:
    assert average(verdicts, False) == common


def test_two_texts_have_no_mean() -> None:
    with pytest.raises(ValueError, match="no score to average"):
        average((ONE, TWO), True)


def completions(verdicts: list[Verdict], answers: tuple[Verdict, ...]) -> list[list[Verdict]]:
    """The same verdicts with every answer that the missing members could have given."""
    gaps = [place for place, verdict in enumerate(verdicts) if verdict in (BLUR, LOST)]
    filled = []
    for chosen in product(answers, repeat=len(gaps)):
        whole = list(verdicts)
        for place, answer in zip(gaps, chosen, strict=True):
            whole[place] = answer
        filled.append(whole)
    return filled


@given(st.lists(st.sampled_from((*PAIR_ANSWERS, BLUR, LOST)), min_size=1, max_size=5))
def test_a_verdict_of_two_texts_stands_whatever_the_missing_would_have_said(verdicts: list[Verdict]) -> None:
    for rule in (agreement, plurality):
        common = rule(verdicts, True)
        every = {rule(whole, True) for whole in completions(verdicts, PAIR_ANSWERS)}
        missing = any(verdict in (BLUR, LOST) for verdict in verdicts)
        assert (
            common == (LOST if LOST in verdicts else BLUR)
            if missing and len(every) > 1
            else every == {common}
        )


@given(st.lists(st.sampled_from((*SCORE_ANSWERS, BLUR, LOST)), min_size=1, max_size=5))
def test_a_score_that_is_given_is_one_that_no_missing_vote_would_change(verdicts: list[Verdict]) -> None:
    common = plurality(verdicts, False)
    if common not in (BLUR, LOST):
        assert {plurality(whole, False) for whole in completions(verdicts, SCORE_ANSWERS)} == {common}


@given(st.lists(st.sampled_from((*PAIR_ANSWERS, BLUR, LOST)), min_size=1, max_size=5))
def test_a_vote_turned_is_the_vote_on_turned_verdicts(verdicts: list[Verdict]) -> None:
    for rule in (agreement, plurality):
        assert swap_slots(rule(verdicts, True)) == rule([swap_slots(verdict) for verdict in verdicts], True)


@given(st.integers(2, 40), st.integers(1, 70), st.randoms(use_true_random=False))
def test_lines_of_many_members_are_told_apart_by_every_member(
    kinds: int, members: int, chance: random.Random
) -> None:
    line = [chance.randrange(kinds) for _ in range(members)]
    lines = [
        line,
        *([*line[:place], (code + 1) % kinds, *line[place + 1 :]] for place, code in enumerate(line)),
    ]
    sample, number = _distinct_lines(np.array([*lines, line]), kinds)
    assert len(sample) == len(set(map(tuple, lines)))
    assert [lines[first] for first in sample[number[:-1]]] == lines
    assert number[-1] == number[0]
