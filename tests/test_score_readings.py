"""Sentences on judges of single texts say no more than their tests allow."""

from __future__ import annotations

import pytest

from panels import panel_datasheet
from steelyard.datasheet import score_readings
from steelyard.datasheet.figures_of import Figures
from steelyard.metrics.estimate import Estimate

BASE = {"protocol": "base"}


def kept(words: list[str | None]) -> Figures:
    """One kind of edit per finding."""
    return Figures(
        "j",
        [
            Estimate("j", f"edit_{n}", "invariance", BASE, "comparison", 0.5, 5, 10, finding=word)
            for n, word in enumerate(words)
        ],
    )


def word(words: list[str | None]) -> str:
    found = score_readings.edits(kept(words))
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("flags", "tests", "expected"),
    [
        # Binomial(n, .05): P(≥ 1) is .05 for one test; P(≥ 2) is .033 for six, .057 for eight; P(≥ 3) is
        # .043 for sixteen.
        (1, 1, "flagged"),
        (1, 6, "underpowered"),
        (2, 6, "flagged"),
        (2, 8, "underpowered"),
        (3, 8, "flagged"),
        (3, 16, "flagged"),
        (2, 16, "underpowered"),
    ],
)
def test_few_flags_among_many_tests_may_be_chance(flags: int, tests: int, expected: str) -> None:
    assert word(["flagged"] * flags + ["clear"] * (tests - flags)) == expected


def test_every_flag_is_named_even_where_chance_would_do() -> None:
    found = score_readings.edits(kept(["clear", "flagged", "clear"]))
    assert found is not None
    assert found[1] == (
        "of 3 kinds of edit that keep the label, 2 clear, 1 flagged: edit 1: verdict kept 0.50 "
        "(no interval); each is tested alone at 5 %, and so few flags among so many may be chance"
    )


def test_clear_needs_every_edit_to_be_clear() -> None:
    assert word(["clear", "clear"]) == "clear"
    assert word(["clear", "underpowered"]) == "underpowered"
    assert score_readings.edits(kept([None, None])) is None


def test_with_repeats_the_excess_over_them_is_read() -> None:
    rows = [
        Estimate("j", "typos", "invariance", BASE, "comparison", 0.7, 7, 10),
        Estimate("j", "typos", "excess_flip", BASE, "comparison", 0.0, finding="clear"),
    ]
    found = score_readings.edits(Figures("j", rows))
    assert found is not None
    assert found[0] == "clear"


def test_a_datasheet_of_scores_has_readings() -> None:
    sheet = panel_datasheet(["openai/gpt-4o", "vllm/llama-4-maverick", "house/unlisted"], items=12)
    mean = sheet.find("openai/gpt-4o", "accuracy_mean", protocol="base")
    assert mean is not None
    told = {(r.judge, r.title): r for r in sheet.readings}
    said = told["openai/gpt-4o", "Accuracy"].sentence
    assert said.startswith(f"right in {mean.value:.2f} [")
    assert "sampling alone would give up to" in said
    assert told["openai/gpt-4o", "Cost"].word == "measured"
    # A judge that costs nothing has nothing to say of it; one without a price says so.
    assert ("vllm/llama-4-maverick", "Cost") not in told
    unpriced = told["house/unlisted", "Cost"]
    assert (unpriced.word, unpriced.sentence) == ("undefined", "the price of this model is not known")
    assert ("openai/gpt-4o", "Position") not in told
