"""Judges with one planted fault each: the verdict names that fault first, and no other."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from planted_faults import PAIRS, SCORES, judged_pairs, judged_scores, rates
from steelyard.datasheet.conclusion import NO_FAULT, UNFIT, Conclusion
from steelyard.datasheet.render.clauses import fact_text
from steelyard.metrics.stats.directional_bias import DirectionalBias
from steelyard.providers.planted.answer_keys import KnownLabel
from steelyard.providers.planted.decision_model import (
    LONG,
    Parameters,
    RaterParameters,
    decide,
    length_effect,
    rate,
)

ANSWERS = ("1", "2", "tie")


@pytest.fixture(scope="module")
def pairs() -> dict[str, Conclusion]:
    return judged_pairs()


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Conclusion]:
    return judged_scores(tmp_path_factory.mktemp("rows"), rows=160)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAIRS if name != "faultless"])
def test_a_judge_of_pairs_is_told_its_own_fault_and_no_other(name: str, pairs: dict[str, Conclusion]) -> None:
    _, word, title = PAIRS[name]
    verdict = pairs[name]
    assert (verdict.word, [fact.title for fact in verdict.facts if fact.cause]) == (word, [title])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCORES if name != "faultless"])
def test_a_judge_of_single_texts_is_told_its_own_fault_and_no_other(
    name: str, scores: dict[str, Conclusion]
) -> None:
    _, word, title = SCORES[name]
    verdict = scores[name]
    assert (verdict.word, [fact.title for fact in verdict.facts]) == (word, [title])


def test_a_judge_without_a_fault_is_told_so_at_standard_size(
    pairs: dict[str, Conclusion], scores: dict[str, Conclusion]
) -> None:
    assert pairs["faultless"].word == scores["faultless"].word == NO_FAULT


def test_a_coin_is_unfit_everywhere(pairs: dict[str, Conclusion], scores: dict[str, Conclusion]) -> None:
    assert pairs["a coin"].word == scores["a coin"].word == UNFIT


def test_noise_is_named_without_replicates_too() -> None:
    noisy = judged_pairs(names=["noisy"], replicates=1)["noisy"]
    assert [fact.title for fact in noisy.facts] == ["Noise"]
    assert fact_text(noisy.facts[0]).startswith("answers at random where texts are equally good: ")


@pytest.mark.calibrate
def test_verdicts_are_the_due_ones_over_seeds(tmp_path: Path) -> None:
    """Of 30 seeds at least 27 without a fault are told so, and 24 with one are told that one alone.

    With 200 rows instead of 300 it is undecided in 7 whether a rater that goes by length in half tells good
    from bad; its fault is named in all 30.
    """
    for form, name, seeds, words, alone in rates(tmp_path, range(30)):
        least = 0.9 if name == "faultless" else 0.8
        assert words >= least * seeds, (form, name, words)
        assert alone >= least * seeds, (form, name, alone)


# The faults that planted judges can have.


def share(answers: list[str], answer: str) -> float:
    return answers.count(answer) / len(answers)


@pytest.mark.slow
def test_the_length_pull_is_the_shift_for_twice_the_words() -> None:
    planted = Parameters(0.0, 0.0, 0.5, 0.0, 0.0, length_pull=1.0)
    long, short = "word " * 41, "word " * 20
    assert length_effect(planted, (long, short)) == pytest.approx(1.0)
    assert length_effect(planted, (short, long)) == pytest.approx(-1.0)
    answers = [decide(planted, "Tell.", (long, short), ANSWERS, f"t{n}") for n in range(2000)]
    assert share(answers, "1") == pytest.approx(NormalDist().cdf(0.5), abs=0.03)
    assert share(answers, "2") == pytest.approx(NormalDist().cdf(-1.5), abs=0.017)


def test_no_pull_leaves_every_answer_as_it_was() -> None:
    slots = ("word " * 41, "word " * 20)
    plain, same = Parameters(), Parameters(length_pull=0.0)
    for n in range(200):
        one, other = (decide(judge, "Tell.", slots, ANSWERS, f"t{n}") for judge in (plain, same))
        assert one == other


def test_a_rater_misses_as_many_spellings_as_planted_and_always_the_same() -> None:
    planted = RaterParameters(1.0, 1.0, 0.0, wording=0.2)
    truth = KnownLabel("1", "item")
    scores = [rate(planted, truth, ("0", "1"), "t", f"spelling {n}") for n in range(2000)]
    assert share(scores, "0") == pytest.approx(0.2, abs=0.027)
    again = [rate(planted, truth, ("0", "1"), "other", f"spelling {n}") for n in range(2000)]
    assert again == scores


def test_a_rater_scores_as_many_items_by_length_as_planted() -> None:
    planted = RaterParameters(1.0, 1.0, 0.0, length=0.3)
    long, short = "word " * LONG, "word " * (LONG - 1)
    high = [rate(planted, KnownLabel("0", f"i{n}"), ("0", "1"), "t", long) for n in range(2000)]
    low = [rate(planted, KnownLabel("1", f"i{n}"), ("0", "1"), "t", short) for n in range(2000)]
    assert share(high, "1") == pytest.approx(0.3, abs=0.03)
    assert share(low, "0") == share(high, "1")


def test_clusters_that_all_lean_alike_are_as_so_many_tosses_of_a_coin() -> None:
    units = np.repeat(np.arange(10), 2)
    lean = DirectionalBias(np.ones(20), np.full(20, 0.5), units, np.full(20, 2))
    assert lean.error == 0.0
    assert lean.p(7) == pytest.approx(2 / 2**10)


def test_facts_are_told_in_plain_words_with_counts(scores: dict[str, Conclusion]) -> None:
    told = {name: fact_text(verdict.facts[0]) for name, verdict in scores.items()}
    assert told["constant"].startswith("answers 1 to everything and does not tell good from bad: merit 0.00 ")
    assert told["lenient"].startswith("is lenient: passes ")
    assert told["strict"].startswith("is strict: passes ")
    assert told["a coin"].startswith("does not tell good from bad: merit ")
    assert told["faultless"].startswith("tells good from bad: merit ")
