"""Items as they are, over all probes: figures by hand, and what one kind of label or answer can not say."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest

from said import answered
from scores import call
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.numbers import remarks
from steelyard.metrics.comparison.against_baselines import gain_estimates
from steelyard.metrics.comparison.unit_events import unit_events
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import MISSING_DECIDE
from steelyard.metrics.pairs.natural import NO_GOLD, kappa
from steelyard.metrics.scores.against_labels import CONSTANT_LABELS, NOT_SCORED
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.probe import accuracy_change, unchanged_estimates
from steelyard.metrics.scores.shares import NO_LABELS
from steelyard.probes.probe_metadata import metrics_of
from steelyard.verdicts.observations import Observation, Observations
from strategies import make

accuracy = partial(answered, "Accuracy")
leniency = partial(answered, "Leniency")


def figures(rows: list[Observation]) -> dict[str, Estimate]:
    seen = Observations.of(rows)
    found = [*unchanged_estimates("j", seen, 7), *gain_estimates("j", seen, {}, 7)]
    return {e.metric: e for e in found if dict(e.group) == {"protocol": "base"}}


def read(rows: list[Observation]) -> JudgeEstimates:
    return JudgeEstimates("j", EstimateIndex(figures(rows).values()))


def items(answers: list[int | str], labels: list[int | None], scale: str = "binary") -> list[Observation]:
    pairs = zip(answers, labels, strict=True)
    return [call(f"i{n:02d}", answer, label, scale=scale) for n, (answer, label) in enumerate(pairs)]


def test_every_probes_unchanged_items_count_once() -> None:
    """Three originals and two edits: the edits are in no figure but the commonest answer."""
    rows = [*items([1, 1, 0], [1, 0, 0]), call("i00", 0, 1, probe="typos"), call("i01", 0, 0, probe="typos")]
    found = figures(rows)
    assert (found["accuracy"].numerator, found["accuracy"].denominator) == (2, 3)
    assert (found["commonest_answer"].numerator, found["commonest_answer"].denominator) == (3, 5)
    assert (found["commonest_answer"].note or "").startswith("answer 0")
    assert {e.probe for e in found.values()} == {"original"}


def test_leniency_of_verdicts_by_hand() -> None:
    """3 of 10 that should fail pass, 1 of 10 that should pass fails: (.3 − .1) / 2."""
    found = figures(items([1] * 3 + [0] * 7 + [0] + [1] * 9, [0] * 10 + [1] * 10))
    assert found["leniency"].value == pytest.approx(0.1)
    assert (found["pass_rate"].value, found["pass_rate"].chance) == (pytest.approx(12 / 20), 0.5)


def test_leniency_of_scores_by_hand() -> None:
    """One level above in half of the calls, on a scale of four steps."""
    labels = [1, 2, 3, 4] * 10
    rows = items([n + i % 2 for i, n in enumerate(labels)], list(labels), scale="1-5")
    found = figures(rows)
    assert found["leniency"].value == pytest.approx(0.5 / 4)
    assert (found["share_above"].numerator, found["share_below"].numerator) == (20, 0)
    word, said = leniency(JudgeEstimates("j", EstimateIndex(found.values()))) or ("", "")
    assert word == "flagged"
    assert re.match(r"is lenient: .*\+0\.12", said)
    assert "+0.50 [" in said
    assert re.search(r"above .*\b20 of 40 calls, below .*\b0 of 40", said)


def test_an_undecided_leniency_asks_for_labelled_rows() -> None:
    answer = leniency(read(items([1] * 3 + [0] * 7 + [1] * 10, [0] * 10 + [1] * 10))) or ("", "")
    assert answer[0] == "inconclusive"
    assert "labelled rows (" in answer[1]


def test_errors_one_way_within_the_margin_are_no_leniency() -> None:
    """Of 20 bad items 3 are passed, of 180 good ones none is failed: the test alone would show it."""
    rows = items([1] * 3 + [0] * 17 + [1] * 180, [0] * 20 + [1] * 180)
    found = figures(rows)["leniency"]
    assert found.value == pytest.approx(3 / 20 / 2)
    assert found.p is not None
    assert found.p <= 0.05
    assert found.status == "inconclusive"
    assert found.calls_needed is not None
    assert found.calls_needed > 200
    # Five of 20 are beyond it.
    beyond = figures(items([1] * 5 + [0] * 15 + [1] * 180, [0] * 20 + [1] * 180))["leniency"]
    assert (beyond.value, beyond.status) == (pytest.approx(5 / 20 / 2), "flagged")


def test_an_abstention_is_no_repeat_that_differs() -> None:
    """Thirty items asked three times: scores never differ, one call of every second item abstains."""
    rows = [
        call(
            f"i{n:02d}",
            "abstain" if not replicate and n % 2 else int(n % 3 == 0),
            int(n % 3 == 0),
            replicate=replicate,
        )
        for n in range(30)
        for replicate in range(3)
    ]
    found = figures(rows)
    again = found["self_agreement"]
    # Three pairs of repeats on 15 items, one on the other 15.
    assert (again.numerator, again.denominator, again.left_out) == (60, 60, 15)
    assert found["fleiss_kappa"].value == pytest.approx(1.0)


def test_a_strict_judge() -> None:
    word, said = leniency(read(items([0] * 30 + [0] * 15 + [1] * 15, [0] * 30 + [1] * 30))) or ("", "")
    assert (word, said.split(":")[0]) == ("flagged", "is strict")


def test_one_kind_of_label_says_nothing() -> None:
    rows = read(items([1] * 19 + [0], [1] * 20))
    word, said = accuracy(rows) or ("", "")
    assert word == "undefined"
    assert "in 19 of 20 calls" in said.partition(" on ")[0]
    assert re.search("beyond chance .* nothing: .* same label$", said)
    assert leniency(rows) == ("undefined", str(CONSTANT_LABELS))


def test_without_labels_there_is_a_reason_and_no_number() -> None:
    rows = read(items([1, 0, 1], [None] * 3))
    assert accuracy(rows) == leniency(rows) == ("undefined", NO_LABELS)


def test_calls_that_all_failed() -> None:
    rows = read(items(["failed"] * 6, [1, 0] * 3))
    assert (accuracy(rows) or ("",))[0] == "undefined"
    assert leniency(rows) == ("undefined", NOT_SCORED)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_handful_of_items_decides_nothing(count: int) -> None:
    rows = read(items(([1, 0, 1] * 2)[:count], ([1, 0, 0] * 2)[:count]))
    for reading in (accuracy, leniency):
        answer = reading(rows)
        assert answer is not None
        assert answer[0] in ("inconclusive", "undefined")


def test_accuracy_of_a_rare_fault_is_not_praised() -> None:
    """95 of 100 labels are 1: a judge that says so throughout is right in 95 %.

    Five rows of the rarer label leave κ open, twenty do not.
    """
    for rare, expected in ((5, "inconclusive"), (20, "flagged")):
        labels: list[int | None] = [1] * 19 * rare + [0] * rare
        word, said = accuracy(read(items([1] * 20 * rare, labels))) or ("", "")
        assert word == expected
    assert re.match(r"gives .*\b380 of 400 calls", said)
    assert re.search(r"chance 0\.00 \[−0\.01, \+0\.23\], floor 0\.4", said)


def test_lost_calls_withhold_the_word_of_leniency() -> None:
    """Eleven verdicts are missing among those that should fail: they could have been passes or not."""
    rows = items([1] * 8 + [0] * 11 + ["failed"] * 11 + [1] * 30, [0] * 30 + [1] * 30)
    found = figures(rows)["leniency"]
    assert found.bounds == (pytest.approx(8 / 30 / 2), pytest.approx(19 / 30 / 2))
    assert found.status == "flagged"
    few = figures(items([1] * 4 + [0] * 4 + ["failed"] * 22 + [1] * 30, [0] * 30 + [1] * 30))["leniency"]
    assert MISSING_DECIDE in (few.note or "")


def test_a_judge_that_passes_everything_is_not_moved_by_injections() -> None:
    """Right on none of the items, edited or not: no change, where accuracy alone reads 0.00."""
    rows = [call(f"i{n}", 1, 0, probe=probe) for n in range(10) for probe in ("original", "injection")]
    found = accuracy_change(EstimateContext.for_protocol("j", "injection", "base", 7), collect_scores(rows))
    assert found.value == 0.0
    assert re.match(r"edited 0\.00, unchanged 0\.00; no spread", found.note or "")


def test_the_change_by_hand() -> None:
    """i0 falls from right to wrong; i1 from wrong to half right; i2 was not edited."""
    rows = [
        *(call("i0", 1, 1), call("i0", 0, 1, probe="typos")),
        *(call("i1", 1, 0), call("i1", 0, 0, probe="typos"), call("i1", 1, 0, probe="typos", number=1)),
        call("i2", 1, 1),
    ]
    found = accuracy_change(EstimateContext.for_protocol("j", "typos", "base", 7), collect_scores(rows))
    assert (found.value, found.n_units) == (pytest.approx((-1 + 0.5) / 2), 2)


def test_no_share_lies_further_off_than_its_range_is_wide() -> None:
    found = figures(items([1, 0, 1], [1, 0, 0]))["accuracy"]
    assert "detectable 0.30" in remarks(replace(found, minimum_detectable=0.3))
    assert "too few data" in remarks(replace(found, minimum_detectable=1.21))


def test_lost_calls_withhold_the_word_of_agreement() -> None:
    """Forty right verdicts are clear of the floor; with as many lost they need not have been."""
    labels: list[int | None] = [1, 0] * 20
    whole = figures(items(list(labels), labels))["kappa"]
    assert (whole.value, whole.status) == (1.0, "clear")
    lost = figures(items([*labels, *["failed"] * 40], labels * 2))["kappa"]
    assert (lost.value, lost.status) == (1.0, "inconclusive")
    assert "clear but for" in (lost.note or "")
    few = figures(items([*labels, "failed"], [*labels, 1]))["kappa"]
    assert few.status == "clear"


def test_agreement_on_pairs_by_hand() -> None:
    """Four pairs in both orders, people for u twice and v twice; one pair wrong in both orders: 6 of 8 agree.

    Both margins are four and four, so chance is one half: (.75 − .5) / .5.
    """
    pairs = make(["12", "12", "21", "12"], tasks=4, better=[1, 1, 2, 2])
    found = kappa(EstimateContext.for_protocol("j", "position", "base", 7), pairs, "none")
    assert (found.value, found.n_calls, found.n_units) == (pytest.approx(0.5), 8, 4)


def test_agreement_on_pairs_without_a_choice() -> None:
    here = EstimateContext.for_protocol("j", "position", "base", 7)
    ties = kappa(here, make(["12", "tt"], tasks=2, better=0), "none")
    assert (ties.value, (ties.note or "")[-5:]) == (None, "a tie")
    one = kappa(here, make(["1-", "1-"], tasks=2, better=1), "none")
    assert one.value is None
    assert kappa(here, make([], better=[]), NO_GOLD).value is None


def test_lost_calls_withhold_the_word_on_pairs() -> None:
    here = EstimateContext.for_protocol("j", "position", "base", 7)
    right = ["12", "21"] * 20
    assert kappa(here, make(right, tasks=40, better=[1, 2] * 20), "none").status == "clear"
    lost = kappa(here, make([*right, *["ff"] * 40], tasks=80, better=[1, 2] * 40), "none")
    assert (lost.value, lost.status) == (1.0, "inconclusive")


def test_an_undecided_accuracy_says_how_many_rows_would_decide() -> None:
    """Eight of twelve right, where always answering 1 is in six."""
    word, said = accuracy(read(items([1] * 4 + [0] * 2 + [0] * 4 + [1] * 2, [1] * 6 + [0] * 6))) or ("", "")
    assert word == "inconclusive"
    assert "more labelled rows" in said


def test_two_judges_are_paired_on_calls_above_and_below_the_label() -> None:
    """One passes everything, the other fails everything: each errs on the half that the other has right."""
    labels: list[int | None] = [1, 0] * 10
    first, second = (
        unit_events(Observations.of(items([answer] * 20, labels)), lambda s: s.id, metrics_of)
        for answer in (1, 0)
    )
    shares = [
        {
            question.metric: sum(bool(event.happened) for event in found.values())
            for question, found in each.items()
            if question.probe == "original" and question.metric not in ("leniency", "merit")
        }
        for each in (first, second)
    ]
    assert shares == [
        {"accuracy": 10, "share_above": 10, "share_below": 0},
        {"accuracy": 10, "share_above": 0, "share_below": 10},
    ]
