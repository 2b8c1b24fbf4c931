"""Sentences over all probes of a judge of single texts."""

from __future__ import annotations

import pytest

from panels import panel_datasheet
from steelyard.metrics.multiplicity import by_chance


def test_volatility_and_cost_are_read() -> None:
    sheet = panel_datasheet(["openai/gpt-4o", "vllm/llama-4-maverick", "house/unlisted"], items=12)
    mean = sheet.find("openai/gpt-4o", "accuracy_mean", protocol="base")
    assert mean is not None
    told = {(r.judge, r.title): r for r in sheet.readings}
    said = told["openai/gpt-4o", "Volatility"].sentence
    assert said.startswith(f"right in {mean.value:.2f} [")
    assert "sampling alone would give" in said
    assert told["openai/gpt-4o", "Cost"].word == "measured"
    # A judge that costs nothing has nothing to say of it; one without a price says so.
    assert ("vllm/llama-4-maverick", "Cost") not in told
    unpriced = told["house/unlisted", "Cost"]
    assert (unpriced.word, unpriced.sentence) == ("undefined", "the price of this model is not known")


def test_one_probe_has_no_volatility() -> None:
    sheet = panel_datasheet(["openai/gpt-4o"], items=6, probes=["typos"], baselines=False)
    assert "Volatility" not in {reading.title for reading in sheet.readings}


def test_flags_by_chance() -> None:
    assert by_chance(0, 13) == 1.0
    assert by_chance(1, 1) == pytest.approx(0.05)
    # 1 − .95¹³; and two of thirteen: less 13·.05·.95¹².
    assert by_chance(1, 13) == pytest.approx(0.4867, abs=1e-4)
    assert by_chance(2, 13) == pytest.approx(0.4867 - 13 * 0.05 * 0.95**12, abs=1e-4)
