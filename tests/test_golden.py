"""The published datasheets, rebuilt from their counts."""

from __future__ import annotations

import csv
from functools import cache

import pytest

from published_data import published
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.equals import vacuum_estimates
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.pairs.signal_detection import criterion_estimates
from steelyard.metrics.stats.intervals import clopper_pearson, goodman, newcombe, wilson
from strategies import find, interval, make, stack

FIXTURE = published("golden") / "golden_datasheet.csv"

# judge: (decided vacuum calls of 120, cells of 60 pairs, (right, tied) of 100 calls at step 1)
JUDGES: dict[str, tuple[int | None, tuple[int, int, int, int], tuple[int, int]]] = {
    "Llama8B": (80, (2, 58, 0, 0), (61, 0)),
    "Qwen14B": (0, (27, 32, 1, 0), (100, 0)),
    "Qwen32B": (0, (0, 5, 21, 34), (94, 6)),
    "Qwen32B-strict": (None, (0, 0, 0, 60), (50, 50)),
}
NAMES = {
    "dark_current": ("dark_current", {}),
    "RFP0": ("raw_false_preference", {"delta": 0, "kind": "same_subset"}),
    "SCS": ("stable_cross_sensitivity", {"delta": 0, "kind": "same_subset"}),
    "PFP": ("positional_false_preference", {"delta": 0, "kind": "same_subset"}),
    "OSC": ("one_sided_commit", {"delta": 0, "kind": "same_subset"}),
    "NP": ("no_preference", {"delta": 0, "kind": "same_subset"}),
    "tie_D0": ("tie_rate", {"delta": 0, "kind": "same_subset"}),
    **{
        f"{metric}_D{delta}": (metric.replace("tie_D", "tie_rate"), {"delta": delta})
        for metric in ("target_sensitivity", "miss_by_tie", "wrong_choice", "nontie_accuracy")
        for delta in (1, 5)
    },
    "tie_D1": ("tie_rate", {"delta": 1}),
    "tie_D5": ("tie_rate", {"delta": 5}),
}

# (judge, metric, numerator, denominator, low, high): enough to fail without the full fixture.
PRINTED = [
    ("Llama8B", "dark_current", 80, 120, 0.5783, 0.7447),
    ("Llama8B", "RFP0", 120, 120, 0.9690, 1.0),
    ("Llama8B", "tie_D0", 0, 120, 0.0, 0.0310),
    ("Llama8B", "target_sensitivity_D1", 61, 100, 0.5120, 0.6998),
    ("Llama8B", "wrong_choice_D1", 39, 100, 0.3002, 0.4880),
    ("Llama8B", "SCS", 2, 60, 0.0092, 0.1136),
    ("Llama8B", "SCS_simultaneous", 2, 60, 0.0068, 0.1478),
    ("Llama8B", "PFP_simultaneous", 58, 60, 0.8522, 0.9932),
    ("Qwen14B", "dark_current", 0, 120, 0.0, 0.0310),
    ("Qwen14B", "RFP0", 119, 120, 0.9543, 0.9985),
    ("Qwen14B", "target_sensitivity_D1", 100, 100, 0.9630, 1.0),
    ("Qwen14B", "SCS", 27, 60, 0.3309, 0.5751),
    ("Qwen14B", "PFP", 32, 60, 0.4089, 0.6537),
    ("Qwen14B", "PFP_simultaneous", 32, 60, 0.3771, 0.6833),
    ("Qwen32B", "RFP0", 31, 120, 0.1884, 0.3433),
    ("Qwen32B", "tie_D0", 89, 120, 0.6567, 0.8116),
    ("Qwen32B", "target_sensitivity_D1", 94, 100, 0.8752, 0.9722),
    ("Qwen32B", "nontie_accuracy_D1", 94, 94, 0.9607, 1.0),
    ("Qwen32B", "OSC", 21, 60, 0.2417, 0.4764),
    ("Qwen32B", "NP_simultaneous", 34, 60, 0.4082, 0.7126),
    ("Qwen32B-strict", "tie_D0", 120, 120, 0.9690, 1.0),
    ("Qwen32B-strict", "target_sensitivity_D1", 50, 100, 0.4038, 0.5962),
    ("Qwen32B-strict", "tie_D5", 0, 20, 0.0, 0.1611),
    ("Qwen32B-strict", "NP", 60, 60, 0.9398, 1.0),
]


def calls_in_pairs(right: int, tied: int, calls: int) -> list[str]:
    """Answers of pairs in which u is better, with so many right and tied calls."""
    outcomes = ["right"] * right + ["tie"] * tied + ["wrong"] * (calls - right - tied)
    u_first, v_first = {"right": "1", "tie": "t", "wrong": "2"}, {"right": "2", "tie": "t", "wrong": "1"}
    return [u_first[a] + v_first[b] for a, b in zip(outcomes[::2], outcomes[1::2], strict=True)]


def vacuum_of(decided: int) -> Pairs:
    kinds = ["empty"] * 20 + ["blank"] * 20 + ["identical"] * 20
    return make(["11"] * (decided // 2) + ["tt"] * (60 - decided // 2), tasks=10, kind=kinds)


def ladder_of(judge: str) -> Pairs:
    _, (stable, positional, one_sided, none), (right, tied) = JUDGES[judge]
    answers = ["12"] * stable + ["11"] * positional + ["1t"] * one_sided + ["tt"] * none
    return stack(
        make(answers, tasks=10),
        make(calls_in_pairs(right, tied, 100), tasks=10, kind="prefix", delta=1, better=1, name="one"),
        make(calls_in_pairs(20, 0, 20), tasks=10, kind="prefix", delta=5, better=1, name="five"),
    )


@cache
def datasheet(judge: str) -> tuple[Estimate, ...]:
    decided = JUDGES[judge][0]
    vacuum = (
        []
        if decided is None
        else vacuum_estimates(EstimateContext.for_protocol(judge, "vacuum", "base", 7), vacuum_of(decided))
    )
    ladder = ladder_estimates(EstimateContext.for_protocol(judge, "ladder", "base", 7), ladder_of(judge))
    rates = ("unreadable_rate", "failed_rate")
    return tuple(e for e in [*vacuum, *ladder] if e.metric not in rates)


def check_row(judge: str, metric: str, numerator: int, denominator: int, low: float, high: float) -> None:
    name, group = NAMES[metric.removesuffix("_simultaneous")]
    estimate = find(datasheet(judge), name, **group)
    method = "goodman" if metric.endswith("_simultaneous") else "wilson"
    assert (estimate.numerator, estimate.denominator) == (numerator, denominator)
    assert interval(estimate, method) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: f"{row[0]}-{row[1]}")
def test_printed_figures(row: tuple[str, str, int, int, float, float]) -> None:
    check_row(*row)


@pytest.mark.parametrize("judge", JUDGES)
def test_dprime_at_ceiling(judge: str) -> None:
    assert find(datasheet(judge), "dprime", delta=5).value == pytest.approx(3.3812, abs=5e-5)
    forced = find(datasheet(judge), "dprime_2afc", delta=5)
    assert forced.value == pytest.approx(2.3909, abs=5e-5)
    assert interval(forced, "clopper_pearson") == (pytest.approx(1.3582, abs=5e-5), None)


@pytest.mark.parametrize("judge", ["Qwen14B", "Qwen32B"])
def test_thresholds_below_the_first_step(judge: str) -> None:
    estimate = find(datasheet(judge), "delta75")
    assert (estimate.value, estimate.censored) == (1.0, "left")


@pytest.mark.parametrize("judge", JUDGES)
def test_nothing_conflicts_in_a_clean_run(judge: str) -> None:
    assert find(datasheet(judge), "other_conflict", delta=0, kind="same_subset").numerator == 0


@pytest.mark.parametrize(
    ("delta", "difference", "low", "high"),
    [(0, 0.2583, 0.1818, 0.3433), (1, 0.44, 0.3241, 0.5414), (5, 0.0, -0.1611, 0.1611)],
)
def test_criterion_shift(delta: int, difference: float, low: float, high: float) -> None:
    estimates = criterion_estimates(
        EstimateContext.for_protocol("Qwen32B", "criterion", "strict", 7),
        vacuum_of(0),
        make([]),
        ladder_of("Qwen32B"),
        ladder_of("Qwen32B-strict"),
    )
    shift = find(estimates, "criterion_shift", delta=delta)
    assert shift.value == pytest.approx(difference, abs=5e-5)
    assert interval(shift, "newcombe") == pytest.approx((low, high), abs=6e-5)
    assert shift.intervals[0].method != "newcombe"
    vacuum = find(estimates, "criterion_shift", kind="vacuum")
    assert vacuum.value is None


def fixture_rows() -> list[dict[str, str]]:
    with FIXTURE.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["ci_low"] and row["ci_high"]]


def test_every_published_interval() -> None:
    checked = 0
    for row in fixture_rows():
        if row["metric"].startswith("Delta75"):
            continue
        limits = (float(row["ci_low"]), float(row["ci_high"]))
        assert _limits(row) == pytest.approx(limits, abs=6e-5), row
        checked += 1
    assert checked > 100


def test_every_published_figure_of_the_four_judges() -> None:
    checked = 0
    for row in fixture_rows():
        if row["judge"] in JUDGES and row["metric"].removesuffix("_simultaneous") in NAMES:
            counts = int(row["numerator"]), int(row["denominator"])
            check_row(row["judge"], row["metric"], *counts, float(row["ci_low"]), float(row["ci_high"]))
            checked += 1
    assert checked >= 27 + 32


def _limits(row: dict[str, str]) -> tuple[float, float]:
    """The interval of a published row from its counts alone."""
    trials = int(row["denominator"])
    if "-" in row["numerator"]:
        after, before = (int(part) for part in row["numerator"].split("-"))
        return newcombe((after, trials), (before, trials))
    events = int(row["numerator"])
    if row["metric"].endswith("_simultaneous"):
        return goodman(events, trials, 4)
    if row["metric"].startswith("SCS_share"):
        return clopper_pearson(events, trials)
    return wilson(events, trials)
