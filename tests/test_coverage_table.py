"""The table of coverage: its worlds are what they claim, it is what was simulated, and it still holds."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import coverage_tables
import numpy as np
import pytest
from scipy.special import ndtr

from calibration.coverage import CORRELATIONS, TOGETHER, Counts, hits
from calibration.pair_world import FAILED, MIDDLING, UNREADABLE
from calibration.results import CELLS, SheetResults, load
from calibration.score_world import BINARY
from calibration.sheets import AT_ONCE, SHEETS, TASKS, Figure
from calibration.urn import shared

RUNS = {
    "pairs": 2,
    "binary": 4,
    "skewed": 10,
    "ordinal": 2,
    "pairs compared": 4,
    "scores compared": 4,
    "instrument": 1,
    "cues": 5,
    "cues of texts": 40,
}
"""Runs of the reduced simulation, some seconds in all."""
FIRST = 1_000_012
"""Number of the first reduced run: none of those that the file counts. From here few runs of cues are enough
to tell intervals that are half as wide."""
CELL = (10, 0.1)
"""Tasks and correlation of the reduced simulation."""
SHEET_NAMES = list(SHEETS)


@pytest.fixture(scope="module")
def results() -> dict[str, SheetResults]:
    return {name: SheetResults.from_json(sheet) for name, sheet in load()["sheets"].items()}


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_the_urn_sets_the_correlation_and_leaves_the_mean(correlation: float) -> None:
    chance = np.random.default_rng(3)
    events = shared(chance, chance.random((20_000, 6)) < 0.2, correlation)
    apart = events - 0.2
    pairs = (apart.sum(axis=1) ** 2 - (apart**2).sum(axis=1)) / 30
    assert events.mean() == pytest.approx(0.2, abs=0.006)
    assert pairs.mean() / 0.16 == pytest.approx(correlation, abs=0.02)


def choices(drive: float, threshold: float, lapses: float) -> tuple[float, float]:
    """Chances of an answer 1 and 2 of the instrument model, wording left out."""
    sure = 1 - lapses
    return sure * ndtr(drive - threshold) + lapses / 3, sure * ndtr(-drive - threshold) + lapses / 3


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_truths_of_pairs_by_formula(results: dict[str, SheetResults], correlation: float) -> None:
    true = results["pairs"].truths[correlation]
    bias, lapses = MIDDLING.position_bias, MIDDLING.lapse_rate
    dark = sum(choices(bias, MIDDLING.vacuum_threshold, lapses))
    spread = sqrt(1 + MIDDLING.surface_sensitivity**2)
    threshold = MIDDLING.tie_threshold / spread
    equals = choices(bias / spread, threshold, lapses)
    better = [choices((MIDDLING.resolution + sign * bias) / spread, threshold, lapses)[0] for sign in (1, -1)]
    assert true["vacuum", "dark_current", ""] == pytest.approx(dark, abs=0.012)
    equal = "delta 0, kind same_subset"
    assert true["ladder", "raw_false_preference", equal] == pytest.approx(sum(equals), abs=0.02)
    assert true["ladder", "net_slot_preference", equal] == pytest.approx(equals[0] - equals[1], abs=0.03)
    assert true["ladder", "target_sensitivity", "delta 1"] == pytest.approx(sum(better) / 2, abs=0.02)
    assert true["ladder", "unreadable_rate", ""] == pytest.approx(UNREADABLE, abs=0.005)
    assert true["ladder", "failed_rate", ""] == pytest.approx(FAILED, abs=0.004)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_truths_of_verdicts_by_formula(results: dict[str, SheetResults], correlation: float) -> None:
    true = results["binary"].truths[correlation]
    shares = BINARY.chances
    false_positive, false_negative = shares[1] + shares[3], shares[2] + shares[3]
    right = 1 - (false_positive + false_negative) / 2
    # Two callings of an item agree where both show its own rule, or where two draws agree by themselves.
    same = BINARY.faithfulness**2
    alone = np.mean([s**2 + (1 - s) ** 2 for s in (false_positive, false_negative)])
    agree = same + (1 - same) * (correlation + (1 - correlation) * alone)
    assert true["typos", "accuracy", ""] == pytest.approx(right, abs=0.015)
    assert true["typos", "false_positive_rate", ""] == pytest.approx(false_positive, abs=0.02)
    assert true["typos", "balanced_accuracy", ""] == pytest.approx(right, abs=0.015)
    assert true["typos", "kappa", ""] == pytest.approx(2 * right - 1, abs=0.03)
    assert true["stochastic_stability", "self_agreement", ""] == pytest.approx(agree, abs=0.008)


@pytest.mark.slow
def test_cells_that_hold_at_once_are_told_together() -> None:
    rows = AT_ONCE["position", ""]
    true = dict.fromkeys(rows, 0.5)
    figures = [f for f in SHEETS["pairs"].run(4, 0.0, np.random.default_rng(1)) if f.row in rows]
    found = hits(figures, true)
    assert len(figures) == len(rows)
    assert found["position", TOGETHER, ""] == all(found[row] for row in rows)


def test_the_file_comes_back_as_it_was() -> None:
    for sheet in load()["sheets"].values():
        assert SheetResults.from_json(sheet).to_json() == sheet


def test_every_sheet_and_every_cell_is_simulated(results: dict[str, SheetResults]) -> None:
    assert set(results) == set(SHEETS) == set(coverage_tables.TITLES)
    for sheet in results.values():
        assert set(sheet.cells) == set(CELLS) == {(n, c) for n in TASKS for c in CORRELATIONS}
        assert min(counts.runs for counts in sheet.cells.values()) > 0


def test_every_low_row_is_explained() -> None:
    assert coverage_tables.marked() <= set(coverage_tables.REMARKS)


@pytest.mark.slow
@pytest.mark.parametrize("sheet", SHEET_NAMES)
def test_a_reduced_simulation_agrees_with_the_file(results: dict[str, SheetResults], sheet: str) -> None:
    """And would not, were every interval half as wide; one joint fit alone can not tell."""
    held, (tasks, correlation) = results[sheet], CELL
    true, as_printed, halved = held.truths[correlation], Counts(), Counts()
    for run in range(FIRST, FIRST + RUNS[sheet]):
        figures = SHEETS[sheet].run(tasks, correlation, np.random.default_rng([run, tasks, 10]))
        as_printed.add(hits(figures, true))
        halved.add(hits(map(half_as_wide, figures), true))
    assert disagreements(held.cells[CELL], as_printed) == []
    assert RUNS[sheet] == 1 or disagreements(held.cells[CELL], halved)


def half_as_wide(figure: Figure) -> Figure:
    """The figure with its interval halved about its middle; open ends stay."""
    wide = figure.interval
    if wide is None or wide.low is None or wide.high is None:
        return figure
    middle, reach = (wide.low + wide.high) / 2, (wide.high - wide.low) / 4
    return replace(figure, interval=replace(wide, low=middle - reach, high=middle + reach))


def disagreements(held: Counts, found: Counts) -> list[str]:
    """Metrics whose coverage is not that of the file."""
    told = []
    for metric, (share, reduced) in by_metric(held, found).items():
        # Conditions of one metric may all fail together: the runs alone are independent.
        spread = sqrt(max(share * (1 - share), 0.03) * (1 / found.runs + 1 / held.runs))
        if abs(reduced - share) > 4 * spread:
            told.append(f"{metric}: {reduced:.2f} against {share:.2f}")
    return told


def by_metric(held: Counts, found: Counts) -> dict[str, tuple[float, float]]:
    """Coverage of each metric over its rows, in the file and in the reduced runs."""
    metrics = sorted({row[1] for row in found.given if held.given[row]})
    return {metric: (_share(held, metric), _share(found, metric)) for metric in metrics}


def _share(counts: Counts, metric: str) -> float:
    rows = [row for row in counts.given if row[1] == metric]
    return sum(counts.covered[row] for row in rows) / max(1, sum(counts.given[row] for row in rows))
