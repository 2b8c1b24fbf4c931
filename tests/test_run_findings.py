"""Sentences over all probes of a judge of single texts."""

from __future__ import annotations

import pytest

from panels import panel_datasheet
from scores import call
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.more_data import CHANCE
from steelyard.datasheet.questions.questions import decisions_of
from steelyard.datasheet.render.clauses import sentence
from steelyard.metrics.run.cost import NO_PRICE
from steelyard.metrics.run.losses import loss_estimates


@pytest.mark.slow
def test_volatility_and_cost_are_read() -> None:
    sheet = panel_datasheet(["openai/gpt-4o", "vllm/llama-4-maverick", "house/unlisted"], items=12)
    mean = sheet.find("openai/gpt-4o", "accuracy_mean", protocol="base")
    assert mean is not None
    told = {(r.judge, r.title): r for r in sheet.findings}
    said = sentence(told["openai/gpt-4o", "Volatility"].clause)
    assert said.startswith(f"right in {mean.value:.2f} [")
    assert "; against the same items unchanged accuracy changes by " in said
    assert told["openai/gpt-4o", "Cost"].status == "measured"
    # A judge that costs nothing has nothing to say of it; one without a price says so.
    assert ("vllm/llama-4-maverick", "Cost") not in told
    unpriced = told["house/unlisted", "Cost"]
    assert (unpriced.status, sentence(unpriced.clause)) == (
        "undefined",
        NO_PRICE,
    )


def test_one_probe_has_no_volatility() -> None:
    sheet = panel_datasheet(["openai/gpt-4o"], items=6, probes=["typos"], baselines=False)
    assert "Volatility" not in {reading.title for reading in sheet.findings}


def test_a_judge_without_a_readable_call_is_not_told_to_ask_more() -> None:
    lost = [call(f"i{n}", "unreadable", 1) for n in range(20)]
    rates = loss_estimates("j", lost, 7)
    assert [rate.status for rate in rates] == ["flagged", "inconclusive"]
    (reading,) = decisions_of([JudgeEntry("j", "m", False, {})], rates)
    assert (reading.title, reading.status) == ("Failures", "flagged")
    assert sentence(reading.clause).startswith(
        "no readable reply in 20 of 20 calls; such a call is never a score"
    )
    assert "would decide" not in sentence(reading.clause)


def test_too_few_calls_to_say_whether_few_are_lost() -> None:
    lost = [call(f"i{n}", "failed" if n == 3 else 1, 1) for n in range(20)]
    (reading,) = decisions_of([JudgeEntry("j", "m", False, {})], loss_estimates("j", lost, 7))
    assert reading.status == "inconclusive"
    assert CHANCE in sentence(reading.clause)


def test_where_no_call_is_lost_nothing_is_missing() -> None:
    """Twenty calls say little of a rate, and all of what is missing from this sheet."""
    rates = loss_estimates("j", [call(f"i{n}", 1, 1) for n in range(20)], 7)
    assert {rate.status for rate in rates} == {"inconclusive"}
    (reading,) = decisions_of([JudgeEntry("j", "m", False, {})], rates)
    assert (reading.status, sentence(reading.clause)) == ("clear", "each of 20 calls ended in a verdict")
