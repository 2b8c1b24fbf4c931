"""Coverage of corrected scores: a reduced simulation, the published tables, and real verdicts."""

from __future__ import annotations

from math import sqrt

import pytest
import score_tables

from calibration import arena_scores, corrected_scores
from calibration.results import load
from steelyard.estimation.designs import LabelDesign

ROWS = list(corrected_scores.rows())
RUNS = 40
"""Runs of the reduced simulation, some seconds in all."""


def floor(runs: int) -> float:
    """Below this a coverage of .93 is not by chance: three standard errors."""
    return 0.93 - 3 * sqrt(0.93 * 0.07 / runs)


@pytest.mark.parametrize("quantity", score_tables.REASONS)
def test_intervals_of_every_quantity_cover_in_a_reduced_grid(quantity: str) -> None:
    held = given = 0
    for row in ROWS:
        if row.quantity == quantity and not row.population:
            tally = row.tally(100, 5, RUNS // 4, seed=11)
            held, given = held + tally.held, given + tally.given
    assert held / given >= floor(given)


@pytest.mark.parametrize("name", ["nearly all 5", "one-sided", "seldom"])
def test_few_labels_that_differ_keep_their_coverage(name: str) -> None:
    # With t intervals these covered .84 to .88.
    rows = [row for row in ROWS if row.name == name and row.design is LabelDesign.RANDOM]
    held = sum(row.tally(30, 1, 100, seed=5).held for row in rows)
    assert held / (100 * len(rows)) >= floor(100 * len(rows))


def test_the_table_has_every_cell_once() -> None:
    body = load()["corrected_scores"]
    told = [(row["quantity"], row["design"], row["of"], row["world"]) for row in body["rows"]]
    of = {False: "items", True: "population"}
    assert told == [(row.quantity, str(row.design), of[row.population], row.name) for row in ROWS]
    assert score_tables.CELLS == corrected_scores.CELLS
    for row in body["rows"]:
        assert len(row["given"]) == len(score_tables.CELLS)
        assert all(
            0 < held <= given <= body["runs"] for held, given in zip(row["held"], row["given"], strict=True)
        )


def test_every_low_cell_has_a_reason_and_none_is_far_below() -> None:
    body = load()["corrected_scores"]
    cells = score_tables.low_cells(body)
    assert {row["quantity"] for row, _ in cells} <= score_tables.REASONS.keys()
    assert all(row["held"][cell] / row["given"][cell] >= 0.85 for row, cell in cells)
    assert len(cells) <= 0.03 * len(body["rows"]) * len(score_tables.CELLS)


def test_the_table_of_real_verdicts_holds() -> None:
    body = load()["arena_scores"]
    assert len(body["rows"]) == len(list(arena_scores.cells()))
    for row in body["rows"]:
        assert not score_tables.low(row["held"], row["given"])


@pytest.mark.parametrize("design", arena_scores.DESIGNS, ids=lambda each: f"{each[0]}-{each[1]}")
def test_corrected_win_rates_cover_on_real_votes(design: tuple[LabelDesign, bool]) -> None:
    held = given = 0
    for judge, quantity, drawn, population, labels in arena_scores.cells():
        if (drawn, population) == design and labels == 60:
            tally, _ = arena_scores.count(judge, quantity, drawn, population, labels, 20)
            held, given = held + tally.held, given + tally.given
    assert held / given >= floor(given)
