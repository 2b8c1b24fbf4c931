"""Every figure of docs/published-tables.md, recomputed with the functions that datasheets use."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact

from steelyard.metrics.stats.clusters import Tally, wilson_cluster, wilson_strict
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import goodman, score, sign_flip, wilson

PAGE = (Path(__file__).parents[1] / "docs" / "published-tables.md").read_text(encoding="utf-8")
CALLS = [(80, 120), (0, 120), (120, 120), (119, 120), (31, 120)]
CALLS += [(61, 100), (100, 100), (94, 100), (50, 100), (20, 20), (4, 10), (18, 31)]
CELLS = [2, 58, 0, 27, 32, 1, 5, 21, 34, 60]


def printed(value: float) -> str:
    """Three decimals without the leading zero, as the page has it."""
    return {"0.000": "0", "1.000": "1"}.get(f"{value:.3f}", f"{value:.3f}"[1:])


def limits(pair: tuple[float, float]) -> str:
    return f"[{printed(pair[0])}, {printed(pair[1])}]"


@pytest.mark.parametrize(("events", "trials"), CALLS)
def test_shares_of_calls(events: int, trials: int) -> None:
    assert limits(wilson(events, trials)) in PAGE


@pytest.mark.parametrize("events", CELLS)
def test_cells_of_sixty_pairs(events: int) -> None:
    assert f"| {events} {limits(goodman(events, 60, 4))} " in PAGE


def test_the_coin_that_mixed_cannot_be_told_from() -> None:
    assert f"has p = {printed(binomtest(27, 59).pvalue)[:3]}." in PAGE


def position(*parts: tuple[int, int, int]) -> float:
    """The test's p for groups of (pairs in slot 1, pairs in slot 2, commits of each)."""
    sums = [
        sign * size
        for first, second, size in parts
        for sign, n in ((1, first), (-1, second))
        for _ in range(n)
    ]
    return sign_flip(np.array(sums, dtype=np.int64))


@pytest.mark.parametrize(
    ("row", "p"),
    [
        ("16 to 16 | 1.00 ", position((16, 16, 2), (1, 0, 1))),
        ("20 to 12 | .16 ", position((20, 12, 2), (1, 0, 1))),
        ("21 to 11 | .080 ", position((21, 11, 2), (1, 0, 1))),
        ("22 to 10 | .035 ", position((22, 10, 2), (1, 0, 1))),
        ("24 to 8 | .005 ", position((24, 8, 2), (1, 0, 1))),
        ("5 to 0 | 15 to 6 | .004 ", position((5, 0, 2), (15, 6, 1))),
        ("3 to 2 | 16 to 5 | .059 ", position((3, 2, 2), (16, 5, 1))),
        ("3 to 2 | 11 to 10 | .76 ", position((3, 2, 2), (11, 10, 1))),
    ],
)
def test_what_the_unpublished_slots_would_decide(row: str, p: float) -> None:
    assert f"| {row}" in PAGE
    said = float(row.split("|")[-1])
    assert p == pytest.approx(said, abs=0.5 * 10 ** -len(row.split(".")[-1].strip()))


def test_all_commits_in_one_slot_leave_no_doubt() -> None:
    assert position((32, 0, 2), (1, 0, 1)) < 0.0001
    assert position((5, 0, 2), (21, 0, 1)) < 0.0001


@pytest.mark.parametrize("correlation", [0.1, 0.3])
def test_clustering_widens(correlation: float) -> None:
    size = 120 / (1 + 11 * correlation)
    assert limits(score(80 / 120, size, t_quantile(0.975, 9))) in PAGE


def test_a_zero_over_ten_tasks() -> None:
    clean = Tally(events=np.zeros(10, dtype=np.int64), trials=np.full(10, 12), n_calls=120, n_units=60)
    assert f"prints {printed(wilson_cluster(clean)[1])}," in PAGE
    assert f"one observation, {printed(wilson_strict(clean)[1])}." in PAGE


@pytest.mark.parametrize(
    ("judge", "mean", "spread", "synthetic"),
    [
        ("Claude Sonnet 4.5", 0.3726, 0.1718, 31),
        ("GPT-4o", 0.4843, 0.1661, 31),
        ("Gemini 2.5 Pro", 0.5320, 0.1110, 32),
        ("Llama 4 Maverick", 0.5262, 0.1505, 31),
    ],
)
def test_sampling_alone_makes_volatility(judge: str, mean: float, spread: float, synthetic: int) -> None:
    alone = sqrt(mean * (1 - mean) * (7 / 10 + 1 / synthetic) / 8)
    assert f"| {judge} | {printed(mean)} | {printed(spread + 1e-9)} | {printed(alone)} |" in PAGE


def test_how_many_texts_synthetic_ordinal_had() -> None:
    # Appendix F has mean, minimum and maximum over the four judges, E Llama's maximum, D the errors.
    assert [f"{100 * events / 31:.2f}" for events in (18, 24, 22)] == ["58.06", "77.42", "70.97"]
    assert f"{100 * (18 / 31 + 24 / 31 + 22 / 31 + 21 / 32) / 4:.2f}" == "68.02"
    assert [f"{errors / n:.3f}" for errors, n in ((15, 31), (7, 31), (9, 31), (11, 32))] == [
        "0.484",
        "0.226",
        "0.290",
        "0.344",
    ]


def test_missed_transcripts() -> None:
    assert f"has p = {printed(fisher_exact([[5, 11], [2, 14]]).pvalue)[:3]} (Fisher)" in PAGE
