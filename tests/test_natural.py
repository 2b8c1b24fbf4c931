"""Natural pairs: figures by hand, and identities that hold for any answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from example_datasheet import example
from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.questions import QUESTIONS, decisions_of
from steelyard.datasheet.render.clauses import sentence
from steelyard.datasheet.sections.first_screen import key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.decomposition import ONE_ORDER
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.natural import CELLS, NO_GOLD, natural_estimates, prompt_family
from strategies import find, make, pairs_of_equals, swap_contents, swap_slots

quiet = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])

IDS = [metric.id for metric in CELLS]


def estimates(pairs: Pairs, labelled: Pairs | None = None) -> list:
    return natural_estimates(
        EstimateContext.for_protocol("j", "position", "base", 7),
        pairs,
        pairs if labelled is None else labelled,
    )


def counts(found: list, metric: str, **group: int) -> tuple[int | None, int | None]:
    estimate = find(found, metric, **group)
    return estimate.numerator, estimate.denominator


def test_figures_by_hand() -> None:
    """u first, v first: 12 u twice, 21 v twice, 11 and 22 follow the slot, x is unreadable; u is better."""
    pairs = make(["12", "12", "21", "11", "22", "1t", "tt", "1x"], tasks=8, kind="natural", better=1)
    found = estimates(pairs)
    assert {metric: counts(found, metric) for metric in IDS} == {
        "order_consistency": (3, 7),
        "flip_first": (1, 7),
        "flip_second": (1, 7),
        "one_sided_commit": (1, 7),
        "no_preference": (1, 7),
    }
    # Right calls: 12 both, 12 both, 11 the first, 22 the second, 1t the first, 1x the first.
    assert counts(found, "accuracy") == (8, 15)
    # u first: right are 12, 12, 11, 1t, 1x of eight; v first: 12, 12, 22 of the seven that were read.
    assert counts(found, "accuracy", slot=1) == (5, 8)
    assert counts(found, "accuracy", slot=2) == (3, 7)
    assert counts(found, "accuracy_both") == (2, 7)
    assert find(found, "accuracy_both").bounds == (2 / 8, 3 / 8)
    assert find(found, "order_consistency").bounds == (3 / 8, 4 / 8)
    assert find(found, "flip_second").bounds == (1 / 8, 1 / 8)
    assert find(found, "accuracy", slot=1).excluded == {"unreadable": 0, "failed": 0}
    assert find(found, "accuracy", slot=2).excluded == {"unreadable": 1, "failed": 0}
    assert counts(found, "net_slot_preference") == (1, 14)


def test_accuracy_says_where_the_better_text_stood() -> None:
    """u is better, and first in 19 calls of 20: always naming slot 1 is right in 19, and in half of both."""
    always = make(["1-"] * 19 + ["-1"], tasks=5, kind="natural", better=1)
    accuracy = find(estimates(always), "accuracy")
    assert (accuracy.numerator, accuracy.denominator) == (19, 20)
    # One call in slot 2, wrong: Wilson's upper limit of 0 in 1 is z²/(1 + z²), for each of 18 lacking calls.
    assert accuracy.bounds == pytest.approx((19 / 38, max(19 / 20, (19 + 18 * 3.8415 / 4.8415) / 38)))
    assert accuracy.note == (
        "the better text stood in slot 1 in 19 of 20 calls; both slots counted alike, the share is 0.50"
    )
    both = find(estimates(make(["11"] * 20, tasks=5, kind="natural", better=1)), "accuracy")
    assert both.bounds == (0.5, 0.5)
    assert "stood in" not in (both.note or "")


def test_where_people_found_neither_better_a_tie_is_right() -> None:
    found = estimates(make(["tt", "1t", "12", "ta"], tasks=4, kind="natural", better=0))
    assert counts(found, "accuracy") == (5, 8)
    assert counts(found, "accuracy_both") == (2, 4)
    assert find(found, "accuracy", slot=1).note == "no pair has a better text"


def test_one_order_is_reported_and_not_decomposed() -> None:
    found = estimates(make(["1-", "2-", "t-"], tasks=3, kind="natural", better=1))
    for metric in (*IDS, "accuracy_both", "net_slot_preference"):
        assert find(found, metric).value is None
        assert find(found, metric).note == str(ONE_ORDER)
    assert counts(found, "accuracy") == (1, 3)
    assert counts(found, "tie_rate") == (1, 3)


def test_pairs_of_one_order_are_left_out_and_counted() -> None:
    found = estimates(make(["12", "11", "1-"], tasks=3, kind="natural", better=1))
    assert counts(found, "order_consistency") == (1, 2)
    assert "1 pair shown in one order only is left out" in find(found, "order_consistency").note


def test_without_a_label_there_is_no_accuracy() -> None:
    found = estimates(make(["12", "11"], kind="natural"), make([]))
    for metric, group in (("accuracy", {}), ("accuracy", {"slot": 1}), ("accuracy_both", {})):
        assert find(found, metric, **group).value is None
        assert find(found, metric, **group).note == NO_GOLD
    assert counts(found, "order_consistency") == (1, 2)


def test_always_first_and_a_perfect_judge() -> None:
    better = [1, 2] * 20
    first = estimates(make(["11"] * 40, tasks=40, kind="natural", better=better))
    assert find(first, "flip_first").value == 1
    assert find(first, "accuracy").value == 0.5
    assert find(first, "accuracy", slot=1).value == 1
    assert find(first, "accuracy", slot=2).value == 0
    assert find(first, "accuracy_both").value == 0
    assert find(first, "net_slot_preference").status == "flagged"
    perfect = estimates(make(["12", "21"] * 20, tasks=40, kind="natural", better=better))
    assert find(perfect, "order_consistency").value == find(perfect, "accuracy_both").value == 1
    assert find(perfect, "net_slot_preference").value == 0
    assert find(perfect, "net_slot_preference").status != "flagged"


def check_identities(found: list) -> None:
    if find(found, "order_consistency").value is None:
        return
    parts = [find(found, metric) for metric in IDS]
    assert sum(part.numerator for part in parts) == parts[0].denominator
    assert all(part.bounds[0] <= part.value <= part.bounds[1] + 1e-12 for part in parts if not part.excluded)
    both = find(found, "accuracy_both")
    assert 2 * both.numerator <= find(found, "accuracy").numerator
    assert both.bounds[0] <= both.bounds[1] <= 1


@pytest.mark.slow
@quiet
@given(pairs_of_equals())
def test_identities_and_relabelling(pairs: Pairs) -> None:
    """Calling u what was v changes nothing; exchanging the slots exchanges the flips and the slots."""
    pairs = replace(pairs, better=np.arange(len(pairs)) % 3)
    here, renamed, mirrored = estimates(pairs), estimates(swap_contents(pairs)), estimates(swap_slots(pairs))
    check_identities(here)
    other = {"flip_first": "flip_second", "flip_second": "flip_first"}
    for metric in (*IDS, "accuracy", "accuracy_both"):
        assert counts(here, metric) == counts(renamed, metric)
        assert counts(here, metric) == counts(mirrored, other.get(metric, metric))
    for slot in (1, 2):
        assert counts(here, "accuracy", slot=slot) == counts(renamed, "accuracy", slot=slot)
        assert counts(here, "accuracy", slot=slot) == counts(mirrored, "accuracy", slot=3 - slot)


def test_chance_lines_are_those_of_calls_that_ignore_each_other() -> None:
    found = estimates(make(["11", "11", "11", "12"], tasks=4, kind="natural"))
    assert find(found, "order_consistency").chance == pytest.approx(2 * 7 / 8 * 1 / 8)
    assert find(found, "flip_first").chance == pytest.approx((7 / 8) ** 2)
    assert find(found, "flip_second").chance == pytest.approx((1 / 8) ** 2)


def test_natural_pairs_are_read_under_every_prompt_and_flagged_under_base_alone() -> None:
    pairs = make(["11"] * 24, tasks=8, kind="natural")
    estimates = [
        e
        for arm in ("cot", "base")
        for e in natural_estimates(EstimateContext.for_protocol("J", "position", arm, 7), pairs, pairs)
    ]
    found = {r.title: r for r in decisions_of([JudgeEntry("J", "recorded/x", False, {})], estimates)}
    assert found["Natural pairs"].status == "flagged"
    assert found["Natural pairs, cot"].status == "measured"
    assert "flips to slot 1 in 24, to slot 2 in 0" in sentence(found["Natural pairs, cot"].clause)
    without = natural_estimates(EstimateContext.for_protocol("J", "position", "cot", 7), pairs, pairs)
    titles = [r.title for r in decisions_of([JudgeEntry("J", "recorded/x", False, {})], without)]
    assert titles == ["Natural pairs, cot"]


def test_pairs_of_equals_and_natural_pairs_are_two_questions_with_a_row_each() -> None:
    """A slot is favoured on natural pairs alone: neither answer hides the other."""
    titles = [question.title for question in QUESTIONS]
    assert len(titles) == len(set(titles))
    pairs = make(["11"] * 24, tasks=8, kind="natural")
    fair = make(["tt"] * 200, tasks=40)
    here = EstimateContext.for_protocol("J", "position", "base", 7)
    shown = [*natural_estimates(here, pairs, pairs), *ladder_estimates(replace(here, probe="ladder"), fair)]
    sheet = concluded(replace(example(), judges=(JudgeEntry("J", "m", False, {}),), estimates=tuple(shown)))
    states = {row.name: row.word for row in key_figures(summarise(sheet), "J")}
    assert states["leans to slot 1 on natural pairs"] == "too high"
    assert states["leans to slot 1"] == "fine"


def test_prompts_without_a_base_are_one_family() -> None:
    # Eight tasks all leaning one way: p = 2/2^8 = .0078. Six of eight: P(|sum| >= 4) = 2·(1+8+28)/256 = .289.
    strong, weak = ["11"] * 8, ["11"] * 6 + ["22"] * 2
    prompts = {"a": make(strong, tasks=8, kind="natural"), "b": make(weak, tasks=8, kind="natural")}
    adjusted = {name: test.adjusted_p for name, test in prompt_family(prompts).items()}
    assert adjusted == pytest.approx({"a": 2 * 2 / 256, "b": 74 / 256})
    assert prompt_family({**prompts, "base": prompts["a"]}) == {}
    words = {
        name: find(
            natural_estimates(EstimateContext.for_protocol("J", "position", name, 7), pairs, pairs, p),
            "net_slot_preference",
        )
        for (name, pairs), p in zip(prompts.items(), prompt_family(prompts).values(), strict=True)
    }
    assert {name: e.status for name, e in words.items()} == {"a": "flagged", "b": "inconclusive"}
    assert "p = 0.016 among all prompts of the judge (Holm)" in (words["a"].note or "")
    # Eight such prompts: 8 · .0078 > .05, so none is flagged.
    many = prompt_family({f"p{n}": prompts["a"] for n in range(8)})
    assert {test.adjusted_p for test in many.values()} == {8 * 2 / 256}
