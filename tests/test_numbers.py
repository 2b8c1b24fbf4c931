"""Numbers as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.text import ascii_only
from steelyard.datasheet import numbers
from steelyard.metrics.estimate import Estimate, Interval

RATE = Estimate(
    "Qwen32B",
    "ladder",
    "target_sensitivity",
    {"protocol": "base", "delta": 1},
    "call",
    0.94,
    94,
    100,
    (Interval("wilson_cluster", 0.8574, 0.9763), Interval("wilson", 0.8752, 0.9722)),
    n_calls=100,
    n_units=50,
    n_clusters=10,
    design_effect=1.07,
)
THRESHOLD = replace(RATE, metric="delta75", numerator=None, denominator=None)
SHIFT = replace(RATE, probe="criterion", metric="criterion_shift")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (1.0, "1.00"),
        (0.94, "0.94"),
        (0.9985, "0.999"),
        (0.9999, "0.9999"),
        (0.99999, ">0.9999"),
        (0.0019, "0.002"),
        (0.00001, "<0.0001"),
        (-0.0, "0.00"),
        (-0.25, "−0.25"),
        (3.3812, "3.38"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
    ],
)
def test_decimal(value: float, text: str) -> None:
    assert numbers.decimal(value) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_a_rate_inside_the_unit_interval_never_reads_as_its_end(value: float) -> None:
    if 1e-11 < value < 1 - 1e-11:
        assert numbers.decimal(value) not in ("0.00", "1.00", "0.000", "1.000", "0.0000", "1.0000")


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (RATE, "0.94 [0.86, 0.98]"),
        (replace(RATE, intervals=()), "0.94 (no interval)"),
        (replace(RATE, value=None, note="no readable verdict"), "undefined: no readable verdict"),
        (replace(RATE, value=None), "undefined: no reason was recorded"),
        (replace(RATE, value=float("nan"), note="0/0"), "undefined: 0/0"),
        (None, "not measured"),
        (replace(THRESHOLD, value=4.0, intervals=(Interval("b", 2.7143, 4.0),)), "4 [2.71, 4]"),
        (
            replace(THRESHOLD, value=1.0, censored="left", intervals=(Interval("b", None, 1.4),)),
            "≤ 1 (0, 1.4]",
        ),
        (
            replace(THRESHOLD, value=5.0, censored="right", intervals=(Interval("b", 4.5, None),)),
            "> 5 [4.5, ∞)",
        ),
        (
            replace(
                RATE, metric="dprime", value=3.3812, censored="right", intervals=(Interval("b", 1.9, None),)
            ),
            "> 3.38 [1.90, ∞)",
        ),
        (replace(SHIFT, value=0.44, intervals=(Interval("newcombe", -0.01, 0.54),)), "+0.44 [−0.01, +0.54]"),
        (replace(RATE, intervals=(Interval("b", None, 0.3),)), "0.94 (−∞, 0.30]"),
        (
            replace(THRESHOLD, value=1.0, censored="left", intervals=(Interval("b", None, None),)),
            "≤ 1 (0, ∞)",
        ),
    ],
)
def test_figure(estimate: Estimate | None, text: str) -> None:
    assert numbers.figure(estimate) == text


def test_counts_and_basis() -> None:
    assert numbers.counts(RATE) == "94/100"
    assert numbers.counts(THRESHOLD) == ""
    assert numbers.counts(replace(SHIFT, numerator=-2, denominator=16)) == "−2/16"
    assert numbers.counts(replace(SHIFT, numerator=8, denominator=16)) == "+8/16"
    assert numbers.short_basis(RATE) == "100/50/10 deff 1.1"
    assert numbers.short_basis(replace(RATE, design_effect=None)) == "100/50/10 deff ?"


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ({}, "all"),
        ({"protocol": "base"}, "base"),
        ({"delta": 1.0, "protocol": "strict", "slot": 2}, "strict · Δ1 · slot 2"),
        ({"kind": "filler", "delta": 0}, "Δ0 · same content, padded"),
        ({"base_level": 0.5, "stratum": "law"}, "base level 0.5 · stratum law"),
        ({"kind": "something_else", "zeta": 1}, "something else · zeta 1"),
    ],
)
def test_condition(group: dict[str, str | float], text: str) -> None:
    assert numbers.condition(group) == text


def test_remarks_say_what_the_missing_calls_could_change() -> None:
    missing = replace(
        RATE, excluded={"unreadable": 3, "failed": 1}, bounds=(0.9, 0.94), note="one task only", chance=0.5
    )
    assert numbers.remarks(missing) == (
        "1 failed, 3 unreadable; bounds 0.90 to 0.94; chance 0.50; wilson [0.88, 0.97]; one task only"
    )


def test_ascii_only_keeps_the_meaning() -> None:
    assert ascii_only("≤ 1 (0, ∞) −0.10 Δ5 · d′ ☃") == "<= 1 (0, inf) -0.10 D5 | d' ?"
