"""Length: what the longer text wins by, where somebody says what it should win."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import barnard_exact

from commands import Command
from said import answered
from scores import call
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.ladder import FILLER, ladder_estimates
from steelyard.metrics.pairs.length import SAME_LENGTH, length_lean, longer_chosen
from steelyard.metrics.pairs.natural import NO_GOLD, natural_estimates
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.probe import directional_bias_estimates, unchanged_estimates
from steelyard.metrics.stats.directional_bias import Halves
from steelyard.metrics.stats.intervals import barnard
from steelyard.verdicts.observations import Observation, Observations
from strategies import make

EXAMPLES = Path(__file__).parent.parent / "examples"
HERE = EstimateContext.for_protocol("j", "position", "base", 7)
U, V, BOTH = "12", "21", "tt"
"""Answers of a judge that names u, v or neither in both orders."""


def lean(answers: list[str], better: list[int], longer: list[int], others: int | None = 0) -> Estimate:
    pairs = make(answers, tasks=len(answers), better=better)
    return length_lean(HERE, pairs, np.array(longer), "no pair says which text is better", others)


def test_the_lean_by_hand() -> None:
    """u is longer throughout. Named in 3 of 4 pairs that v should win; v named in 1 of 2 that u should."""
    found = lean([U, U, U, V, V, U], [2, 2, 2, 2, 1, 1], [1] * 6)
    assert found.value == pytest.approx((3 / 4 - 1 / 2) / 2)
    assert (found.n_units, found.n_calls, found.unit) == (6, 12, "pair")


def test_a_flip_is_half_and_a_tie_is_half() -> None:
    assert lean(["11", BOTH], [2, 2], [1, 1]).value is None
    found = lean(["11", BOTH, V, U], [2, 2, 2, 1], [1] * 4)
    assert found.value == pytest.approx((1 / 3 - 0) / 2)


def test_always_the_longer_is_flagged_from_seven_pairs() -> None:
    """The example of this project: 4 pairs whose shorter text is better, 2 whose longer is, 1 tie."""
    found = lean([U] * 7, [2, 2, 2, 2, 1, 1, 0], [1] * 7, others=1)
    assert (found.value, found.status) == (pytest.approx(0.5), "flagged")
    assert found.p == pytest.approx(2 / 2**7, abs=1e-4)
    assert found.p_corrected == pytest.approx(2 * (found.p or 0))
    assert "after Bonferroni over 2 tests" in (found.note or "")


def test_barnards_test_is_the_published_one() -> None:
    """scipy's by the pooled statistic; its groups are columns, and its search is coarse."""
    for ups, downs in (((7, 10), (2, 10)), ((10, 30), (2, 30)), ((3, 3), (1, 10)), ((4, 4), (0, 2))):
        table = [[ups[0], downs[0]], [ups[1] - ups[0], downs[1] - downs[0]]]
        assert barnard(ups, downs, (0, 0)) == pytest.approx(
            barnard_exact(table, pooled=True, n=64).pvalue, abs=2e-3
        )
    assert barnard((0, 0), (0, 0), (6, 6)) == pytest.approx(2 / 2**6)


def test_pairs_that_say_nothing_have_no_number() -> None:
    same = lean([U, V], [1, 2], [0, 0])
    assert (same.value, same.note) == (None, SAME_LENGTH)
    one = lean([U, U, V], [1, 1, 1], [1, 1, 1])
    assert (one.value, one.note) == (
        None,
        "people prefer the longer text in every pair: errors to one side only can be seen",
    )
    assert lean([], [], []).note == NO_GOLD


def test_missing_calls_could_have_named_either() -> None:
    found = lean([U, "1f", V, V], [2, 2, 1, 2], [1] * 4)
    assert found.bounds == (
        pytest.approx(((1 + 0.5 + 0) / 3 - 1) / 2),
        pytest.approx(((1 + 1 + 0) / 3 - 1) / 2),
    )
    assert found.excluded["failed"] == 1


def test_the_longer_text_beside_peoples_choice() -> None:
    pairs = make([U, U, V, BOTH], tasks=4, better=[1, 2, 2, 0])
    found = longer_chosen(HERE, pairs, np.array([1, 1, 1, 1]), np.array([True, True, True, True]))
    assert (found.numerator, found.denominator) == (4, 6)
    assert found.chance == pytest.approx(1 / 3)


def test_prompts_other_than_base_have_a_figure_and_no_word() -> None:
    pairs = make([U] * 8, tasks=8, better=[2, 2, 2, 2, 1, 1, 1, 2])
    longer = dict.fromkeys(pairs.names, 1)
    for protocol, word in (("base", "flagged"), ("strict", None)):
        found = natural_estimates(
            EstimateContext.for_protocol("j", "position", protocol, 7), pairs, pairs, None, longer
        )
        assert [e.status for e in found if e.metric == "length_lean"] == [word]
    assert not [e for e in natural_estimates(HERE, pairs, pairs) if e.metric == "length_lean"]


@pytest.mark.parametrize(
    ("answer", "word"), [(V, "flagged"), (U, "flagged"), (BOTH, "clear"), ("11", "clear")]
)
def test_padded_pairs_have_a_test(answer: str, word: str) -> None:
    """v is padded. A judge of slots or of ties is not swayed by it, one of either text is."""
    pairs = make([answer] * 40, tasks=40, kind=FILLER)
    found = ladder_estimates(EstimateContext.for_protocol("j", "ladder", "base", 7), pairs)
    (padded,) = [e for e in found if e.metric == "length_lean"]
    assert padded.status == word
    assert (padded.value or 0) == {V: 0.5, U: -0.5}.get(answer, 0.0)
    said = answered("Length", JudgeEstimates("j", EstimateIndex(found))) or ("", "")
    assert said[0] == word
    if answer == V:
        assert said[1].startswith(
            "prefers the text that is padded: padded in 80 of 80 decided calls between equals"
        )


def test_the_example_flags_the_longest_judge(command: Command, tmp_path: Path) -> None:
    """Eight rows of one's own, no author: the best-known bias is named."""
    text = (EXAMPLES / "pairwise-data.yaml").read_text(encoding="utf-8")
    for name in ("pairs.jsonl", "pairs-rubric.md"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    judges = "planted/longest\n  - planted/first"
    (tmp_path / "s.yaml").write_text(text.replace("openai/gpt-4o-mini", judges), encoding="utf-8")
    sheet = json.loads(command("measure", "s.yaml", "--json", "--out", "run").out)
    said = {(r["judge"], r["title"]): (r["word"], r["sentence"]) for r in sheet["readings"]}
    word, sentence = said["planted/longest", "Length"]
    assert word == "flagged"
    assert sentence.startswith(
        "errs towards the longer of two texts: names the longer in 14 of 14 decided calls"
    )
    assert said["planted/first", "Length"][0] != "flagged"


WORDS = ("a", "a b c", "a b c d e", "a b c d e f g")


def scored(answers: list[int], labels: list[int], words: list[str]) -> list[Observation]:
    rows = [call(f"i{n:02d}", *pair) for n, pair in enumerate(zip(answers, labels, strict=True))]
    return [
        replace(row, stimulus=replace(row.stimulus, texts=(text,)))
        for row, text in zip(rows, words, strict=True)
    ]


def gap(answers: list[int], labels: list[int], words: list[str]) -> Estimate:
    found = unchanged_estimates("j", Observations.of(scored(answers, labels, words)), 7)
    (estimate,) = [e for e in found if e.metric == "length_gap"]
    return estimate


def test_halves_within_a_label_by_hand() -> None:
    """Label 0: the longer two pass, the shorter two do not, +1; label 1: all pass, 0; both weigh 1."""
    found = gap([0, 0, 1, 1, 1, 1, 1, 1], [0] * 4 + [1] * 4, [*WORDS, *WORDS])
    assert found.value == pytest.approx(0.5)
    assert found.n_units == 8


def test_the_median_belongs_to_neither_half() -> None:
    halves = Halves.of(np.array([0.0, 0.0, 1.0]), np.zeros(3), np.array([1, 2, 3]), np.arange(3))
    assert (halves.units, halves.value) == (2, 1.0)


def test_a_judge_that_passes_what_is_long() -> None:
    labels, words = [0, 1] * 30, [text for text in WORDS for _ in range(15)]
    found = gap([int(len(text.split()) > 4) for text in words], labels, words)
    assert (found.value, found.status) == (pytest.approx(1.0), "flagged")


def test_length_that_goes_with_the_label_is_no_fault() -> None:
    """Good answers are long: a judge that is right throughout is not one of length."""
    labels = [0] * 50 + [1] * 50
    words = [WORDS[n % 2 + 2 * label] for n, label in enumerate(labels)]
    found = gap(labels, labels, words)
    assert (found.value, found.status, found.p) == (0.0, "clear", 1.0)


def test_texts_that_are_not_known_have_no_length() -> None:
    rows = scored([1, 0, 1], [1, 0, 1], ["", "", ""])
    assert not [e for e in unchanged_estimates("j", Observations.of(rows), 7) if e.metric == "length_gap"]
    alike = gap([1, 0, 1, 0], [1, 0, 1, 0], ["a b"] * 4)
    assert (alike.value, alike.note) == (None, "texts with the same label are all as long, or not known")


def false_flags(runs: int, size: int, share: float, accuracy: float, seed: int) -> tuple[float, float]:
    """How often Leniency or Length is flagged, and how often pairs' Length, of judges that err at random."""
    chance = np.random.default_rng(seed)
    single = pairs = 0
    for run in range(runs):
        labels = [int(n < size * share) for n in range(size)]
        right = chance.random(size) < accuracy
        answers = [label if ok else 1 - label for label, ok in zip(labels, right, strict=True)]
        scores = collect_scores(
            call(f"i{n:03d}", a, b) for n, (a, b) in enumerate(zip(answers, labels, strict=True))
        )
        heading = EstimateContext.for_protocol(f"j{run}", "original", "base", 7)
        found = directional_bias_estimates(heading, scores, chance.integers(1, 200, size))
        single += any(e.status == "flagged" for e in found)
        better = [2 - label for label in labels]
        named = [U if ok == (b == 1) else V for b, ok in zip(better, right, strict=True)]
        here = EstimateContext.for_protocol(f"j{run}", "position", "base", 7)
        natural = make(named, tasks=size, better=better)
        longest = np.ones(len(natural), dtype=np.int64)
        pairs += length_lean(here, natural, longest, "no label", 1).status == "flagged"
    return single / runs, pairs / runs


@pytest.mark.slow
def test_a_coin_and_a_sharp_rater_are_seldom_flagged() -> None:
    for accuracy in (0.5, 0.95):
        assert max(false_flags(20, 24, 0.7, accuracy, 5)) <= 0.10


@pytest.mark.calibrate
@pytest.mark.parametrize("size", [20, 60, 200])
@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95])
def test_no_more_than_one_sheet_in_twenty_is_flagged(size: int, share: float, accuracy: float) -> None:
    """The upper limit of .05 in 400 runs is .077 (three standard errors)."""
    single, pairs = false_flags(400, size, share, accuracy, size)
    assert max(single, pairs) <= 0.083


def test_rows_still_needed_of_a_rater_without_an_error_decide() -> None:
    """Without spread the interval narrows with the number of rows, not with its root."""

    def perfect(rows: int) -> Estimate:
        labels = [row % 2 for row in range(rows)]
        return gap(labels, labels, ["word " * (1 + row // 2) for row in range(rows)])

    few = perfect(40)
    assert few.status == "inconclusive"
    assert few.calls_needed is not None
    assert 60 < few.calls_needed < 100
    assert perfect(few.calls_needed + few.calls_needed % 2).status == "clear"
    assert perfect(few.calls_needed - 6).status == "inconclusive"
